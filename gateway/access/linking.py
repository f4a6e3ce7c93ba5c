"""The rules of linking two users as one person, and of ending the link. Plain functions over a connection.

One side offers a code, the other gives it and confirms, then the first one confirms: a code alone links nobody. The
lesser of the two roles holds, unless the user who confirms last is an owner.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from channels.messages import Address
from gateway.access import codes
from gateway.access.invites import is_locked
from gateway.access.pairing import CLOCK_SLACK
from gateway.access.ranks import may_touch, rank_of
from gateway.access.roles import Role
from gateway.store import approvals, invites, links, people
from gateway.store.links import Link, LinkState
from gateway.store.people import AuditRow, Connection, Person
from gateway.store.tables.base import new_id

VALID = timedelta(minutes=10)
"""For both confirmations together."""

KEPT = timedelta(days=90)

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

    link: Link
    stays: Person
    joins: Person
    role: Role  # what both are, or will be, by it
    unparked: tuple[str, ...] = ()  # turns that waited for a word which nobody can give any more


def offer(connection: Connection, tenant: str, side: Side, now: datetime) -> Link:
    """A new link of this person's, whose code is derived from its id; one that waited for them is over."""
    expire(connection, now)
    for older in links.of_user(connection, side.user_id, *links.WAITING):
        links.save(connection, replace(older, state=LinkState.OVER, ended_at=now), older.state)
    offered = Link(new_id(), tenant, side.user_id, side.sender, side.place, LinkState.OFFERED, now, now + VALID)
    links.add(connection, offered)
    return offered


def give(connection: Connection, key: bytes, tenant: str, typed: str, side: Side, now: datetime) -> Linked | LinkWhy:
    """Somebody gives a code: they are asked next. A wrong one is counted, as one of an invitation is."""
    expire(connection, now)
    if is_locked(connection, tenant, side.sender, now):
        return LinkWhy.LOCKED
    code = codes.normalise(typed)
    known = links.waiting(connection, tenant, *LinkState)
    fitting = [link for link in known if codes.matches(key, link.id, code)]
    if not fitting:
        invites.add_guess(connection, tenant, side.sender, now)
        return LinkWhy.WRONG
    link = fitting[0]
    if link.state is not LinkState.OFFERED:
        return LinkWhy.OVER
    given = replace(
        link, state=LinkState.GIVEN, other_id=side.user_id, other_sender=side.sender, other_place=side.place
    )
    both = _judge(connection, given)
    if isinstance(both, Linked) and not links.save(connection, given, LinkState.OFFERED):
        return LinkWhy.OVER
    return both


def agree(connection: Connection, link_id: str | None, user_id: str, now: datetime) -> Linked | LinkWhy:
    """Whoever gave the code says that it is them: the other side is asked next. None: the one that waits for them."""
    link = _waiting(connection, link_id, user_id, LinkState.GIVEN, now)
    if link is None or link.other_id != user_id:
        return LinkWhy.NOTHING
    agreed = replace(link, state=LinkState.AGREED)
    both = _judge(connection, agreed)
    if isinstance(both, Linked) and not links.save(connection, agreed, LinkState.GIVEN):
        return LinkWhy.OVER
    return both


def connect(connection: Connection, link_id: str | None, user_id: str, now: datetime) -> Linked | LinkWhy:
    """Confirm on the side that offered the code: from this commit on both are one user."""
    link = _waiting(connection, link_id, user_id, LinkState.AGREED, now)
    if link is None or link.user_id != user_id:
        return LinkWhy.NOTHING
    both = _judge(connection, link)
    if isinstance(both, LinkWhy):
        return both
    stays, joins = both.stays, both.joins
    held = replace(link, state=LinkState.LINKED, other_role=joins.role, ended_at=now)
    if not links.save(connection, held, LinkState.AGREED):
        return LinkWhy.OVER
    unparked = tuple(approvals.withdraw_person(connection, joins.user_id, now))
    links.join(connection, held)
    senders = ", ".join(sorted(joins.identities))
    told = AuditRow(now, user_id, "people_linked", stays.user_id, f"{senders}, as {both.role}")
    people.record(connection, link.tenant, told)
    return replace(both, link=held, stays=people.person_of(connection, stays.user_id) or stays, unparked=unparked)


def refuse(connection: Connection, link_id: str | None, user_id: str, now: datetime) -> Link | LinkWhy:
    """Either side wants nothing of it."""
    link = _waiting(connection, link_id, user_id, None, now)
    over = None if link is None else replace(link, state=LinkState.OVER, ended_at=now)
    if link is None or over is None or not links.save(connection, over, link.state):
        return LinkWhy.NOTHING
    return link


def undo(connection: Connection, link_id: str, by: str, now: datetime) -> Linked | LinkWhy:
    """End the alias. Each user has their role again, or the one that was given to both since if it is lower.

    The person may do it, and so may an actor above every role that either has or will have.
    """
    link = links.get(connection, link_id)
    if link is None or link.state is not LinkState.LINKED or link.other_id is None:
        return LinkWhy.NOTHING
    undone = replace(link, state=LinkState.UNDONE, ended_at=now)
    may = by == link.user_id or may_touch(connection, by, *people.roles_of(connection, link.user_id))
    if not may or not links.save(connection, undone, LinkState.LINKED):
        return LinkWhy.NOTHING
    links.part(connection, link)
    stays, joins = people.person_of(connection, link.user_id), people.person_of(connection, link.other_id)
    assert stays is not None and joins is not None, "an erasure deletes the links of a user"  # noqa: PT018  one claim
    people.set_role(connection, joins, _lesser(joins.role, link.other_role or joins.role), by, now)
    people.record(connection, link.tenant, AuditRow(now, by, "people_unlinked", stays.user_id, link.other_sender or ""))
    return Linked(undone, stays, people.person_of(connection, joins.user_id) or joins, Role(stays.role))


def places(done: Linked | LinkWhy) -> Sequence[tuple[Person, Address]]:
    """Each of the two, with the chat in which they said it; nobody where nothing was done."""
    if isinstance(done, LinkWhy) or done.link.other_place is None:
        return ()
    return (done.stays, done.link.place), (done.joins, done.link.other_place)


def list_held(connection: Connection, user_id: str) -> list[Link]:
    """What is linked to this person."""
    return [link for link in links.of_user(connection, user_id, LinkState.LINKED) if link.user_id == user_id]


def expire(connection: Connection, now: datetime) -> None:
    """Record what ran out, and forget what ended long ago. Call it each minute and on start."""
    links.expire(connection, now, now + CLOCK_SLACK)
    links.forget(connection, now - KEPT)


def _waiting(
    connection: Connection, link_id: str | None, user_id: str, state: LinkState | None, now: datetime
) -> Link | None:
    """What waits for a person's word: the one of this id, or the newest."""
    expire(connection, now)
    states = links.WAITING if state is None else (state,)
    found = [link for link in links.of_user(connection, user_id, *states) if link_id in (None, link.id)]
    return found[-1] if found else None


def _judge(connection: Connection, link: Link) -> Linked | LinkWhy:
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
