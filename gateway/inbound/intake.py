"""Intake: persist, then acknowledge. One commit holds what came in, what access makes of it, and how far was read.

The order of a session is fixed here, by the one call that queues the commit, before anything is awaited. What an event
becomes within the commit is `gateway.inbound.admission`'s matter.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Protocol

import structlog

from channels.base import Channel, ChannelState, KnownChat, NotPersisted
from channels.messages import Address, ButtonPressed, CommandInvoked, InboundEvent, InboundMessage, Rejected
from gateway.access import policy, words
from gateway.access.config import AccessConfig
from gateway.access.pasted import seal_pasted
from gateway.access.policy import AccessSnapshot
from gateway.delivery.delivery import Delivery
from gateway.errors import StoreUnavailable
from gateway.failpoints import failpoint
from gateway.inbound.admission import Admission, CommitResult, Plan
from gateway.inbound.bounds import InboundBounds
from gateway.inbound.reception import Doorway, is_talk, to_tenants
from gateway.inbound.session_key import session_key
from gateway.ownership import EVERYTHING
from gateway.safety.names import shown_name
from gateway.store import chats, leases, reply_routes
from gateway.store.engine import VALUE_REFUSED, Connection, Store
from gateway.store.inbox import InboxRow
from gateway.store.leases import Lease
from gateway.telemetry import DUPLICATES, FAULTS, INBOUND, series

log = structlog.get_logger()

NOTED_AT_MOST = 50_000
"""Chats of which is kept in memory that they were written down; one that is not known is written down once more."""


class RowPublisher(Protocol):
    """Passes on each row that was admitted; `gateway.inbound.bus.Bus` does."""

    def publish(self, row: InboxRow) -> None:
        """A row was committed."""
        ...

    def reread(self) -> None:
        """Rows may have been committed without a word: look into the store."""
        ...


CountWaiting = Callable[[str], int]
"""How many messages of a session wait for a turn, this moment."""


class AccountHealth(Protocol):
    """Where an account's channel says how it is doing, each of its connections by its number."""

    def note(self, state: ChannelState, detail: str, number: int) -> None:
        """It says so itself."""
        ...

    def note_missing(self, detail: str, number: int) -> None:
        """What was said and could not be read."""
        ...


