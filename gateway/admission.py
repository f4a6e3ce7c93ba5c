"""Admission: what one event becomes within the commit that takes it in, by the decision made before it.

Plain work over a connection, in the writer's transaction: rows, replies that end there, pairing, parked lanes and
moved chats. What is committed is announced by `gateway.intake`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from channels.base import Channel, HasButtons
from channels.messages import (
    Address,
    Button,
    ButtonPressed,
    ButtonStyle,
    ChatKind,
    ChatMigrated,
    CommandInvoked,
    InboundEvent,
    InboundMessage,
    Membership,
    MembershipChanged,
    MessageDeleted,
    Rejected,
)
from gateway.access import codes, pairing, words
from gateway.access.limits import Bound, Over
from gateway.access.pairing import AlreadyIn, TellCode
from gateway.access.policy import AccessSnapshot, Admit, Decision, Enrol, Pair
from gateway.access.roles import Role
from gateway.delivery.compose import Said, compose
from gateway.sessions.key import group_key, session_key
from gateway.store import attempts, chats, inbox, moves, outbox, people
from gateway.store import pairing as pairing_rows
from gateway.store.engine import Connection
from gateway.store.inbox import InboxRow, NewRow, Outcome
from gateway.store.outbox import OutboxRow
from gateway.store.pairing import Request
from gateway.store.people import Person

DECISIONS = (
    ("Approve", "approve", ButtonStyle.PRIMARY),
    ("Deny", "deny", ButtonStyle.SECONDARY),
    ("Block", "block", ButtonStyle.DANGER),
)
"""What an owner may press under a request; `gateway.commands.decisions` carries it out."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What one event will be in the commit, decided before it."""

    event: InboundEvent
    decision: Decision
    over: Over | None = None  # the person's bound is reached
    waiting: int = 0  # how many of their messages wait already


@dataclass(slots=True)
class Committed:
    """What a commit made, to be announced after it."""

    channel: str
    admitted: list[InboxRow] = field(default_factory=list)
    replies: list[OutboxRow] = field(default_factory=list)
    people: list[Person] = field(default_factory=list)
    parked: list[str] = field(default_factory=list)
    unparked: list[str] = field(default_factory=list)
    moved: list[tuple[Address, str]] = field(default_factory=list)  # where a chat was, and its new id
    noted: list[Address] = field(default_factory=list)  # chats that were written down
    duplicates: int = 0


