"""API keys in the store: a digest and what it opens, never the key itself."""

from dataclasses import dataclass
from datetime import datetime

from gateway.store.rows import Rows
from gateway.store.tables.people import api_keys


@dataclass(frozen=True, slots=True, repr=False)
class ApiKey:
    """One key of a tenant."""

    id: str
    tenant: str
    name: str
    digest: str  # SHA-256 of the whole key, hex
    scopes: frozenset[str]
    user_id: str | None  # whom it speaks for; None: for people of its own
    created_at: datetime
    created_by: str  # user id or "cli"
    revoked_at: datetime | None = None

    @property
    def actor(self) -> str:
        """Return the name under which the audit log has what it did."""
        return f"key:{self.id}"


KEYS = Rows(api_keys, ApiKey)
