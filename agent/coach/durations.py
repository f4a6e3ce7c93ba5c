"""Finds how long in a text, and spells minutes. Pure; how an amount is read is `understanding.amounts`'."""

from collections.abc import Iterator
from dataclasses import dataclass

from agent.coach.understanding.amounts import BEGINS_AMOUNT, read_amount
from agent.coach.understanding.words import words_of


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
    words = words_of(text)
    at = 0
    while at < len(words):
        begins = not words[at].is_name or words[at].plain in BEGINS_AMOUNT
        found = read_amount(words, at) if begins else None
        if found is not None and not found.vague:
            yield Duration(found.whole, words[at].start, words[found.end - 1].end)
        at = at + 1 if found is None else found.end


def spell_minutes(minutes: int) -> str:
    """Minutes as "45 min", "2 h" or "12 h 15 min": the same in every language, thousands apart by a thin space."""
    hours, rest = divmod(minutes, 60)
    if not hours:
        return f"{rest} min"
    spaced = f"{hours:,}".replace(",", "\u202f")
    return f"{spaced} h {rest} min" if rest else f"{spaced} h"
