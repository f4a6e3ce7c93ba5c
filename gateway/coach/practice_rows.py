"""Reads of practice data over a connection. Every query is bound to one person of one tenant; nothing changes here.

A person's rows are those of every user linked to them; of rows that a user has once, the newest or their own holds.
"""

from collections.abc import Sequence
from datetime import date
from typing import Any

import sqlalchemy as sa
from pydantic import TypeAdapter

from agent.coach.plan_conditions import NO_CONDITIONS, PlanConditions
from agent.coach.practice import (
    DayTotal,
    Insight,
    PlannedSession,
    PracticeSession,
    Skill,
    WeeklyPlan,
    name_key,
)
from agent.ports import Principal
from gateway.coach.tables import practice_sessions, practice_settings, skills, weekly_plans
from gateway.store.people import ids_of

CONDITIONS = TypeAdapter(PlanConditions)
INSIGHTS = TypeAdapter(tuple[Insight, ...])
SKILL_IDS = TypeAdapter(tuple[str, ...])
PLANNED = TypeAdapter(tuple[PlannedSession, ...])

_logged = practice_sessions.c
_total = (
    sa.select(sa.func.coalesce(sa.func.sum(_logged.minutes), 0))
    .where(_logged.skill_id == skills.c.id, _logged.tenant_id == skills.c.tenant_id, _logged.undone_at.is_(None))
    .scalar_subquery()
    .label("total_minutes")
)
_count = (
    sa.select(sa.func.count(_logged.id))
    .where(_logged.skill_id == skills.c.id, _logged.tenant_id == skills.c.tenant_id, _logged.undone_at.is_(None))
    .scalar_subquery()
    .label("session_count")
)


def own(table: sa.Table, principal: Principal) -> sa.ColumnElement[bool]:
    """Match the rows of this person, under any of their user ids."""
    return sa.and_(table.c.tenant_id == principal.tenant, table.c.user_id.in_(ids_of(principal.user_id)))


def own_first(table: sa.Table, principal: Principal) -> sa.ColumnElement[bool]:
    """Order a person's own rows before those of the users linked to them."""
    return table.c.user_id != principal.user_id


def holder_of(skill_id: str) -> sa.ScalarSelect[str]:
    """Select the user id of a skill, which its entries have, too, so that /unlink separates none from it."""
    return sa.select(skills.c.user_id).where(skills.c.id == skill_id).scalar_subquery()


def living(principal: Principal) -> sa.ColumnElement[bool]:
    """Match the sessions of this person that were not deleted."""
    return sa.and_(own(practice_sessions, principal), _logged.undone_at.is_(None))


def all_skills(connection: sa.Connection, principal: Principal, include_archived: bool) -> tuple[Skill, ...]:
    """Return the skills, the most practised first, then by name."""
    found = tuple(_skills(connection, own(skills, principal)))
    shown = (skill for skill in found if include_archived or not skill.archived)
    return tuple(sorted(shown, key=lambda skill: (-skill.total_minutes, name_key(skill.name))))


def find_skill(connection: sa.Connection, principal: Principal, name_or_id: str) -> Skill | None:
    """Return the skill of this id, else of this name in any case; archived ones too."""
    by_id = next(iter(_skills(connection, sa.and_(own(skills, principal), skills.c.id == name_or_id))), None)
    if by_id is not None:
        return by_id
    return next(iter(find_named(connection, principal, name_or_id)), None)


def find_named(connection: sa.Connection, principal: Principal, name: str) -> Sequence[Skill]:
    """Return the skills of one name: their own first, then those of users linked to them."""
    named = sa.and_(own(skills, principal), skills.c.name_key == name_key(name))
    return _skills(connection, named, own_first(skills, principal), skills.c.id)


def sessions(
    connection: sa.Connection, principal: Principal, skill_id: str | None, since: date | None, limit: int
) -> tuple[PracticeSession, ...]:
    """Return sessions, the newest first."""
    query = _sessions(principal).order_by(_logged.local_date.desc(), _logged.created_at.desc(), _logged.id.desc())
    if skill_id is not None:
        query = query.where(_logged.skill_id == skill_id)
    if since is not None:
        query = query.where(_logged.local_date >= since)
    return tuple(_session(row) for row in connection.execute(query.limit(limit)))


def last_logged(connection: sa.Connection, principal: Principal) -> PracticeSession | None:
    """Return the session that was logged last, for whatever day."""
    row = connection.execute(
        _sessions(principal).order_by(_logged.created_at.desc(), _logged.id.desc()).limit(1)
    ).first()
    return None if row is None else _session(row)


