"""The arguments of /log: "45m guitar scales", several entries with ";" between them. English and Spanish.

What is unclear is refused with a reason, never guessed. Nothing is stored here.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from enum import StrEnum

from agent.catalogue import escape
from agent.coach.practice import DAY_MINUTES, PracticeRefused, check_entry, clean_name, clean_notes, name_key
from agent.coach.texts import say
from agent.coach.vocabulary.amounts import find_duration
from agent.wellformed import clean

MAX_LINE_CHARS = 4_000
"""More than this is no log line; the rest is not read."""


class LogProblem(StrEnum):
    """A reason why a log line cannot be used; each has a text that says what to do."""

    EMPTY = "empty"
    NO_DURATION = "no_duration"
    NO_UNIT = "no_unit"  # "45 guitar"
    ZERO = "zero"
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


_DAY_WORDS = {
    "today": 0, "hoy": 0, "tonight": 0, "this morning": 0, "esta mañana": 0, "yesterday": 1, "ayer": 1,
    "last night": 1, "anoche": 1, "day before yesterday": 2, "the day before yesterday": 2, "anteayer": 2, "antier": 2,
}  # fmt: skip
_WEEKDAYS = {
    "monday": 0, "tuesday": 1, "wednesday": 2, "thursday": 3, "friday": 4, "saturday": 5, "sunday": 6,
    "lunes": 0, "martes": 1, "miércoles": 2, "miercoles": 2, "jueves": 3, "viernes": 4, "sábado": 5, "sabado": 5,
    "domingo": 6,
}  # fmt: skip
_WEEKDAY = rf"(?:{'|'.join(_WEEKDAYS)})"
_DAY = (
    r"(?:(?:on|el)\s+(?:last\s+)?)?"
    r"(?:(?P<iso>[0-9]{4}-[0-9]{1,2}-[0-9]{1,2})|(?P<other>[0-9]{1,2}[/.][0-9]{1,2}(?:[/.][0-9]{2,4})?)"
    r"|(?P<ago>[0-9]{1,3})\s+days?\s+ago|hace\s+(?P<hace>[0-9]{1,3})\s+d[ií]as?"
    rf"|(?P<word>{'|'.join(sorted(_DAY_WORDS, key=lambda word: -len(word)))})"
    rf"|(?P<weekday>{_WEEKDAY}))"
)
_DAY_FIRST = re.compile(rf"\s*{_DAY}(?![\w-])[\s,:.]*", re.IGNORECASE)
_DAY_LAST = re.compile(rf"(?:^|[\s,])(?=\w){_DAY}[\s.,:!]*\Z", re.IGNORECASE)
_AHEAD = (
    rf"(?:tomorrow|(?:the )?day after tomorrow|next (?:week|month|{_WEEKDAY})|(?:pasado )?ma[ñn]ana"
    rf"|(?:el )?(?:pr[oó]ximo {_WEEKDAY}|{_WEEKDAY} (?:que viene|pr[oó]ximo))"
    r"|(?:la )?(?:semana que viene|pr[oó]xima semana))"
)
_AHEAD_FIRST = re.compile(rf"{_AHEAD}(?![\w'’-])", re.IGNORECASE)
_AHEAD_ALONE = re.compile(rf"(?:for |on |para )?{_AHEAD}", re.IGNORECASE)
_NEXT = re.compile(r"\b(?:next|pr[oó]ximo)\s*\Z", re.IGNORECASE)
_LEAD = re.compile(
    r"\s*(?:please|por\s+favor|hey|hi|hola|i['’]ve|i|have|just|also|log|add|record|register|did|done|"
    r"practi[cs]ed|practi[cs]ing|practi[cs]e|played|studied|spent|worked|trained|for|about|he|acabo|de|practi(?:car|cado|qu[eé])|"
    r"toqu[eé]|tocado|estudi[eé]|estudiado|hice|hecho|registra|anota|apunta|durante|unos|unas|today|hoy)(?![\w'’])[\s,:]*",
    re.IGNORECASE,
)
_LINK = re.compile(
    r"\s*(?:of|on|with|at|the|my|to|practi[cs]ing|playing|doing|de|del|con|en|al|la|el|mi)(?!\w)\s*", re.IGNORECASE
)
_TAIL = re.compile(
    r"(?:^|(?<![\s,])[\s,]++)(?:for|about|durante|unos|unas|please|por\s+favor|thanks|thank\s+you|gracias)[\s.!]*\Z",
    re.IGNORECASE,
)
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
        raise LogLineError(LogProblem.NO_UNIT if _BARE_NUMBER.search(line) else LogProblem.NO_DURATION)
    if (ahead := _AHEAD_FIRST.match(line[: duration.start])) is not None:
        raise LogLineError(LogProblem.FUTURE, ahead[0])
    before, day = _take_day(line[: duration.start], today)
    after, day_after = _take_day(line[duration.end :], today)
    before = _TAIL.sub("", _strip_all(_LEAD, before)).strip(_ENDS)
    after = _TAIL.sub("", _strip_all(_LINK, after.lstrip(_ENDS))).rstrip(" ,;:|-–—")
    if not before and not after:
        after, more = clean(more), ""
    name, notes = _name_and_notes(before or after, skills)
    rest = (notes, after if before else "", more)
    if (ahead := _AHEAD_ALONE.fullmatch(rest[1] or notes or name)) is not None:
        raise LogLineError(LogProblem.FUTURE, ahead[0])
    said = day or day_after or today
    return _check(duration.minutes, name, " ".join(part for part in rest if part), said, today)


def _check(minutes: int, name: str, notes: str, day: date, today: date) -> LogLine:
    try:
        check_entry(minutes, day, today)
        return LogLine(minutes, clean_name(name), clean_notes(notes), day)
    except PracticeRefused as refused:
        detail = refused.detail or (str(DAY_MINUTES // 60) if refused.refusal == "too_long" else name)
        raise LogLineError(LogProblem(refused.refusal.value), detail) from None


def _take_day(text: str, today: date) -> tuple[str, date | None]:
    """Return the text without a date at its start or end, and that date."""
    match = _DAY_FIRST.match(text)
    if match is not None:
        return text[match.end() :], _day(match, today)
    lead = _LEAD.match(text)
    match = _DAY_LAST.search(text) if lead is None or lead.end() < len(text) else None
    if match is not None and not _NEXT.search(text[: match.start()]):
        return text[: match.start()], _day(match, today)
    return text, None


def _day(match: re.Match[str], today: date) -> date:
    said = match[0].strip(" ,.:!")
    if match["other"]:
        raise LogLineError(LogProblem.BAD_DATE, said)
    if match["iso"]:
        try:
            return date(*(int(part) for part in match["iso"].split("-")))
        except ValueError:
            raise LogLineError(LogProblem.BAD_DATE, said) from None
    if match["weekday"]:
        back = (today.weekday() - _WEEKDAYS[match["weekday"].lower()]) % 7
        return today - timedelta(days=back)
    if match["word"]:
        return today - timedelta(days=_DAY_WORDS[" ".join(match["word"].lower().split())])
    return today - timedelta(days=int(match["ago"] or match["hace"]))


def _strip_all(pattern: re.Pattern[str], text: str) -> str:
    """Return the text without every match at its start."""
    at = 0
    while (match := pattern.match(text, at)) is not None and match.end() > at:
        at = match.end()
    return text[at:]


def _name_and_notes(text: str, skills: Sequence[str]) -> tuple[str, str]:
    """Which skill, and what is left to note: a known name first, else what is quoted or set apart, else one word."""
    if not text:
        if len(skills) == 1:
            return skills[0], ""
        raise LogLineError(LogProblem.NO_SKILL, ", ".join(skills))
    known = _known_at_start(text, skills)
    if known is not None:
        return known
    quoted = _QUOTED.search(text)
    if quoted is not None:
        return quoted[1], (text[: quoted.start()] + text[quoted.end() :]).strip(_ENDS)
    words = _words(text)
    inside = next((name for name in skills if _words(name) in words), None)
    if inside is not None:
        return inside, text
    apart = _SEPARATOR.split(text, maxsplit=1)
    if len(apart) == 2 and apart[0]:
        return apart[0], apart[1].strip(_ENDS)
    name, _, notes = text.partition(" ")
    return name.strip(_ENDS), notes.strip()


def _known_at_start(text: str, skills: Sequence[str]) -> tuple[str, str] | None:
    """Return the longest known skill the text starts with, and the rest."""
    for name in sorted(skills, key=len, reverse=True):
        end = len(name)
        if name_key(text[:end]) == name_key(name) and not text[end : end + 1].isalnum():
            return name, text[end:].strip(_ENDS)
    return None


def _words(text: str) -> str:
    """Return the words of a text between single spaces, one at each end."""
    return " " + " ".join(re.findall(r"\w+", name_key(text))) + " "


def explain_log(language: str, error: LogLineError, skills: tuple[str, ...] = ()) -> str:
    """Return the problem of a log line and how to mend it."""
    example = escape(skills[0]) if skills else say(language, "problem.example")
    key = f"problem.{error.problem.value}"
    if error.problem is LogProblem.NO_SKILL and skills:
        key = "problem.which_skill"
    return say(language, key, detail=escape(error.detail), example=example)
