"""The scheduler turns what is due into events of the inbox: each once, in the commit that moves its schedule on.

What is due, and when next, is an agent product's matter; how the event is answered is its command's. A schedule goes by
the wall clock, which may jump: so the scheduler looks again every few seconds and never sleeps until an hour.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

import structlog

from channels.messages import Address, Sender, SystemEvent
from gateway.inbound.bus import Bus
from gateway.store import inbox
from gateway.store.engine import Connection, Store
from gateway.store.inbox import InboxRow, NewRow
from gateway.store.people import now_of

log = structlog.get_logger()

LOOK_S = 2.0
SYSTEM = Sender("system", "system", is_bot=True)


@dataclass(frozen=True, slots=True)
class DueEvent:
    """Something whose time has come, for one person, said in one of their chats."""

    tenant: str
    user_id: str
    address: Address
    session_key: str
    event_id: str  # of this and no other slot: what makes it once
    name: str  # of the product's command that answers it
    arguments: str


@dataclass(frozen=True, slots=True)
class Schedule:
    """What a product's data says about time; both are functions over a connection."""

    next_at: Callable[[Connection, datetime], datetime | None]
    """When something is due next; None: nothing is."""
    take: Callable[[Connection, datetime], Sequence[DueEvent]]
    """What is due now; each is moved on in the same commit."""


async def take_due(
    store: Store,
    schedule: Schedule,
    bus: Bus,
    clock: Callable[[], datetime],
    dates: Callable[[], datetime],
    is_configured: Callable[[Address], bool] = lambda _address: True,
) -> None:
    """Admit what is due by `dates`, the wall clock; nothing of accounts that are not configured."""
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
                event_id=due.event_id, address=due.address, sender=SYSTEM, received_at=now, tenant=due.tenant,
                name=due.name, arguments=due.arguments,
            )  # fmt: skip
            admitted_at, user_id = clock(), now_of(connection, due.user_id)
            id_ = inbox.admit(connection, NewRow(event, user_id, due.session_key), admitted_at)
            if id_ is not None:
                rows.append(InboxRow(id_, due.tenant, due.session_key, user_id, event, admitted_at))
        return rows

    for row in await store.commit(take):
        log.info("event_due", event_id=row.event.event_id, inbox_id=row.id)
        bus.publish(row)
