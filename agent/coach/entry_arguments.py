"""The arguments of `/entries`, `/edit` and `/delete`: days, a skill, which of several, and what is right instead. Pure.

These are arguments of commands, in an order that help names. What people say in sentences is read elsewhere.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date

from agent.calendar import week_of
from agent.coach.practice import Skill, name_key
from agent.coach.vocabulary.amounts import find_duration
from agent.coach.vocabulary.days import DAY, find_days
from agent.coach.vocabulary.words import group_of, to_tokens
from agent.wellformed import clean

MAX_CHARS = 1_200
MAX_WORDS = 12
"""Words of a skill's name that are looked over for the days behind it."""


@dataclass(frozen=True, slots=True)
class DayRange:
    """Days from one to another, both included."""

    first: date
    last: date


@dataclass(frozen=True, slots=True)
class WantedEntries:
    """Which entries are meant, and the words behind that."""

    span: DayRange | None = None  # None: no day was said
    skill: Skill | None = None
    pick: int | None = None  # "#2": the second of those listed
    id: str | None = None  # the one entry with this id, as buttons name it
    rest: str = ""


@dataclass(frozen=True, slots=True)
class WantedStats:
    """The skill and the days that `/stats` is about."""

    skill: Skill | None = None  # None: all
    span: DayRange | None = None  # None: from the first day on
    weekday: int | None = None  # Monday 0; None: every day
    rest: str = ""

    @property
    def has_days(self) -> bool:
        """Return True if days were said."""
        return self.span is not None or self.weekday is not None


@dataclass(frozen=True, slots=True)
class NewValues:
    """The new values of a correction; None leaves a field as it is."""

    minutes: int | None = None
    skill: str | None = None
    day: date | None = None
    notes: str | None = None
    rest: str = ""  # words that say none of that


_ISO = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})(?!\d)")
_NUMBERS = re.compile(r"(\d{1,2})[./](\d{1,2})(?:[./](\d{4}))?(?![\d./])")
_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?!\S)")
_PICK = re.compile(r"#(\d{1,3})(?!\d)")
_LINK = re.compile(r"(?:on|el|la|the|of|de|del)(?:\s+|\Z)", re.IGNORECASE)
_PREPOSITION = re.compile(
    r"^(?:(?:in|on|of|for|during|every|each|the|en|los|las|el|del?|la|durante|cada)\s+)+", re.IGNORECASE
)
_YEAR = re.compile(r"(?:(?:of|de|del)\s+)?(?P<year>20\d\d)(?![\w./-])", re.IGNORECASE)
_LAST = re.compile(r"last\s+(\w+day)\b|(\w+)\s+pasado\b", re.IGNORECASE)
_TO = re.compile(r"(?:^|\s)(?:to|a)\s+(?P<name>.+)\Z", re.IGNORECASE)
_FILLERS = re.compile(r"\b(?:to|a|it|was|were|is|please|fue|fueron|eran?|son|por favor)\b", re.IGNORECASE)
_ON = re.compile(r"(?:^|\s)(?:on|el)\s+(?P<day>[^\s].*)\Z", re.IGNORECASE)


def read_wanted(text: str, today: date, week_start: int, skills: Sequence[Skill]) -> WantedEntries:
    """Parse which entries are meant: an id, or days or a skill with "#2" for one of several. Return the rest unread."""
    wanted = WantedEntries(rest=clean(text[:MAX_CHARS]))
    if (by_id := _ID.match(wanted.rest)) is not None:
        return replace(wanted, id=by_id[0], rest=wanted.rest[by_id.end() :].strip())
    for _ in range(4):
        before, rest = wanted, _LINK.sub("", wanted.rest, count=1) if _LINK.match(wanted.rest) else wanted.rest
        if wanted.span is None and (day := _take_days(rest, today, week_start)) is not None:
            wanted = replace(wanted, span=day[0], rest=day[1])
        elif wanted.skill is None and (named := take_skill(rest, skills)) is not None:
            wanted = replace(wanted, skill=named[0], rest=named[1])
        elif wanted.pick is None and (picked := _PICK.match(rest)) is not None:
            wanted = replace(wanted, pick=int(picked[1]), rest=rest[picked.end() :].strip())
        if wanted is before:
            break
    return wanted


def read_stats(text: str, today: date, week_start: int, skills: Sequence[Skill]) -> WantedStats:
    """Parse a skill and days, in any order: "guitar october", "mondays", "last week".

    What is unread stays as the rest: an unknown skill before or behind the days, too.
    """
    words = clean(text[:MAX_CHARS]).split()
    found = (_read_stats(" ".join(words[at:]), today, week_start, skills) for at in range(min(len(words), MAX_WORDS)))
    for at, wanted in enumerate(found):
        if not at and (wanted.skill or wanted.has_days):
            return wanted
        if at and wanted.has_days and not wanted.rest:
            return replace(wanted, rest=" ".join(words[:at]))
    return WantedStats(rest=" ".join(words))


def _read_stats(text: str, today: date, week_start: int, skills: Sequence[Skill]) -> WantedStats:
    wanted = WantedStats(rest=text)
    for _ in range(3):
        before, rest = wanted, _PREPOSITION.sub("", wanted.rest)
        if wanted.skill is None and (named := take_skill(rest, skills)) is not None:
            wanted = replace(wanted, skill=named[0], rest=named[1])
        elif wanted.weekday is None and (weekday := _take_weekday(rest)) is not None:
            wanted = replace(wanted, weekday=weekday[0], rest=weekday[1])
        elif wanted.span is None and (span := _take_days(rest, today, week_start)) is not None:
            wanted = replace(wanted, span=span[0], rest=span[1])
        if wanted is before:
            break
    return wanted


