"""Parses durations in all languages at once: "45m", "1h30", "hora y cuarto", "from 7 to 8:30"."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

from text_to_num import text2num  # type: ignore[import-untyped]  # it has no stubs

from agent.coach.vocabulary.words import Token, languages, phrases, to_tokens

MAX_CHARS = 4_000
MAX_SIGNED_CHARS = 40  # read behind a minus
MOST_NUMBER_WORDS = 5
DAY_MINUTES = 1_440
HALF_DAY = 720
_SIGNS = {"½": Fraction(1, 2), "¼": Fraction(1, 4), "¾": Fraction(3, 4)}
_DASHES = frozenset("-–—")
_MINUS = re.compile(r"(?<!\S)[-−–](?=\d)")


@dataclass(frozen=True, slots=True)
class Amount:
    """A stretch of time in a message."""

    minutes: int
    first: int  # tokens from here
    end: int  # up to here
    other: int = 0  # "30 or 40 minutes": the other number; 0: there is none
    is_range: bool = False  # worked out from two times of day


@dataclass(frozen=True, slots=True)
class Duration:
    """A stretch of time in a text."""

    minutes: int
    start: int
    end: int


def find_duration(text: str) -> Duration | None:
    """Return the first stretch of time in a text, or None."""
    tokens = to_tokens(text[:MAX_CHARS])
    found = next((each for each in find_amounts(tokens) if not each.other), None)
    if found is None:
        return None
    return Duration(found.minutes, tokens[found.first].start, tokens[found.end - 1].end)


def is_negative(text: str) -> bool:
    """Return True if a text has a stretch of time behind a minus: "-5m"."""
    behind = (find_duration(text[sign.end() :][:MAX_SIGNED_CHARS]) for sign in _MINUS.finditer(text[:MAX_CHARS]))
    return any(found is not None and not found.start for found in behind)


def find_amounts(tokens: Sequence[Token]) -> list[Amount]:
    """Return every stretch of time, in order."""
    found, at = [], 0
    while at < len(tokens):
        amount = _range(tokens, at) or _amount(tokens, at)
        if amount is not None:
            found.append(amount)
        at = at + 1 if amount is None else amount.end
    return found


def read_number(tokens: Sequence[Token], at: int) -> tuple[Fraction, int] | None:
    """Return the number that begins here, in figures or words, and where it ends."""
    if at >= len(tokens):
        return None
    said = tokens[at].text
    if said in _SIGNS:
        return _SIGNS[said], at + 1
    if (couple := phrases("couple").end(tokens, at)) > at:
        return Fraction(2), couple
    if not tokens[at].is_number:
        return _read_spelled(tokens, at)
    whole, _, part = said.replace(",", ".").partition(".")
    if not whole.isdecimal() or len(whole) > 7 or len(part) > 2 or not (part or "0").isdecimal():
        return None  # "1,040", "16.11.2026"
    value = int(whole) + (Fraction(int(part), 10 ** len(part)) if part else Fraction(0))
    fraction = _fraction(tokens, at + 1)
    if fraction is not None and not part:
        return value + fraction[0], fraction[1]
    slashed = _text(tokens, at + 1) == "/" and tokens[at + 1].glued
    return (_fraction(tokens, at) if slashed else (value, at + 1)) or (value, at + 1)


def _fraction(tokens: Sequence[Token], at: int) -> tuple[Fraction, int] | None:
    """Read "½" or "1/2"."""
    if _text(tokens, at) in _SIGNS:
        return _SIGNS[tokens[at].text], at + 1
    upper, slash, lower = (_text(tokens, at + ahead) for ahead in range(3))
    if slash == "/" and upper in {"1", "3"} and lower in {"2", "4"}:
        return Fraction(int(upper), int(lower)), at + 3
    return None


def _read_spelled(tokens: Sequence[Token], at: int) -> tuple[Fraction, int] | None:
    start = phrases("one").end(tokens, at) if _text(tokens, at + 1) == "hundred" else at
    for end in range(min(len(tokens), start + MOST_NUMBER_WORDS), start, -1):
        if tokens[start].is_word and tokens[end - 1].is_word:
            value = _number_of(" ".join(token.text for token in tokens[start:end]))
            if value is not None:
                return Fraction(value), end
    return None


@cache
def _accents() -> dict[str, str]:
    """Spellings with accents, which the library asks for, by those without."""
    return {"veintidos": "veintidós", "veintitres": "veintitrés", "veintiseis": "veintiséis", "dieciseis": "dieciséis"}


def _number_of(words: str) -> int | None:
    for language in languages():
        try:
            return int(text2num(_accents().get(words, words).replace(" - ", "-"), language.code))
        except ValueError:
            continue
    return None


def _text(tokens: Sequence[Token], at: int) -> str:
    return tokens[at].text if 0 <= at < len(tokens) else ""


def _amount(tokens: Sequence[Token], at: int) -> Amount | None:
    """Read the stretch of time that begins with this token."""
    if at >= len(tokens):
        return None
    if tokens[at].glued and (tokens[at - 1].is_word or tokens[at - 1].is_number or tokens[at - 1].text in "/:$€£#-−+"):
        return None
    part = _part(tokens, at)
    if part is not None and (end := _of_an_hour(tokens, part[1])):
        return Amount(_minutes(part[0] * 60), at, end)
    number = read_number(tokens, at)
    if number is None:
        article = phrases("one").end(tokens, at)
        number = (Fraction(1), article) if article > at else None
    if number is None:
        number = (Fraction(1), at) if phrases("whole").end(tokens, at) > at else None
    if number is None:
        hour = phrases("hours").end(tokens, at)
        tail = _tail(tokens, hour) if hour > at and len(tokens[at].text) > 2 else None
        return None if tail is None else Amount(_minutes(60 + tail[0]), at, tail[1])
    return _read_counted(tokens, at, *number)


def _minutes(value: Fraction) -> int:
    return int(value + Fraction(1, 2))


def _read_counted(tokens: Sequence[Token], at: int, value: Fraction, end: int) -> Amount | None:
    """Read what follows a number: its unit, a second number, or what it is multiplied with."""
    if _text(tokens, end) == ":" and tokens[at].is_number:
        return _colon(tokens, at)
    if (times := phrases("times").end(tokens, end)) > end:
        each = _amount(tokens, times)
        return None if each is None else Amount(_minutes(value * each.minutes), at, each.end, each.other)
    if (other := phrases("or").end(tokens, end)) > end or _text(tokens, end) in _DASHES:
        ahead = read_number(tokens, max(other, end + 1))
        unit = 0 if ahead is None else _unit(tokens, ahead[1])[0]
        if ahead is not None and unit and ahead[0] != value:
            return Amount(_minutes(value * unit), at, _unit(tokens, ahead[1])[1], _minutes(ahead[0] * unit))
    joined = phrases("and").end(tokens, end)
    part = _part(tokens, joined) if joined > end else None
    if part is not None and (hour := phrases("hours").end(tokens, part[1])) > part[1]:
        return Amount(_minutes((value + part[0]) * 60), at, hour)  # "two and a half hours"
    unit, behind = _unit(tokens, end)
    if not unit:
        return None
    tail = _tail(tokens, behind) if unit == 60 else None
    return (
        Amount(_minutes(value * unit), at, behind)
        if tail is None
        else Amount(_minutes(value * unit + tail[0]), at, tail[1])
    )


def _unit(tokens: Sequence[Token], at: int) -> tuple[int, int]:
    """Return the minutes of the unit that stands here, 0 for none, and where it ends."""
    at += _text(tokens, at) in _DASHES and at < len(tokens) and tokens[at].glued
    at = phrases("whole").end(tokens, at)
    for name, minutes in (("minutes", 1), ("hours", 60)):
        end = phrases(name).end(tokens, at)
        if end > at and not (tokens[at].text in "'′" and not tokens[at].glued):
            return minutes, end
    return 0, at


def _colon(tokens: Sequence[Token], at: int) -> Amount | None:
    """Read "1:30" as hours and minutes; from five hours on it is rather a time of day."""
    minutes = _text(tokens, at + 2)
    whole = len(minutes) == 2 and minutes.isdecimal() and minutes < "60" and tokens[at + 2].glued
    if not whole or tokens[at].text not in {"0", "1", "2", "3", "4"} or phrases("half_days").at(tokens, at + 3):
        return None
    if phrases("at").at(tokens, at - 1) or phrases("at").at(tokens, at - 2):
        return None
    return Amount(int(tokens[at].text) * 60 + int(minutes), at, phrases("hours").end(tokens, at + 3))


def _part(tokens: Sequence[Token], at: int) -> tuple[Fraction, int] | None:
    """Read a part of an hour, without the hour: "half", "three quarters", "1/2"."""
    if (fraction := _fraction(tokens, at)) is not None:
        return fraction
    start = phrases("one").end(tokens, at)
    start += start > at and _text(tokens, start) == "-"
    if (half := phrases("half").end(tokens, start)) > start:
        return Fraction(1, 2), half
    number = None if start > at or not tokens[at:] else read_number(tokens, at)
    count, begin = (Fraction(1), start) if number is None else number
    quarter = phrases("quarter").end(tokens, begin)
    return (count / 4, quarter) if quarter > begin and count in {1, 3} else None


def _of_an_hour(tokens: Sequence[Token], at: int) -> int:
    """Return the end of "of an hour", whose small words are optional; 0 if no hour follows."""
    at += _text(tokens, at) == "-"
    at = phrases("one").end(tokens, phrases("of").end(tokens, at))
    end = phrases("hours").end(tokens, at)
    return end if end > at else 0


def _tail(tokens: Sequence[Token], at: int) -> tuple[Fraction, int] | None:
    """Return the minutes behind hours, and where they end: "30", "and a half", ", 20 min"."""
    joined = phrases("and").end(tokens, at)
    part = _part(tokens, joined) if joined > at else None
    if part is not None:
        return part[0] * 60, _of_an_hour(tokens, part[1]) or part[1]
    start = joined if joined > at else at + (_text(tokens, at) == ",")
    number = read_number(tokens, start)
    if number is None or not 0 < number[0] < 60:
        return None
    unit, end = _unit(tokens, number[1])
    if unit == 1:
        return number[0], end
    glued = tokens[start].glued and start == at
    follows = number[1] >= len(tokens) or not tokens[number[1]].is_word or phrases("links").at(tokens, number[1])
    is_bare = _text(tokens, at) != "," and number[0] % 5 == 0 and (joined > at or follows)
    return number if not unit and (glued or is_bare) else None


def read_clock(tokens: Sequence[Token], at: int) -> tuple[int, bool, int] | None:
    """Return a time of day in minutes, if its half of the day was said, and where it ends."""
    at = phrases("at").end(tokens, at)
    hour, dot, minute = _text(tokens, at).partition(".")
    if dot and len(minute) == 2 and hour.isdecimal() and minute < "60" and int(hour[:3]) < 24:
        return _half_day(tokens, int(hour) * 60 + int(minute), at + 1)  # "7.30"
    shift = _before_hour(tokens, at)
    number = read_number(tokens, at if shift is None else shift[1])
    if number is None or number[0].denominator > 1 or number[0] > 24:
        return None
    minutes, end = int(number[0]) * 60 + (0 if shift is None else shift[0]), number[1]
    ahead = _text(tokens, end + 1)
    if _text(tokens, end) in {":", "."} and len(ahead) == 2 and ahead.isdecimal() and tokens[end + 1].glued:
        if ahead > "59":
            return None
        minutes, end = minutes + int(ahead), end + 2
    elif _text(tokens, end) == "h" and tokens[end].glued:
        end += 1
    elif (part := _part(tokens, phrases("and").end(tokens, end))) is not None and phrases("and").at(tokens, end):
        minutes, end = minutes + int(part[0] * 60), part[1]
    elif (minus := phrases("minus").end(tokens, end)) > end and (part := _part(tokens, minus)) is not None:
        minutes, end = minutes - int(part[0] * 60), part[1]
    return _half_day(tokens, minutes, end)


def _before_hour(tokens: Sequence[Token], at: int) -> tuple[int, int] | None:
    """Read "half past" and "quarter to"."""
    part = _part(tokens, at)
    if part is None:
        return None
    for name, sign in (("past", 1), ("before_hour", -1)):
        if (end := phrases(name).end(tokens, part[1])) > part[1]:
            return sign * int(part[0] * 60), end
    return None


def _half_day(tokens: Sequence[Token], minutes: int, end: int) -> tuple[int, bool, int]:
    half = phrases("half_days").at(tokens, end)
    if half is None:
        return minutes % DAY_MINUTES, False, end
    is_late = phrases("afternoons").at(tokens, end) is not None
    return minutes % HALF_DAY + (HALF_DAY if is_late else 0), True, half[0]


def _range(tokens: Sequence[Token], at: int) -> Amount | None:
    """Read what lies between two times of day."""
    start = phrases("from").end(tokens, at)
    first = read_clock(tokens, start) if not tokens[start : start + 1] or not tokens[start].glued else None
    if first is None:
        return None
    to = phrases("until").end(tokens, first[2])
    to = phrases("and").end(tokens, to) if to == first[2] and start > at else to
    to += to == first[2] and _text(tokens, to) in _DASHES
    last = read_clock(tokens, to) if to > first[2] else None
    if last is None or phrases("hours").at(tokens, last[2]) or phrases("minutes").at(tokens, last[2]):
        return None
    colons = any(token.text == ":" for token in tokens[start : last[2]])
    if not (start > at or colons or first[1] or last[1]):
        return None
    whole = DAY_MINUTES if first[1] and last[1] else HALF_DAY
    minutes = (last[0] - first[0]) % whole
    return Amount(minutes, at, last[2], is_range=True) if minutes else None
