"""Reception: a stranger's message, within the commit that takes it in.

Synchronous work in the writer's transaction; the rules are those of `gateway.access`.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial

from channels.base import Channel, KnowsNoNames
from channels.messages import (
    Address,
    ButtonPressed,
    ChatKind,
    CommandInvoked,
    InboundEvent,
    InboundMessage,
    MessageDeleted,
)
from gateway.access import codes, invites, pairing, words
from gateway.access.agents import AgentChoice
from gateway.access.codes import AccessKeys
from gateway.access.limits import NEW_ONE_BY_ONE
from gateway.access.pairing import AlreadyIn, Full, TellCode
from gateway.command_line import PLAIN, CommandLine
from gateway.delivery.message_parts import OutboundMessage
from gateway.inbound.owner_cards import ChannelOf, OwnerCards
from gateway.inbound.session_key import session_key
from gateway.safety.vault import Vault
from gateway.store import inbox, outbox, people
from gateway.store.causes import Notice, ReplyTo
from gateway.store.engine import Connection
from gateway.store.inbox import InboxRow, NewRow, Outcome
from gateway.store.people import AuditRow, Person
from gateway.store.tickets import TICKETS, Ticket, TicketKind

LATELY = timedelta(minutes=10)

Put = Callable[[str, OutboundMessage], None]
"""Function that puts a tenant's message into the outbox in this commit, once per cause."""


@dataclass(frozen=True, slots=True)
class ReceptionDeps:
    """Settings and keys for reception."""

    agents: AgentChoice  # whose sessions are opened
    keys: AccessKeys = field(default_factory=AccessKeys.fresh)
    vault: Vault = field(default_factory=Vault.fresh)
    tenk: CommandLine = PLAIN
    show: Callable[[str], None] | None = None  # prints on the terminal; None without one
    clock_s: Callable[[], float] = time.monotonic
    timezone: str | None = None  # of people who have named none and whose device tells none
    commands: frozenset[str] = frozenset()  # known command names, which are not misspellings of /connect
    channel_of: ChannelOf = lambda _: None  # channels of other accounts, where owners may be reached

    @property
    def talk(self) -> str:
        """Return the command that carries a message: the name of the tenant's own agent."""
        return self.agents.default

    def channel_at(self, own: Channel, where: Address) -> Channel | None:
        """Return the channel of an address: the given one if it is its own, else a loaded one."""
        return own if (own.name, own.account) == (where.channel, where.account) else self.channel_of(where)


@dataclass(slots=True)
class ReceptionResult:
    """Changes for strangers in a commit."""

    people: list[Person] = field(default_factory=list)  # people let in by it
    admitted: list[InboxRow] = field(default_factory=list)
    asked: list[Ticket] = field(default_factory=list)  # new requests to announce one by one
    crowded: set[str] = field(default_factory=set)  # accounts with a flood of strangers: telegram:main


