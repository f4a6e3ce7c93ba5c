"""The rules of linking two users as one person, and of ending the link. Plain functions over a connection.

One side offers a code, the other gives it and confirms, then the first one confirms: a code alone links nobody. The
lesser of the two roles holds, unless the user who confirms last is an owner.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from channels.messages import Address
from gateway.access import codes, tickets
from gateway.access.config import Role
from gateway.access.ranks import may_touch, rank_of
from gateway.access.tickets import POLICIES
from gateway.store import approvals, people
from gateway.store.people import AuditRow, Connection, Person
from gateway.store.tables.base import new_id
from gateway.store.tickets import TICKETS, WAITING, Ticket, TicketKind, TicketState, links_of

VALID = POLICIES[TicketKind.LINK].valid
"""For both confirmations together."""

MOST_LINKS = 10
"""Users who may join one; nobody has as many accounts."""


class LinkWhy(StrEnum):
    """Why nothing was linked or undone."""

    WRONG = "wrong"  # nobody's code; counted
    LOCKED = "locked"  # too many wrong codes from there; nothing was compared
    OVER = "over"  # used, expired, replaced or refused
    OWN = "own"  # both sides are one user already
    ONLY_OWNER = "only_owner"  # there would be none
    HAS_OTHERS = "has_others"  # others joined whoever wants to join
    TOO_MANY = "too_many"
    NOTHING = "nothing"  # nothing waits for them, or nothing is linked


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two, where they say it."""

    user_id: str
    sender: str  # canonical
    place: Address


@dataclass(frozen=True, slots=True)
class Linked:
    """What a step came to: the link as it stands, with both people as they are."""

    link: Ticket
    stays: Person
    joins: Person
    role: Role  # what both are, or will be, by it
    unparked: tuple[str, ...] = ()  # turns that waited for a word which nobody can give any more


def offer(connection: Connection, tenant: str, side: Side, now: datetime) -> Ticket:
    """Offer a new link, whose code is derived from its id; end every other that waited for this person."""
    tickets.expire(connection, now)
    for older in links_of(connection, side.user_id, WAITING):
        tickets.settle(connection, older.id, TicketState.DISPLACED, side.user_id, now, older.state)
    where = side.place
    offered = Ticket(
        id=new_id(),
        tenant=tenant,
        kind=TicketKind.LINK,
        user_id=side.user_id,
        sender=side.sender,
        channel=where.channel,
        account=where.account,
        chat=where.chat,
        thread=where.thread,
        created_at=now,
        expires_at=now + VALID,
    )
    return tickets.issue(connection, offered)


def give(connection: Connection, key: bytes, tenant: str, typed: str, side: Side, now: datetime) -> Linked | LinkWhy:
    """Somebody gives a code: they are asked next. A wrong one is counted, as one of an invitation is."""
    tickets.expire(connection, now)
    if tickets.locked_until(connection, TicketKind.INVITE, side.sender, now, tenant) is not None:
        return LinkWhy.LOCKED
    known = TICKETS.find(connection, kind=TicketKind.LINK, tenant=tenant, order=TICKETS.c.created_at)
    link = tickets.find_fitting(key, codes.normalise(typed), known)
    if link is None:
        tickets.count_guess(connection, TicketKind.INVITE, side.sender, now, tenant)
        return LinkWhy.WRONG
    if link.state is not TicketState.PENDING:
        return LinkWhy.OVER
    given = replace(
        link, state=TicketState.GIVEN, other_id=side.user_id, other_sender=side.sender, other_place=side.place
    )
    both = _judge(connection, given)
    if isinstance(both, Linked) and not TICKETS.save(connection, given, state=TicketState.PENDING):
        return LinkWhy.OVER
    return both


def agree(connection: Connection, link_id: str | None, user_id: str, now: datetime) -> Linked | LinkWhy:
    """Whoever gave the code says that it is them: the other side is asked next. None: the one that waits for them."""
    link = _waiting(connection, link_id, user_id, (TicketState.GIVEN,), now)
    if link is None or link.other_id != user_id:
        return LinkWhy.NOTHING
    agreed = replace(link, state=TicketState.AGREED)
    both = _judge(connection, agreed)
    if isinstance(both, Linked) and not TICKETS.save(connection, agreed, state=TicketState.GIVEN):
        return LinkWhy.OVER
    return both


