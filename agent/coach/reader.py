"""What the coach reads of a person's practice: a port that the gateway's store supplies and tests fake."""

from datetime import date
from typing import Protocol

from agent.coach.practice import DayTotal, PracticeSession, Skill, WeeklyPlan
from agent.ports import Principal


class PracticeReader(Protocol):
    """Reads the principal's own data, and nobody else's. Undone sessions are never shown."""

    async def skills(self, principal: Principal, *, include_archived: bool = False) -> tuple[Skill, ...]:
        """The skills, the most practised first, then by name."""
        ...

    async def sessions(
        self, principal: Principal, *, skill_id: str | None = None, since: date | None = None, limit: int = 500
    ) -> tuple[PracticeSession, ...]:
        """The newest sessions first, at most `limit`, from `since` on."""
        ...

    async def days(self, principal: Principal) -> tuple[DayTotal, ...]:
        """All practice there is, summed by skill and date, the oldest date first."""
        ...

    async def plan(self, principal: Principal, week: date) -> WeeklyPlan | None:
        """The plan of the week that began on this day."""
        ...
