"""Rows of check-ins: the times at which the coach speaks first to a person.

`take_due` is one half of the scheduler's commit, as for reminders: it moves or deletes each row in the transaction that
admits its event, so that none is said twice. A check-in is said in the direct chat where the person practised last or
asked for it.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from enum import StrEnum
from typing import Any

import sqlalchemy as sa

from agent.calendar import local_date
from agent.coach.check_ins import LATE_FOR, gap_at, plan_at, plan_on
from agent.coach.plan_data import OPENING
from agent.coach.practice import PracticeRefused, Refusal, Result
from agent.ports import Change, Principal
from channels.messages import Address
from gateway.coach.practice_rows import living, own, own_first
from gateway.coach.tables import practice_check_ins, practice_sessions, practice_settings
from gateway.store.dialect import upsert
from gateway.store.people import now_of
from gateway.store.schedules import DueEvent, direct_origin, to_json
from gateway.store.tables.people import users

NAME = "check_in"
"""The internal command of a gap that is due."""

PLAN = "plan"
"""The kind of turn that writes a weekly plan."""


class CheckIn(StrEnum):
    """The kinds of check-ins."""

    PLAN = "plan"  # a plan as the week begins; off until the person says yes
    GAP = "gap"  # a sentence after five days without practice; on until they say no


AWAY = timedelta(weeks=4)
"""After so long without practice no week is opened with a plan."""

COLUMNS = {CheckIn.PLAN: practice_settings.c.weekly_plan, CheckIn.GAP: practice_settings.c.gap_words}


@dataclass(frozen=True, slots=True)
class CheckInChoice:
    """The choice of a person; None: they were not asked, or did not answer."""

    plan: bool | None = None
    gap: bool | None = None

    @property
    def gap_is_on(self) -> bool:
        return self.gap is not False


def choice_of(connection: sa.Connection, principal: Principal) -> CheckInChoice:
    """Return the person's choice."""
    query = sa.select(*COLUMNS.values()).where(own(practice_settings, principal))
    row = connection.execute(query.order_by(own_first(practice_settings, principal))).first()
    return CheckInChoice() if row is None else CheckInChoice(*row)


def choose(change: Change, kind: CheckIn, *, on: bool) -> Result:
    """Switch a check-in on or off.

    Raises:
        PracticeRefused: a plan was asked for outside of a direct chat.
    """
    origin = direct_origin(change.tx, change.key)
    if on and kind is CheckIn.PLAN and origin is None:
        raise PracticeRefused(Refusal.ONLY_DIRECT)
    column = COLUMNS[kind].name
    values = {"tenant_id": change.principal.tenant, "user_id": change.principal.user_id, column: on}
    change.tx.execute(upsert(change.tx, practice_settings, (column,)), values)
    mine = sa.and_(own(practice_check_ins, change.principal), practice_check_ins.c.kind == kind)
    change.tx.execute(sa.delete(practice_check_ins).where(mine))
    if on and kind is CheckIn.PLAN:
        today = local_date(change.now, change.principal.timezone)
        due_at = plan_at(today, change.principal.week_start, change.principal.timezone, change.now)
        _put(change, kind, due_at, local_date(due_at, change.principal.timezone))
    return {"change": "check_in", "kind": kind.value, "on": on, "week_start": change.principal.week_start}


def may_ask_for_plans(change: Change) -> bool:
    """Return True, once for each person, if they may be asked in their direct chat for plans as weeks begin."""
    if choice_of(change.tx, change.principal).plan is not None or direct_origin(change.tx, change.key) is None:
        return False
    values = {"tenant_id": change.principal.tenant, "user_id": change.principal.user_id, "weekly_plan": False}
    change.tx.execute(upsert(change.tx, practice_settings, ("weekly_plan",)), values)
    return True