class Intake:
    """What the ways in of all channels share: who may say how much, and who is told of what was committed."""

    def __init__(
        self,
        store: Store,
        access: AccessConfig,
        snapshot: AccessSnapshot,
        delivery: Delivery,
        bus: RowPublisher,
        waiting: CountWaiting,
        clock: Callable[[], datetime],
        doorway: Doorway,
    ) -> None:
        """Nothing is received before the first call of `receive`."""
        self._store = store
        self._access = access
        self._snapshot = snapshot
        self._delivery = delivery
        self._bus = bus
        self._waiting = waiting
        self._clock = clock
        self._doorway = doorway
        self._bounds = InboundBounds(access, snapshot, doorway.clock_s)
        self._noted: dict[Address, datetime] = {}  # chats that were written down lately

    def reconfigure(self, access: AccessConfig) -> None:
        """These rules and bounds from the next event on; where a bound changes, what was counted begins anew."""
        self._bounds.reconfigure(access)
        self._access = access

    @property
    def language(self) -> str | None:
        """The language of people who have not chosen one."""
        return self._snapshot.language_of(self._store.home_tenant)

    def look_again(self, plans: Sequence[Plan]) -> None:
        """A commit whose outcome is unknown may hold, not announced; what it did not take is not counted."""
        self._bus.reread()
        for plan in plans:
            self._delivery.reread(plan.event.address)
            self._bounds.give_back(plan)

    def begin_commit(self, connection: Connection, channel: Channel) -> Admission:
        """One commit's work, for a channel, in the writer."""
        keeps_talk = self._access.rules_of(channel.name, channel.account).group_talk
        return Admission(
            connection, channel, self._doorway, self._delivery.parked, self._noted, self._clock(),
            keeps_talk=keeps_talk,
        )  # fmt: skip

    @property
    def floods(self) -> Mapping[str, int]:
        """Accounts where strangers come in numbers, with their messages in the last minute."""
        return self._bounds.floods()

    def plan(self, event: InboundEvent) -> Plan | None:
        """What becomes of it; None where it is over a stranger's bound, or its sender had it forgotten."""
        if self._snapshot.is_forgotten(event):
            return None
        event = self._as_meant(self._seal(event))
        decision = policy.decide(self._snapshot, self._access, event)
        if isinstance(decision, policy.Enrol):
            former_id = self._snapshot.former_id(event.tenant, event.sender_key)
            decision = policy.Enrol(replace(decision.newcomer, former_id=former_id))
        elif decision == policy.Silence(policy.GROUP_NOT_LISTED):
            self._bounds.note_unlisted(event)
        flood = isinstance(decision, policy.Pair) and self._bounds.is_flood(event)
        if not self._bounds.admits_stranger(event, decision):
            return None
        if isinstance(decision, policy.Pair):
            return Plan(event, decision, flood=flood)
        counted = self._bounds.key_of(event, decision)
        if counted is None or not isinstance(event, InboundMessage | CommandInvoked | ButtonPressed):
            return Plan(event, decision)
        reads = self._snapshot.context_of(event.tenant, event.address) > 0
        waiting = 0 if is_talk(event) else self._waiting(session_key(event, event.kind, self._doorway.agent))
        over = self._bounds.charge(event, counted, waiting)
        return Plan(event, decision, over, waiting, counted=counted, reads_talk=reads)

    def _as_meant(self, event: InboundEvent) -> InboundEvent:
        """The event as meant for the bot, where its group wants all that is said there to be."""
        if not (isinstance(event, InboundMessage) and is_talk(event)):
            return event
        group = self._snapshot.group(event.tenant, event.address)
        return replace(event, mentions_bot=True) if group is not None and group.every_message else event

    def show_refused(self, plans: Sequence[Plan]) -> None:
        """Whoever was over a bound sees that their message was not accepted, also where they are not told."""
        for plan in plans:
            if plan.over is not None and isinstance(plan.event, InboundMessage) and not is_talk(plan.event):
                self._delivery.show_refused(plan.event.address, plan.event.message_id)

    def _seal(self, event: InboundEvent) -> InboundEvent:
        """The event as it may be stored: the token of its own way, and what was given to /connect."""
        event = seal_pasted(event, self._doorway.vault, self._doorway.commands)
        if not isinstance(event, CommandInvoked | ButtonPressed) or event.route is None:
            return event
        whose = reply_routes.secret_of(event.tenant, event.sender_key)
        return replace(event, route=replace(event.route, token=self._doorway.vault.seal(event.route.token, whose)))

    def announce(self, done: CommitResult) -> None:
        """Tell bus, lanes and caches of a commit; each is a hint, which may be lost."""
        self._know(done)
        self._tell_operator(done)
        for old, new_chat in done.moved:
            self._snapshot.chat_moved(old.channel, old.chat, new_chat)
            self._delivery.move(old, new_chat)
        for row in done.admitted:
            series(INBOUND, row.event.address.channel, row.event.type).inc()
            self._bus.publish(row)
            log.debug("message_admitted", inbox_id=row.id, user_id=row.user_id, session=row.session_key)
        for ids in done.refused:
            log.info("message_refused", **ids)
        self._delivery.publish(done.replies)
        for lane in done.parked:
            self._delivery.park(lane)
        for lane in done.unparked:
            self._delivery.unpark(lane)
        if done.duplicates:
            series(DUPLICATES, done.channel).inc(done.duplicates)
            log.info("duplicates_ignored", count=done.duplicates)

    def _know(self, done: CommitResult) -> None:
        """Remember who was let in, and which chats were written down."""
        for person in done.people:
            self._snapshot.put(person)
            self._bounds.let_in(person)
        if len(self._noted) + len(done.noted) > NOTED_AT_MOST:
            self._noted.clear()
        self._noted.update(dict.fromkeys(done.noted, self._clock()))

    def _tell_operator(self, done: CommitResult) -> None:
        """Show who asks and what lets them in, on the terminal or in the log; in numbers, that they do."""
        for asked in done.asked:
            name, account = shown_name(asked.display_name), f"{asked.channel}:{asked.account}"
            command = words.approve_command(asked, self._doorway.tenk)
            said = f"{name} ({asked.sender}) asks to be let in to {account}. This lets them in:\n    {command}"
            if self._doorway.show is not None:
                self._doorway.show(said)
            else:
                log.info("pairing_requested", name=name, sender=asked.sender, account=account, approve=command)
        for account in done.crowded:
            if self._bounds.is_crowded(account):
                asks = self._bounds.floods().get(account, 0)
                log.warning("strangers_flood", account=account, messages_per_min=asks, mend="see `tenk pairing list`")


class TakesIn(Protocol):
    """A tenant whose people are heard."""

    @property
    def intake(self) -> Intake: ...


