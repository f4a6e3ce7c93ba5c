"""The clock of a person who practises, and forgetting them: over a connection, raising before anything is written."""

from dataclasses import replace
from datetime import date, datetime

import sqlalchemy as sa

from agent.calendar import local_date
from agent.coach.practice import PracticeRefused, Refusal, clean_name, emoji_for
from agent.coach.timer_changes import MAX_TIMER_MINUTES, PracticeForgotten, StartTimer, StopTimer, TimerStarted
from agent.ports import Principal
from gateway.coach import practice_rows as rows
from gateway.coach.tables import (
    practice_effects,
    practice_sessions,
    practice_settings,
    practice_timers,
    reminders,
    skills,
    weekly_plans,
)
from gateway.store import people
from gateway.store.people import AuditRow


def start(connection: sa.Connection, principal: Principal, command: StartTimer, now: datetime) -> TimerStarted:
    """Begin to count.

    Raises:
        PracticeRefused: one runs already, or the name is none.
    """
    running = _running(connection, principal)
    if running is not None:
        raise PracticeRefused(Refusal.TIMER_RUNS, running[0])
    known = rows.find_skill(connection, principal, command.skill)
    name = clean_name(command.skill) if known is None else known.name
    values = {"tenant_id": principal.tenant, "user_id": principal.user_id, "skill": name, "started_at": now}
    connection.execute(practice_timers.insert(), values)
    return TimerStarted(timer_skill=name, timer_emoji=emoji_for(name) if known is None else known.emoji)


def stop(connection: sa.Connection, principal: Principal, command: StopTimer, now: datetime) -> tuple[str, int, date]:
    """End the clock: the skill, the minutes, and the date on which it was started.

    Raises:
        PracticeRefused: none runs, or it ran so long that it was forgotten and nobody says how long it really was.
    """
    running = _running(connection, principal)
    if running is None:
        raise PracticeRefused(Refusal.NO_TIMER)
    skill, started_at = running
    counted = max(round((now - started_at).total_seconds() / 60), 1)
    if counted > MAX_TIMER_MINUTES and command.minutes is None and not command.discards:
        raise PracticeRefused(Refusal.TIMER_LONG, str(counted // 60))
    connection.execute(sa.delete(practice_timers).where(rows.own(practice_timers, principal)))
    return skill, command.minutes or counted, local_date(started_at, principal.timezone)


def forget(connection: sa.Connection, principal: Principal, now: datetime) -> PracticeForgotten:
    """Delete all rows of the person, with a record that it was done; also what lies unseen of who joined them."""
    sessions, gone = _forget_rows(connection, principal)
    person = people.person_of(connection, principal.user_id)
    for user_id in () if person is None else person.joined:
        _forget_rows(connection, replace(principal, user_id=user_id))
    who, what = principal.user_id, f"{sessions} entries, {gone} skills"
    people.record(connection, principal.tenant, AuditRow(now, who, "practice_forgotten", who, what))
    return PracticeForgotten(sessions_deleted=sessions, skills_deleted=gone)


def _forget_rows(connection: sa.Connection, principal: Principal) -> tuple[int, int]:
    """Delete all rows of one user; how many sessions and skills that were seen."""
    for table in (weekly_plans, reminders, practice_settings, practice_timers, practice_effects):
        connection.execute(sa.delete(table).where(rows.own(table, principal)))
    undone = sa.and_(rows.own(practice_sessions, principal), practice_sessions.c.undone_at.is_not(None))
    connection.execute(sa.delete(practice_sessions).where(undone))  # the person does not know them any more
    sessions = connection.execute(sa.delete(practice_sessions).where(rows.own(practice_sessions, principal))).rowcount
    return sessions, connection.execute(sa.delete(skills).where(rows.own(skills, principal))).rowcount


def _running(connection: sa.Connection, principal: Principal) -> tuple[str, datetime] | None:
    query = sa.select(practice_timers.c.skill, practice_timers.c.started_at).where(rows.own(practice_timers, principal))
    row = connection.execute(query).first()
    return None if row is None else (row.skill, row.started_at)
