"""Reads times of day and what lies between two: "from 7 to 8:30", "de seis a siete menos cuarto", "at 7pm". Pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from agent.coach.understanding.amounts import find_duration, read_number
from agent.coach.understanding.words import Word, words_of

_FROM = frozenset({"from", "between", "de", "desde", "entre"})
_TO = frozenset(["to", "till", "until", "til", "a", "hasta", "and", "y", "-", "–", "—"])
_BESIDE = frozenset({"and", "y"})
_DOTTED = re.compile("([0-9]{1,2})[.]([0-5][0-9])")
_UNITS = frozenset([
    "minutes", "minute", "mins", "min", "m", "hours", "hour", "h", "hrs", "hr", "minutos", "minuto", "horas", "hora",
    "bpm", "reps", "pages", "paginas", "bars"
])  # fmt: skip
_NOON = {"noon": 720, "midday": 720, "mediodia": 720, "midnight": 0, "medianoche": 0}
_DAY_PARTS = {
    ("de", "la", "tarde"): 720,
    ("de", "la", "noche"): 720,
    ("de", "la", "manana"): 0,
    ("del", "mediodia"): 720,
    ("in", "the", "evening"): 720,
    ("in", "the", "afternoon"): 720,
    ("in", "the", "morning"): 0,
    ("at", "night"): 720,
}
BEGINS_CLOCK = _FROM | _NOON.keys() | {"las", "la", "a", "quarter", "half"}
"""Words, without accents, with which a time of day can begin; numbers aside."""

HALF_DAY = 720
LONGEST = 6 * 60
"""A longer stretch between two times is asked about: perhaps one of them was read wrongly."""


@dataclass(frozen=True, slots=True)
class Clock:
    """A time of day."""

    minute: int  # of the day, as said
    end: int  # of the words it takes
    is_certain: bool  # which half of the day is said
    is_time: bool  # it has a colon, am or pm: no bare number


@dataclass(frozen=True, slots=True)
class ClockRange:
    """Between two times of day."""

    minutes: int
    until: int  # the minute of the day at which it ends, in the half of the day that is said or else likely
    end: int
    is_clear: bool


def read_clock(words: Sequence[Word], at: int) -> Clock | None:
    """The time of day that begins here."""
    at += at < len(words) and words[at].plain in {"las", "la"}
    if at >= len(words):
        return None
    if words[at].plain in _NOON:
        return Clock(_NOON[words[at].plain], at + 1, True, True)
    spoken = _past_or_to(words, at)
    if spoken is not None:
        return spoken
    dotted = _DOTTED.fullmatch(words[at].text)
    half, end = _half_of_day(words, at + 1)
    led = at > 0 and words[at - 1].plain in _TO | _FROM - _BESIDE
    if dotted is not None and int(dotted[1]) <= 12 and half is not None:  # "6.30pm"
        return Clock(int(dotted[1]) % 12 * 60 + int(dotted[2]) + half, end, True, True)
    if dotted is not None and int(dotted[1]) <= 12 and led:  # "from 7 to 8.30"
        return Clock(int(dotted[1]) * 60 + int(dotted[2]), end, False, True)
    number = read_number(words, at)
    if number is None or number[0].denominator != 1 or number[0] > 24:
        return None
    hour, end = int(number[0]), number[1]
    end += _oclock(words, end)
    minutes = _minutes(words, end)
    past, end = minutes if minutes is not None else (0, end)
    half, end = _half_of_day(words, end)
    if half is None:
        certain = hour > 12 or hour == 0
        return Clock((hour * 60 + past) % 1440, end, certain, minutes is not None)
    return Clock((hour % 12) * 60 + past + (half if hour <= 12 else 720), end, True, True)


def _oclock(words: Sequence[Word], at: int) -> int:
    """How many words "o'clock" takes here."""
    return int(at < len(words) and words[at].plain in {"o'clock", "oclock"})


def _past_or_to(words: Sequence[Word], at: int) -> Clock | None:
    """As "quarter past 3", "half past two", "ten to six"."""
    start = at + (words[at].plain == "a")
    said = words[start].plain if start < len(words) else ""
    number = read_number(words, start)
    minutes, end = {"quarter": 15, "half": 30}.get(said, 0), start + 1
    if not minutes and number is not None and number[0] in {5, 10, 20, 25} and words[start].is_name:
        minutes, end = int(number[0]), number[1]
    side = words[end].plain if end < len(words) else ""
    british = read_number(words, end) if said == "half" and side not in {"past", "to", "an"} else None
    if british is not None and british[0] in range(1, 13) and not _is_unit(words, british[1]):  # "half 7"
        return Clock(int(british[0]) * 60 + 30, british[1], False, True)
    hour = read_number(words, end + 1)
    if not minutes or side not in {"past", "to"} or hour is None or hour[0] not in range(1, 13):
        return None
    if side == "to" and said != "quarter":
        return None
    half, end = _half_of_day(words, hour[1] + _oclock(words, hour[1]))
    past = minutes if side == "past" else -minutes
    return Clock(
        ((int(hour[0]) % 12 if half is not None else int(hour[0])) * 60 + past + (half or 0)) % 1440,
        end,
        half is not None,
        True,
    )


def _is_unit(words: Sequence[Word], at: int) -> bool:
    return at < len(words) and words[at].plain in _UNITS


def _minutes(words: Sequence[Word], at: int) -> tuple[int, int] | None:
    """The minutes behind an hour: ":30", "y media", "menos cuarto"."""
    said = [word.plain for word in words[at : at + 3]]
    if said[:1] in ([":"], ["h"], ["."]) and len(said) > 1 and said[1].isdecimal() and len(said[1]) == 2:
        if int(said[1]) < 60 and words[at + 1].follows(words[at]):
            return int(said[1]), at + 2
        return None
    if said[:2] in (["y", "media"], ["and", "half"]):
        return 30, at + 2
    if said[:2] == ["y", "cuarto"]:
        return 15, at + 2
    if said[:2] == ["menos", "cuarto"]:
        return -15, at + 2
    if said[:1] == ["menos"] or (said[:1] == ["y"] and len(said) > 1 and not said[1].isdecimal()):
        number = read_number(words, at + 1)
        if number is not None and number[0] in {5, 10, 15, 20, 25} and words[at + 1].is_name:
            return int(number[0]) * (-1 if said[0] == "menos" else 1), number[1]
    return None


def _half_of_day(words: Sequence[Word], at: int) -> tuple[int | None, int]:
    """Minutes to add for am or pm, and where it ends; None where it is not said."""
    said = [word.plain for word in words[at : at + 4]]
    if said[:1] in (["am"], ["pm"]):
        return HALF_DAY * (said[0] == "pm"), at + 1
    if len(said) >= 3 and said[0] in {"a", "p"} and said[1] == "." and said[2] == "m":
        return HALF_DAY * (said[0] == "p"), at + 3 + (said[3:] == ["."])
    for words_said, half in _DAY_PARTS.items():
        if tuple(said[: len(words_said)]) == words_said:
            return half, at + len(words_said)
    if said[:1] in (["h"], ["hs"], ["hrs"]):
        return None, at + 1
    return None, at


def read_clock_range(words: Sequence[Word], at: int) -> ClockRange | None:
    """What lies between two times of day, if these words say so: bare numbers need "from" before them."""
    led = words[at].plain in _FROM
    start = read_clock(words, at + led)
    if start is None or start.end >= len(words) or words[start.end].plain not in _TO:
        return None
    stop = read_clock(words, start.end + 1)
    timed = ":" in words[start.end - 2].text and words[start.end].plain in _TO - _BESIDE
    if stop is None or not (led or timed or (start.is_time and stop.is_time) or (stop.is_time and stop.is_certain)):
        return None
    if stop.end < len(words) and (words[stop.end].plain in _UNITS or words[stop.end].text in {"%", "/"}):
        return None
    if at and words[at].is_number and words[at].follows(words[at - 1]) and words[at - 1].text in "-:./":
        return None
    first, last = _same_half(start, stop)
    minutes = (last - first) % 1440
    if minutes > HALF_DAY and not (start.is_certain and stop.is_certain):
        minutes -= HALF_DAY
    return ClockRange(minutes, last, stop.end, 0 < minutes <= LONGEST)


def _same_half(start: Clock, stop: Clock) -> tuple[int, int]:
    """Both minutes of the day, in the half of the day that one of them says."""
    first, last = start.minute, stop.minute
    if stop.is_certain and not start.is_certain and last >= HALF_DAY and first + HALF_DAY < last:
        first += HALF_DAY
    elif start.is_certain and not stop.is_certain and last <= first:
        last += HALF_DAY
    return first, last


MAX_LINE_CHARS = 4_000


def spell_range(text: str) -> str:
    """A log line with what lies between two times as a duration: "from 7 to 8:30 guitar" is "90m guitar".

    Where a duration is said beside the times, that one counts.
    """
    duration, words = find_duration(text[:MAX_LINE_CHARS]), words_of(text[:MAX_LINE_CHARS])
    for at, word in enumerate(words):
        between = read_clock_range(words, at)
        if between is not None and between.is_clear:
            end = words[between.end - 1].end
            if duration is None or word.start <= duration.start < end:
                return f"{text[: word.start]}{between.minutes}m{text[end:]}"
    return text