class ChannelSink:
    """The way in for an account, or for one of its connections."""

    lease: Lease = EVERYTHING  # who has lost it brings in what it read, and does not say how far that was

    def __init__(
        self,
        store: Store,
        tenants: Mapping[str, TakesIn],
        channel: Channel,
        health: AccountHealth,
        tenant: str | None,
        number: int = 0,
    ) -> None:
        """`tenant` is the account's, whatever a message says; None: each message says it, who made it saw its key."""
        self._store = store.of(tenant)
        self._tenants = tenants
        self._channel = channel
        self._health = health
        self._tenant = tenant
        self._number = number  # of the connection

    async def receive(
        self, events: Sequence[InboundEvent], *, rejected: Sequence[Rejected] = (), cursor: str | None = None
    ) -> None:
        """Return once everything is committed. What strangers say beyond their bound leaves nothing to be committed.

        Raises:
            NotPersisted: nothing is; the platform must not be told that we have it.
        """
        if self._tenant is None:
            for event in events:
                sink = ChannelSink(self._store, self._tenants, self._channel, self._health, event.tenant)
                await sink.receive([event])
            return
        intake = self._tenants[self._tenant].intake
        failpoint("received")
        self.report(ChannelState.READY)
        unread = list(rejected)
        plans = list(self._plans(intake, events, unread))
        if plans or unread or cursor is not None:
            failpoint("inbox_pre")
            try:
                try:
                    await self._take_in(intake, plans, unread, cursor)
                except StoreUnavailable:
                    raise
                except Exception as broken:  # noqa: BLE001  one event of a batch: found, and kept for the operator
                    log.info("batch_taken_apart", events=len(plans), error=type(broken).__name__)
                    intake.look_again(())  # the commit may hold, and what broke may be what tells of it
                    unread += await self._apart(intake, plans)
                    await self._take_in(intake, (), unread, cursor)
            except StoreUnavailable as error:
                intake.look_again(plans)
                raise NotPersisted(str(error)) from error
            intake.show_refused(plans)
        failpoint("acked")

    def _plans(self, intake: Intake, events: Sequence[InboundEvent], unread: list[Rejected]) -> Iterator[Plan]:
        """What is to be done with each event; one that breaks joins the `unread`."""
        for event in events:
            try:
                plan = intake.plan(to_tenants(event, self._tenant, intake.language))
            except Exception as error:  # noqa: BLE001  one event: kept for the operator
                unread.append(_reject_broken(event, error))
                continue
            if plan is not None:
                yield plan

    async def _apart(self, intake: Intake, plans: Sequence[Plan]) -> list[Rejected]:
        """Each event in a commit of its own, in order; those whose values the store does not take."""
        refused: list[Rejected] = []
        for plan in plans:
            try:
                await self._take_in(intake, (plan,), (), None)
            except VALUE_REFUSED as refusal:
                refused.append(_reject(plan.event, f"the store does not take it: {type(refusal).__name__}"))
            except StoreUnavailable:
                raise
            except Exception as error:  # noqa: BLE001  one event: kept for the operator
                refused.append(_reject_broken(plan.event, error))
        return refused

    async def _take_in(
        self, intake: Intake, plans: Sequence[Plan], rejected: Sequence[Rejected], cursor: str | None
    ) -> None:
        """Commit the events, then tell what follows."""
        done = await self._store.try_commit(self._admit_all, intake, plans, rejected, cursor)
        intake.announce(done)

    def _admit_all(
        self,
        connection: Connection,
        intake: Intake,
        plans: Sequence[Plan],
        rejected: Sequence[Rejected],
        cursor: str | None,
    ) -> CommitResult:
        """The whole of one commit, in the writer."""
        admission = intake.begin_commit(connection, self._channel)
        for plan in plans:
            admission.admit(plan)
        tenant = self._store.home_tenant
        admission.quarantine(rejected, tenant)
        if cursor is not None and leases.holds(connection, self.lease):
            admission.move_cursor(cursor, tenant, self._number)
        return admission.done

    async def cursor(self) -> str | None:
        """The last committed resume point."""
        whose = partial(chats.cursor_of, channel=self._channel.name, account=self._channel.account)
        return await self._store.read(partial(whose, number=self._number), lasting=True)

    async def chats(self) -> Sequence[KnownChat]:
        """Where people who are let in talk to the bot."""
        query = partial(chats.of_account, channel=self._channel.name, account=self._channel.account)
        return await self._store.read(query, lasting=True)

    def report_missing(self, detail: str) -> None:
        """Tell health what could not be read."""
        self._health.note_missing(detail, self._number)

    def report(self, state: ChannelState, detail: str = "") -> None:
        """Tell health how this channel is doing."""
        self._health.note(state, detail, self._number)


def _reject(event: InboundEvent, reason: str) -> Rejected:
    log.error("event_refused", event_id=ascii(event.event_id), error=reason)
    return Rejected(event.event_id, ascii(event), reason)


def _reject_broken(event: InboundEvent, error: Exception) -> Rejected:
    series(FAULTS, "event").inc()
    log.error("event_broken", event_id=ascii(event.event_id), exc_info=error)
    return _reject(event, f"it broke the admission: {type(error).__name__}")
