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


def put(connection: sa.Connection, tenant: str, user_id: str, connected: Connected, sealed: str) -> None:
    """Keep it in place of what the person had connected to this provider."""
    own = credentials.c.user_id == user_id
    connection.execute(sa.delete(credentials).where(_at(tenant, user_id, connected.provider), own))
    row = {
        "tenant_id": tenant, "user_id": user_id, "provider": connected.provider, "kind": connected.kind,
        "sealed": sealed, "connected_at": connected.connected_at,
    }  # fmt: skip
    connection.execute(sa.insert(credentials), row)


def find(connection: sa.Connection, tenant: str, user_id: str, provider: str) -> tuple[str, datetime, str] | None:
    """Return a person's sealed credential, its instant and the user id it is sealed for: first their own, else that of
    a user linked to them.
    """
    kept = credentials.c
    query = sa.select(kept.sealed, kept.connected_at, kept.user_id).where(_at(tenant, user_id, provider))
    row = connection.execute(query.order_by(kept.user_id != user_id, kept.user_id).limit(1)).first()
    return None if row is None else (row.sealed, row.connected_at, row.user_id)


def renew(connection: sa.Connection, tenant: str, user_id: str, connected: tuple[str, datetime], sealed: str) -> None:
    """Put renewed tokens in the place of those of a provider connected then; nothing where it is another by now."""
    provider, connected_at = connected
    own = credentials.c.user_id == user_id
    at = sa.and_(_at(tenant, user_id, provider), own, credentials.c.connected_at == connected_at)
    connection.execute(sa.update(credentials).where(at).values(sealed=sealed))


def list_connected(connection: sa.Connection, tenant: str, user_id: str) -> Sequence[Connected]:
    """Return a person's connections, one a provider, by name."""
    query = sa.select(credentials.c.provider, credentials.c.kind, credentials.c.connected_at)
    mine = sa.and_(credentials.c.tenant_id == tenant, credentials.c.user_id.in_(ids_of(user_id)))
    own_last = credentials.c.user_id == user_id
    found = connection.execute(query.where(mine).order_by(credentials.c.provider, own_last))
    return list({row.provider: Connected(*row) for row in found}.values())


def remove(connection: sa.Connection, tenant: str, user_id: str, provider: str) -> bool:
    """Forget it; False where there was none."""
    return connection.execute(sa.delete(credentials).where(_at(tenant, user_id, provider))).rowcount > 0


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
    """How many secrets there are by the id of the key that they need. A system query: it crosses tenants."""
    counts: dict[str, int] = {}
    for column in (credentials.c.sealed, tickets.c.sealed, reply_routes.c.token):
        id_ = sa.func.substr(column, KEY_ID_AT + 1, KEY_ID_CHARS)
        for key_id, count in connection.execute(
            sa.select(id_, sa.func.count()).where(column.is_not(None)).group_by(id_)
        ):
            counts[key_id] = counts.get(key_id, 0) + count
    return counts


def _at(tenant: str, user_id: str, provider: str) -> sa.ColumnElement[bool]:
    whose = credentials.c.user_id.in_(ids_of(user_id))
    return sa.and_(credentials.c.tenant_id == tenant, whose, credentials.c.provider == provider)
