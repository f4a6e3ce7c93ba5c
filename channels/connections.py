"""How many connections to its platform a channel has open: for `tenk status`. What goes over them is the adapter's."""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from channels.ability import Ability


@dataclass(frozen=True, slots=True)
class Connections:
    """How many connections to its platform a channel has open here."""

    kind: str  # "shards" | "sockets"
    standing: int
    wanted: int  # what this process is to have
    total: int  # what all processes together are to have


@runtime_checkable
class CountsConnections(Protocol, metaclass=Ability):
    """Hears people over connections of its own, one or several."""

    def connections(self) -> Connections | None:
        """How many stand just now; None where none is to."""
        ...
