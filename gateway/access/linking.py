"""Linking two users as one person, and undoing it.

One side offers a code, the other enters and confirms it, then the first one confirms: a code alone links nothing. The
person gets the lesser of both roles, unless the side that confirms last is an owner.
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
"""Time for both confirmations together."""

MOST_LINKS = 10
"""Maximum of users linked to one person."""


class LinkWhy(StrEnum):
    """Reason why a step did nothing."""

    WRONG = "wrong"  # unknown code; counted
    LOCKED = "locked"  # too many wrong codes; nothing was compared
    OVER = "over"  # used, expired, replaced or refused
    OWN = "own"  # both sides are one user already
    ONLY_OWNER = "only_owner"  # the tenant would have no owner
    HAS_OTHERS = "has_others"  # other users are linked to the joining one
    TOO_MANY = "too_many"
    NOTHING = "nothing"  # no link is pending or linked


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two users, and the chat in which they confirm."""

    user_id: str
    sender: str  # canonical
    place: Address


@dataclass(frozen=True, slots=True)
class Linked:
    """State of a link after a step, with both people."""

    link: Ticket
    stays: Person
    joins: Person
    role: Role  # role of both once they are linked
    unparked: tuple[str, ...] = ()  # turns whose pending approvals were withdrawn


def offer(connection: Connection, tenant: str, side: Side, now: datetime) -> Ticket:
    """Offer a new link, its code derived from its id; end other pending links of this person."""
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
    """Enter a link's code; the user is asked to confirm next. A wrong code counts like a wrong invitation code."""
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
    """Confirm on the side that entered the code, and ask the other side. `link_id=None`: the newest pending link."""
    link = _waiting(connection, link_id, user_id, (TicketState.GIVEN,), now)
    if link is None or link.other_id != user_id:
        return LinkWhy.NOTHING
    agreed = replace(link, state=TicketState.AGREED)
    both = _judge(connection, agreed)
    if isinstance(both, Linked) and not TICKETS.save(connection, agreed, state=TicketState.GIVEN):
        return LinkWhy.OVER
    return both


def connect(connection: Connection, link_id: str | None, user_id: str, now: datetime) -> Linked | LinkWhy:
    """Confirm on the side that offered the code; from this commit on both are one user."""
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
    """Decline a pending link, on either side."""
    link = _waiting(connection, link_id, user_id, WAITING, now)
    if link is None or not tickets.settle(connection, link.id, TicketState.DENIED, user_id, now, link.state):
        return LinkWhy.NOTHING
    return link


def undo(connection: Connection, link_id: str, by: str, now: datetime) -> Linked | LinkWhy:
    """Undo a link. Each user gets their former role back, or the common one if that is lower.

    Allowed for the person and for actors whose rank is above every role that either has or will have.
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
    """Return each person with the chat in which they confirmed; empty if nothing was done."""
    if isinstance(done, LinkWhy) or done.link.other_place is None:
        return ()
    return (done.stays, done.link.place), (done.joins, done.link.other_place)


def list_held(connection: Connection, user_id: str) -> list[Ticket]:
    """Return the users linked to this person."""
    return [link for link in links_of(connection, user_id, [TicketState.APPROVED]) if link.user_id == user_id]


def _waiting(
    connection: Connection, link_id: str | None, user_id: str, states: Sequence[TicketState], now: datetime
) -> Ticket | None:
    """Return a pending link of this person: the one with this id, or the newest."""
    tickets.expire(connection, now)
    found = [link for link in links_of(connection, user_id, states) if link_id in (None, link.id)]
    return found[-1] if found else None


def _judge(connection: Connection, link: Ticket) -> Linked | LinkWhy:
    """Check that the two may be linked; return the link with their common role, or why not."""
    stays = people.person_of(connection, link.user_id)
    joins = people.person_of(connection, link.other_id or "")
    if stays is None or joins is None or Role.BLOCKED in (stays.role, joins.role):
        return LinkWhy.OVER
    if (stays.user_id, joins.user_id) != (link.user_id, link.other_id):  # linked to another user meanwhile
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
