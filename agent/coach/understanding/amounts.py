"""Reads how long: "45m", "1h30", "hora y cuarto", "three quarters of an hour", "from 7 to 8:30". Pure.

All languages at once: the words of their tables are put together. Each reading looks a few words ahead and no further,
so that the work grows with the text alone. What is no clear number of minutes ("30 or 40 minutes") is read as vague.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

from agent.coach.understanding.amount_words import ENGLISH_AMOUNTS, SPANISH_AMOUNTS
from agent.coach.understanding.words import Word, plain_of, words_of

_TABLES = (ENGLISH_AMOUNTS, SPANISH_AMOUNTS)
_NUMBERS = {plain_of(word): value for table in _TABLES for word, value in table.numbers.items()}
_ONES = frozenset().union(*(table.ones for table in _TABLES))
_HOURS = frozenset().union(*(table.hours for table in _TABLES))
_MINUTES = frozenset().union(*(table.minutes for table in _TABLES)) | {"'", "′", "’"}
_HALF = frozenset().union(*(table.half for table in _TABLES))
_QUARTER = frozenset().union(*(table.quarter for table in _TABLES))
_UNITS = _HOURS | _MINUTES
_AND = frozenset().union(*(table.conjunctions for table in _TABLES))
_SHORT_UNITS = frozenset({"h", "m", "hr", "hrs", "hs", "min", "mins", "'", "′", "’"})
_OF = frozenset({"of", "de"})
_JOINED = frozenset(".,:/+-−–")
_BETWEEN = frozenset({"-", "–", "—", "or", "o", "to", "a"})
_BEHIND_BARE_MINUTES = frozenset({"", ",", ".", "!", *_OF, "con", "on", "with", "today", "hoy", "ayer", "yesterday"})
_FRACTIONS = {"1/2": Fraction(30), "1/4": Fraction(15), "3/4": Fraction(45)}
_SIGNS = {"½": Fraction(30), "¼": Fraction(15), "¾": Fraction(45)}
_TIMES = frozenset(
    {"x", "×", "sets", "rounds", "sessions", "blocks", "series", "sesiones", "rondas", "bloques", "tandas"}
)
_EMPHASIS = frozenset([
    "more", "whole", "full", "solid", "good", "long", "entire", "straight", "decent", "cracking", "lovely", "great",
    "nice",
    "productive", "brilliant", "quick", "intense", "glorious", "wonderful", "tidy", "proper", "fun", "focused",
    "relaxed",
    "brutal", "buena", "buen", "linda", "rica", "larga", "gran", "bonita", "intensa", "hermosa", "estupenda",
])  # fmt: skip
_ONE_MORE = frozenset({"another", "otra", "otro"})
_ONE_HOUR = frozenset({"hour", "hr", "hora", "horita"})
_SAID_QUARTERS = frozenset({1, 3})
"""Of an hour; "2 quarter hours" may be two and a quarter."""

_EACH = frozenset({"each", "apiece"})
BEGINS_AMOUNT = frozenset({*_NUMBERS, "couple", "par"}) | _ONES | _ONE_MORE | _EMPHASIS | _HALF | _QUARTER | _ONE_HOUR
"""Words, without accents, with which an amount can begin; figures aside."""

MAX_DIGITS = 7


@dataclass(frozen=True, slots=True)
class Amount:
    """A stretch of time in a text."""

    minutes: Fraction
    end: int  # of the words it takes, the first that it does not
    short: bool = False  # as in a log book: "45m"
    vague: bool = False  # "30 or 40 minutes": no clear number
    unit: int = 1  # minutes in the unit that a bare number behind it would have

    @property
    def whole(self) -> int:
        """Whole minutes, half ones upwards."""
        return int(self.minutes + Fraction(1, 2))


def read_number(words: Sequence[Word], at: int) -> tuple[Fraction, int] | None:
    """The number that begins here, in figures or spelled out, and where it ends."""
    if at >= len(words):
        return None
    word = words[at]
    if word.is_number:
        return _figures(words, at)
    if word.text in {"½", "¼", "¾"}:
        return {"½": Fraction(1, 2), "¼": Fraction(1, 4), "¾": Fraction(3, 4)}[word.text], at + 1
    if word.plain not in _NUMBERS:
        return _couple(words, at)
    value, end = _NUMBERS[word.plain], at + 1
    if word.plain == "ciento" and 0 < _NUMBERS.get(_plain(words, end), 0) < 100:
        behind = read_number(words, end)
        return (100 + behind[0], behind[1]) if behind is not None else None
    if value >= 20 and value % 10 == 0:
        ahead = _ones_behind(words, end)
        if ahead is not None:
            value, end = value + ahead[0], ahead[1]
    return Fraction(value), end


def _figures(words: Sequence[Word], at: int) -> tuple[Fraction, int] | None:
    whole, _, part = words[at].text.replace(",", ".").partition(".")
    if len(whole) > MAX_DIGITS or len(part) > 2:  # "1,040 minutes" is no minute and a bit
        return None
    value = Fraction(int(whole)) + (Fraction(int(part), 10 ** len(part)) if part else 0)
    if at + 1 < len(words) and words[at + 1].text in {"½", "¼", "¾"}:
        return value + {"½": Fraction(1, 2), "¼": Fraction(1, 4), "¾": Fraction(3, 4)}[words[at + 1].text], at + 2
    return value, at + 1


def _couple(words: Sequence[Word], at: int) -> tuple[Fraction, int] | None:
    """As "a couple of", "un par de", "a hundred and twenty"."""
    said = [word.plain for word in words[at : at + 5]]
    start = 1 if said[0] in _ONES else 0
    rest = said[start:]
    if rest[:1] in (["couple"], ["par"]):
        return Fraction(2), at + start + 1 + (len(rest) > 1 and rest[1] in _OF)
    if start and rest[:1] == ["hundred"]:
        more = at + 2 + (rest[1:2] == ["and"])
        behind = read_number(words, more) if more < len(words) and not words[more].is_number else None
        if behind is not None and behind[0] < 100:
            return 100 + behind[0], behind[1]
        return Fraction(100), at + 2
    return None


def _ones_behind(words: Sequence[Word], at: int) -> tuple[int, int] | None:
    """The ones behind tens: "forty five", "forty-five", "cuarenta y cinco"."""
    for skipped in (("-",), ("y",), ()):
        end = at + len(skipped)
        if tuple(word.plain for word in words[at:end]) == skipped and end < len(words):
            value = _NUMBERS.get(words[end].plain)
            if value is not None and 1 <= value <= 9:
                return value, end + 1
    return None


def _plain(words: Sequence[Word], at: int) -> str:
    return words[at].plain if at < len(words) else ""


def read_amount(words: Sequence[Word], at: int) -> Amount | None:
    """The stretch of time that begins with this word, in its longest reading; None where none does."""
    if at and words[at].follows(words[at - 1]) and (words[at - 1].text in _JOINED or words[at - 1].text[-1].isalnum()):
        return None
    return _times(words, at) or _part_of_hour(words, at) or _number_and_unit(words, at) or _bare_hour(words, at)


def _times(words: Sequence[Word], at: int) -> Amount | None:
    """As "3 x 10 min", "2 sets of 15 minutes"."""
    number = read_number(words, at)
    end = number[1] if number is not None else at
    if number is None or _plain(words, end) not in _TIMES or number[0].denominator != 1:
        return None
    end += 1 + (_plain(words, end + 1) in _OF)
    each = _number_and_unit(words, end) if end < len(words) else None
    if each is None or each.vague:
        return None
    last = each.end + (_plain(words, each.end) in _EACH)
    return replace(each, minutes=each.minutes * number[0], end=last, short=False)


def _part_of_hour(words: Sequence[Word], at: int) -> Amount | None:
    """Half and quarter hours."""
    start = at + (_plain(words, at) in _ONES)
    fraction = _FRACTIONS.get("".join(word.text for word in words[at : at + 3]))
    if fraction is not None:
        end = _of_an_hour(words, at + 3)
        return Amount(fraction, end) if end else None
    number = read_number(words, at)
    if number is not None and number[0] in _SAID_QUARTERS and _plain(words, number[1]) in _QUARTER:
        end = _of_an_hour(words, number[1] + 1)
        return Amount(15 * number[0], end) if end else None
    if _plain(words, start) in _QUARTER:
        end = _of_an_hour(words, start + 1)
        return Amount(Fraction(15), end) if end else None
    if _plain(words, start) in _HALF:
        end = _of_an_hour(words, start + 1)
        return Amount(Fraction(30), end, unit=60) if end else None
    return None


def _of_an_hour(words: Sequence[Word], at: int) -> int:
    """Where "of an hour" ends, which may lack its small words; 0 where no hour follows."""
    at += _plain(words, at) in {*_OF, "-"}
    at += _plain(words, at) in _ONES
    return at + 1 if _plain(words, at) in _HOURS else 0


def _number_and_unit(words: Sequence[Word], at: int) -> Amount | None:
    """A number and its unit."""
    number = read_number(words, at)
    if number is None and (_plain(words, at) in _ONES | _ONE_MORE or _is_one_hour(words, at)):
        number = Fraction(1), at + 1
    if number is None:
        return None
    value, end = number
    found = _colon(words, at) or _vague(words, end, at) or _and_a_part(words, value, end)
    if found is not None:
        return found
    end += _is_hyphen(words, end) or _plain(words, end) in _EMPHASIS
    if _plain(words, end) in _MINUTES:
        return _minutes(words, value, end, at)
    if _plain(words, end) in _HOURS:
        return _hours(words, value, end, words[end].plain in _SHORT_UNITS and words[at].is_number)
    return None


def _is_one_hour(words: Sequence[Word], at: int) -> bool:
    """As "good hour of tennis", "buena horita de tenis"."""
    return _plain(words, at) in _EMPHASIS and _plain(words, at + 1) in _ONE_HOUR


def _and_a_part(words: Sequence[Word], value: Fraction, end: int) -> Amount | None:
    """As "two and a quarter hours", "2 1/4 h", "dos y media horas"."""
    joined = _plain(words, end) in _AND or (_plain(words, end) == "-" and _plain(words, end + 1) in _AND)
    start = end + joined + (_plain(words, end) == "-" and joined)
    if not joined and not (start < len(words) and words[start].is_number):
        return None
    part = _part(words, start)
    if part is None or value.denominator != 1:
        return None
    behind = part[1] + (_plain(words, part[1]) == "-")
    return Amount(value * 60 + part[0], behind + 1, unit=60) if _plain(words, behind) in _HOURS else None


def _part(words: Sequence[Word], at: int) -> tuple[Fraction, int] | None:
    """The minutes of half an hour, or of its quarters, of which the hour is not said here: "a half", "3/4"."""
    if _plain(words, at) in _SIGNS:
        return _SIGNS[words[at].text], at + 1
    fraction = _FRACTIONS.get("".join(word.text for word in words[at : at + 3]))
    if fraction is not None:
        return fraction, at + 3
    start = at + (_plain(words, at) in _ONES)
    start += start > at and _plain(words, start) == "-"
    if _plain(words, start) in _HALF:
        return Fraction(30), start + 1
    number = (Fraction(1), start) if _plain(words, start) in _QUARTER else read_number(words, at)
    if number is None or not 0 < number[0] < 4:
        return None
    end = number[1] + (_plain(words, number[1]) == "-")
    return (number[0] * 15, end + 1) if _plain(words, end) in _QUARTER else None


def _is_hyphen(words: Sequence[Word], at: int) -> bool:
    """Whether a unit hangs on the number with a hyphen: "45-minute"."""
    return _plain(words, at) == "-" and words[at].follows(words[at - 1]) and _plain(words, at + 1) in _UNITS


def _minutes(words: Sequence[Word], value: Fraction, unit: int, at: int) -> Amount | None:
    mark = words[unit]
    if mark.plain == "minuets" and value < 10:
        return None  # those are dances
    if not mark.is_name and not mark.follows(words[unit - 1]):
        return None  # "45 '": a quotation, no minutes
    if unit + 1 < len(words) and words[unit + 1].is_number and words[unit + 1].follows(mark) and mark.is_name:
        return None  # "45m2"
    end = unit + 1 + (mark.is_name and unit + 1 < len(words) and words[unit + 1].text == "'")  # "40 minutes' practice"
    return Amount(value, end, mark.plain in _SHORT_UNITS and words[at].is_number)


def _colon(words: Sequence[Word], at: int) -> Amount | None:
    """As "1:30": hours and minutes; from five hours on rather a time of day."""
    if at + 2 >= len(words) or words[at + 1].text != ":" or not words[at + 2].is_number:
        return None
    first, second = words[at].text, words[at + 2].text
    glued = words[at + 1].follows(words[at]) and words[at + 2].follows(words[at + 1])
    if not (glued and len(first) == 1 and first < "5" and len(second) == 2 and second.isdecimal() and second < "60"):
        return None
    end = at + 3
    if _plain(words, end) in {"am", "pm", ":", "a", "p"}:
        return None
    return Amount(Fraction(int(first) * 60 + int(second)), end + (_plain(words, end) in _HOURS), short=True, unit=60)


def _vague(words: Sequence[Word], end: int, at: int) -> Amount | None:
    """As "30 or 40 minutes": what stands behind the first number."""
    if _plain(words, end) not in _BETWEEN and not (
        at and _plain(words, at - 1) in {"between", "entre"} and _plain(words, end) in _AND
    ):
        return None
    other = read_number(words, end + 1)
    if other is None or _plain(words, other[1]) not in (_MINUTES | _HOURS):
        return None
    return Amount(other[0], other[1] + 1, vague=True)


def _bare_hour(words: Sequence[Word], at: int) -> Amount | None:
    """As "hora y media", "hour and a half", without a number before it."""
    if _plain(words, at) not in _ONE_HOUR:
        return None
    found = _hours(words, Fraction(1), at, False)
    begins = (
        (at == 0 or not words[at - 1].text[0].isalnum())
        and _plain(words, at) == "hour"
        and _plain(words, at + 1) == "of"
    )
    return found if begins or found.end > at + 1 else None


def _hours(words: Sequence[Word], value: Fraction, unit: int, short: bool) -> Amount:
    """Hours and what is added to them."""
    plain = Amount(value * 60, unit + 1, short, unit=60)
    at = unit + 1
    if at >= len(words):
        return plain
    if words[at].is_number and words[at].follows(words[unit]):
        return _glued_minutes(words, value, at) or plain
    joined = words[at].plain in _AND
    more = (
        _minutes_behind(words, at + joined, joined)
        if joined
        else _minutes_behind(words, at + (words[at].text == ","), False)
    )
    return Amount(value * 60 + more[0], more[1], short) if more else plain


def _glued_minutes(words: Sequence[Word], value: Fraction, at: int) -> Amount | None:
    """As "1h30", "1h30m"."""
    if not words[at].text.isdecimal() or int(words[at].text[:4]) > 59:
        return None
    end = at + 1
    if _plain(words, end) in _MINUTES:
        end += 1
    elif end < len(words) and words[end].follows(words[at]) and words[end].is_name:
        return None
    return Amount(value * 60 + int(words[at].text), end, short=True)


def _minutes_behind(words: Sequence[Word], at: int, joined: bool) -> tuple[Fraction, int] | None:
    """The minutes behind hours, and where they end."""
    part = _part(words, at) if joined else None
    if part is not None:
        return part[0], _of_an_hour(words, part[1]) or part[1]
    number = read_number(words, at)
    if number is None or not 0 < number[0] < 60:
        return None
    if _plain(words, number[1]) in _MINUTES:
        return number[0], number[1] + 1
    return number if _are_bare_minutes(words, at, number, joined) else None


def _are_bare_minutes(words: Sequence[Word], at: int, number: tuple[Fraction, int], joined: bool) -> bool:
    """Whether a number behind hours, of which no unit is said, counts minutes."""
    behind = _plain(words, number[1])
    bare = behind not in (_HOURS | _OF | _BETWEEN | {"en", ":", "por", "/", "."}) and number[0] >= 5
    if words[at].is_name:  # "una hora y veinte", "una hora diez de bajo"
        return (joined and bare) or (number[0] >= 5 and behind in _BEHIND_BARE_MINUTES)
    if joined and bare and len(words[at].text) == 2:  # "una hora y 20"
        return True
    short = len(words[at].text) == 2 and words[at - 1].plain in _SHORT_UNITS
    of = len(words[at].text) == 2 and words[at - 1].plain in _HOURS and behind in _OF and number[0] >= 5
    figures = not joined and words[at].is_number and len(words[at].text) == 2
    ends = words[at - 1].plain in _HOURS and behind in _BEHIND_BARE_MINUTES  # "1 hour 20, wow"
    return figures and ((short and bare) or of or ends)  # "1 h 30", "1 hour 20 of salsa"


# ---------------------------------------------------------------- anywhere in a text


@dataclass(frozen=True, slots=True)
class Duration:
    """A stretch of time and where the text says it."""

    minutes: int
    start: int
    end: int


def find_duration(text: str) -> Duration | None:
    """The first duration in the text, the longest reading of it; None where there is none."""
    return next(iter(find_durations(text)), None)


def find_durations(text: str) -> Sequence[Duration]:
    """The durations in the text one behind the other, each in its longest reading; in one walk through the text."""
    return _all_durations(text)


@lru_cache(maxsize=4)  # one message is read for several things
def _all_durations(text: str) -> tuple[Duration, ...]:
    return tuple(_walk(words_of(text)))


def _walk(words: Sequence[Word]) -> Iterator[Duration]:
    at = 0
    while at < len(words):
        begins = not words[at].is_name or words[at].plain in BEGINS_AMOUNT
        found = read_amount(words, at) if begins else None
        if found is not None and not found.vague:
            yield Duration(found.whole, words[at].start, words[found.end - 1].end)
        at = at + 1 if found is None else found.end