class Admission:
    """One commit's work; made anew for each, so that a repeated job begins afresh."""

    def __init__(
        self,
        connection: Connection,
        channel: Channel,
        snapshot: AccessSnapshot,
        parked: frozenset[str],
        noted: Mapping[Address, datetime],
        now: datetime,
    ) -> None:
        """`parked` are lanes of people who could not be reached, `noted` chats that were written down lately."""
        self._connection = connection
        self._channel = channel
        self._snapshot = snapshot
        self._parked = parked
        self._noted = noted
        self._now = now
        self.done = Committed(channel.name)

    def admit(self, plan: Plan) -> None:
        """Take one event in; one that was taken in before changes nothing."""
        row = self._row(plan)
        id_ = inbox.admit(self._connection, row, self._now)
        if id_ is None:
            self.done.duplicates += 1
            return
        self._note_reachable(plan.event)
        if row.user_id is not None:
            self._note_chat(plan.event, row.user_id, row.session_key)
        if isinstance(plan.decision, Pair):
            self._pair(plan.event, id_)
        elif row.outcome is None and row.user_id is not None and row.session_key is not None:
            self._admitted(plan.event, id_, row.user_id, row.session_key)
        elif plan.over is not None and plan.over.tell:
            self._reply(plan.event, id_, _over_text(plan))
        elif row.outcome is Outcome.REFUSED and plan.over is None and inbox.route_of(plan.event) is not None:
            self._reply(plan.event, id_, words.not_here_text(getattr(plan.event, "locale", None)))

    def quarantine(self, rejected: Sequence[Rejected], tenant: str) -> None:
        """Keep what could not be understood."""
        for one in rejected:
            inbox.quarantine(self._connection, tenant, self._channel.name, self._channel.account, one, self._now)

    def move_cursor(self, cursor: str, tenant: str) -> None:
        """How far the account has read."""
        inbox.move_cursor(self._connection, tenant, self._channel.name, self._channel.account, cursor, self._now)

    def _admitted(self, event: InboundEvent, id_: int, user_id: str, key: str) -> None:
        self.done.admitted.append(InboxRow(id_, event.tenant, key, user_id, event, self._now))

    def _row(self, plan: Plan) -> NewRow:
        """The row with the outcome that access gives it; open where a turn or a command follows."""
        event, decision = plan.event, plan.decision
        if isinstance(decision, Pair):
            return NewRow(event, outcome=Outcome.REFUSED, detail="pairing")
        if isinstance(decision, Enrol):
            person = people.enrol(self._connection, decision.newcomer, self._now)
            self.done.people.append(person)
        elif isinstance(decision, Admit):
            person = decision.person
        else:
            about_chat = isinstance(event, MembershipChanged | ChatMigrated)
            return NewRow(event, outcome=Outcome.CONTEXT if about_chat else Outcome.REFUSED, detail=decision.reason)
        if plan.over is not None:
            return NewRow(event, person.user_id, outcome=Outcome.REFUSED, detail=f"over the {plan.over.bound} bound")
        return _open(event, person)

    def _pair(self, event: InboundEvent, id_: int) -> None:
        if not isinstance(event, InboundMessage | CommandInvoked):
            return
        asked = pairing.request(self._connection, event, self._now)
        if isinstance(asked, TellCode):
            self._reply(event, id_, words.code_text(event.locale), secret_ref=codes.secret_ref(asked.request.id))
            if asked.request.created_at == self._now:
                self._ask_owners(asked.request)
        elif isinstance(asked, AlreadyIn):  # approved between the decision and this commit
            self.done.people.append(asked.person)
            row = _open(event, asked.person)
            inbox.reopen(self._connection, id_, asked.person.user_id, row.session_key)
            self._note_chat(event, asked.person.user_id, row.session_key)
            if row.session_key is not None:
                self._admitted(event, id_, asked.person.user_id, row.session_key)

    def _ask_owners(self, asked: Request) -> None:
        """Owners who talk to the bot on the same account decide with a button, where there are buttons."""
        if not isinstance(self._channel, HasButtons):
            return
        buttons = tuple(Button(label, f"{verb}:{asked.id}", style) for label, verb, style in DECISIONS)
        for let_in in pairing_rows.approved(self._connection, asked.tenant, asked.channel, asked.account):
            person = self._snapshot.find(asked.tenant, let_in.sender)
            if person is not None and person.role == Role.OWNER:
                where = Address(asked.channel, asked.account, let_in.chat)
                cause = f"asked:{asked.id}:{let_in.id[-8:]}"
                self._say(asked.tenant, Said(where, cause, words.asked_text(asked), buttons=buttons))

    def _reply(self, event: InboundEvent, id_: int, text: str, secret_ref: str | None = None) -> None:
        answers = id_ if inbox.route_of(event) is not None else None
        self._say(event.tenant, Said(event.address, f"inbox:{id_}", text, secret_ref=secret_ref, answers=answers))

    def _say(self, tenant: str, said: Said) -> None:
        self.done.replies += outbox.put(self._connection, tenant, compose(self._channel, said), self._now)

    def _note_chat(self, event: InboundEvent, user_id: str, key: str | None) -> None:
        """Remember where somebody who is let in talks to the bot; in a group, where it is meant."""
        if not isinstance(event, InboundMessage | CommandInvoked | ButtonPressed):
            return
        direct = event.kind is ChatKind.DIRECT
        noted_at = self._noted.get(event.address)
        if (direct or key is not None) and (noted_at is None or self._now - noted_at > chats.NOTED_FOR):
            chats.note(self._connection, event.tenant, event.address, user_id, self._now, direct=direct)
            self.done.noted.append(event.address)

    def _note_reachable(self, event: InboundEvent) -> None:
        """Who blocked the bot parks their lane, who is heard from again lets it go on; a chat may go on elsewhere."""
        lane = event.address.lane
        if isinstance(event, MembershipChanged) and event.change in (Membership.BLOCKED, Membership.LEFT):
            attempts.park(self._connection, event.tenant, lane, event.change.value, self._now)
            self.done.parked.append(lane)
        elif isinstance(event, ChatMigrated):
            self._move(event)
        elif lane in self._parked:
            attempts.unpark(self._connection, lane)
            self.done.unparked.append(lane)

    def _move(self, event: ChatMigrated) -> None:
        moves.move_chat(self._connection, event.tenant, event.address, event.new_chat, self._now)
        old, new = group_key(event.address), group_key(event.address, event.new_chat)
        moves.move_sessions(self._connection, event.tenant, old, new)
        self.done.moved.append((event.address, event.new_chat))


def _open(event: InboundEvent, person: Person) -> NewRow:
    """Open where it is meant for the bot; in a group, what is not is kept as context."""
    match event:
        case InboundMessage(kind=ChatKind.GROUP, mentions_bot=False):
            return NewRow(event, person.user_id, outcome=Outcome.CONTEXT, detail="not meant for the bot")
        case InboundMessage() | CommandInvoked() | ButtonPressed():
            return NewRow(event, person.user_id, session_key(event, event.kind))
        case MessageDeleted():
            return NewRow(event, person.user_id, session_key(event, ChatKind.DIRECT))
    return NewRow(event, person.user_id, outcome=Outcome.CONTEXT, detail=event.type)


def _over_text(plan: Plan) -> str:
    over, locale = plan.over, getattr(plan.event, "locale", None)
    if over is None or over.bound is Bound.RATE:
        return words.too_fast_text(locale, 1.0 if over is None else over.retry_after_s)
    return words.too_many_text(locale, plan.waiting)
