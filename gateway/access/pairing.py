"""Pairing: who may ask, how often, what a code does, and how guessing is stopped. Plain functions over a connection.

The writer may repeat a job whose commit is unknown: what decides takes `repeated`, true when an earlier run of the very
same decision came through, and then finds its own work instead of somebody else's.
What is said to people stands in `gateway.access.words`; who may approve is decided by who calls.
"""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from channels.messages import Address, CommandInvoked, InboundEvent, InboundMessage, MessageDeleted
from gateway.access import codes, tickets
from gateway.access.config import Role
from gateway.access.tickets import POLICIES
from gateway.store import people
from gateway.store.people import AuditRow, Connection, Newcomer, Person
from gateway.store.tables.base import new_id
from gateway.store.tickets import TICKETS, Ticket, TicketKind, TicketState

REPLY_EVERY = timedelta(minutes=10)
GIVES_WAY_AFTER = timedelta(minutes=10)
"""How long whoever asks again keeps a place from others who ask again. Nobody keeps one from a first-timer."""

POLICY = POLICIES[TicketKind.PAIRING]
MAX_PENDING = POLICY.most_open or 0
"""An account's; and one a person. What a guess is worth then is worked out in `tests/attacks/test_pairing.py`."""

MAX_NAME_CHARS = 200
"""Of what a stranger says, read for a name."""

SHOWN_NAME_CHARS = 48
_NAME = re.compile(r"/name\s+(\S.*)", re.IGNORECASE)

NEWEST_FIRST = (TICKETS.c.created_at.desc(), TICKETS.c.id.desc())
_RECALLED = timedelta(days=1)
_RECALLED_ROWS = 500


@dataclass(frozen=True, slots=True)
class TellCode:
    """Tell the person the code of this request: their first, or the same again."""

    request: Ticket
    gave_way: bool = False  # an earlier request of theirs did, and its code is void


@dataclass(frozen=True, slots=True)
class AlreadyTold:
    """Silence: they were told within 10 minutes, or were denied within the hour, or are blocked."""


@dataclass(frozen=True, slots=True)
class Full:
    """Tell the person that their request gave way and that there is no place for another: those who ask for the first
    time have all of them, or others who ask again have the last ones, for less than 10 minutes.
    """


@dataclass(frozen=True, slots=True)
class AlreadyIn:
    """They were let in a moment ago; the snapshot did not know yet. Take the message as theirs."""

    person: Person


PairingOutcome = TellCode | AlreadyTold | Full | AlreadyIn


def request(
    connection: Connection, event: InboundMessage | CommandInvoked, now: datetime, *, places: int = MAX_PENDING
) -> PairingOutcome:
    """Somebody unknown wrote: their request is made or found, and whether they are told is decided and recorded.

    What they said last is kept with it. `places` are the account's; fewer for tests.
    """
    tickets.expire(connection, now)
    where = event.address
    known = people.find_sender(connection, event.tenant, event.sender_key)
    if known is not None and known.role == Role.BLOCKED:
        return AlreadyTold()
    if known is not None and f"{where.channel}:{where.account}" in known.grants:
        return AlreadyIn(known)
    earlier = requests_of(connection, event)
    waiting = next((request for request in earlier if request.state is TicketState.PENDING), None)
    said = tickets.to_keep(event)
    if waiting is not None and said is not None:
        _keep(connection, waiting, said)
    if any(_keeps_quiet(request, now) for request in earlier):
        return AlreadyTold()
    if waiting is not None:
        TICKETS.patch(connection, {"told_at": now}, id=waiting.id)
        return TellCode(waiting)
    again = any(request.state in (TicketState.DISPLACED, TicketState.EXPIRED) for request in earlier)
    room = TICKETS.count(connection, **_waiting_at(where)) < places
    if not (room or _make_room(connection, where, now, again=again)):
        TICKETS.patch(connection, {"told_at": now}, id=earlier[0].id)
        return Full()
    asked = _new(event, now, again=again, said=said)
    audit = AuditRow(now, asked.sender, "pairing_requested", asked.id, asked.display_name)
    tickets.issue(connection, asked, audit)
    return TellCode(asked, gave_way=any(request.state is TicketState.DISPLACED for request in earlier[:1]))


def _keeps_quiet(earlier: Ticket, now: datetime) -> bool:
    """Whether this request is a reason to say nothing now."""
    if earlier.told_at is not None and timedelta(0) <= now - earlier.told_at < REPLY_EVERY:
        return True
    return earlier.state is TicketState.DENIED and now < earlier.expires_at


def _make_room(connection: Connection, where: Address, now: datetime, *, again: bool) -> bool:
    """A first-timer always gets a place; who lost one before queues behind first-timers."""
    order, asking = (
        (TICKETS.c.again.desc(), TICKETS.c.created_at),
        _waiting_at(where) | ({"again": True} if again else {}),
    )
    oldest = TICKETS.get(connection, order=order, **asking)
    if oldest is None or (again and now - oldest.created_at < GIVES_WAY_AFTER):
        return False
    return tickets.settle(connection, oldest.id, TicketState.DISPLACED, "a later request", now)


