"""Rows of schedules: reminders, and prompts that an agent answers by itself.

`take_due` is one half of the scheduler's commit: it moves each schedule to its next slot, and the same transaction
admits the events that it returns. So a slot is answered once, whenever the process is killed.

A schedule belongs to the direct chat in which it was asked for. The key of the change that makes it names that chat:
`inbox:ROW/index` for a command, `turn/step/index` for a tool call.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

import sqlalchemy as sa

from agent.ports import Principal
from agent.schedules.missed import Missed
from agent.schedules.prompts import DATA_HEAD, request_text
from agent.schedules.rules import RULES, Every, Once, Rule, Slot, due_slots, next_slot
from agent.transcript import EndReason
from channels.messages import INBOUND_EVENT, Address, ChatKind, SystemEvent
from gateway.store.children import SUBAGENT
from gateway.store.handover import SYSTEM, hand_over
from gateway.store.people import ids_of
from gateway.store.rows import Rows
from gateway.store.tables.people import users
from gateway.store.tables.schedules import schedules
from gateway.store.tables.traffic import inbox, parked_lanes
from gateway.store.tables.turns import turns

SCHEDULED, HEARTBEAT = "scheduled", "heartbeat"
"""Kinds of turns that schedules start; what a heartbeat has to say may be nothing."""

MAX_FAILURES = 3
"""Failed turns in a row after which a schedule is paused."""

TAKEN_AT_ONCE = 100
"""Schedules that one commit moves on."""

PAUSED = "schedule_paused"
"""The command that tells a person of a schedule that was paused."""

_EVENT = "schedule:"
MINUTE = timedelta(minutes=1)


class Pause(StrEnum):
    """The one who paused a schedule."""

    NO = ""
    PERSON = "person"
    FAILURES = "failures"
    OPERATOR = "operator"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSchedule:
    """One schedule."""

    id: str
    tenant: str
    user_id: str
    agent: str
    name: str
    prompt: str = ""
    command: str | None = None
    rule: str
    missed: Missed
    address: str
    session_key: str
    zone: str
    next_at: datetime
    next_wall: str
    last_wall: str | None = None
    paused: Pause = Pause.NO
    failures: int = 0
    created_at: datetime

    @property
    def parsed(self) -> Rule:
        return RULES.validate_json(self.rule)

    @property
    def next_slot(self) -> Slot:
        return Slot(datetime.fromisoformat(self.next_wall), self.next_at)


@dataclass(frozen=True, slots=True)
class DueEvent:
    """A due event for one person in one of their chats."""

    tenant: str
    user_id: str
    address: Address
    session_key: str
    event_id: str  # unique for this slot, so that it is admitted once
    name: str  # of the product's command that answers it
    arguments: str
    turn: str | None = None  # kind of the turn that answers it instead
    data: str = ""  # with `turn`: see channels.messages.SystemEvent
    data_head: str = ""


SCHEDULES = Rows(schedules, StoredSchedule)


def to_wall_text(wall: datetime) -> str:
    """Return a time on the wall as the table has it."""
    return wall.isoformat(timespec="minutes")


# ---------------------------------------------------------------- the chat of a change


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


def to_json(address: Address) -> dict[str, str | None]:
    """Return an address as JSON for a column."""
    return {
        "channel": address.channel,
        "account": address.account,
        "chat": address.chat,
        "thread": address.thread,
    }


# ---------------------------------------------------------------- those of a person


def is_mine(principal: Principal) -> sa.ColumnElement[bool]:
    """Match the schedules of a person, under any of their user ids."""
    mine = schedules.c.user_id.in_(ids_of(principal.user_id))
    return sa.and_(schedules.c.tenant_id == principal.tenant, mine)


def list_prompts(connection: sa.Connection, principal: Principal) -> list[StoredSchedule]:
    """Return the schedules of a person that start turns, in the order in which they were made."""
    return SCHEDULES.find(connection, is_mine(principal), command=None)


def starts_itself(connection: sa.Connection, key: str) -> bool:
    """Return True if no person has begun the turn of a call: a schedule has, or a task works."""
    kind = sa.select(turns.c.kind).where(turns.c.id == key.partition("/")[0])
    return connection.execute(kind).scalar() in (SCHEDULED, HEARTBEAT, SUBAGENT)


def set_pause(connection: sa.Connection, row: StoredSchedule, pause: Pause, now: datetime) -> bool:
    """Pause or resume a schedule; return False if it is to be resumed and has no slot left."""
    values: dict[str, object] = {"paused": pause}
    if pause is Pause.NO:
        last = None if row.last_wall is None else datetime.fromisoformat(row.last_wall)
        slot = next_slot(row.parsed, row.zone, now, last)
        if slot is None:
            return False
        values |= {"failures": 0, "next_at": slot.at, "next_wall": to_wall_text(slot.wall)}
    SCHEDULES.patch(connection, values, id=row.id, tenant=row.tenant)
    return True


# ---------------------------------------------------------------- what is due

_said = users.alias()
_person_id = (
    sa.select(sa.func.coalesce(_said.c.alias_of, _said.c.id)).where(_said.c.id == schedules.c.user_id).scalar_subquery()
)
"""The user id of the person whom a schedule reaches, if their account is linked, too."""


def next_due_at(connection: sa.Connection, now: datetime) -> datetime | None:
    """Return the next slot over all tenants; now, if a person has moved to another zone; None without schedules."""
    same = sa.select(users.c.id).where(users.c.id == _person_id, users.c.timezone != schedules.c.zone)
    moved = sa.select(schedules.c.id).where(same.exists()).limit(1)
    if connection.execute(moved).first() is not None:
        return now
    soonest = sa.select(sa.func.min(schedules.c.next_at)).where(schedules.c.paused == Pause.NO)
    found: datetime | None = connection.execute(soonest).scalar()
    return found


def take_due(connection: sa.Connection, now: datetime) -> Sequence[DueEvent]:
    """Return what is due over all tenants. Move each schedule to its next slot, or delete it if there is none."""
    _follow_zones(connection, now)
    due = SCHEDULES.find(
        connection, schedules.c.next_at <= now, paused=Pause.NO, order=schedules.c.next_at, limit=TAKEN_AT_ONCE
    )
    return [event for row in due for event in _take(connection, row, now)]


def _take(connection: sa.Connection, row: StoredSchedule, now: datetime) -> list[DueEvent]:
    rule = row.parsed
    slots = due_slots(rule, row.zone, row.next_slot, now, row.missed.most)
    last = slots[-1]
    following = next_slot(rule, row.zone, max(now, last.at), last.wall)
    if following is None:
        SCHEDULES.delete(connection, id=row.id, tenant=row.tenant)
    else:
        values = {"next_at": following.at, "next_wall": to_wall_text(following.wall)}
        SCHEDULES.patch(connection, values | {"last_wall": to_wall_text(last.wall)}, id=row.id, tenant=row.tenant)
    if row.command is None and _is_unreachable(connection, row):
        return []
    is_once = isinstance(rule, Once)
    return [_event(row, slot, now) for slot in slots if is_once or now - slot.at <= row.missed.late_for]


def _is_unreachable(connection: sa.Connection, row: StoredSchedule) -> bool:
    """Return True if nothing can be sent to the chat: it is gone, or its person has blocked the bot."""
    lane = parked_lanes.c.lane == Address(**json.loads(row.address)).lane
    query = sa.select(parked_lanes.c.lane).where(lane, parked_lanes.c.tenant_id == row.tenant)
    return connection.execute(query).first() is not None


def _event(row: StoredSchedule, slot: Slot, now: datetime) -> DueEvent:
    rule, late = row.parsed, now - slot.at
    due = DueEvent(
        tenant=row.tenant,
        user_id=row.user_id,
        address=Address(**json.loads(row.address)),
        session_key=row.session_key,
        event_id=f"{_EVENT}{row.id}:{slot.at:%Y%m%dT%H%MZ}",
        name="schedule",
        arguments=request_text(row.name, rule, slot, late),
        turn=HEARTBEAT if isinstance(rule, Every) else SCHEDULED,
        data=row.prompt,
        data_head=DATA_HEAD,
    )
    if row.command is None:
        return due
    said: dict[str, object] = {"at": f"{slot.wall:%H:%M}", "about": row.name, "late_min": late // MINUTE}
    if late > row.missed.late_for:
        said["missed"] = slot.wall.date().isoformat()
    event_id, arguments = f"{row.command}:{row.id}:{slot.wall.date().isoformat()}", json.dumps(said, ensure_ascii=False)
    return replace(due, event_id=event_id, name=row.command, arguments=arguments, turn=None, data="", data_head="")


def _follow_zones(connection: sa.Connection, now: datetime) -> None:
    """Move schedules to the zone where their person is now, without repeating a time that was due already."""
    moved_to = users.c.timezone.label("moved_to")
    query = sa.select(schedules.c.id, schedules.c.tenant_id, moved_to).join_from(
        schedules, users, users.c.id == _person_id
    )
    for found in connection.execute(query.where(users.c.timezone != schedules.c.zone)).all():
        this = {"id": found.id, "tenant": found.tenant_id}
        row = SCHEDULES.get(connection, **this)
        if row is None:
            continue
        last = None if row.last_wall is None else datetime.fromisoformat(row.last_wall)
        slot = next_slot(row.parsed, found.moved_to, now, last)
        if slot is None:
            SCHEDULES.delete(connection, **this)
        else:
            values = {"zone": found.moved_to, "next_at": slot.at, "next_wall": to_wall_text(slot.wall)}
            SCHEDULES.patch(connection, values, **this)


# ---------------------------------------------------------------- how its turns end


def note_end(connection: sa.Connection, turn_id: str, reason: EndReason, now: datetime) -> None:
    """Count the failed turns of a schedule; pause it after several in a row, and hand its person the news."""
    query = sa.select(inbox.c.event_id, inbox.c.payload).where(
        inbox.c.turn_id == turn_id, inbox.c.event_id.startswith(_EVENT)
    )
    row = connection.execute(query.limit(1)).first()
    if row is None or reason is EndReason.STOPPED:
        return
    schedule_id = row.event_id.split(":")[1]
    if reason is EndReason.COMPLETED:
        SCHEDULES.patch(connection, {"failures": 0}, schedules.c.failures > 0, id=schedule_id)
    else:
        _count_failure(connection, schedule_id, now)


def note_refused(connection: sa.Connection, event_id: str, now: datetime) -> None:
    """Count a slot that was refused before a turn began."""
    if event_id.startswith(_EVENT):
        _count_failure(connection, event_id.split(":")[1], now)


def _count_failure(connection: sa.Connection, schedule_id: str, now: datetime) -> None:
    row = SCHEDULES.get(connection, id=schedule_id, paused=Pause.NO)
    if row is None:
        return
    failures = row.failures + 1
    pause = Pause.FAILURES if failures >= MAX_FAILURES else Pause.NO
    SCHEDULES.patch(connection, {"failures": failures, "paused": pause}, id=row.id, tenant=row.tenant)
    if pause is Pause.NO:
        return
    event = SystemEvent(
        event_id=f"{PAUSED}:{row.id}:{row.next_wall}",
        address=Address(**json.loads(row.address)),
        sender=SYSTEM,
        received_at=now,
        tenant=row.tenant,
        name=PAUSED,
        arguments=row.name,
    )
    hand_over(connection, event, row.user_id, row.session_key, now)
