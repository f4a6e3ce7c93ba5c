"""Changes of practice data as typed commands (`agent.ports.LocalCommand`); applying them is the gateway's work.

Each is applied in the commit that journals its result, once per key. Minutes are whole, dates are the person's own.
"""

from dataclasses import dataclass
from datetime import date

from agent.coach.practice import GOAL_MINUTES, Insight


@dataclass(frozen=True, slots=True)
class LogPractice:
    """Add one session; an unknown skill is created with it, an archived one comes back."""

    skill: str  # name or id
    minutes: int
    day: date
    notes: str = ""


@dataclass(frozen=True, slots=True)
class CreateSkill:
    """Add a skill; one of that name stays as it is, an archived one comes back."""

    name: str
    emoji: str | None = None  # None: chosen by the name
    colour: str | None = None  # "#rrggbb"; None: chosen in turn
    goal_minutes: int = GOAL_MINUTES


@dataclass(frozen=True, slots=True)
class UndoLastLog:
    """Take back the session logged last; a skill that only it had created is archived."""


@dataclass(frozen=True, slots=True)
class EditSession:
    """Correct a session; what is None stays."""

    session_id: str | None = None  # None: the session logged last
    minutes: int | None = None
    day: date | None = None
    notes: str | None = None
    skill: str | None = None  # name or id; an unknown name becomes a new skill


@dataclass(frozen=True, slots=True)
class SaveWeeklyPlan:
    """Keep the plan of a week; one that was there is replaced."""

    week: date
    content: str
    insights: tuple[Insight, ...] = ()
    skill_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ArchiveSkill:
    """Put a skill away, or bring it back."""

    skill: str  # name or id
    archived: bool = True


PracticeCommand = LogPractice | CreateSkill | UndoLastLog | EditSession | SaveWeeklyPlan | ArchiveSkill