def _new(event: InboundMessage | CommandInvoked, now: datetime, *, again: bool, said: str | None) -> Ticket:
    return Ticket(
        id=new_id(),
        tenant=event.tenant,
        kind=TicketKind.PAIRING,
        channel=event.address.channel,
        account=event.address.account,
        sender=event.sender_key,
        display_name=people.shown_name(event.sender.display_name),
        chat=event.address.chat,
        locale=people.tag_of(event.locale),
        created_at=now,
        expires_at=now + POLICY.valid,
        told_at=now,
        again=again,
        kept=said,
    )


def _waiting_at(where: Address) -> dict[str, Any]:
    return {
        "kind": TicketKind.PAIRING,
        "channel": where.channel,
        "account": where.account,
        "state": TicketState.PENDING,
    }


def requests_of(connection: Connection, event: InboundMessage | CommandInvoked | MessageDeleted) -> list[Ticket]:
    """Return the sender's requests at this account, newest first, ten at most."""
    return TICKETS.find(
        connection,
        kind=TicketKind.PAIRING,
        tenant=event.tenant,
        channel=event.address.channel,
        account=event.address.account,
        sender=event.sender_key,
        order=NEWEST_FIRST,
        limit=10,
    )


def _keep(connection: Connection, asked: Ticket, said: str | None) -> None:
    TICKETS.patch(connection, {"kept": said}, id=asked.id, state=TicketState.PENDING)


def name_given(event: InboundMessage | CommandInvoked) -> str | None:
    """How a stranger wants to be called, by `/name Ana`; None where they say something else."""
    match event:
        case InboundMessage(text=text, forwarded=False):
            given = _NAME.match(text[:MAX_NAME_CHARS])
            return people.shown_name(given[1])[:SHOWN_NAME_CHARS] or None if given is not None else None
        case CommandInvoked(name="name", arguments=arguments):
            return people.shown_name(arguments[:MAX_NAME_CHARS])[:SHOWN_NAME_CHARS] or None
    return None


def waiting_of(connection: Connection, event: InboundMessage | CommandInvoked) -> Ticket | None:
    """The request with which a stranger waits at this account."""
    return next((request for request in requests_of(connection, event) if request.state is TicketState.PENDING), None)


def change_kept(connection: Connection, event: InboundMessage | MessageDeleted) -> None:
    """A stranger edits or takes back what their request keeps: it reads so then, or nothing is kept."""
    for asked in requests_of(connection, event):
        if asked.state is TicketState.PENDING and tickets.is_about(asked.kept, event.message_id):
            _keep(connection, asked, tickets.to_keep(event) if isinstance(event, InboundMessage) else None)


class Why(StrEnum):
    """Why an approval, or another change of who may do what, did not happen."""

    WRONG = "wrong"  # nobody's code
    MALFORMED = "malformed"  # cannot be anybody's code; counted as wrong
    LOCKED = "locked"  # too many wrong codes; nothing was compared
    USED = "used"
    EXPIRED = "expired"
    DISPLACED = "displaced"
    DENIED = "denied"
    BLOCKED = "blocked"  # the person was blocked since
    UNKNOWN = "unknown"  # no such request
    NOT_ALLOWED = "not allowed"  # whoever decides is no operator
    NO_OWNER = "no owner"  # the first one let in becomes owner: not by an operator's word
    NOT_BELOW = "not below"  # whoever it is about is not below whoever decides
    ONLY_OWNER = "only owner"  # there would be none


SETTLED = {TicketState.EXPIRED: Why.EXPIRED, TicketState.DISPLACED: Why.DISPLACED, TicketState.DENIED: Why.DENIED}


@dataclass(frozen=True, slots=True)
class NotApproved:
    """Nobody was let in."""

    why: Why
    until: datetime | None = None  # when codes are taken again; for LOCKED only


@dataclass(frozen=True, slots=True)
class Approved:
    """Somebody is in."""

    request: Ticket
    person: Person
    became_owner: bool

    @property
    def said(self) -> InboundEvent | None:
        """What they said while they waited, to be taken in now; None where nothing is kept."""
        return tickets.taken_up(self.request.kept, self.request.id)

    @property
    def address(self) -> Address:
        """Where they wait for the word."""
        return Address(self.request.channel, self.request.account, self.request.chat)