def deleted_last(connection: sa.Connection, principal: Principal) -> PracticeSession | None:
    """Return the session that was deleted last, or None if another was logged since."""
    since = sa.select(sa.func.max(_logged.created_at)).where(living(principal)).scalar_subquery()
    newest = sa.and_(_logged.undone_at.is_not(None), sa.or_(since.is_(None), _logged.undone_at >= since))
    query = _entries().where(own(practice_sessions, principal), newest)
    row = connection.execute(query.order_by(_logged.undone_at.desc(), _logged.id.desc()).limit(1)).first()
    return None if row is None else _session(row)


def find_session(connection: sa.Connection, principal: Principal, session_id: str) -> PracticeSession | None:
    """Return the session of this id, unless it was deleted."""
    row = connection.execute(_sessions(principal).where(_logged.id == session_id)).first()
    return None if row is None else _session(row)


def minutes_on(connection: sa.Connection, principal: Principal, day: date, beside: str = "") -> int:
    """Return the minutes of one date, without those of the session `beside`."""
    total = sa.select(sa.func.coalesce(sa.func.sum(_logged.minutes), 0))
    query = total.where(living(principal), _logged.local_date == day, _logged.id != beside)
    return int(connection.execute(query).scalar_one())


def day_totals(connection: sa.Connection, principal: Principal) -> tuple[DayTotal, ...]:
    """Return all practice, summed by skill and date, the oldest date first."""
    rows = connection.execute(
        sa.select(_logged.skill_id, _logged.local_date, sa.func.sum(_logged.minutes))
        .where(living(principal))
        .group_by(_logged.skill_id, _logged.local_date)
        .order_by(_logged.local_date, _logged.skill_id)
    )
    return tuple(DayTotal(skill_id, day, int(minutes)) for skill_id, day, minutes in rows)


def plan_of(connection: sa.Connection, principal: Principal, week: date) -> WeeklyPlan | None:
    """Return the plan of the week that began on this day."""
    newest = _plans(principal).where(weekly_plans.c.week == week).limit(1)
    row = connection.execute(newest).first()
    return None if row is None else _plan(row)


def plans(connection: sa.Connection, principal: Principal, limit: int) -> tuple[WeeklyPlan, ...]:
    """Return weekly plans, the newest first."""
    weeks = sa.select(weekly_plans.c.week).where(own(weekly_plans, principal)).distinct()
    newest = weeks.order_by(weekly_plans.c.week.desc()).limit(limit).subquery()
    rows = connection.execute(_plans(principal).where(weekly_plans.c.week.in_(sa.select(newest.c.week))))
    of_week: dict[date, WeeklyPlan] = {}
    for row in rows:
        of_week.setdefault(row.week, _plan(row))
    return tuple(of_week.values())


def _plans(principal: Principal) -> "sa.Select[tuple[object, ...]]":
    """Select the plans, the newest week first; of two for one week the one saved last."""
    order = weekly_plans.c.week.desc(), weekly_plans.c.saved_at.desc()
    return sa.select(weekly_plans).where(own(weekly_plans, principal)).order_by(*order)


def _plan(row: "sa.Row[tuple[object, ...]]") -> WeeklyPlan:
    return WeeklyPlan(
        row.week,
        row.content,
        INSIGHTS.validate_json(row.insights),
        SKILL_IDS.validate_json(row.skill_ids),
        PLANNED.validate_json(row.sessions),
    )


def weekly_goal(connection: sa.Connection, principal: Principal) -> int | None:
    """Return the weekly goal in minutes, or None."""
    query = sa.select(practice_settings.c.weekly_goal_minutes).where(own(practice_settings, principal))
    goal: int | None = connection.execute(query.order_by(own_first(practice_settings, principal))).scalar()
    return goal or None


def plan_conditions(connection: sa.Connection, principal: Principal) -> PlanConditions:
    """Return the person's conditions for plans."""
    query = sa.select(practice_settings.c.plan_conditions).where(own(practice_settings, principal))
    kept: str | None = connection.execute(query.order_by(own_first(practice_settings, principal))).scalar()
    return CONDITIONS.validate_json(kept) if kept else NO_CONDITIONS


def _skills(connection: sa.Connection, which: sa.ColumnElement[bool], *order: sa.ColumnElement[Any]) -> Sequence[Skill]:
    rows = connection.execute(sa.select(skills, _total, _count).where(which).order_by(*order))
    return [
        Skill(
            row.id,
            row.name,
            row.emoji,
            row.colour,
            row.goal_minutes,
            row.archived,
            int(row.total_minutes),
            int(row.session_count),
            row.weekly_minutes,
        )
        for row in rows
    ]


def _sessions(principal: Principal) -> sa.Select[str, str, int, date, str]:
    return _entries().where(living(principal))


def _entries() -> sa.Select[str, str, int, date, str]:
    return sa.select(_logged.id, _logged.skill_id, _logged.minutes, _logged.local_date, _logged.notes)


def _session(row: sa.Row[str, str, int, date, str]) -> PracticeSession:
    return PracticeSession(*row)
