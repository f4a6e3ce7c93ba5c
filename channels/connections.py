"""A count of a channel's connections to its platform, and the ability to give it."""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable


@dataclass(frozen=True, slots=True)
class Connections:
    """How many connections to its platform a channel has open here."""

    kind: str  # "shards" | "sockets"
    standing: int
    wanted: int


@runtime_checkable
class CountsConnections(Protocol):
    """Hears people over connections of its own, one or several."""

    def count_connections(self) -> Connections | None:
        """Return how many are open now; None if none is to be."""
        ...
