"""Intake: persist, then acknowledge. One commit holds what came in, what access makes of it, and how far was read.

The order of a session is fixed here, by the one call that queues the commit, before anything is awaited.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Protocol

import structlog

from channels.base import Channel, HasButtons, NotPersisted
from channels.messages import (
    Address,
    Button,
    ButtonPressed,
    ButtonStyle,
    ChatKind,
    CommandInvoked,
    InboundEvent,
    InboundMessage,
    Membership,
    MembershipChanged,
    MessageDeleted,
    Rejected,
)
from gateway.access import codes, pairing, policy, words
from gateway.access.config import AccessConfig
from gateway.access.limits import Bound, Over, PersonLimits
from gateway.access.pairing import AlreadyIn, TellCode
from gateway.access.policy import AccessSnapshot, Admit, Decision, Enrol, Pair
from gateway.access.roles import Role
from gateway.delivery.compose import Said, compose
from gateway.delivery.outbox import Delivery
from gateway.errors import StoreUnavailable
from gateway.failpoints import failpoint
from gateway.sessions.key import session_key
from gateway.store import attempts, inbox, outbox, people
from gateway.store import pairing as pairing_rows
from gateway.store.engine import VALUE_REFUSED, Connection, Store
from gateway.store.inbox import InboxRow, NewRow, Outcome
from gateway.store.outbox import NewPart, OutboxRow
from gateway.store.pairing import Request
from gateway.store.people import Person
from gateway.telemetry import INBOUND

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class _Plan:
    """What one event will be in the commit, decided before it."""

    event: InboundEvent
    decision: Decision
    over: Over | None = None  # the person's bound is reached
    waiting: int = 0  # how many of their messages wait already


@dataclass(slots=True)
class _Committed:
    """What a commit made, to be announced after it."""

    admitted: list[InboxRow] = field(default_factory=list)
    replies: list[OutboxRow] = field(default_factory=list)
    people: list[Person] = field(default_factory=list)
    parked: list[str] = field(default_factory=list)
    unparked: list[str] = field(default_factory=list)
    duplicates: int = 0


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

    async def _apart(self, commit: Callable[..., _Committed], plans: Sequence[_Plan]) -> tuple[Rejected, ...]:
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

    def _look_again(self, plans: Sequence[_Plan]) -> None:
        """A commit whose outcome is unknown may hold, not announced; what it did not take is not counted."""
        self._bus.reread()
        for plan in plans:
            self._delivery.reread(plan.event.address)
            if isinstance(plan.decision, Admit) and plan.over is None:
                self._limits.give_back(plan.decision.person.user_id)

    def _plan(self, event: InboundEvent) -> _Plan:
        decision = policy.decide(self._snapshot, self._access, event)
        if not (isinstance(decision, Admit) and isinstance(event, InboundMessage | CommandInvoked)):
            return _Plan(event, decision)
        waiting = self._waiting(session_key(event, event.kind))
        return _Plan(event, decision, self._limits.take(decision.person.user_id, waiting), waiting)

    # ------------------------------------------------------------ in the writer, one transaction

    def _commit(
        self,
        connection: Connection,
        channel: Channel,
        plans: Sequence[_Plan],
        rejected: Sequence[Rejected],
        cursor: str | None,
        tenant: str,
    ) -> _Committed:
        now = self._clock()
        done = _Committed()
        for plan in plans:
            self._admit(connection, channel, plan, now, done)
        for one in rejected:
            inbox.quarantine(connection, tenant, channel.name, channel.account, one, now)
        if cursor is not None:
            inbox.move_cursor(connection, tenant, channel.name, channel.account, cursor, now)
        return done

    def _admit(self, connection: Connection, channel: Channel, plan: _Plan, now: datetime, done: _Committed) -> None:
        row = _row(connection, plan, now, done)
        id_ = inbox.admit(connection, row, now)
        if id_ is None:
            done.duplicates += 1
            return
        self._note_reachable(connection, plan.event, now, done)
        if isinstance(plan.decision, Pair):
            self._pair(connection, channel, plan.event, id_, now, done)
        elif row.outcome is None and row.user_id is not None and row.session_key is not None:
            done.admitted.append(InboxRow(id_, plan.event.tenant, row.session_key, row.user_id, plan.event, now))
        elif plan.over is not None and plan.over.tell:
            text = _over_text(plan)
            self._reply(connection, channel, plan.event, f"inbox:{id_}", text, now, done)

    def _pair(
        self, connection: Connection, channel: Channel, event: InboundEvent, id_: int, now: datetime, done: _Committed
    ) -> None:
        if not isinstance(event, InboundMessage | CommandInvoked):
            return
        asked = pairing.request(connection, event, now)
        if isinstance(asked, TellCode):
            text = words.code_text(event.locale)
            ref = codes.secret_ref(asked.request.id)
            self._reply(connection, channel, event, f"inbox:{id_}", text, now, done, secret_ref=ref)
            if asked.request.created_at == now:
                self._ask_owners(connection, channel, asked.request, now, done)
        elif isinstance(asked, AlreadyIn):  # approved between the decision and this commit
            done.people.append(asked.person)
            row = _addressed(event, asked.person)
            inbox.reopen(connection, id_, asked.person.user_id, row.session_key)
            if row.session_key is not None:
                done.admitted.append(InboxRow(id_, event.tenant, row.session_key, asked.person.user_id, event, now))

    def _ask_owners(
        self, connection: Connection, channel: Channel, asked: Request, now: datetime, done: _Committed
    ) -> None:
        """Owners who talk to the bot on the same account decide with a button."""
        buttons = tuple(
            Button(label, f"{verb}:{asked.id}", style)
            for label, verb, style in (
                ("Approve", "approve", ButtonStyle.PRIMARY),
                ("Deny", "deny", ButtonStyle.SECONDARY),
                ("Block", "block", ButtonStyle.DANGER),
            )
        )
        for let_in in pairing_rows.approved(connection, asked.tenant, asked.channel, asked.account):
            person = self._snapshot.find(asked.tenant, let_in.sender)
            if person is None or person.role != Role.OWNER:
                continue
            said = Said(
                Address(asked.channel, asked.account, let_in.chat),
                f"asked:{asked.id}:{let_in.id[-8:]}",
                words.asked_text(asked),
                buttons=buttons if isinstance(channel, HasButtons) else (),
            )
            done.replies += outbox.put(connection, asked.tenant, compose(channel, said), now)

    def _reply(
        self,
        connection: Connection,
        channel: Channel,
        event: InboundEvent,
        cause: str,
        text: str,
        now: datetime,
        done: _Committed,
        secret_ref: str | None = None,
    ) -> None:
        answers = int(cause.removeprefix("inbox:")) if inbox.route_of(event) is not None else None
        parts: list[NewPart] = compose(
            channel, Said(event.address, cause, text, secret_ref=secret_ref, answers=answers)
        )
        done.replies += outbox.put(connection, event.tenant, parts, now)

    def _note_reachable(self, connection: Connection, event: InboundEvent, now: datetime, done: _Committed) -> None:
        """A person who blocked the bot parks their lane; one who is heard from again lets it go on."""
        lane = event.address.lane
        if isinstance(event, MembershipChanged) and event.change in (Membership.BLOCKED, Membership.LEFT):
            attempts.park(connection, event.tenant, lane, event.change.value, now)
            done.parked.append(lane)
        elif self._delivery.heard(lane):
            attempts.unpark(connection, lane)
            done.unparked.append(lane)

    # ------------------------------------------------------------ after the commit, in the event loop

    def _announce(self, done: _Committed) -> None:
        for person in done.people:
            self._snapshot.put(person)
        for row in done.admitted:
            INBOUND.labels(row.event.address.channel, "admitted").inc()
            self._bus.publish(row)
        self._delivery.publish(done.replies)
        for lane in done.parked:
            self._delivery.park(lane)
        for lane in done.unparked:
            self._delivery.unpark(lane)
        if done.duplicates:
            log.info("duplicates_ignored", count=done.duplicates)


def _row(connection: Connection, plan: _Plan, now: datetime, done: _Committed) -> NewRow:
    """The row with the outcome that access gives it; open where a turn or a command follows."""
    event, decision = plan.event, plan.decision
    if isinstance(decision, Pair):
        return NewRow(event, outcome=Outcome.REFUSED, detail="pairing")
    if isinstance(decision, Enrol):
        person = people.enrol(connection, decision.newcomer, now)
        done.people.append(person)
    elif isinstance(decision, Admit):
        person = decision.person
    else:
        outcome = Outcome.CONTEXT if isinstance(event, MembershipChanged) else Outcome.REFUSED
        return NewRow(event, outcome=outcome, detail=decision.reason)
    if plan.over is not None:
        return NewRow(event, person.user_id, outcome=Outcome.REFUSED, detail=f"over the {plan.over.bound} bound")
    if isinstance(event, InboundMessage | CommandInvoked):
        return _addressed(event, person)
    if isinstance(event, ButtonPressed):
        return NewRow(event, person.user_id, session_key(event, event.kind))
    if isinstance(event, MessageDeleted):
        return NewRow(event, person.user_id, session_key(event, ChatKind.DIRECT))
    return NewRow(event, person.user_id, outcome=Outcome.CONTEXT, detail=event.type)


def _addressed(event: InboundMessage | CommandInvoked, person: Person) -> NewRow:
    """Open where it is meant for the bot; in a group, what is not is kept as context."""
    if event.kind is ChatKind.GROUP and isinstance(event, InboundMessage) and not event.mentions_bot:
        return NewRow(event, person.user_id, outcome=Outcome.CONTEXT, detail="not meant for the bot")
    return NewRow(event, person.user_id, session_key(event, event.kind))


def _over_text(plan: _Plan) -> str:
    over, locale = plan.over, getattr(plan.event, "locale", None)
    if over is None or over.bound is Bound.RATE:
        return words.too_fast_text(locale, 1.0 if over is None else over.retry_after_s)
    return words.too_many_text(locale, plan.waiting)
