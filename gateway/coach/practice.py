"""The coach's `PracticeReader` over the store; `gateway.coach.writer` is its `PracticeWriter`."""

from datetime import date

from agent.coach.practice import DayTotal, PracticeSession, Skill, WeeklyPlan
from agent.coach.reminders import Reminder
from agent.ports import Principal
from gateway.coach import practice_rows as rows
from gateway.coach import reminder_rows
from gateway.store.engine import Store


class StoredPractice:
    """The coach's `PracticeReader` over the store's readers."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def skills(self, principal: Principal, *, include_archived: bool = False) -> tuple[Skill, ...]:
        """The skills, the most practised first, then by name."""
        return await self._store.read(
            lambda connection: rows.all_skills(connection, principal, include_archived), lasting=True
        )

    async def sessions(
        self, principal: Principal, *, skill_id: str | None = None, since: date | None = None, limit: int = 500
    ) -> tuple[PracticeSession, ...]:
        """The newest sessions first, at most `limit`, from `since` on."""
        return await self._store.read(
            lambda connection: rows.sessions(connection, principal, skill_id, since, limit), lasting=True
        )

    async def days(self, principal: Principal) -> tuple[DayTotal, ...]:
        """All practice there is, summed by skill and date, the oldest date first."""
        return await self._store.read(lambda connection: rows.day_totals(connection, principal), lasting=True)

    async def plan(self, principal: Principal, week: date) -> WeeklyPlan | None:
        """The plan of the week that began on this day."""
        return await self._store.read(lambda connection: rows.plan_of(connection, principal, week), lasting=True)

    async def weekly_goal(self, principal: Principal) -> int | None:
        """The minutes a week that they set themselves; None: they set none."""
        return await self._store.read(lambda connection: rows.weekly_goal(connection, principal), lasting=True)

    async def reminders(self, principal: Principal) -> tuple[Reminder, ...]:
        """Those that are to come, the next first."""
        return await self._store.read(
            lambda connection: reminder_rows.all_reminders(connection, principal), lasting=True
        )
