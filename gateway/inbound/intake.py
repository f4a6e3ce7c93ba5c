"""Intake: persist, then acknowledge. One commit holds the events, their access decisions and the resume point.

The order of a session's messages is fixed by the one call that queues the commit, before anything is awaited.
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
from gateway.inbound.reception import ReceptionDeps, is_talk, to_tenants
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
"""Recorded chats remembered in memory; a forgotten one is recorded once more."""


class RowPublisher(Protocol):
    """Receiver of admitted rows; implemented by `gateway.inbound.bus.Bus`."""

    def publish(self, row: InboxRow) -> None:
        """Note that a row was committed."""
        ...

    def reread(self) -> None:
        """Read the store, because rows may have been committed without notice."""
        ...


CountWaiting = Callable[[str], int]
"""Counter of a session's messages that wait for a turn."""


class AccountHealth(Protocol):
    """Receiver of an account's health, by connection number."""

    def note(self, state: ChannelState, detail: str, number: int) -> None:
        """Record the health that the connection reports."""
        ...

    def note_missing(self, detail: str, number: int) -> None:
        """Record messages that could not be read."""
        ...


class Intake:
    """Planning and announcing of one tenant's inbound events, for all its channels."""

    def __init__(
        self,
        store: Store,
        access: AccessConfig,
        snapshot: AccessSnapshot,
        delivery: Delivery,
        bus: RowPublisher,
        waiting: CountWaiting,
        clock: Callable[[], datetime],
        deps: ReceptionDeps,
    ) -> None:
        self._store = store
        self._access = access
        self._snapshot = snapshot
        self._delivery = delivery
        self._bus = bus
        self._waiting = waiting
        self._clock = clock
        self._deps = deps
        self._bounds = InboundBounds(access, snapshot, deps.clock_s)
        self._noted: dict[Address, datetime] = {}  # chats that were recorded lately

    def reconfigure(self, access: AccessConfig) -> None:
        """Apply new rules and limits from the next event on; a changed limit starts with fresh counts."""
        self._bounds.reconfigure(access)
        self._access = access

    @property
    def language(self) -> str | None:
        """Return the language of people who have not chosen one."""
        return self._snapshot.language_of(self._store.home_tenant)

    def look_again(self, plans: Sequence[Plan]) -> None:
        """Recover from a commit whose outcome is unknown: reread the store, and refund what it may not have taken."""
        self._bus.reread()
        for plan in plans:
            self._delivery.reread(plan.event.address)
            self._bounds.give_back(plan)

    def begin_commit(self, connection: Connection, channel: Channel) -> Admission:
        """Return the admission of one commit, in the writer."""
        keeps_talk = self._access.rules_of(channel.name, channel.account).group_talk
        return Admission(
            connection,
            channel,
            self._deps,
            self._delivery.parked,
            self._noted,
            self._clock(),
            keeps_talk=keeps_talk,
        )

    @property
    def floods(self) -> Mapping[str, int]:
        """Return the accounts with a flood of strangers, and their messages in the last minute."""
        return self._bounds.floods()

    def plan(self, event: InboundEvent) -> Plan | None:
        """Decide about an event; return None if a stranger is over the limit or the event is older than its sender's
        erasure.
        """
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
        agent = self._deps.agents.choose(event, decision.person if isinstance(decision, policy.Admit) else None)
        if isinstance(decision, policy.Pair):
            return Plan(event, decision, agent, flood=flood)
        counted = self._bounds.key_of(event, decision)
        if counted is None or not isinstance(event, InboundMessage | CommandInvoked | ButtonPressed):
            return Plan(event, decision, agent)
        reads = self._snapshot.context_of(event.tenant, event.address) > 0
        waiting = 0 if is_talk(event) else self._waiting(session_key(event, event.kind, agent))
        over = self._bounds.charge(event, counted, waiting)
        return Plan(event, decision, agent, over, waiting, counted=counted, reads_talk=reads)

    def _as_meant(self, event: InboundEvent) -> InboundEvent:
        """Mark group talk as meant for the bot if its group is set to answer every message."""
        if not (isinstance(event, InboundMessage) and is_talk(event)):
            return event
        group = self._snapshot.group(event.tenant, event.address)
        return replace(event, mentions_bot=True) if group is not None and group.every_message else event

    def show_refused(self, plans: Sequence[Plan]) -> None:
        """React to messages that were over a limit, also if no notice is sent."""
        for plan in plans:
            if plan.over is not None and isinstance(plan.event, InboundMessage) and not is_talk(plan.event):
                self._delivery.show_refused(plan.event.address, plan.event.message_id)

    def _seal(self, event: InboundEvent) -> InboundEvent:
        """Return the event as it may be stored: reply token and /connect keys sealed."""
        event = seal_pasted(event, self._deps.vault, self._deps.commands)
        if not isinstance(event, CommandInvoked | ButtonPressed) or event.route is None:
            return event
        whose = reply_routes.secret_of(event.tenant, event.sender_key)
        return replace(event, route=replace(event.route, token=self._deps.vault.seal(event.route.token, whose)))

    def announce(self, done: CommitResult) -> None:
        """Announce a commit to the bus, the lanes and the caches; each is a hint that may be lost."""
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
        for lane in done.parked:
            self._delivery.park(lane)
        for lane in done.unparked:
            self._delivery.unpark(lane)
        if done.duplicates:
            series(DUPLICATES, done.channel).inc(done.duplicates)
            log.info("duplicates_ignored", count=done.duplicates)

    def _know(self, done: CommitResult) -> None:
        """Update the caches of people and chats."""
        for person in done.people:
            self._snapshot.put(person)
            self._bounds.let_in(person)
        if len(self._noted) + len(done.noted) > NOTED_AT_MOST:
            self._noted.clear()
        self._noted.update(dict.fromkeys(done.noted, self._clock()))

    def _tell_operator(self, done: CommitResult) -> None:
        """Show new requests and their approval commands on the terminal or in the log; only a count in a flood."""
        for asked in done.asked:
            name, account = shown_name(asked.display_name), f"{asked.channel}:{asked.account}"
            command = words.approve_command(asked, self._deps.tenk)
            said = f"{name} ({asked.sender}) asks to be let in to {account}. This lets them in:\n    {command}"
            if self._deps.show is not None:
                self._deps.show(said)
            else:
                log.info("pairing_requested", name=name, sender=asked.sender, account=account, approve=command)
        for account in done.crowded:
            if self._bounds.is_crowded(account):
                asks = self._bounds.floods().get(account, 0)
                log.warning("strangers_flood", account=account, messages_per_min=asks, mend="see `tenk pairing list`")


