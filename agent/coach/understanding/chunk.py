"""One or more words of a message that mean something together. Data; `chunks` makes them."""

from dataclasses import dataclass

from agent.coach.understanding.days import Day
from agent.coach.understanding.tables import Twist, WordRole


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
