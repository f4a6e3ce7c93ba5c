"""The coach's `PracticeReader` over the store; `gateway.coach.writer` is its `PracticeWriter`."""

from datetime import date

from agent.coach.plan_conditions import PlanConditions
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
        return await self._store.read(
            lambda connection: rows.all_skills(connection, principal, include_archived), lasting=True
        )

    async def sessions(
        self, principal: Principal, *, skill_id: str | None = None, since: date | None = None, limit: int = 500
    ) -> tuple[PracticeSession, ...]:
        return await self._store.read(
            lambda connection: rows.sessions(connection, principal, skill_id, since, limit), lasting=True
        )

    async def days(self, principal: Principal) -> tuple[DayTotal, ...]:
        return await self._store.read(lambda connection: rows.day_totals(connection, principal), lasting=True)

    async def plan(self, principal: Principal, week: date) -> WeeklyPlan | None:
        return await self._store.read(lambda connection: rows.plan_of(connection, principal, week), lasting=True)

    async def weekly_goal(self, principal: Principal) -> int | None:
        return await self._store.read(lambda connection: rows.weekly_goal(connection, principal), lasting=True)

    async def plan_conditions(self, principal: Principal) -> PlanConditions:
        return await self._store.read(lambda connection: rows.plan_conditions(connection, principal), lasting=True)

    async def reminders(self, principal: Principal) -> tuple[Reminder, ...]:
        return await self._store.read(
            lambda connection: reminder_rows.all_reminders(connection, principal), lasting=True
        )
