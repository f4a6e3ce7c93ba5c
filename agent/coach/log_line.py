"""The arguments of `/log`: "45m guitar scales", several entries with ";" between them, in the words of the data files.

An unclear line is refused with a reason, never guessed. Nothing is stored here.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from enum import StrEnum

from agent.catalogue import escape
from agent.coach.practice import DAY_MINUTES, PracticeRefused, check_entry, clean_name, clean_notes
from agent.coach.texts import say
from agent.coach.vocabulary.amounts import find_duration, is_negative
from agent.coach.vocabulary.days import find_days
from agent.coach.vocabulary.mentions import find_mentions
from agent.coach.vocabulary.words import group_of, phrases, to_tokens
from agent.wellformed import clean

MAX_LINE_CHARS = 4_000
"""The rest of a longer line is not read."""

MOST_BARE_HOURS = 5
"""A bare number up to this may be one of hours."""


class LogProblem(StrEnum):
    """A reason why a log line cannot be used; each has a text that says what to do."""

    EMPTY = "empty"
    NO_DURATION = "no_duration"
    NO_UNIT = "no_unit"  # "45 guitar"
    ZERO = "zero"
    NEGATIVE = "negative"
    TOO_LONG = "too_long"
    FUTURE = "future"
    BAD_DATE = "bad_date"
    NO_SKILL = "no_skill"
    NO_NAME = "no_name"
    NAME_TOO_LONG = "name_too_long"


class LogLineError(Exception):
    """A log line cannot be read; nothing was logged."""

    def __init__(self, problem: LogProblem, detail: str = "") -> None:
        super().__init__(f"{problem.value}: {detail}" if detail else problem.value)
        self.problem = problem
        self.detail = detail


@dataclass(frozen=True, slots=True)
class LogLine:
    """A parsed log line."""

    minutes: int  # 1 ... 1440
    skill: str  # a known skill's own spelling, or a new name
    notes: str  # one line, may be empty
    day: date
    is_quoted: bool = field(default=False, compare=False)  # the skill stood in quotation marks: a new one is meant


_FIGURES = r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}|[0-9]{1,2}[/.][0-9]{1,2}(?:[/.][0-9]{2,4})?"
_DATE_FIRST = re.compile(rf"\s*(?:(?:on|el)\s+)?(?P<day>{_FIGURES})(?![\w-])", re.IGNORECASE)
_DATE_LAST = re.compile(rf"(?:^|[\s,])(?:(?:on|el)\s+)?(?P<day>{_FIGURES})[\s.,:!]*\Z", re.IGNORECASE)
_QUOTED = re.compile(r"[\"“«]([^\"“”«»]{1,200})[\"”»]")
_SEPARATOR = re.compile(r"(?<!\s)(?:\s*+[:;,(|]|\s++[-–—]\s)\s*+")
_BARE_NUMBER = re.compile(r"[0-9]{1,4}(?![\w:/.-])")
_ENDS = " \t,.;:!|()-–—"


def parse_logs(text: str, today: date, skills: Sequence[str] = ()) -> list[LogLine]:
    """Return the entries of a line: several if ";" stands between them and each has its time.

    Raises:
        LogLineError: one of them lacks something or says something impossible.
    """
    pieces = [piece for piece in text[:MAX_LINE_CHARS].split(";") if piece.strip()]
    if len(pieces) > 1 and all(find_duration(piece) is not None for piece in pieces):
        return [parse_log(piece, today, skills) for piece in pieces]
    return [parse_log(text, today, skills)]


def parse_log(text: str, today: date, skills: Sequence[str] = ()) -> LogLine:
    """Parse a log line; `skills` are the names that the person already uses.

    Raises:
        LogLineError: a part is missing or impossible.
    """
    text = text[:MAX_LINE_CHARS].strip()
    first, _, more = text.partition("\n")
    line = clean(first)
    if not line:
        raise LogLineError(LogProblem.EMPTY)
    duration = find_duration(line)
    if duration is None and more:
        line, more = clean(text), ""
        duration = find_duration(line)
    if duration is None:
        if is_negative(line):
            raise LogLineError(LogProblem.NEGATIVE)
        raise LogLineError(LogProblem.NO_UNIT if _BARE_NUMBER.search(line) else LogProblem.NO_DURATION)
    if ahead := _coming(line[: duration.start]):
        raise LogLineError(LogProblem.FUTURE, ahead)
    before, day = _take_day(line[: duration.start], today)
    after, day_after = _take_day(line[duration.end :], today)
    before = _strip(before, "leading").strip(_ENDS)
    after = _strip(after.lstrip(_ENDS), "links").rstrip(" ,;:|-–—")
    if not before and not after:
        after, more = clean(more), ""
    name, notes = _name_and_notes(before or after, skills)
    last = (after if before else "") or notes or name
    if (ahead := _coming(last)) == last:
        raise LogLineError(LogProblem.FUTURE, ahead)
    notes = " ".join(part for part in (notes, after if before else "", more) if part)
    said = day or day_after or today
    try:
        check_entry(duration.minutes, said, today)
        quoted = any(each[1] == name for each in _QUOTED.finditer(line))
        return LogLine(duration.minutes, clean_name(name), clean_notes(notes), said, quoted)
    except PracticeRefused as refused:
        detail = refused.detail or (str(DAY_MINUTES // 60) if refused.refusal == "too_long" else name)
        raise LogLineError(LogProblem(refused.refusal.value), detail) from None


def _take_day(text: str, today: date) -> tuple[str, date | None]:
    """Return the text without a day at its start or end, and that day.

    Raises:
        LogLineError: it is no date.
    """
    if (found := _DATE_FIRST.match(text)) is not None:
        return text[found.end() :], _date(found["day"])
    if (found := _DATE_LAST.search(text)) is not None:
        return text[: found.start()], _date(found["day"])
    tokens = to_tokens(text)
    words = [at for at, token in enumerate(tokens) if token.is_word or token.is_number] or [0]
    for day in find_days(tokens, today):
        if day.lacks_month or phrases("half_days").end(tokens, day.first) == day.end:
            continue  # "bars from 7", "in the morning": rather notes
        if day.first == words[0]:
            return text[tokens[day.end - 1].end :], day.day
        if day.end == words[-1] + 1 and not phrases("next").at(tokens, day.first - 1):
            return text[: tokens[day.first].start], day.day
    return text, None


def _date(said: str) -> date:
    try:
        return date(*(int(part) for part in said.split("-")))
    except (TypeError, ValueError):
        raise LogLineError(LogProblem.BAD_DATE, said) from None


def _coming(text: str) -> str:
    """Return the day that has not come yet with which a text begins: "tomorrow", "la semana que viene"."""
    tokens = to_tokens(text)
    start = phrases("on").end(tokens, 0)
    end = max(start, *(phrases(name).end(tokens, start) for name in ("tomorrow", "day_after_tomorrow")))
    ahead = phrases("next").end(tokens, start)
    for named in (group_of("weekdays").at(tokens, ahead), phrases("periods").at(tokens, ahead)):
        behind = 0 if named is None else phrases("next").end(tokens, named[0])
        if named is not None and (ahead > start or behind > named[0]):
            end = behind
    return text[: tokens[end - 1].end] if end > start else ""


def _strip(text: str, name: str) -> str:
    """Return the text without phrases of this list at its start and without `trailing` ones at its end."""
    tokens, at = to_tokens(text), 0
    while (end := phrases(name).end(tokens, at)) > at or (at < len(tokens) and tokens[at].text in ",:"):
        at = max(end, at + 1)
    stop = len(tokens)
    for begin in range(len(tokens) - 1, at - 1, -1):
        signs = phrases("trailing").end(tokens, begin)
        if signs > begin and all(token.text in ".!," for token in tokens[signs:stop]):
            stop = begin
    return text[tokens[at].start : tokens[stop - 1].end] if at < stop else ""


def _name_and_notes(text: str, skills: Sequence[str]) -> tuple[str, str]:
    """Return the skill and the notes: a known name first, else what is quoted or set apart, else one word."""
    if not text:
        if len(skills) == 1:
            return skills[0], ""
        raise LogLineError(LogProblem.NO_SKILL, ", ".join(skills))
    tokens = to_tokens(text)
    known = [each for each in find_mentions(tokens, skills) if each.is_exact]
    if known and known[0].first == 0:
        end = tokens[known[0].end - 1].end
        said = text[:end].strip().casefold()
        spelled_so = (skill for skill in skills if skill.casefold() == said)  # "te" and "té" are two skills
        return next(spelled_so, known[0].skill), text[end:].strip(_ENDS)
    quoted = _QUOTED.search(text)
    if quoted is not None:
        return quoted[1], (text[: quoted.start()] + text[quoted.end() :]).strip(_ENDS)
    if known:
        return known[0].skill, text
    apart = _SEPARATOR.split(text, maxsplit=1)
    if len(apart) == 2 and apart[0]:
        return apart[0], apart[1].strip(_ENDS)
    name, _, notes = text.partition(" ")
    return name.strip(_ENDS), notes.strip()


def near_line(line: LogLine, skills: Sequence[str]) -> LogLine | None:
    """Return the line with the known skill that its new name may be a misspelling of; None if there is none."""
    if line.is_quoted or line.skill in skills:
        return None
    said = f"{line.skill} {line.notes}".strip()
    tokens = to_tokens(said)
    for near in find_mentions(tokens, skills):
        own = {each.text for each in to_tokens(near.skill)}
        begins = near.first == 0 or (near.first == 1 and tokens[0].text in own)
        if begins and not near.is_exact:
            return replace(line, skill=near.skill, notes=said[tokens[near.end - 1].end :].strip(_ENDS))
    return None


def with_units(text: str) -> list[str]:
    """Return a line whose number lacks a unit with minutes, and with hours if there may be so many."""
    number = _BARE_NUMBER.search(text)
    if number is None:
        return []
    units = ("m", "h") if int(number[0]) <= MOST_BARE_HOURS else ("m",)
    return [f"{text[: number.end()]}{unit}{text[number.end() :]}" for unit in units]


def explain_log(language: str, error: LogLineError, skills: tuple[str, ...] = ()) -> str:
    """Return the problem of a log line and how to mend it."""
    example = escape(skills[0]) if skills else say(language, "problem.example")
    key = f"problem.{error.problem.value}"
    if error.problem is LogProblem.NO_SKILL and skills:
        key = "problem.which_skill"
    return say(language, key, detail=escape(error.detail), example=example)