def approve_code(
    connection: Connection, key: bytes, typed: str, approver: str, now: datetime, *, repeated: bool = False
) -> Approved | NotApproved:
    """Let in whose code this is. A wrong code is counted, in this same transaction; in a lock the right one fails too.

    `approver` is a user id, or "cli" for whoever works at the machine. The other codes stay valid: else guessing would
    be a way to shut strangers out.
    """
    tickets.expire(connection, now)
    until = tickets.locked_until(connection, TicketKind.PAIRING, approver, now)
    if until is not None:
        return NotApproved(Why.LOCKED, until)
    code = codes.normalise(typed)
    if codes.find_flaw(code):
        tickets.count_guess(connection, TicketKind.PAIRING, approver, now)
        return NotApproved(Why.MALFORMED)
    settled = TICKETS.find(
        connection,
        TICKETS.c.state != TicketState.PENDING,
        TICKETS.c.created_at >= now - _RECALLED,
        kind=TicketKind.PAIRING,
        order=NEWEST_FIRST,
        limit=_RECALLED_ROWS,
    )
    found = tickets.find_fitting(key, code, pending(connection)) or tickets.find_fitting(key, code, settled)
    if found is not None:
        return approve_request(connection, found.id, approver, now, repeated=repeated)
    tickets.count_guess(connection, TicketKind.PAIRING, approver, now)
    return NotApproved(Why.WRONG)


def pending(connection: Connection) -> list[Ticket]:
    """Return the requests that wait, oldest first."""
    return TICKETS.find(connection, kind=TicketKind.PAIRING, state=TicketState.PENDING, order=TICKETS.c.created_at)


def approve_request(
    connection: Connection, request_id: str, approver: str, now: datetime, *, repeated: bool = False
) -> Approved | NotApproved:
    """Let in who made this request, once: the second of two approvals finds it used. Nothing is guessed here."""
    tickets.expire(connection, now)
    asked = TICKETS.get(connection, id=request_id, kind=TicketKind.PAIRING)
    if asked is None:
        return NotApproved(Why.UNKNOWN)
    known = people.find_sender(connection, asked.tenant, asked.sender)
    if known is not None and known.role == Role.BLOCKED:
        return NotApproved(Why.BLOCKED)
    if not tickets.settle(connection, asked.id, TicketState.APPROVED, approver, now):
        if repeated and known is not None and asked.state is TicketState.APPROVED:
            return Approved(asked, known, became_owner=known.role == Role.OWNER)
        return NotApproved(SETTLED.get(asked.state, Why.USED))
    first = not people.has_owner(connection, asked.tenant)
    return _let_in(connection, asked, Role.OWNER if first else Role.MEMBER, approver, now)


def let_in_invited(
    connection: Connection, event: InboundMessage | CommandInvoked, role: Role, by: str, now: datetime
) -> Approved:
    """Let in somebody who came with an invitation; a request of theirs that waits is answered by it."""
    asked = waiting_of(connection, event)
    if asked is None:
        asked = _new(event, now, again=False, said=None)
        tickets.issue(connection, asked)
    tickets.settle(connection, asked.id, TicketState.APPROVED, by, now)
    return _let_in(connection, asked, role, by, now)


def _let_in(connection: Connection, asked: Ticket, role: Role, approver: str, now: datetime) -> Approved:
    """Whoever was more than this before stays so."""
    account = f"{asked.channel}:{asked.account}"
    newcomer = Newcomer(
        tenant=asked.tenant,
        sender_key=asked.sender,
        account=account,
        display_name=asked.display_name,
        role=role,
        granted_by=approver,
        locale=asked.locale,
    )
    person = people.enrol(connection, newcomer, now)
    if not Role(person.role).allows(role):  # an open account had made them a member before
        people.set_role(connection, person, role, approver, now)
    done = AuditRow(now, approver, "pairing_approved", asked.id, f"{asked.sender} to {account}")
    people.record(connection, asked.tenant, done)
    person = people.person_of(connection, person.user_id) or person
    return Approved(asked, person, became_owner=role is Role.OWNER)


def deny(connection: Connection, request_id: str, by: str, now: datetime, *, repeated: bool = False) -> Ticket | None:
    """Turn a pending request down; the person is not told, and is not answered for the rest of its hour.

    None where there is no such request or it is pending no more.
    """
    tickets.expire(connection, now)
    asked = TICKETS.get(connection, id=request_id, kind=TicketKind.PAIRING)
    if asked is None or not tickets.settle(connection, asked.id, TicketState.DENIED, by, now):
        return asked if repeated and asked is not None and asked.state is TicketState.DENIED else None
    people.record(connection, asked.tenant, AuditRow(now, by, "pairing_denied", asked.id, asked.sender))
    return asked


def block(connection: Connection, tenant: str, sender_key: str, name: str, by: str, now: datetime) -> Person:
    """Silence for this person from now on, at every account; what they have pending is denied.

    Whoever they are on other channels is blocked as well where the identities are linked to one user.
    """
    newcomer = Newcomer(tenant, sender_key, "", name, Role.BLOCKED, by)
    person = people.enrol(connection, newcomer, now)
    people.set_role(connection, person, Role.BLOCKED, by, now)
    waiting = TICKETS.find(
        connection, kind=TicketKind.PAIRING, tenant=tenant, sender=person.identities, state=TicketState.PENDING
    )
    for asked in waiting:
        tickets.settle(connection, asked.id, TicketState.DENIED, by, now)
    people.record(connection, tenant, AuditRow(now, by, "person_blocked", person.user_id, sender_key))
    return people.person_of(connection, person.user_id) or person
