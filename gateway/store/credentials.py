"""Keeps what people connected to providers, one a provider, and links at which they may agree: sealed in a vault.

Plain functions over a connection. `gateway.credentials` decides what is in it, and when it is renewed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa

from gateway.safety.vault import KEY_ID_AT, KEY_ID_CHARS, CannotOpen, SecretOf, Vault
from gateway.store.people import ids_of
from gateway.store.reply_routes import Resealed
from gateway.store.rows import Rows
from gateway.store.tables.people import credentials, tickets
from gateway.store.tables.traffic import reply_routes


@dataclass(frozen=True, slots=True)
class Connected:
    """That a person is connected; nothing of the secret."""

    provider: str
    kind: str  # see agent.credentials.CredentialKind
    connected_at: datetime


def secret_of(tenant: str, user_id: str, provider: str) -> SecretOf:
    """As what it is sealed."""
    return SecretOf(tenant, user_id, f"credential:{provider}")


@dataclass(frozen=True, slots=True, repr=False)
class StoredCredential:
    """A credential that a person connected to a provider."""

    tenant: str
    user_id: str
    provider: str
    kind: str
    sealed: str
    connected_at: datetime


CREDENTIALS = Rows(credentials, StoredCredential)


def put(connection: sa.Connection, tenant: str, user_id: str, connected: Connected, sealed: str) -> None:
    """Keep a credential in place of what the person had connected to this provider."""
    provider, kind, connected_at = connected.provider, connected.kind, connected.connected_at
    CREDENTIALS.delete(connection, tenant=tenant, user_id=user_id, provider=provider)
    CREDENTIALS.add(connection, StoredCredential(tenant, user_id, provider, kind, sealed, connected_at))


def find(connection: sa.Connection, tenant: str, user_id: str, provider: str) -> StoredCredential | None:
    """Return a person's credential: first their own, else that of a user linked to them."""
    own_first = credentials.c.user_id != user_id, credentials.c.user_id
    return CREDENTIALS.get(connection, tenant=tenant, user_id=ids_of(user_id), provider=provider, order=own_first)


def list_connected(connection: sa.Connection, tenant: str, user_id: str) -> Sequence[Connected]:
    """Return a person's connections, one a provider, by name."""
    own_last = credentials.c.provider, credentials.c.user_id == user_id
    found = CREDENTIALS.find(connection, tenant=tenant, user_id=ids_of(user_id), order=own_last)
    return list({row.provider: Connected(row.provider, row.kind, row.connected_at) for row in found}.values())


def remove(connection: sa.Connection, tenant: str, user_id: str, provider: str) -> bool:
    """Forget a credential; return False if there was none."""
    return CREDENTIALS.delete(connection, tenant=tenant, user_id=ids_of(user_id), provider=provider) > 0


def reseal_some(connection: sa.Connection, vault: Vault, after: int, limit: int) -> Resealed:
    """Bring the next rows behind a place under the newest key. A system query: it crosses tenants."""
    names = (credentials.c.id, credentials.c.tenant_id, credentials.c.user_id, credentials.c.provider)
    query = sa.select(*names, credentials.c.sealed).where(
        credentials.c.id > after, sa.not_(credentials.c.sealed.startswith(vault.mark))
    )
    done = Resealed()
    for id_, tenant, user, provider, sealed in connection.execute(query.order_by(credentials.c.id).limit(limit)).all():
        done.last = id_
        try:
            fresh = vault.reseal(sealed, secret_of(tenant, user, provider))
        except CannotOpen:
            done.lost += 1
            continue
        connection.execute(sa.update(credentials).where(credentials.c.id == id_).values(sealed=fresh))
        done.sealed += 1
    return done


def key_ids(connection: sa.Connection) -> dict[str, int]:
    """Return the number of secrets by the id of the key that they need. A system query: it crosses tenants."""
    counts: dict[str, int] = {}
    for column in (credentials.c.sealed, tickets.c.sealed, reply_routes.c.token):
        id_ = sa.func.substr(column, KEY_ID_AT + 1, KEY_ID_CHARS)
        for key_id, count in connection.execute(
            sa.select(id_, sa.func.count()).where(column.is_not(None)).group_by(id_)
        ):
            counts[key_id] = counts.get(key_id, 0) + count
    return counts
