"""What health says of a part of the gateway, and where it comes from. No socket lives here."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from channels.base import ChannelState


@dataclass(frozen=True, slots=True)
class PartHealth:
    """How one part is doing: a channel account, the store."""

    state: ChannelState
    detail: str = ""  # what is wrong and how to mend it; empty while ready; never a secret
    heard_at: datetime | None = None  # aware UTC; when a platform was last really heard

    @property
    def usable(self) -> bool:
        """A degraded part still works, or works again by itself; a starting or failed one does not."""
        return self.state in {ChannelState.READY, ChannelState.DEGRADED}


class HealthSource(Protocol):
    """Knows how every part is doing."""

    def health(self) -> Mapping[str, PartHealth]:
        """By name ("store", "telegram:main"); never blocks."""
        ...

    async def measure(self) -> None:
        """Bring those figures up to date that are read from the store; called before they are shown."""
        ...
