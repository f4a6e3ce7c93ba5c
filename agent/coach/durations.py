"""How long somebody says they practised, in English and Spanish: "45m", "1h30", "1.5 h", "hora y media". Pure.

Regular expressions of bounded repetition, so that no text makes them slow; all durations of a text are found in one go.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal

_WORDS = {
    "a": 1, "an": 1, "un": 1, "una": 1, "one": 1, "two": 2, "dos": 2, "three": 3, "tres": 3, "four": 4,
    "cuatro": 4, "five": 5, "cinco": 5, "six": 6, "seis": 6, "seven": 7, "siete": 7, "eight": 8, "ocho": 8,
    "nine": 9, "nueve": 9, "ten": 10, "diez": 10, "fifteen": 15, "quince": 15, "twenty": 20, "veinte": 20,
    "twenty-five": 25, "veinticinco": 25, "thirty": 30, "treinta": 30, "forty-five": 45, "cuarenta y cinco": 45,
    "forty": 40, "cuarenta": 40, "fifty": 50, "cincuenta": 50, "sixty": 60, "sesenta": 60, "ninety": 90,
    "noventa": 90,
}  # fmt: skip
_NUMBER = r"(?:[0-9]{1,7}(?:[.,][0-9]{1,3})?|" + "|".join(sorted(_WORDS, key=lambda word: -len(word))) + ")"
_GAP = r"(?:(?<=[0-9])\s{0,3}|(?<![0-9])\s{1,3})"  # "45m", but "am" is no minute
_HOUR = r"(?:hours?|horas?|hrs?|h)"
_MINUTE = r"(?:minutes?|minutos?|mins?|m|'|′)"
_LEFT = r"(?<![\w.,:/+\-−])"  # a number's own start: "-45m" and "12.45m" hold no "45m"
_FIRST = ("half", "media", "quarter", "cuarto", "h", *_WORDS)
_BEGINNING = re.compile(f"{_LEFT}(?:[0-9]|{'|'.join(_FIRST)})", re.IGNORECASE)  # of each of the readings below
_RIGHT = r"(?!\w)"


@dataclass(frozen=True, slots=True)
class Duration:
    """A stretch of time and where the text says it."""

    minutes: int
    start: int
    end: int


def find_duration(text: str) -> Duration | None:
    """The first duration in the text, the longest reading of it; None where there is none."""
    return next(find_durations(text), None)


def find_durations(text: str) -> Iterator[Duration]:
    """The durations in the text one behind the other, each in its longest reading; in one walk through the text."""
    at = 0
    while begun := _BEGINNING.search(text, at):
        at = begun.end()
        found = [(match, minutes) for pattern, minutes in _READINGS if (match := pattern.match(text, begun.start()))]
        if found:
            match, minutes = max(found, key=lambda reading: reading[0].end())
            at = match.end()
            yield Duration(_whole(minutes(match)), match.start(), at)


def spell_minutes(minutes: int) -> str:
    """Minutes as "45 min", "2 h" or "12 h 15 min": the same in every language, thousands apart by a thin space."""
    hours, rest = divmod(minutes, 60)
    if not hours:
        return f"{rest} min"
    spaced = f"{hours:,}".replace(",", "\u202f")
    return f"{spaced} h {rest} min" if rest else f"{spaced} h"


def _number(written: str) -> Decimal:
    word = _WORDS.get(" ".join(written.lower().split()))
    return Decimal(word) if word is not None else Decimal(written.replace(",", "."))


def _whole(minutes: Decimal) -> int:
    return int(minutes.quantize(Decimal(1), ROUND_HALF_UP))


def _hours_and_half(match: re.Match[str]) -> Decimal:
    return _number(match["n"] or "1") * 60 + 30


def _hours_and_minutes(match: re.Match[str]) -> Decimal:
    return _number(match["n"]) * 60 + _number(match["m"])


def _reading(
    pattern: str, minutes: Callable[[re.Match[str]], Decimal]
) -> tuple[re.Pattern[str], Callable[[re.Match[str]], Decimal]]:
    return re.compile(f"{_LEFT}(?:{pattern}){_RIGHT}", re.IGNORECASE), minutes


_READINGS = (
    _reading(r"three\s+quarters\s+of\s+an\s+hour|tres\s+cuartos\s+de\s+hora", lambda _: Decimal(45)),
    _reading(r"(?:a\s+)?quarter\s+(?:of\s+an\s+)?hour|(?:un\s+)?cuarto\s+de\s+hora", lambda _: Decimal(15)),
    _reading(r"half\s+(?:an?\s+)?hour|media\s+hora", lambda _: Decimal(30)),
    _reading(rf"(?:(?P<n>{_NUMBER}){_GAP})?{_HOUR}\s+(?:and|y)\s+(?:a\s+half|media)", _hours_and_half),
    _reading(rf"(?P<n>{_NUMBER})\s+and\s+a\s+half\s+{_HOUR}", _hours_and_half),
    _reading(rf"(?P<n>{_NUMBER}){_GAP}{_HOUR}(?P<m>[0-5]?[0-9])\s{{0,3}}(?:{_MINUTE})?", _hours_and_minutes),
    _reading(rf"(?P<n>{_NUMBER}){_GAP}{_HOUR}\s+(?P<m>[0-5][0-9])", _hours_and_minutes),
    _reading(
        rf"(?P<n>{_NUMBER}){_GAP}{_HOUR}(?:,\s{{0,3}}|\s{{1,3}}|(?=[0-9]))(?:and\s+|y\s+)?(?P<m>{_NUMBER}){_GAP}{_MINUTE}",
        _hours_and_minutes,
    ),
    _reading(r"(?P<n>[0-9]):(?P<m>[0-5][0-9])(?:\s{0,3}h)?", _hours_and_minutes),
    _reading(rf"(?P<n>{_NUMBER}){_GAP}{_HOUR}", lambda match: _number(match["n"]) * 60),
    _reading(rf"(?P<n>{_NUMBER}){_GAP}{_MINUTE}", lambda match: _number(match["n"])),
)
