"""What all tenants of a process share."""

from dataclasses import dataclass, field

from channels.clocks import Clocks
from gateway.access import codes
from gateway.access.codes import AccessKeys
from gateway.access.policy import AccessSnapshot
from gateway.delivery.delivery import Delivery
from gateway.inbound.bus import Bus
from gateway.inbound.manager import ChannelManager
from gateway.safety.output import Scrubber
from gateway.safety.vault import Vault
from gateway.sessions.router import Router
from gateway.store.engine import Store


@dataclass(frozen=True, slots=True, repr=False)
class Secrets:
    """The keys of a home, and what is sealed, signed or taken out of texts with them."""

    key: bytes
    """What `keys` are derived from."""
    keys: AccessKeys
    vault: Vault
    scrubber: Scrubber = field(default_factory=Scrubber)

    def reveal(self, ref: str, text: str) -> str:
        """Return a text as it is sent: its bullets replaced by the code that `ref` stands for."""
        return codes.reveal(self.key, ref, text)


@dataclass(frozen=True, slots=True)
class Shared:
    """The parts of a process that every tenant uses, one of each."""

    store: Store
    """The whole store; a tenant works with its part of it."""
    channels: ChannelManager
    delivery: Delivery
    bus: Bus
    sessions: Router
    people: AccessSnapshot
    clocks: Clocks
    secrets: Secrets
