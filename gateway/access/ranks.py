"""Who may decide about whom, and the decisions: nobody touches a role at or above their own. Asked inside the commit
of the change.

The machine's operator, who owns the home, stands above every role; else two owners could never be told apart again.
"""

from datetime import datetime
from enum import IntEnum

from gateway.access import pairing, tickets
from gateway.access.config import Role
from gateway.access.pairing import NotApproved, Why
from gateway.store import people
from gateway.store.people import Connection, Person
from gateway.store.tickets import TICKETS, Ticket, TicketKind, TicketState

BY_CLI = "cli"
"""Whoever can reach the home's socket or its store: the operator at the machine."""

BY_KEY = "key:"
"""Before the id of an API key that may operate; whether it may was asked when it was shown. User ids never begin so."""


class Rank(IntEnum):
    """Everybody who may decide anything, in one order with those who may not."""

    BLOCKED = 0
    MEMBER = 1
    OPERATOR = 2
    OWNER = 3
    MACHINE = 4


def rank_of(role: str) -> Rank:
    """Where a role stands."""
    return Rank[Role(role).name]


def of(connection: Connection, by: str) -> Rank:
    """The rank of an actor as it is now: "cli", an API key's, or a user id; somebody unknown may do nothing."""
    if by == BY_CLI:
        return Rank.MACHINE
    if by.startswith(BY_KEY):
        return Rank.OPERATOR
    person = people.person_of(connection, by)
    return Rank.BLOCKED if person is None else rank_of(person.role)


def may_decide(connection: Connection, by: str) -> bool:
    """Whether the actor may say who is let in at all."""
    return of(connection, by) >= Rank.OPERATOR


def may_touch(connection: Connection, by: str, *roles: str) -> bool:
    """Whether every one of these roles, what somebody is and what they shall be, is below the actor's own."""
    rank = of(connection, by)
    return rank >= Rank.OPERATOR and all(rank_of(role) < rank for role in roles)


def block_known(connection: Connection, tenant: str, sender: str, name: str, by: str, now: datetime) -> Person | Why:
    """Silence for this sender, where the actor stands above them and an owner is left."""
    known = people.find_sender(connection, tenant, sender)
    if not may_touch(connection, by, *([known.role] if known else [])):
        return Why.NOT_BELOW
    if known is not None and people.is_only_owner(connection, known):
        return Why.ONLY_OWNER
    return pairing.block(connection, tenant, sender, name, by, now)


def give_role(connection: Connection, user_id: str, role: Role, by: str, now: datetime) -> Person | Why:
    """Another role for this user, where the actor stands above both and an owner is left."""
    person = people.person_of(connection, user_id)
    if person is None or not may_touch(connection, by, person.role, role):
        return Why.NOT_BELOW
    if role is not Role.OWNER and people.is_only_owner(connection, person):
        return Why.ONLY_OWNER
    people.set_role(connection, person, role, by, now)
    return people.person_of(connection, user_id) or person


def revoke(connection: Connection, person: Person, account: str, by: str, now: datetime) -> Person | Why:
    """Take back what let this person into an account, where the actor stands above them."""
    current = people.person_of(connection, person.user_id)
    if current is None or not may_touch(connection, by, current.role):
        return Why.NOT_BELOW
    people.revoke(connection, person, account, by, now)
    return people.person_of(connection, person.user_id) or current


def refuse_to_approve(connection: Connection, by: str) -> NotApproved | None:
    """Only an operator approves; and only an owner, or the machine's, while the first one let in becomes the owner."""
    rank = of(connection, by)
    if rank < Rank.OPERATOR:
        return NotApproved(Why.NOT_ALLOWED)
    who = people.person_of(connection, by) if rank < Rank.OWNER else None
    no_owner = who is not None and not people.has_owner(connection, who.tenant)
    return NotApproved(Why.NO_OWNER) if no_owner else None


def why_over(asked: Ticket | None) -> Why:
    """Why this request cannot be decided any more."""
    return Why.UNKNOWN if asked is None else pairing.SETTLED.get(asked.state, Why.USED)


def block_waiting(connection: Connection, request_id: str, by: str, now: datetime) -> Person | Why:
    """Silence for whoever made this request, while it is pending, as `block_known`."""
    tickets.expire(connection, now)
    asked = TICKETS.get(connection, id=request_id, kind=TicketKind.PAIRING)
    if asked is None or asked.state is not TicketState.PENDING:
        return why_over(asked)
    return block_known(connection, asked.tenant, asked.sender, asked.display_name, by, now)
