"""The scheduler, which admits due events to the inbox, each once, and reschedules in the same commit.

Schedules follow the wall clock, which may jump, so the scheduler polls every few seconds.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

import structlog

from channels.messages import SystemEvent
from gateway.store import schedules
from gateway.store.engine import Connection, Store
from gateway.store.handover import SYSTEM, hand_over
from gateway.store.inbox import InboxRow
from gateway.store.schedules import DueEvent

log = structlog.get_logger()

LOOK_S = 2.0


@dataclass(frozen=True, slots=True)
class Schedule:
    """A source of due events: two functions over a connection."""

    next_at: Callable[[Connection, datetime], datetime | None]
    """Returns the time of the next due event, or None."""
    take: Callable[[Connection, datetime], Sequence[DueEvent]]
    """Returns the events that are due now, and reschedules each in the same commit."""


PEOPLES = Schedule(schedules.next_due_at, schedules.take_due)
"""The reminders and schedules of people."""


async def take_due(
    store: Store,
    schedule: Schedule,
    clock: Callable[[], datetime],
    dates: Callable[[], datetime],
    may_admit: Callable[[DueEvent], bool] = lambda _due: True,
) -> None:
    """Admit the events due by the wall clock `dates`, except those that may not be admitted."""
    now = dates()
    due_at = await store.read(lambda connection: schedule.next_at(connection, now))
    if due_at is None or due_at > now:
        return

    def take(connection: Connection) -> list[InboxRow]:
        due = [each for each in schedule.take(connection, now) if may_admit(each)]
        rows = (hand_over(connection, _to_event(each, now), each.user_id, each.session_key, clock()) for each in due)
        return [row for row in rows if row is not None]

    for row in await store.commit(take):
        log.info("event_due", event_id=row.event.event_id, inbox_id=row.id)


def _to_event(due: DueEvent, now: datetime) -> SystemEvent:
    return SystemEvent(
        event_id=due.event_id,
        address=due.address,
        sender=SYSTEM,
        received_at=now,
        tenant=due.tenant,
        name=due.name,
        arguments=due.arguments,
        turn=due.turn,
        data=due.data,
        data_head=due.data_head,
    )
