"""Roles stand in one order, each allowed what those below it are. Who has which is decided elsewhere in this room."""

from enum import StrEnum


class Role(StrEnum):
    """A person's standing in a tenant."""

    BLOCKED = "blocked"
    MEMBER = "member"
    OPERATOR = "operator"
    OWNER = "owner"

    def allows(self, least: "Role") -> bool:
        """Whether this role is at least `least`."""
        order = tuple(Role)
        return order.index(self) >= order.index(least)
