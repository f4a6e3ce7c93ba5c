"""What a message is read as: days, chunks of words, and what somebody says that they did. Data."""

from dataclasses import dataclass, replace
from datetime import date

from agent.coach.understanding.tables import Twist, WordRole


@dataclass(frozen=True, slots=True)
class Day:
    """A day that a text names."""

    day: date | None  # None: it cannot be told which
    end: int  # of the words it takes
    role: WordRole  # DAY, DAY_EITHER or DAY_UNREAD


@dataclass(frozen=True, slots=True)
class Chunk:
    """One or more words that mean something together."""

    role: WordRole
    start: int  # of the words
    end: int
    minutes: int = 0  # of an amount
    unit: int = 1  # minutes that a bare number behind this amount counts
    day: Day | None = None
    skill: str = ""
    twist: Twist | None = None
    until: int = 0  # of a time, or an amount between two: the last minute of the day that may be meant
    from_minute: int | None = None  # of a time: the minute of the day that is said
    is_new: bool = False  # of a skill: it is none of theirs yet
    is_first_person: bool = False  # the form of the verb says that the speaker did it
    plain: str = ""  # its words, without accents
    is_capital: bool = False  # its first letter is
    is_doing: bool = False  # no table has it, and by its ending it is a verb


@dataclass(frozen=True, slots=True)
class Practised:
    """One stretch of practice that somebody says they did."""

    minutes: int | None  # None: not said, or not clearly
    skill: str  # a known skill's own spelling, a new name, or "" where none is said
    day: date
    is_new: bool = False  # the name is none of theirs yet
    is_near: bool = False  # what was said is nearly this name

    def correct(self, minutes: int | None, skill: str | None, day: date | None) -> "Practised":
        """The same, with what is right instead; what is not said stays, and a skill that is said is one of theirs."""
        right = replace(self, minutes=minutes or self.minutes, day=day or self.day)
        return right if skill is None else replace(right, skill=skill, is_new=False, is_near=False)


@dataclass(slots=True)
class Candidate:
    """An amount and what it was of, with the clauses that say so."""

    amount: Chunk
    skill: Chunk
    first: int  # of the clauses
    last: int
    is_said: bool = False  # somebody says that they did it; else it is as terse as in a log book
    has_subject: bool = False
    is_sure: bool = True
    twist: Twist | None = None  # what takes it back
    day: date | None = None
