"""`/remind`, and the answer to a reminder that is due. What is meant is read by `agent.coach.reminders`."""

import json
from datetime import date
from functools import partial

from agent.calendar import is_zone, today_of
from agent.coach.durations import spell_minutes
from agent.coach.journey import journey_of, minutes_by_day
from agent.coach.practice import PracticeReader, name_key
from agent.coach.reminder_changes import CancelReminders, SetReminder, due_text, missed_text, reminders_text
from agent.coach.reminders import Reminder, read_reminder
from agent.coach.texts import say, say_days
from agent.language import escape, language_of
from channels.base import CommandOption
from gateway.coach.reminder_rows import NAME
from gateway.coach.said_changes import change_words
from gateway.commands.base import Command, Invocation, Reply

LIST = frozenset(("", "list", "lista", "ver"))
OFF = frozenset(("off", "none", "no", "stop", "quitar", "borrar"))
LATE_MIN = 10


def reminder_commands(reader: PracticeReader) -> tuple[Command, ...]:
    """The commands over what `reader` knows."""
    when = CommandOption("when", "menu.remind.when")
    return (
        Command("remind", "menu.remind", partial(_remind, reader), options=(when,)),
        Command(NAME, "menu.remind", partial(_due, reader), system=True),
    )


async def _remind(reader: PracticeReader, asked: Invocation) -> Reply:
    """Set a reminder, list them, or take them away."""
    principal, language = asked.principal, language_of(asked.principal.locale)
    today, wanted = today_of(principal, asked.now), asked.arguments.strip()
    known = await reader.reminders(principal)
    first, _, rest = wanted.casefold().partition(" ")
    if wanted.casefold() in LIST:
        return Reply(reminders_text(language, known, today))
    if first in OFF:
        return _off(language, asked, known, rest.strip())
    words = read_reminder(wanted, today)
    if words.bad_time:
        return Reply(say(language, "remind.bad_time", time=escape(words.bad_time[:16])))
    if words.at is None:
        return Reply(say(language, "remind.how"))
    if not is_zone(principal.timezone):
        return Reply(say(language, "remind.bad_zone", zone=escape(principal.timezone[:64])))
    change = SetReminder(words.at, words.weekdays, words.day, words.about)
    return Reply(partial(change_words, asked), changes=(change,))


def _off(language: str, asked: Invocation, known: tuple[Reminder, ...], which: str) -> Reply:
    """Take the n-th away, or all."""
    if not known:
        return Reply(say(language, "remind.none"))
    if which in {"", "all", "todo", "todos"}:
        return Reply(partial(change_words, asked), changes=(CancelReminders(),))
    number = int(which) if which.isdecimal() and len(which) < 4 else 0
    if not 1 <= number <= len(known):
        return Reply(reminders_text(language, known, today_of(asked.principal, asked.now)))
    return Reply(partial(change_words, asked), changes=(CancelReminders(known[number - 1].id),))


async def _due(reader: PracticeReader, asked: Invocation) -> Reply:
    """Say it, with what there is to build on: today's practice, or the streak."""
    said = json.loads(asked.arguments)
    today = today_of(asked.principal, asked.now)
    language = language_of(asked.principal.locale)
    if "missed" in said:
        day = date.fromisoformat(said["missed"])
        return Reply(missed_text(language, said["at"], said["about"], day, today))
    numbers = journey_of(minutes_by_day(await reader.days(asked.principal)), today, asked.principal.week_start)
    done = spell_minutes(numbers.today_minutes) if numbers.today_minutes else ""
    streak = say_days(language, numbers.current_streak_days) if numbers.current_streak_days > 1 else ""
    late, about = said["late_min"] >= LATE_MIN, name_key(said["about"])
    names = [name_key(skill.name) for skill in await reader.skills(asked.principal)]
    cheers = not about or any(name in about or about in name for name in names)
    return Reply(due_text(language, said["at"], said["about"], late=late, done=done, streak=streak, cheers=cheers))
