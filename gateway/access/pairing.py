"""Pairing: requests of strangers, their approval, and limits on guesses.

The writer may repeat a job whose commit is unknown. A deciding function takes `repeated`, true if an earlier run of the
same decision was committed, and then returns that result instead of a refusal.
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
"""Time for which a repeated request keeps its place from other repeated ones. First requests displace any of them."""

POLICY = POLICIES[TicketKind.PAIRING]
MAX_PENDING = POLICY.most_open or 0
"""Maximum of pending requests an account. `tests/attacks/test_pairing.py` works out a guess's chance."""

MAX_NAME_CHARS = 200
"""Characters of a stranger's text that are searched for a name."""

SHOWN_NAME_CHARS = 48
_NAME = re.compile(r"/name\s+(\S.*)", re.IGNORECASE)

NEWEST_FIRST = (TICKETS.c.created_at.desc(), TICKETS.c.id.desc())
_RECALLED = timedelta(days=1)
_RECALLED_ROWS = 500


@dataclass(frozen=True, slots=True)
class TellCode:
    """Tell the person the code of this request, new or again."""

    request: Ticket
    gave_way: bool = False  # an earlier request was displaced; its code is void


@dataclass(frozen=True, slots=True)
class AlreadyTold:
    """No answer: the person was told within 10 minutes, denied within the hour, or is blocked."""


@dataclass(frozen=True, slots=True)
class Full:
    """Answer that the request was displaced and no place is free: first requests have all places, or repeated ones less
    than 10 minutes old.
    """


@dataclass(frozen=True, slots=True)
class AlreadyIn:
    """The sender was let in a moment ago, before the snapshot was updated: treat the message as a person's."""

    person: Person


PairingOutcome = TellCode | AlreadyTold | Full | AlreadyIn


def request(
    connection: Connection, event: InboundMessage | CommandInvoked, now: datetime, *, places: int = MAX_PENDING
) -> PairingOutcome:
    """Make or find the request of an unknown sender, and decide if they are told its code.

    The request stores what they said last. `places` is the account's maximum; tests use fewer.
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
    """Return True if this request is a reason not to answer now."""
    if earlier.state is TicketState.APPROVED:
        return False  # they were let in since, and their access was revoked
    if earlier.told_at is not None and timedelta(0) <= now - earlier.told_at < REPLY_EVERY:
        return True
    return earlier.state is TicketState.DENIED and now < earlier.expires_at


def _make_room(connection: Connection, where: Address, now: datetime, *, again: bool) -> bool:
    """Free a place: a first request displaces the oldest one, a repeated request only other repeated ones."""
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
    """Return the name that a stranger gives with `/name Ana`, or None."""
    match event:
        case InboundMessage(text=text, forwarded=False):
            given = _NAME.match(text[:MAX_NAME_CHARS])
            return people.shown_name(given[1])[:SHOWN_NAME_CHARS] or None if given is not None else None
        case CommandInvoked(name="name", arguments=arguments):
            return people.shown_name(arguments[:MAX_NAME_CHARS])[:SHOWN_NAME_CHARS] or None
    return None


def waiting_of(connection: Connection, event: InboundMessage | CommandInvoked) -> Ticket | None:
    """Return the sender's pending request at this account."""
    return next((request for request in requests_of(connection, event) if request.state is TicketState.PENDING), None)


def change_kept(connection: Connection, event: InboundMessage | MessageDeleted) -> None:
    """Apply a stranger's edit or deletion to the message stored with their request."""
    for asked in requests_of(connection, event):
        if asked.state is TicketState.PENDING and tickets.is_about(asked.kept, event.message_id):
            _keep(connection, asked, tickets.to_keep(event) if isinstance(event, InboundMessage) else None)


class Why(StrEnum):
    """Reason why an approval or a change of roles was refused."""

    WRONG = "wrong"  # unknown code
    MALFORMED = "malformed"  # not the form of a code; counted as wrong
    LOCKED = "locked"  # too many wrong codes; nothing was compared
    USED = "used"
    EXPIRED = "expired"
    DISPLACED = "displaced"
    DENIED = "denied"
    BLOCKED = "blocked"  # the person was blocked since
    UNKNOWN = "unknown"  # no such request
    NOT_ALLOWED = "not allowed"  # the actor is not an operator
    NO_OWNER = "no owner"  # the first person let in becomes owner; an operator may not decide that
    NOT_BELOW = "not below"  # the person's role is not below the actor's
    ONLY_OWNER = "only owner"  # the tenant would have no owner


SETTLED = {TicketState.EXPIRED: Why.EXPIRED, TicketState.DISPLACED: Why.DISPLACED, TicketState.DENIED: Why.DENIED}


@dataclass(frozen=True, slots=True)
class NotApproved:
    """Refusal of an approval."""

    why: Why
    until: datetime | None = None  # when codes are accepted again; for LOCKED only


@dataclass(frozen=True, slots=True)
class Approved:
    """Approval of a person."""

    request: Ticket
    person: Person
    became_owner: bool

    @property
    def said(self) -> InboundEvent | None:
        """Return what they said while they waited, to be answered now; None if nothing is stored."""
        return tickets.taken_up(self.request.kept, self.request.id)

    @property
    def address(self) -> Address:
        """Return the chat in which they wait."""
        return Address(self.request.channel, self.request.account, self.request.chat)


def approve_code(
    connection: Connection, key: bytes, typed: str, approver: str, now: datetime, *, repeated: bool = False
) -> Approved | NotApproved:
    """Approve the request with this code. A wrong code is counted in this transaction; a lock refuses right ones, too.

    `approver` is a user id, or "cli" for the operator at the machine. Other codes stay valid, so that wrong guesses
    cannot shut strangers out.
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
    """Approve this request, once: the second of two approvals finds it used."""
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
    """Let in the sender of an invitation's code, and approve their pending request."""
    asked = waiting_of(connection, event)
    if asked is None:
        asked = _new(event, now, again=False, said=None)
        tickets.issue(connection, asked)
    tickets.settle(connection, asked.id, TicketState.APPROVED, by, now)
    return _let_in(connection, asked, role, by, now)


def _let_in(connection: Connection, asked: Ticket, role: Role, approver: str, now: datetime) -> Approved:
    """Enrol the person; a higher role that they had before stays."""
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
    """Deny a pending request. The person is not told, and gets no answer for the rest of the request's hour.

    Return None if there is no such request or it is not pending.
    """
    tickets.expire(connection, now)
    asked = TICKETS.get(connection, id=request_id, kind=TicketKind.PAIRING)
    if asked is None or not tickets.settle(connection, asked.id, TicketState.DENIED, by, now):
        return asked if repeated and asked is not None and asked.state is TicketState.DENIED else None
    people.record(connection, asked.tenant, AuditRow(now, by, "pairing_denied", asked.id, asked.sender))
    return asked


def block(connection: Connection, tenant: str, sender_key: str, name: str, by: str, now: datetime) -> Person:
    """Block this person at every account, linked identities included; deny their pending requests."""
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
