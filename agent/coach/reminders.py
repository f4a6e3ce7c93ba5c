"""Reminders: what one is, and the arguments of `/remind`. Pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta

from agent.catalogue import escape
from agent.coach.texts import say, say_day, say_on
from agent.coach.vocabulary.amounts import find_amounts, read_clock
from agent.coach.vocabulary.days import DAY, find_days
from agent.coach.vocabulary.words import Token, group_of, phrases, to_tokens
from agent.schedules.rules import EVERY_DAY
from agent.wellformed import clean

MAX_CHARS = 300
MAX_ABOUT_CHARS = 100


@dataclass(frozen=True, slots=True)
class Reminder:
    """One reminder as it is stored."""

    id: str
    at: time  # on the person's wall
    weekdays: tuple[int, ...]  # Monday 0; () if it is for one day
    day: date | None  # the one day; None: every week
    about: str  # its subject; "": practice
    next_at: datetime | None  # aware UTC; None: never again


@dataclass(frozen=True, slots=True)
class ReminderWords:
    """The parsed arguments of `/remind`."""

    at: time | None = None  # None: no time was found
    weekdays: tuple[int, ...] = ()
    day: date | None = None
    about: str = ""
    bad_time: str = ""  # text that looks like a time and is none
    bad_day: str = ""  # text that looks like a date and is none


_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)

_TIME = re.compile(
    r"(?:(?:at|a las|a la)\s+)?(?<!\d)(?P<h>\d{1,2})"
    r"(?:[:.](?P<m>\d{2})(?:\s?(?P<ap>am|pm))?|\s?(?P<ap2>am|pm)|h(?P<m2>\d{2})?)(?!\w)",
    re.IGNORECASE,
)
_WEEKDAY_WORDS = {
    0: "mon monday mondays lun lunes", 1: "tue tues tuesday tuesdays mar martes",
    2: "wed wednesday wednesdays mié mie miércoles miercoles", 3: "thu thur thurs thursday thursdays jue jueves",
    4: "fri friday fridays vie viernes", 5: "sat saturday saturdays sáb sab sábado sabado sábados sabados",
    6: "sun sunday sundays dom domingo domingos",
}  # fmt: skip
_WEEKDAYS = {word: weekday for weekday, words in _WEEKDAY_WORDS.items() for word in words.split()}
_GROUPS = {
    "daily": EVERY_DAY, "everyday": EVERY_DAY, "diario": EVERY_DAY, "diariamente": EVERY_DAY,
    "weekdays": (0, 1, 2, 3, 4), "laborables": (0, 1, 2, 3, 4), "weekend": (5, 6), "weekends": (5, 6),
    "finde": (5, 6),
}  # fmt: skip
_PHRASES = (("every day", "daily"), ("cada día", "diario"), ("cada dia", "diario"), ("todos los días", "diario"),
            ("todos los dias", "diario"), ("fin de semana", "finde"), ("de la mañana", "am"), ("de la tarde", "pm"),
            ("de la noche", "pm"))  # fmt: skip
_DAYS = {"yesterday": -1, "ayer": -1, "today": 0, "hoy": 0, "tomorrow": 1, "mañana": 1, "manana": 1}
_FILLERS = frozenset(["on", "el", "la", "los", "las", "every", "cada", "for", "para", "to", "and", "y", "me"])


def read_reminder(text: str, today: date) -> ReminderWords:
    """Parse time and days in any order, then the subject: "19:00 mon,wed guitar", "tomorrow 7pm"."""
    said = clean(text[:MAX_CHARS])
    for phrase, word in _PHRASES:
        said = re.sub(rf"\b{phrase}\b", word, said, flags=re.IGNORECASE)
    found = _TIME.search(said)
    words = ReminderWords()
    if found is not None:
        at = _time_of(found)
        words = replace(words, at=at, bad_time="" if at else found[0])
        said = f"{said[: found.start()]} {said[found.end() :]}"
    return _with_days(words, said, today)


def _with_days(words: ReminderWords, said: str, today: date) -> ReminderWords:
    weekdays: set[int] = set()
    about: list[str] = []
    for word in said.split():
        parts = [part for part in re.split(r"[,;/]", word.casefold().strip(".")) if part]
        if about:
            about.append(word)
        elif parts and all(part in _WEEKDAYS or part in _GROUPS for part in parts):
            for part in parts:
                weekdays.update(_GROUPS.get(part, (_WEEKDAYS.get(part, 0),)))
        elif (day := _day_of(parts[0] if parts else "", today)) is not None and words.day is None:
            words = replace(words, day=day)
        elif parts and _DATE.fullmatch(parts[0]) and words.day is None:
            words = replace(words, bad_day=parts[0])
        elif word.casefold() not in _FILLERS:
            about.append(word)
    chosen = () if words.day is not None else tuple(sorted(weekdays)) or EVERY_DAY
    return replace(words, weekdays=chosen, about=" ".join(about)[:MAX_ABOUT_CHARS].strip(" ,:"))


def _time_of(found: re.Match[str]) -> time | None:
    hour, minute = int(found["h"]), int(found["m"] or found["m2"] or 0)
    half = (found["ap"] or found["ap2"] or "").lower()
    if half and not 1 <= hour <= 12:
        return None
    if half:
        hour = hour % 12 + (12 if half == "pm" else 0)
    return time(hour, minute) if hour < 24 and minute < 60 else None


def _day_of(word: str, today: date) -> date | None:
    if word in _DAYS:
        return today + _DAYS[word] * DAY
    try:
        return date.fromisoformat(word) if len(word) == len("2026-01-01") else None
    except ValueError:
        return None


# ---------------------------------------------------------------- as people say it


def read_reminder_words(text: str, now: datetime) -> ReminderWords | None:
    """Parse time, days and subject as people say them: "tomorrow at seven", "in 20 minutes"; None without a time."""
    tokens = to_tokens(text)
    ahead = next((each for each in find_amounts(tokens) if phrases("ahead").at(tokens, each.first - 1)), None)
    if ahead is not None:
        due = now + timedelta(minutes=ahead.minutes)
        about = _about(text, tokens, set(range(ahead.first - 1, ahead.end)))
        return ReminderWords(due.time().replace(second=0, microsecond=0, tzinfo=None), (), due.date(), about)
    clock = _clock(tokens)
    if clock is None:
        return None
    at, used = clock
    weekdays, day = _weekdays(tokens, used), None
    if (tomorrow := phrases("tomorrow").find(tokens)) is not None and not weekdays:
        day = now.date() + DAY
        used.update(range(*tomorrow))
    elif not weekdays and (named := find_days(tokens, now.date())):
        day = named[0].day
        used.update(range(named[0].first, named[0].end))
    if day is None and not weekdays:
        day = now.date() if now.time() < at else now.date() + DAY
    return ReminderWords(at, tuple(weekdays), day, _about(text, tokens, used))


def _clock(tokens: Sequence[Token]) -> tuple[time, set[int]] | None:
    """Return the time of day that is said, and its tokens: one with its half, with a colon, or behind "at"."""
    taken = {place for each in find_amounts(tokens) if not each.is_range for place in range(each.first, each.end)}
    for at in range(len(tokens)):
        clock = read_clock(tokens, at) if at not in taken else None
        is_led = phrases("at").end(tokens, at) > at
        if clock is not None and (clock[1] or is_led or any(token.text == ":" for token in tokens[at : clock[2]])):
            return time(clock[0] // 60, clock[0] % 60), set(range(at, clock[2]))
    return None


def _weekdays(tokens: Sequence[Token], used: set[int]) -> list[int]:
    """Return the weekdays that are named, and add their tokens to those used."""
    for name, days in (("working_days", range(5)), ("weekends", range(5, 7)), ("every_day", range(7))):
        if (span := phrases(name).find(tokens)) is not None:
            used.update(range(*span))
            return list(days)
    named = [(at, group_of("weekdays").at(tokens, at)) for at in range(len(tokens))]
    for at, each in named:
        used.update(() if each is None else range(at, each[0]))
    return sorted({each[1] for _, each in named if each is not None})


def _about(text: str, tokens: Sequence[Token], used: set[int]) -> str:
    """Return the subject of a reminder: the words that are no date, time or verb."""
    at = 0
    while at < len(tokens):
        small = max(phrases(name).end(tokens, at) for name in ("reminder", "links", "fillers", "on", "polite"))
        used.update(range(at, small) if small > at else () if tokens[at].is_word or tokens[at].is_number else (at,))
        at = max(small, at + 1)
    kept = [token for at, token in enumerate(tokens) if at not in used]
    return "".join((" " if not token.glued else "") + text[token.start : token.end] for token in kept).strip()


def reminders_text(language: str, reminders: Sequence[Reminder], today: date) -> str:
    """Return the numbered list of reminders, and how to cancel one."""
    if not reminders:
        return say(language, "remind.none")
    lines = []
    for number, reminder in enumerate(reminders, start=1):
        about = f": {escape(reminder.about)}" if reminder.about else ""
        when = say_when(language, reminder.weekdays, reminder.day, today)
        lines.append(f"{number}. {reminder.at:%H:%M}, {when}{about}")
    return "\n\n".join((say(language, "remind.title"), "\n".join(lines), say(language, "remind.how_off")))


def due_text(language: str, at: str, about: str, *, late: bool, done: str, streak: str, cheers: bool = True) -> str:
    """Return the text of a due reminder; `done` is today's practice, `streak` the days, or "".

    Both are left out unless it `cheers`: a reminder about anything but practice does not.
    """
    first = say(language, "remind.due_about", time=at, about=escape(about)) if about else ""
    first = first or say(language, "remind.due", time=at)
    if done:
        more = say(language, "remind.done", done=done)
    else:
        more = say(language, "remind.streak", streak=streak) if streak else say(language, "remind.begin")
    return " ".join((first, *([more] if cheers else []), *([say(language, "remind.late", time=at)] if late else [])))


def missed_text(language: str, at: str, about: str, day: date, today: date) -> str:
    """Return the text of a reminder for a single day that could not be said in time."""
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