def _take_weekday(text: str) -> tuple[int, str] | None:
    word, _, rest = text.partition(" ")
    tokens = to_tokens(word)
    found = group_of("weekdays").at(tokens, 0)
    return (found[1], rest.strip(" ,")) if found is not None and found[0] == len(tokens) else None


def read_values(text: str, today: date, skills: Sequence[Skill]) -> NewValues:
    """Parse the values behind the entry: "40m", "to piano", "on tuesday", ": scales", in this order, each optional."""
    said, colon, notes = text.partition(":") if not re.search(r"\d:\d", text) else (text, "", "")
    values = NewValues(notes=notes.strip() if colon else None)
    duration = find_duration(said)
    if duration is not None:
        values = replace(values, minutes=duration.minutes)
        said = f"{said[: duration.start]} {said[duration.end :]}".strip()
    on = _ON.search(said)
    if on is not None and (day := _take_days(on["day"], today, 0)) is not None and not day[1]:
        values = replace(values, day=day[0].first)
        said = said[: on.start()].strip()
    to = _TO.search(said)
    if to is not None:
        named = take_skill(to["name"], skills)
        values = replace(values, skill=named[0].name if named is not None and not named[1] else to["name"].strip())
        said = said[: to.start()]
    return replace(values, rest=_FILLERS.sub("", said).strip(" ,."))


def take_skill(text: str, skills: Sequence[Skill]) -> tuple[Skill, str] | None:
    """Return the skill whose name the text begins with, the longest of several, and what follows."""
    key = name_key(text)
    for skill in sorted(skills, key=lambda each: -len(name_key(each.name))):
        name = name_key(skill.name)
        if name and key.startswith(name) and not key[len(name) : len(name) + 1].isalnum():
            words = len(name.split())
            return skill, (text.split(maxsplit=words)[words] if len(text.split()) > words else "").strip(" ,")
    return None


def _take_days(text: str, today: date, week_start: int) -> tuple[DayRange, str] | None:
    """Return the days that the text begins with, and what follows."""
    for pattern, span in _SPANS:
        if (found := re.match(rf"(?:{pattern})(?!\w)", text, re.IGNORECASE)) is not None:
            return span(today, week_start), text[found.end() :].strip(" ,")
    if (last := _LAST.match(text)) is not None and (day := _day_of((last[1] or last[2]).casefold(), today)) is not None:
        day -= 7 * DAY * (day == today)
        return DayRange(day, day), text[last.end() :].strip(" ,")
    if (named := _take_month(text, today) or _take_year(text)) is not None:
        return named
    word, _, rest = text.partition(" ")
    day = _day_of(word.casefold().strip(" ,.:"), today)
    return None if day is None else (DayRange(day, day), rest.strip(" ,"))


def _take_month(text: str, today: date) -> tuple[DayRange, str] | None:
    """Return the named month, the last one there was unless a year follows, and what follows."""
    word, _, rest = text.partition(" ")
    tokens = to_tokens(word)
    found = group_of("months").at(tokens, 0)
    if found is None or found[0] != len(tokens):
        return None
    year = _YEAR.match(rest)
    if year is not None:
        return month_of(date(int(year["year"]), found[1] + 1, 1)), rest[year.end() :].strip(" ,")
    first = date(today.year - (found[1] + 1 > today.month), found[1] + 1, 1)
    return month_of(first), rest.strip(" ,")


def _take_year(text: str) -> tuple[DayRange, str] | None:
    found = _YEAR.match(text)
    return None if found is None else (year_of(int(found["year"])), text[found.end() :].strip(" ,"))


def _day_of(word: str, today: date) -> date | None:
    """Return the day that one word names; a weekday is the last one there was, today included."""
    tokens = to_tokens(word)
    if (named := find_days(tokens, today)) and named[0].end == len(tokens):
        return named[0].day
    try:
        if (iso := _ISO.fullmatch(word)) is not None:
            return date(int(iso[1]), int(iso[2]), int(iso[3]))
        if (numbers := _NUMBERS.fullmatch(word)) is not None:
            day = date(int(numbers[3] or today.year), int(numbers[2]), int(numbers[1]))
            return day if day <= today or numbers[3] else day.replace(year=day.year - 1)
    except ValueError:
        return None
    return None


def _week(day: date, week_start: int) -> DayRange:
    first = week_of(day, week_start)
    return DayRange(first, first + 6 * DAY)


def month_of(day: date) -> DayRange:
    """Return the month that this day is in."""
    first = day.replace(day=1)
    return DayRange(first, (first + 31 * DAY).replace(day=1) - DAY)


def year_of(year: int) -> DayRange:
    """Return all days of a year."""
    return DayRange(date(year, 1, 1), date(year, 12, 31))


_SPANS: tuple[tuple[str, Callable[[date, int], DayRange]], ...] = (
    ("last week|(?:la )?semana pasada", lambda today, start: _week(today - 7 * DAY, start)),
    ("last month|(?:el )?mes pasado", lambda today, _: month_of(today.replace(day=1) - DAY)),
    ("this month|month|este mes|mes", lambda today, _: month_of(today)),
    ("this week|week|esta semana|semana", _week),
    ("last year|(?:el )?año pasado", lambda today, _: year_of(today.year - 1)),
    ("this year|year|este año|año", lambda today, _: year_of(today.year)),
)


def spelled_hours(text: str) -> int | None:
    """Return the minutes of a goal: "500h", "5 hours", "90m", a bare number as hours; None for any other text."""
    text = text.strip()
    if text.isdecimal() and len(text) < 7:
        return int(text) * 60
    found = find_duration(text)
    return found.minutes if found is not None else None
