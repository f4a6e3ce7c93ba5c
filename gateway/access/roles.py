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
        return _PLACES[self] >= _PLACES[least]


_PLACES = {role: place for place, role in enumerate(Role)}
