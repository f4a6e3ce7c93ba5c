"""API keys as the store knows them: a digest and what it opens, never the key.

Plain functions over a connection. `gateway.access.api_keys` says how a key is made and compared.
"""

from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa

from gateway.store.tables.people import api_keys


@dataclass(frozen=True, slots=True, repr=False)
class ApiKey:
    """One key of a tenant's."""

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
        """Under what the audit log has what it did."""
        return f"key:{self.id}"


def add(connection: sa.Connection, key: ApiKey) -> None:
    """Keep a new key."""
    connection.execute(
        sa.insert(api_keys),
        {
            "id": key.id,
            "tenant_id": key.tenant,
            "name": key.name,
            "digest": key.digest,
            "scopes": " ".join(sorted(key.scopes)),
            "user_id": key.user_id,
            "created_at": key.created_at,
            "created_by": key.created_by,
            "revoked_at": key.revoked_at,
        },
    )


def find(connection: sa.Connection, id_: str) -> ApiKey | None:
    """The key with this id, revoked or not; the tenant is the key's to say. A system query."""
    row = connection.execute(sa.select(api_keys).where(api_keys.c.id == id_)).first()
    return None if row is None else _to_key(row)


def load_keys(connection: sa.Connection, tenant: str | None) -> list[ApiKey]:
    """Every key of a tenant, in the order they were made; None: of all."""
    query = sa.select(api_keys) if tenant is None else sa.select(api_keys).where(api_keys.c.tenant_id == tenant)
    return [_to_key(row) for row in connection.execute(query.order_by(api_keys.c.created_at, api_keys.c.id))]


def revoke(connection: sa.Connection, id_: str, now: datetime) -> bool:
    """Let a key open nothing from now on; False where it did not before."""
    query = sa.update(api_keys).where(api_keys.c.id == id_, api_keys.c.revoked_at.is_(None))
    return connection.execute(query.values(revoked_at=now)).rowcount == 1


def _to_key(row: sa.Row[tuple[object, ...]]) -> ApiKey:
    return ApiKey(
        row.id, row.tenant_id, row.name, row.digest, frozenset(row.scopes.split()), row.user_id, row.created_at,
        row.created_by, row.revoked_at,
    )  # fmt: skip
