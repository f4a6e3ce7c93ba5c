"""Reads "no, 40 minutes, and it was piano yesterday": what of an entry is to be another. Pure.

Only what is said changes, and only a skill that the person has: a new name in a sentence is a guess.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from agent.coach.durations import find_durations
from agent.coach.log_line import MAX_LINE_CHARS, find_day
from agent.coach.practice import name_key
from agent.wellformed import clean

_NOT = re.compile(r"\b(?:not|no|instead\s+of|rather\s+than|en\s+vez\s+de)\s+(?:(?:the|la|el)\s+)?\Z", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Correction:
    """What is right instead; what is None stays."""

    minutes: int | None = None
    skill: str | None = None  # as the person spells it in their list
    day: date | None = None


def read_correction(text: str, today: date, skills: Sequence[str]) -> Correction:
    """What the text says; `skills` are the names the person has.

    Raises:
        LogLineError: it names a date that is none.
    """
    said = clean(text[:MAX_LINE_CHARS])
    durations = list(find_durations(said))
    ends = [0, *(duration.end for duration in durations)]
    starts = [*(duration.start for duration in durations), len(said)]
    rest = "|".join(said[end:start] for end, start in zip(ends, starts, strict=True))
    minutes = durations[0].minutes if durations else None
    return Correction(minutes, find_skill(rest, skills), find_day(rest, today))


def find_skill(text: str, skills: Sequence[str]) -> str | None:
    """The longest known name in the text that is not what it was "not"."""
    folded = name_key(text)
    for name in sorted(skills, key=len, reverse=True):
        found = re.search(rf"(?<!\w){re.escape(name_key(name))}(?!\w)", folded)
        if found is not None and not _NOT.search(folded[: found.start()]):
            return name
    return None
