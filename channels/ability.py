"""What a channel may be able to do is found by its class. The abilities themselves are in `base`, but for that to count
connections, which `tenk status` asks for.
"""

from dataclasses import dataclass
from typing import Protocol, _ProtocolMeta, runtime_checkable

_HAVE: dict[tuple[type, type], bool] = {}  # by ability and class


class Ability(_ProtocolMeta):
    """`isinstance` looks for an ability once a class of channels: a look costs 6 to 16 µs, a message asks fifteen."""

    def __instancecheck__(self, channel: object) -> bool:
        """Whether the channel's class has it."""
        key = self, type(channel)
        found = _HAVE.get(key)
        if found is None:
            found = _HAVE[key] = super().__instancecheck__(channel)
        return found


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
