"""Queries of reminders: those of a person, and those that are due.

`take_due` is one half of the scheduler's commit: it moves each reminder to its next slot, and the same transaction
admits the events that it returns. So a slot is said once, whenever the process is killed.

A reminder is said in the chat where it was asked for. The key of its change names that chat: `inbox:ROW/index` for a
command, `turn/step/index` for a tool call.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from typing import Any

import sqlalchemy as sa

from agent.coach.reminders import LATE_FOR, Reminder, Slot, last_slot, next_slot
from agent.ports import Principal
from channels.messages import INBOUND_EVENT, Address, ChatKind
from gateway.coach.practice_rows import own
from gateway.coach.tables import reminders
from gateway.ops.scheduler import DueEvent
from gateway.store.tables.people import users
from gateway.store.tables.traffic import inbox

_said = users.alias()
_person_id = (
    sa.select(sa.func.coalesce(_said.c.alias_of, _said.c.id)).where(_said.c.id == reminders.c.user_id).scalar_subquery()
)
"""The user id of the person whom a reminder reaches, if their account is linked, too."""

MAX_REMINDERS = 50
NAME = "reminder"
"""The internal command of a due reminder."""


def all_reminders(connection: sa.Connection, principal: Principal) -> tuple[Reminder, ...]:
    """Return the reminders of a person, the next first."""
    query = sa.select(reminders).where(own(reminders, principal)).order_by(reminders.c.next_at, reminders.c.id)
    return tuple(_reminder(row) for row in connection.execute(query))


def next_due_at(connection: sa.Connection, now: datetime) -> datetime | None:
    """Return the next slot over all tenants; now, if a person has moved to another zone; None without reminders."""
    moved = sa.select(reminders.c.id).where(_has_moved()).limit(1)
    if connection.execute(moved).first() is not None:
        return now
    found: datetime | None = connection.execute(sa.select(sa.func.min(reminders.c.next_at))).scalar()
    return found


def take_due(connection: sa.Connection, now: datetime) -> Sequence[DueEvent]:
    """Return what is due over all tenants. Move each reminder to its next slot, or delete it if there is none."""
    _follow_zones(connection, now)
    due = connection.execute(sa.select(reminders).where(reminders.c.next_at <= now).order_by(reminders.c.next_at))
    return [event for row in due.all() if (event := _take(connection, row, now)) is not None]


def _take(connection: sa.Connection, row: "sa.Row[Any]", now: datetime) -> DueEvent | None:
    reminder = _reminder(row)
    slot = last_slot(reminder, row.zone, now, Slot(row.next_day, row.next_at))
    _move_on(connection, row, reminder, slot, now)
    if now - slot.at > LATE_FOR and reminder.day is None:
        return None
    late_min = int((now - slot.at).total_seconds() // 60)
    said = {"at": row.at, "about": row.about, "late_min": late_min}
    if now - slot.at > LATE_FOR:
        said["missed"] = slot.day.isoformat()
    return DueEvent(
        tenant=row.tenant_id,
        user_id=row.user_id,
        address=Address(**json.loads(row.address)),
        session_key=row.session_key,
        event_id=f"reminder:{row.id}:{slot.day.isoformat()}",
        name=NAME,
        arguments=json.dumps(said, ensure_ascii=False),
    )


def _move_on(connection: sa.Connection, row: "sa.Row[Any]", reminder: Reminder, slot: Slot, now: datetime) -> None:
    following = next_slot(reminder.at, reminder.weekdays, reminder.day, row.zone, max(now, slot.at), slot.day)
    this = sa.and_(reminders.c.tenant_id == row.tenant_id, reminders.c.id == row.id)
    if following is None:
        connection.execute(sa.delete(reminders).where(this))
        return
    values = {"next_at": following.at, "next_day": following.day, "last_day": slot.day}
    connection.execute(sa.update(reminders).where(this).values(values))


def _follow_zones(connection: sa.Connection, now: datetime) -> None:
    """Move reminders to the zone where their person is now, without repeating a date that was said already."""
    moved_to = users.c.timezone.label("moved_to")
    query = sa.select(reminders, moved_to).join_from(reminders, users, users.c.id == _person_id)
    for row in connection.execute(query.where(users.c.timezone != reminders.c.zone)).all():
        reminder = _reminder(row)
        slot = next_slot(reminder.at, reminder.weekdays, reminder.day, row.moved_to, now, row.last_day)
        this = sa.and_(reminders.c.tenant_id == row.tenant_id, reminders.c.id == row.id)
        if slot is None:
            connection.execute(sa.delete(reminders).where(this))
        else:
            values = {"zone": row.moved_to, "next_at": slot.at, "next_day": slot.day}
            connection.execute(sa.update(reminders).where(this).values(values))


def _has_moved() -> sa.ColumnElement[bool]:
    same = sa.select(users.c.id).where(users.c.id == _person_id, users.c.timezone != reminders.c.zone)
    return same.exists()


def _reminder(row: "sa.Row[Any]") -> Reminder:
    day: date | None = row.day
    weekdays = tuple(json.loads(row.weekdays))
    return Reminder(row.id, time.fromisoformat(row.at), weekdays, day, row.about, row.next_at)


def to_json(address: Address) -> dict[str, str | None]:
    """Return an address as JSON for the column of a reminder."""
    return {
        "channel": address.channel,
        "account": address.account,
        "chat": address.chat,
        "thread": address.thread,
    }


@dataclass(frozen=True, slots=True)
class Origin:
    """A direct chat and its conversation."""

    address: Address
    session_key: str


def direct_origin(connection: sa.Connection, key: str) -> Origin | None:
    """Return the direct chat in which a change was asked for; None in a group, where others would read it."""
    first, _, _ = key.partition("/")
    row_id = first.removeprefix("inbox:")
    which = inbox.c.turn_id == first if row_id == first else inbox.c.id == int(row_id)
    query = sa.select(inbox.c.payload, inbox.c.session_key).where(which, inbox.c.session_key.is_not(None))
    row = connection.execute(query.order_by(inbox.c.id).limit(1)).first()
    if row is None or not row.payload:
        return None
    event = INBOUND_EVENT.validate_json(row.payload)
    if getattr(event, "kind", None) is not ChatKind.DIRECT:
        return None
    return Origin(event.address, row.session_key)
