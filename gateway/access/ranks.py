"""Ranks: actors may change only people below their own rank. Checked in the commit of the change.

The machine's operator, who owns the home, stands above every role; otherwise two owners could never be separated.
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
"""Actor id of the operator at the machine, who can reach the home's socket or its store."""

BY_KEY = "key:"
"""Prefix of the actor id of an API key with the scope `operate`; checked when the key was shown. User ids never begin
so.
"""


class Rank(IntEnum):
    """All actors in one order."""

    BLOCKED = 0
    MEMBER = 1
    OPERATOR = 2
    OWNER = 3
    MACHINE = 4


def rank_of(role: str) -> Rank:
    """Return the rank of a role."""
    return Rank[Role(role).name]


def of(connection: Connection, by: str) -> Rank:
    """Return the current rank of an actor: "cli", an API key's id or a user id. An unknown one is BLOCKED."""
    if by == BY_CLI:
        return Rank.MACHINE
    if by.startswith(BY_KEY):
        return Rank.OPERATOR
    person = people.person_of(connection, by)
    return Rank.BLOCKED if person is None else rank_of(person.role)


def may_decide(connection: Connection, by: str) -> bool:
    """Return True if the actor may decide who is let in."""
    return of(connection, by) >= Rank.OPERATOR


def may_touch(connection: Connection, by: str, *roles: str) -> bool:
    """Return True if the actor's rank is above all these roles: the present ones and the new ones."""
    rank = of(connection, by)
    return rank >= Rank.OPERATOR and all(rank_of(role) < rank for role in roles)


def block_known(connection: Connection, tenant: str, sender: str, name: str, by: str, now: datetime) -> Person | Why:
    """Block a sender below the actor, unless they are the only owner."""
    known = people.find_sender(connection, tenant, sender)
    if not may_touch(connection, by, *([known.role] if known else [])):
        return Why.NOT_BELOW
    if known is not None and people.is_only_owner(connection, known):
        return Why.ONLY_OWNER
    return pairing.block(connection, tenant, sender, name, by, now)


def give_role(connection: Connection, user_id: str, role: Role, by: str, now: datetime) -> Person | Why:
    """Give a user below the actor a role, if an owner is left; access that was revoked is theirs again."""
    person = people.person_of(connection, user_id)
    if person is None or not may_touch(connection, by, person.role, role):
        return Why.NOT_BELOW
    if role is not Role.OWNER and people.is_only_owner(connection, person):
        return Why.ONLY_OWNER
    people.set_role(connection, person, role, by, now)
    people.end_revocations(connection, person)
    return people.person_of(connection, user_id) or person


def revoke(connection: Connection, person: Person, account: str, by: str, now: datetime) -> Person | Why:
    """Revoke a person's access to an account, if they are below the actor."""
    current = people.person_of(connection, person.user_id)
    if current is None or not may_touch(connection, by, current.role):
        return Why.NOT_BELOW
    people.revoke(connection, person, account, by, now)
    return people.person_of(connection, person.user_id) or current


def refuse_to_approve(connection: Connection, by: str) -> NotApproved | None:
    """Return why the actor may not approve: approving needs an operator, the first approval in a tenant an owner."""
    rank = of(connection, by)
    if rank < Rank.OPERATOR:
        return NotApproved(Why.NOT_ALLOWED)
    who = people.person_of(connection, by) if rank < Rank.OWNER else None
    no_owner = who is not None and not people.has_owner(connection, who.tenant)
    return NotApproved(Why.NO_OWNER) if no_owner else None


def why_over(asked: Ticket | None) -> Why:
    """Return why this request cannot be decided any more."""
    return Why.UNKNOWN if asked is None else pairing.SETTLED.get(asked.state, Why.USED)


def block_waiting(connection: Connection, request_id: str, by: str, now: datetime) -> Person | Why:
    """Block the sender of a pending request."""
    tickets.expire(connection, now)
    asked = TICKETS.get(connection, id=request_id, kind=TicketKind.PAIRING)
    if asked is None or asked.state is not TicketState.PENDING:
        return why_over(asked)
    return block_known(connection, asked.tenant, asked.sender, asked.display_name, by, now)
