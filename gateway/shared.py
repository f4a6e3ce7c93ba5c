"""Parts that all tenants of a process share."""

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
    """Keys of a home, and the vault and redactor made with them."""

    key: bytes
    """Root of the other keys."""
    keys: AccessKeys
    vault: Vault
    scrubber: Scrubber = field(default_factory=Scrubber)

    def reveal(self, ref: str, text: str) -> str:
        """Return the text to send: the code named by `ref` replaces the bullets."""
        return codes.reveal(self.key, ref, text)


@dataclass(frozen=True, slots=True)
class Shared:
    """Parts of a process that every tenant uses."""

    store: Store
    """The whole store; a tenant uses its part."""
    channels: ChannelManager
    delivery: Delivery
    bus: Bus
    sessions: Router
    people: AccessSnapshot
    clocks: Clocks
    secrets: Secrets
