"""Who may decide about whom: nobody touches a role at or above their own. Asked inside the commit of the change.

The machine's operator, who owns the home, stands above every role; else two owners could never be told apart again.
"""

from enum import IntEnum

from gateway.access.roles import Role
from gateway.store import people
from gateway.store.people import Connection

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
