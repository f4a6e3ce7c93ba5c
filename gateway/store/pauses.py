"""Rows about tenants whose agents operators have paused."""

from dataclasses import dataclass
from datetime import datetime

from gateway.store.rows import Rows
from gateway.store.tables.people import pauses


@dataclass(frozen=True, slots=True)
class AgentPause:
    """A pause of one tenant's agents, or of all."""

    tenant: str
    whole: bool  # of every tenant
    since: datetime
    paused_by: str  # user id, "cli" or an API key

    @property
    def words(self) -> str:
        """Return the description for an operator."""
        return f"since {self.since:%Y-%m-%d %H:%M} UTC, by {self.paused_by}; `tenk resume` answers what waits"


PAUSES = Rows(pauses, AgentPause)
