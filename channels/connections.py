"""A count of a channel's connections to its platform, and the ability to give it."""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable


@dataclass(frozen=True, slots=True)
class Connections:
    """How many connections to its platform a channel has open here."""

    kind: str  # "shards" | "sockets"
    standing: int
    wanted: int  # what this process is to have
    total: int  # what all processes together are to have


@runtime_checkable
class CountsConnections(Protocol):
    """Hears people over connections of its own, one or several."""

    def connections(self) -> Connections | None:
        """How many stand just now; None where none is to."""
        ...
