"""What somebody says that they did: as it is weighed, and as it would be written. Data."""

from dataclasses import dataclass
from datetime import date

from agent.coach.understanding.chunk import Chunk
from agent.coach.understanding.tables import Twist


@dataclass(frozen=True, slots=True)
class Practised:
    """One stretch of practice that somebody says they did."""

    minutes: int | None  # None: not said, or not clearly
    skill: str  # a known skill's own spelling, a new name, or "" where none is said
    day: date
    is_new: bool = False  # the name is none of theirs yet
    is_near: bool = False  # what was said is nearly this name


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