class HasIntake(Protocol):
    """Tenant that takes in events."""

    @property
    def intake(self) -> Intake: ...


class ChannelSink:
    """Sink of an account, or of one of its connections."""

    lease: Lease = EVERYTHING  # without the lease, events are stored but the resume point is not

    def __init__(
        self,
        store: Store,
        tenants: Mapping[str, HasIntake],
        channel: Channel,
        health: AccountHealth,
        tenant: str | None,
        number: int = 0,
    ) -> None:
        """Take the account's tenant, which overrides the events'; None for the API, whose events carry their key's
        tenant.
        """
        self._store = store.of(tenant)
        self._tenants = tenants
        self._channel = channel
        self._health = health
        self._tenant = tenant
        self._number = number  # of the connection

    async def receive(
        self, events: Sequence[InboundEvent], *, rejected: Sequence[Rejected] = (), cursor: str | None = None
    ) -> None:
        """Return once everything is committed.

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
        if self._channel.limits.waits_for_room and any(plan.over is not None for plan in plans):
            intake.look_again(plans)
            raise NotPersisted("over the limit of this person")
        if plans or unread or cursor is not None:
            failpoint("inbox_pre")
            try:
                try:
                    await self._take_in(intake, plans, unread, cursor)
                except StoreUnavailable:
                    raise
                except Exception as broken:  # noqa: BLE001  one event of a batch: it is found and quarantined
                    log.info("batch_taken_apart", events=len(plans), error=type(broken).__name__)
                    intake.look_again(())  # the commit may have been made, and the announcement failed
                    unread += await self._apart(intake, plans)
                    await self._take_in(intake, (), unread, cursor)
            except StoreUnavailable as error:
                intake.look_again(plans)
                raise NotPersisted(str(error)) from error
            intake.show_refused(plans)
        failpoint("acked")

    def _plans(self, intake: Intake, events: Sequence[InboundEvent], unread: list[Rejected]) -> Iterator[Plan]:
        """Plan each event; add broken ones to `unread`."""
        for event in events:
            try:
                plan = intake.plan(to_tenants(event, self._tenant, intake.language))
            except Exception as error:  # noqa: BLE001  one event: quarantined for the operator
                unread.append(_reject_broken(event, error))
                continue
            if plan is not None:
                yield plan

    async def _apart(self, intake: Intake, plans: Sequence[Plan]) -> list[Rejected]:
        """Commit each event alone, in order; return those that the store refuses."""
        refused: list[Rejected] = []
        for plan in plans:
            try:
                await self._take_in(intake, (plan,), (), None)
            except VALUE_REFUSED as refusal:
                refused.append(_reject(plan.event, f"the store does not take it: {type(refusal).__name__}"))
            except StoreUnavailable:
                raise
            except Exception as error:  # noqa: BLE001  one event: quarantined for the operator
                refused.append(_reject_broken(plan.event, error))
        return refused

    async def _take_in(
        self, intake: Intake, plans: Sequence[Plan], rejected: Sequence[Rejected], cursor: str | None
    ) -> None:
        """Commit the events and announce them."""
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
        """Write one commit."""
        admission = intake.begin_commit(connection, self._channel)
        for plan in plans:
            admission.admit(plan)
        tenant = self._store.home_tenant
        admission.quarantine(rejected, tenant)
        if cursor is not None and leases.holds(connection, self.lease):
            admission.move_cursor(cursor, tenant, self._number)
        return admission.done

    async def cursor(self) -> str | None:
        """Return the last committed resume point."""
        whose = partial(chats.cursor_of, channel=self._channel.name, account=self._channel.account)
        return await self._store.read(partial(whose, number=self._number), lasting=True)

    async def chats(self) -> Sequence[KnownChat]:
        """Return the chats in which people with access talk to the bot."""
        query = partial(chats.of_account, channel=self._channel.name, account=self._channel.account)
        return await self._store.read(query, lasting=True)

    def report_missing(self, detail: str) -> None:
        """Report messages that could not be read."""
        self._health.note_missing(detail, self._number)

    def report(self, state: ChannelState, detail: str = "") -> None:
        """Report the connection's health."""
        self._health.note(state, detail, self._number)


def _reject(event: InboundEvent, reason: str) -> Rejected:
    log.error("event_refused", event_id=ascii(event.event_id), error=reason)
    return Rejected(event.event_id, ascii(event), reason)


def _reject_broken(event: InboundEvent, error: Exception) -> Rejected:
    series(FAULTS, "event").inc()
    log.error("event_broken", event_id=ascii(event.event_id), exc_info=error)
    return _reject(event, f"it broke the admission: {type(error).__name__}")
