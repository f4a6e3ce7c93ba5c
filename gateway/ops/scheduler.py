"""The scheduler, which admits a product's due events to the inbox, each once, and reschedules in the same commit.

Schedules follow the wall clock, which may jump, so the scheduler polls every few seconds.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

import structlog

from channels.messages import Address, SystemEvent
from gateway.inbound.bus import Bus
from gateway.store import inbox
from gateway.store.engine import Connection, Store
from gateway.store.handover import SYSTEM
from gateway.store.inbox import InboxRow, NewRow
from gateway.store.people import now_of

log = structlog.get_logger()

LOOK_S = 2.0


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


@dataclass(frozen=True, slots=True)
class Schedule:
    """A product's schedule: two functions over a connection."""

    next_at: Callable[[Connection, datetime], datetime | None]
    """Returns the time of the next due event, or None."""
    take: Callable[[Connection, datetime], Sequence[DueEvent]]
    """Returns the events that are due now, and reschedules each in the same commit."""


async def take_due(
    store: Store,
    schedule: Schedule,
    bus: Bus,
    clock: Callable[[], datetime],
    dates: Callable[[], datetime],
    is_configured: Callable[[Address], bool] = lambda _address: True,
) -> None:
    """Admit the events due by the wall clock `dates`, except those for accounts that are not configured."""
    now = dates()
    due_at = await store.read(lambda connection: schedule.next_at(connection, now))
    if due_at is None or due_at > now:
        return

    def take(connection: Connection) -> list[InboxRow]:
        rows = []
        for due in schedule.take(connection, now):
            if not is_configured(due.address):
                continue
            event = SystemEvent(
                event_id=due.event_id,
                address=due.address,
                sender=SYSTEM,
                received_at=now,
                tenant=due.tenant,
                name=due.name,
                arguments=due.arguments,
                turn=due.turn,
            )
            admitted_at, user_id = clock(), now_of(connection, due.user_id)
            id_ = inbox.admit(connection, NewRow(event, user_id, due.session_key), admitted_at)
            if id_ is not None:
                rows.append(InboxRow(id_, due.tenant, due.session_key, user_id, event, admitted_at))
        return rows

    for row in await store.commit(take):
        log.info("event_due", event_id=row.event.event_id, inbox_id=row.id)
        bus.publish(row)