class StrangerReception:
    """Strangers' events of one commit."""

    def __init__(
        self,
        connection: Connection,
        channel: Channel,
        deps: ReceptionDeps,
        put: Put,
        now: datetime,
        done: ReceptionResult,
    ) -> None:
        """Write the results to `done`."""
        self._connection = connection
        self._deps = deps
        self._nameless = isinstance(channel, KnowsNoNames)
        self._put = put
        self._now = now
        self._done = done
        self._cards = OwnerCards(connection, partial(deps.channel_at, channel), now)

    def change_kept(self, event: InboundEvent) -> None:
        """Apply a stranger's edit or deletion to the message stored with their request."""
        match event:
            case InboundMessage(edited=True, kind=ChatKind.DIRECT) | MessageDeleted():
                pairing.change_kept(self._connection, event)

    def receive(self, event: InboundEvent, id_: int, code: str | None, *, flood: bool) -> None:
        """Let in the sender of a valid invitation; else store the message, and reply with a code if one is due."""
        if flood:
            self._note_crowd(event.tenant, event.address)
        if isinstance(event, InboundMessage | CommandInvoked) and not (code and self._redeem(event, id_, code)):
            self._ask(event, id_, invited=code is not None)

    def _redeem(self, event: InboundMessage | CommandInvoked, id_: int, code: str) -> bool:
        invited = invites.redeem(self._connection, self._deps.keys.invites, code, event, self._now)
        if invited is None:
            return False
        self._reply(event, id_, words.welcome_text(invited))
        self._done.people.append(invited.person)
        row = take_up(self._connection, invited.said, invited.person, self._now, self._deps.agents)
        self._done.admitted.extend([row] if row is not None else [])
        return True

    def _ask(self, event: InboundMessage | CommandInvoked, id_: int, *, invited: bool) -> None:
        """Handle a request; `invited`: it came with an invitation that is not valid."""
        name = pairing.name_given(event)
        if name is not None:
            event = replace(event, sender=replace(event.sender, display_name=name))
            if self._take_name(event, name):
                return
        reply = partial(self._reply, event, id_)
        match pairing.request(self._connection, event, self._now):
            case TellCode(asked, gave_way):
                name = self._deps.tenk.name
                text = words.code_text(
                    event.locale, tenk=name, gave_way=gave_way, invited=invited, no_names=self._nameless
                )
                reply(text, codes.secret_ref(asked.id))
                if asked.created_at == self._now:
                    self._note_asked(asked)
            case Full():
                reply(words.full_text(event.locale))
            case AlreadyIn(person):  # approved between the decision and this commit
                self._done.people.append(person)
                self._reopen(event, id_, person)

    def _take_name(self, event: InboundMessage | CommandInvoked, name: str) -> bool:
        """Record the first name given for a pending request and tell owners; return False without a pending request."""
        asked = pairing.waiting_of(self._connection, event)
        if asked is None:
            return False
        cause = Notice("named", asked.id)
        if not outbox.said_for(self._connection, [cause]):
            TICKETS.patch(self._connection, {"display_name": name}, id=asked.id, state=asked.state)
            told = AuditRow(self._now, asked.sender, "name_given", asked.id, f"{asked.display_name} to {name}")
            people.record(self._connection, asked.tenant, told)
            asked = replace(asked, display_name=name)
            self._cards.ask(asked, self._deps.keys, self._put, self._deps.tenk, named=True)
            text = words.named_text(event.locale, name)
            self._put(event.tenant, OutboundMessage(event.address, cause, text, locale=event.locale))
        return True

    def _reopen(self, event: InboundEvent, id_: int, person: Person) -> None:
        row = open_row(event, person, self._deps.agents.choose(event, person))
        inbox.reopen(self._connection, id_, event, person.user_id, row.session_key)
        if row.session_key is not None:
            self._done.admitted.append(InboxRow(id_, event.tenant, row.session_key, person.user_id, event, self._now))

    def _reply(
        self, event: InboundMessage | CommandInvoked, id_: int, text: str, secret_ref: str | None = None
    ) -> None:
        answers = id_ if inbox.route_of(event) is not None else None
        self._put(
            event.tenant,
            OutboundMessage(
                event.address, ReplyTo(id_), text, secret_ref=secret_ref, reply_route_of=answers, locale=event.locale
            ),
        )

    # ------------------------------------------------------------ who is told

    def _note_asked(self, asked: Ticket) -> None:
        """Ask owners about each request while few come, else send a summary once an hour."""
        lately = TICKETS.count(
            self._connection,
            TICKETS.c.created_at >= self._now - LATELY,
            kind=TicketKind.PAIRING,
            channel=asked.channel,
            account=asked.account,
        )
        if lately > NEW_ONE_BY_ONE:
            self._note_crowd(asked.tenant, Address(asked.channel, asked.account, asked.chat))
            return
        self._done.asked.append(asked)
        self._cards.ask(asked, self._deps.keys, self._put, self._deps.tenk)

    def _note_crowd(self, tenant: str, where: Address) -> None:
        account = f"{where.channel}:{where.account}"
        if account not in self._done.crowded:
            self._done.crowded.add(account)
            self._cards.warn_of_crowd(tenant, account, self._put, self._deps.tenk)


def take_up(
    connection: Connection, event: InboundEvent | None, person: Person, now: datetime, agents: AgentChoice
) -> InboxRow | None:
    """Admit, once, the message that a person sent while they waited; return its row, or None."""
    if event is None:
        return None
    row = open_row(event, person, agents.choose(event, person))
    id_ = inbox.admit(connection, row, now)
    if id_ is None or row.session_key is None:
        return None
    return InboxRow(id_, event.tenant, row.session_key, person.user_id, event, now)


def open_row(event: InboundEvent, person: Person, agent: str) -> NewRow:
    """Return the row of a person's event: open if it is meant for the bot, else context."""
    if is_talk(event):
        return NewRow(event, person.user_id, outcome=Outcome.CONTEXT, detail="not meant for the bot")
    match event:
        case InboundMessage() | CommandInvoked() | ButtonPressed():
            return NewRow(event, person.user_id, session_key(event, event.kind, agent))
        case MessageDeleted():
            return NewRow(event, person.user_id, session_key(event, ChatKind.DIRECT, agent))
    return NewRow(event, person.user_id, outcome=Outcome.CONTEXT, detail=event.type)


def to_tenants(event: InboundEvent, tenant: str | None, language: str | None) -> InboundEvent:
    """Return the event with its account's tenant, and the default language if the sender's is unknown."""
    if language and isinstance(event, InboundMessage | CommandInvoked) and event.locale is None:
        event = replace(event, locale=language)
    return event if tenant in (None, event.tenant) else replace(event, tenant=tenant)


def is_talk(event: InboundEvent) -> bool:
    """Return True for a group message that does not address the bot."""
    return isinstance(event, InboundMessage) and event.kind is ChatKind.GROUP and not event.mentions_bot
