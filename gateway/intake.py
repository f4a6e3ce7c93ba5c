"""Intake: persist, then acknowledge. One commit holds what came in, what access makes of it, and how far was read.

The order of a session is fixed here, by the one call that queues the commit, before anything is awaited. What an event
becomes within the commit is `gateway.admission`'s matter.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from functools import partial
from typing import Protocol

import structlog

from channels.base import Channel, NotPersisted
from channels.messages import Address, CommandInvoked, InboundEvent, InboundMessage, Rejected
from gateway.access import policy
from gateway.access.config import AccessConfig
from gateway.access.limits import PersonLimits
from gateway.access.policy import AccessSnapshot, Admit
from gateway.admission import Admission, Committed, Plan
from gateway.delivery.outbox import Delivery
from gateway.errors import StoreUnavailable
from gateway.failpoints import failpoint
from gateway.sessions.key import session_key
from gateway.store.engine import VALUE_REFUSED, Connection, Store
from gateway.store.inbox import InboxRow
from gateway.telemetry import DUPLICATES, INBOUND, series

log = structlog.get_logger()

UNLISTED_TOLD = 1_000
"""Groups of which the operator is told; then it is enough."""


NOTED_AT_MOST = 50_000
"""Chats of which is kept in memory that they were written down; one that is not known is written down once more."""


class Announced(Protocol):
    """Where admitted rows go."""

    def publish(self, row: InboxRow) -> None:
        """A row was committed."""
        ...

    def reread(self) -> None:
        """Rows may have been committed without a word: look into the store."""
        ...


Waiting = Callable[[str], int]
"""How many messages of a session wait for a turn, this moment."""


class Intake:
    """The one way in, for every channel."""

    def __init__(
        self,
        store: Store,
        access: AccessConfig,
        snapshot: AccessSnapshot,
        delivery: Delivery,
        bus: Announced,
        waiting: Waiting,
        clock: Callable[[], datetime],
    ) -> None:
        """Nothing is received before the first call of `receive`."""
        self._store = store
        self._access = access
        self._snapshot = snapshot
        self._delivery = delivery
        self._bus = bus
        self._waiting = waiting
        self._clock = clock
        self._limits = PersonLimits(access.limits, time.monotonic)
        self._noted: dict[Address, datetime] = {}  # chats that were written down lately
        self._unlisted: set[str] = set()  # groups of which the operator was told

    async def receive(
        self,
        channel: Channel,
        events: Sequence[InboundEvent],
        rejected: Iterable[Rejected],
        cursor: str | None,
        tenant: str,
    ) -> None:
        """Return once everything is committed.

        Raises:
            NotPersisted: nothing is; the platform must not be told that we have it.
        """
        plans = [self._plan(event) for event in events]
        commit = partial(self._commit, channel=channel, tenant=tenant)
        unread = tuple(rejected)
        failpoint("inbox_pre")
        try:
            try:
                whole = partial(commit, plans=plans, rejected=unread, cursor=cursor)
                await self._store.enqueue(whole, self._announce)
            except VALUE_REFUSED:
                unread += await self._apart(commit, plans)
                await self._store.enqueue(partial(commit, plans=(), rejected=unread, cursor=cursor), self._announce)
        except StoreUnavailable as error:
            self._look_again(plans)
            raise NotPersisted(str(error)) from error
        failpoint("inbox_post")

    async def _apart(self, commit: Callable[..., Committed], plans: Sequence[Plan]) -> tuple[Rejected, ...]:
        """Each event in a commit of its own, in order; those whose values the store does not take."""
        refused: list[Rejected] = []
        for plan in plans:
            try:
                await self._store.enqueue(partial(commit, plans=[plan], rejected=(), cursor=None), self._announce)
            except VALUE_REFUSED as refusal:
                reason = f"the store does not take it: {type(refusal).__name__}"
                log.error("event_refused", event_id=ascii(plan.event.event_id), error=reason)
                refused.append(Rejected(plan.event.event_id, ascii(plan.event), reason))
        return tuple(refused)

    def _look_again(self, plans: Sequence[Plan]) -> None:
        """A commit whose outcome is unknown may hold, not announced; what it did not take is not counted."""
        self._bus.reread()
        for plan in plans:
            self._delivery.reread(plan.event.address)
            if isinstance(plan.decision, Admit) and plan.over is None:
                self._limits.give_back(plan.decision.person.user_id)

    def _plan(self, event: InboundEvent) -> Plan:
        decision = policy.decide(self._snapshot, self._access, event)
        if decision == policy.Silence(policy.GROUP_NOT_LISTED):
            self._note_unlisted(event)
        if not (isinstance(decision, Admit) and isinstance(event, InboundMessage | CommandInvoked)):
            return Plan(event, decision)
        waiting = self._waiting(session_key(event, event.kind))
        return Plan(event, decision, self._limits.take(decision.person.user_id, waiting), waiting)

    def _note_unlisted(self, event: InboundEvent) -> None:
        """Tell the operator, once a group, what to write into the configuration where somebody asked for the bot."""
        group = f"{event.address.channel}:{event.address.chat}"
        asked = isinstance(event, CommandInvoked) or (isinstance(event, InboundMessage) and event.mentions_bot)
        if asked and group not in self._unlisted and len(self._unlisted) < UNLISTED_TOLD:
            self._unlisted.add(group)
            log.warning("group_not_allowed", group=group, account=event.address.account, mend="add it to allow_groups")

    def _commit(
        self,
        connection: Connection,
        channel: Channel,
        plans: Sequence[Plan],
        rejected: Sequence[Rejected],
        cursor: str | None,
        tenant: str,
    ) -> Committed:
        """The whole of one commit, in the writer."""
        admission = Admission(connection, channel, self._snapshot, self._delivery.parked, self._noted, self._clock())
        for plan in plans:
            admission.admit(plan)
        admission.quarantine(rejected, tenant)
        if cursor is not None:
            admission.move_cursor(cursor, tenant)
        return admission.done

    def _announce(self, done: Committed) -> None:
        """Tell everybody, in the event loop, right after the commit."""
        for person in done.people:
            self._snapshot.put(person)
        if len(self._noted) + len(done.noted) > NOTED_AT_MOST:
            self._noted.clear()
        self._noted.update(dict.fromkeys(done.noted, self._clock()))
        for old, new_chat in done.moved:
            self._snapshot.chat_moved(old.channel, old.chat, new_chat)
            self._delivery.moved(old, new_chat)
        for row in done.admitted:
            series(INBOUND, row.event.address.channel, row.event.type).inc()
            self._bus.publish(row)
        self._delivery.publish(done.replies)
        for lane in done.parked:
            self._delivery.park(lane)
        for lane in done.unparked:
            self._delivery.unpark(lane)
        if done.duplicates:
            series(DUPLICATES, done.channel).inc(done.duplicates)
            log.info("duplicates_ignored", count=done.duplicates)
