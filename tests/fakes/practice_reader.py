"""Practice data: a reader over lists, and one over a database in memory that takes changes."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from typing import Any

import sqlalchemy as sa

from agent.coach.plan_conditions import NO_CONDITIONS, PlanConditions
from agent.coach.practice import DayTotal, PracticeRefused, PracticeSession, Result, Skill, WeeklyPlan, name_key
from agent.coach.reminders import Reminder
from agent.ports import Change, LocalEffect, Principal
from agent.tools.results import success_result
from gateway.coach import practice_rows, reminder_rows
from gateway.coach.tables import PRACTICE_TABLES
from gateway.store import schema
from gateway.store.agent_tables import bring_up
from gateway.store.tables.base import EPOCH
from gateway.store.tables.people import users
from tests.fakes.people import database

TODAY = date(2026, 3, 4)  # a Wednesday
NOW = datetime(2026, 3, 4, 12, 0, tzinfo=UTC)
ANA = Principal("u1", "t1", "Ana", locale="en")
BEA = Principal("u2", "t1", "Bea", locale="es")


def a_skill(name: str = "Guitar", id_: str | None = None, minutes: int = 0, *, archived: bool = False) -> Skill:
    """Return a skill with the usual goal."""
    return Skill(id_ or name.lower(), name, "🎸", "#000000", 600_000, archived, minutes)


@dataclass
class FakePractice:
    """A `PracticeReader` over one person's lists; it sums totals as the store does."""

    owner: Principal = ANA
    known: list[Skill] = field(default_factory=list)
    logged: list[PracticeSession] = field(default_factory=list)  # in the order logged
    plans: dict[date, WeeklyPlan] = field(default_factory=dict)
    goal: int | None = None  # minutes a week
    conditions: PlanConditions = NO_CONDITIONS

    def log(self, skill: str, day: date, minutes: int, notes: str = "") -> None:
        """Add a session; make its skill if it is new."""
        if all(one.id != skill.lower() for one in self.known):
            self.known.append(a_skill(skill))
        self.logged.append(PracticeSession(f"s{len(self.logged)}", skill.lower(), minutes, day, notes))

    async def skills(self, principal: Principal, *, include_archived: bool = False) -> tuple[Skill, ...]:
        total: Counter[str] = Counter()
        for session in self._own(principal):
            total[session.skill_id] += session.minutes
        mine = self.known if self._is(principal) else []
        counted = [replace(one, total_minutes=total[one.id]) for one in mine if include_archived or not one.archived]
        return tuple(sorted(counted, key=lambda one: (-one.total_minutes, name_key(one.name))))

    async def sessions(
        self, principal: Principal, *, skill_id: str | None = None, since: date | None = None, limit: int = 500
    ) -> tuple[PracticeSession, ...]:
        found = [
            (one.day, at, one)
            for at, one in enumerate(self._own(principal))
            if skill_id in {None, one.skill_id} and (since is None or one.day >= since)
        ]
        return tuple(one for _, _, one in sorted(found, key=lambda row: row[:2], reverse=True)[:limit])

    async def days(self, principal: Principal) -> tuple[DayTotal, ...]:
        total: Counter[tuple[date, str]] = Counter()
        for session in self._own(principal):
            total[session.day, session.skill_id] += session.minutes
        return tuple(DayTotal(skill, day, minutes) for (day, skill), minutes in sorted(total.items()))

    async def plan(self, principal: Principal, week: date) -> WeeklyPlan | None:
        return self.plans.get(week) if self._is(principal) else None

    async def reminders(self, principal: Principal) -> tuple[Reminder, ...]:
        return ()

    async def weekly_goal(self, principal: Principal) -> int | None:
        return self.goal if self._is(principal) else None

    async def plan_conditions(self, principal: Principal) -> PlanConditions:
        return self.conditions if self._is(principal) else NO_CONDITIONS

    def _own(self, principal: Principal) -> list[PracticeSession]:
        return self.logged if self._is(principal) else []

    def _is(self, principal: Principal) -> bool:
        return (principal.tenant, principal.user_id) == (self.owner.tenant, self.owner.user_id)


class ConnectedPractice:
    """The store's own functions over one connection: a `PracticeReader`, and changes for a turn port."""

    def __init__(self, connection: sa.Connection, principal: Principal = ANA, now: datetime = NOW) -> None:
        self.connection = connection
        self.principal = principal
        self.now = now
        self.keys = 0

    def change(self, effect: LocalEffect) -> Result:
        """Make one change for the principal; its result, or the data of its refusal."""
        try:
            return self._run(effect)
        except PracticeRefused as refused:
            return dict(refused.data or {})

    def as_result(self, effect: LocalEffect) -> str:
        """Make one change; the result as a tool gives it."""
        return success_result(self._run(effect))

    def _run(self, effect: LocalEffect) -> Any:
        self.keys += 1
        return effect.run(Change(self.connection, self.principal, f"test:{self.keys}", self.now))

    async def skills(self, principal: Principal, *, include_archived: bool = False) -> tuple[Skill, ...]:
        return practice_rows.all_skills(self.connection, principal, include_archived)

    async def sessions(
        self, principal: Principal, *, skill_id: str | None = None, since: date | None = None, limit: int = 500
    ) -> tuple[PracticeSession, ...]:
        return practice_rows.sessions(self.connection, principal, skill_id, since, limit)

    async def days(self, principal: Principal) -> tuple[DayTotal, ...]:
        return practice_rows.day_totals(self.connection, principal)

    async def plan(self, principal: Principal, week: date) -> WeeklyPlan | None:
        return practice_rows.plan_of(self.connection, principal, week)

    async def reminders(self, principal: Principal) -> tuple[Reminder, ...]:
        return reminder_rows.all_reminders(self.connection, principal)

    async def weekly_goal(self, principal: Principal) -> int | None:
        return practice_rows.weekly_goal(self.connection, principal)

    async def plan_conditions(self, principal: Principal) -> PlanConditions:
        return practice_rows.plan_conditions(self.connection, principal)


def add_people(connection: sa.Connection, *people: Principal) -> None:
    """Add users that practice data can belong to."""
    for one in people:
        connection.execute(
            users.insert(),
            {
                "id": one.user_id,
                "tenant_id": one.tenant,
                "role": one.role,
                "display_name": one.display_name,
                "locale": one.locale,
                "timezone": one.timezone,
                "week_start": one.week_start,
                "created_at": EPOCH,
            },
        )


def _make_tables(connection: sa.Connection) -> None:
    schema.create(connection)
    bring_up(connection, "coach", PRACTICE_TABLES)


@contextmanager
def connected_practice(principal: Principal = ANA, now: datetime = NOW) -> Iterator[ConnectedPractice]:
    """Return practice of one person over a fresh database."""
    with database(_make_tables) as connection:
        add_people(connection, principal)
        yield ConnectedPractice(connection, principal, now)
