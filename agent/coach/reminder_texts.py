"""Texts about reminders: the list, a due one, a missed one."""

from collections.abc import Sequence
from datetime import date, timedelta

from agent.coach.reminders import EVERY_DAY, Reminder
from agent.coach.texts import say, say_day, say_on
from agent.language import escape


def reminders_text(language: str, reminders: Sequence[Reminder], today: date) -> str:
    """All of them, numbered, and how to take one away."""
    if not reminders:
        return say(language, "remind.none")
    lines = []
    for number, reminder in enumerate(reminders, start=1):
        about = f": {escape(reminder.about)}" if reminder.about else ""
        when = say_when(language, reminder.weekdays, reminder.day, today)
        lines.append(f"{number}. {reminder.at:%H:%M}, {when}{about}")
    return "\n\n".join((say(language, "remind.title"), "\n".join(lines), say(language, "remind.how_off")))


def due_text(language: str, at: str, about: str, *, late: bool, done: str, streak: str, cheers: bool = True) -> str:
    """One that is due: what of, and what there is to build on; `done` is today's practice, `streak` the days, or "".

    Only what `cheers` is about practice.
    """
    first = say(language, "remind.due_about", time=at, about=escape(about)) if about else ""
    first = first or say(language, "remind.due", time=at)
    if done:
        more = say(language, "remind.done", done=done)
    else:
        more = say(language, "remind.streak", streak=streak) if streak else say(language, "remind.begin")
    return " ".join((first, *([more] if cheers else []), *([say(language, "remind.late", time=at)] if late else [])))


def missed_text(language: str, at: str, about: str, day: date, today: date) -> str:
    """One for a single day that could not be said in time."""
    subject = say(language, "remind.about", about=escape(about)) if about else ""
    when = say_on(language, day, today)
    return say(language, "remind.missed", time=at, about=subject, when=when)


def say_when(language: str, weekdays: Sequence[int], day: date | None, today: date) -> str:
    """Return on which days: "daily", "on Monday and Friday", or the one day."""
    if day is not None:
        return _ahead(language, day, today)
    if tuple(weekdays) == EVERY_DAY:
        return say(language, "remind.daily")
    *names, last = [say(language, f"weekdays.{weekday}") for weekday in weekdays]
    return say(language, "remind.days_and", days=", ".join(names), last=last) if names else last


def _ahead(language: str, day: date, today: date) -> str:
    if day == today:
        return say(language, "day.today")
    if day - today == timedelta(days=1):
        return say(language, "day.tomorrow")
    return say(language, "day.the", date=say_day(language, day, today))