def connect(connection: Connection, link_id: str | None, user_id: str, now: datetime) -> Linked | LinkWhy:
    """Confirm on the side that offered the code: from this commit on both are one user."""
    link = _waiting(connection, link_id, user_id, (TicketState.AGREED,), now)
    if link is None or link.user_id != user_id:
        return LinkWhy.NOTHING
    both = _judge(connection, link)
    if isinstance(both, LinkWhy):
        return both
    stays, joins = both.stays, both.joins
    held = replace(link, state=TicketState.APPROVED, role=joins.role, ended_at=now, ended_by=user_id)
    if not TICKETS.save(connection, held, state=TicketState.AGREED):
        return LinkWhy.OVER
    unparked = tuple(approvals.withdraw_person(connection, joins.user_id, now))
    people.join(connection, joins.user_id, stays.user_id)
    senders = ", ".join(sorted(joins.identities))
    told = AuditRow(now, user_id, "people_linked", stays.user_id, f"{senders}, as {both.role}")
    people.record(connection, link.tenant, told)
    return replace(both, link=held, stays=people.person_of(connection, stays.user_id) or stays, unparked=unparked)


def refuse(connection: Connection, link_id: str | None, user_id: str, now: datetime) -> Ticket | LinkWhy:
    """Either side wants nothing of it."""
    link = _waiting(connection, link_id, user_id, WAITING, now)
    if link is None or not tickets.settle(connection, link.id, TicketState.DENIED, user_id, now, link.state):
        return LinkWhy.NOTHING
    return link


def undo(connection: Connection, link_id: str, by: str, now: datetime) -> Linked | LinkWhy:
    """End the alias. Each user has their role again, or the one that was given to both since if it is lower.

    The person may do it, and so may an actor above every role that either has or will have.
    """
    link = TICKETS.get(connection, id=link_id, kind=TicketKind.LINK, state=TicketState.APPROVED)
    if link is None or link.other_id is None:
        return LinkWhy.NOTHING
    undone = replace(link, state=TicketState.UNDONE, ended_at=now, ended_by=by)
    may = by == link.user_id or may_touch(connection, by, *people.roles_of(connection, link.user_id))
    if not may or not TICKETS.save(connection, undone, state=TicketState.APPROVED):
        return LinkWhy.NOTHING
    people.part(connection, link.other_id)
    stays, joins = people.person_of(connection, link.user_id), people.person_of(connection, link.other_id)
    assert stays is not None and joins is not None, "an erasure deletes the links of a user"  # noqa: PT018  one claim
    people.set_role(connection, joins, _lesser(joins.role, link.role or joins.role), by, now)
    people.record(connection, link.tenant, AuditRow(now, by, "people_unlinked", stays.user_id, link.other_sender or ""))
    return Linked(undone, stays, people.person_of(connection, joins.user_id) or joins, Role(stays.role))


def places(done: Linked | LinkWhy) -> Sequence[tuple[Person, Address]]:
    """Each of the two, with the chat in which they said it; nobody where nothing was done."""
    if isinstance(done, LinkWhy) or done.link.other_place is None:
        return ()
    return (done.stays, done.link.place), (done.joins, done.link.other_place)


def list_held(connection: Connection, user_id: str) -> list[Ticket]:
    """What is linked to this person."""
    return [link for link in links_of(connection, user_id, [TicketState.APPROVED]) if link.user_id == user_id]


def _waiting(
    connection: Connection, link_id: str | None, user_id: str, states: Sequence[TicketState], now: datetime
) -> Ticket | None:
    """Return what waits for a person's word: the one of this id, or the newest."""
    tickets.expire(connection, now)
    found = [link for link in links_of(connection, user_id, states) if link_id in (None, link.id)]
    return found[-1] if found else None


def _judge(connection: Connection, link: Ticket) -> Linked | LinkWhy:
    """Whether these two may be one, and as what."""
    stays = people.person_of(connection, link.user_id)
    joins = people.person_of(connection, link.other_id or "")
    if stays is None or joins is None or Role.BLOCKED in (stays.role, joins.role):
        return LinkWhy.OVER
    if (stays.user_id, joins.user_id) != (link.user_id, link.other_id):  # one was linked to another user meanwhile
        return LinkWhy.OVER
    if stays.user_id == joins.user_id:
        return LinkWhy.OWN
    if joins.aliases:
        return LinkWhy.HAS_OTHERS
    if len(stays.aliases) >= MOST_LINKS:
        return LinkWhy.TOO_MANY
    role = Role.OWNER if stays.role == Role.OWNER else _lesser(stays.role, joins.role)
    if joins.role == Role.OWNER != role and not people.has_owner(connection, link.tenant, beside=joins.user_id):
        return LinkWhy.ONLY_OWNER
    return Linked(link, stays, joins, role)


def _lesser(*roles: str) -> Role:
    return Role(min(roles, key=rank_of))