def watch_gap(change: Change) -> None:
    """Note when a gap that begins with the person's last practice day would be noticed."""
    if not choice_of(change.tx, change.principal).gap_is_on:
        return
    last = last_day(change.tx, change.principal)
    if last is not None:
        _put(change, CheckIn.GAP, gap_at(last, change.principal.timezone), last)


def last_day(connection: sa.Connection, principal: Principal) -> date | None:
    """Return the last day with practice."""
    query = sa.select(sa.func.max(practice_sessions.c.local_date)).where(living(principal))
    found: date | None = connection.execute(query).scalar()
    return found


def _put(change: Change, kind: CheckIn, due_at: datetime, day: date) -> None:
    """Keep a check-in for the direct chat of this change; a change from elsewhere leaves the chat as it was."""
    origin = direct_origin(change.tx, change.key)
    values: dict[str, Any] = {"due_at": due_at, "day": day}
    this = sa.and_(own(practice_check_ins, change.principal), practice_check_ins.c.kind == kind)
    if origin is None:
        change.tx.execute(sa.update(practice_check_ins).where(this).values(values))
        return
    change.tx.execute(sa.delete(practice_check_ins).where(this))
    owner = {"tenant_id": change.principal.tenant, "user_id": change.principal.user_id, "kind": kind.value}
    place = {"address": json.dumps(to_json(origin.address)), "session_key": origin.session_key}
    change.tx.execute(practice_check_ins.insert(), {**owner, **place, **values})


def next_due_at(connection: sa.Connection) -> datetime | None:
    """Return the next due time over all tenants; None without any."""
    found: datetime | None = connection.execute(sa.select(sa.func.min(practice_check_ins.c.due_at))).scalar()
    return found


def take_due(connection: sa.Connection, now: datetime) -> Sequence[DueEvent]:
    """Return the check-ins that are due over all tenants; move those of plans to the next week, delete those of gaps.

    One whose person has moved to another zone waits until it is due there.
    """
    due = connection.execute(sa.select(practice_check_ins).where(practice_check_ins.c.due_at <= now)).all()
    return [event for row in due if (event := _take(connection, row, now)) is not None]


def _take(connection: sa.Connection, row: "sa.Row[Any]", now: datetime) -> DueEvent | None:
    person = connection.execute(sa.select(users.c.timezone, users.c.week_start).where(users.c.id == row.user_id)).one()
    this = sa.and_(
        practice_check_ins.c.tenant_id == row.tenant_id,
        practice_check_ins.c.user_id == row.user_id,
        practice_check_ins.c.kind == row.kind,
    )
    kind, today = CheckIn(row.kind), local_date(now, person.timezone)
    due_at = gap_at(row.day, person.timezone) if kind is CheckIn.GAP else plan_on(row.day, person.timezone)
    if due_at > now:
        connection.execute(sa.update(practice_check_ins).where(this).values(due_at=due_at))
        return None
    if kind is CheckIn.GAP:
        connection.execute(sa.delete(practice_check_ins).where(this))
    else:
        following = plan_at(today, person.week_start, person.timezone, now)
        moved = {"due_at": following, "day": local_date(following, person.timezone)}
        connection.execute(sa.update(practice_check_ins).where(this).values(moved))
    if now > due_at + LATE_FOR or (kind is CheckIn.PLAN and _is_away(connection, row, today)):
        return None
    return DueEvent(
        tenant=row.tenant_id,
        user_id=row.user_id,
        address=Address(**json.loads(row.address)),
        session_key=row.session_key,
        event_id=f"check_in:{kind}:{row.user_id}:{row.day.isoformat()}",
        name=NAME,
        arguments=OPENING if kind is CheckIn.PLAN else row.day.isoformat(),
        turn=PLAN if kind is CheckIn.PLAN else None,
    )


def _is_away(connection: sa.Connection, row: "sa.Row[Any]", today: date) -> bool:
    """Return True if a person has not practised for so long that a plan would be no help."""
    last = last_day(connection, Principal(now_of(connection, row.user_id), row.tenant_id))
    return last is None or today - last > AWAY
