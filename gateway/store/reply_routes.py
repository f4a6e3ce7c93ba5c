"""An event's own way to be answered is kept until it expires or is used up (Discord and Slack give such tokens).

Plain functions over a connection. Tokens are secrets, and come in sealed (`gateway.safety.vault`); how a route is used
is the adapters' matter.
"""

from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa

from channels.messages import Route
from gateway.safety.vault import CannotOpen, SecretOf, Vault
from gateway.store.dialect import insert_new
from gateway.store.tables.traffic import inbox, reply_routes


@dataclass(slots=True)
class Resealed:
    """The rows that one commit sealed with the newest key."""

    last: int | None = None  # the place of the last it looked at; None: nothing is left
    sealed: int = 0
    lost: int = 0  # left as they are: their key is gone


def add_route(connection: sa.Connection, tenant: str, inbox_id: int, route: Route) -> None:
    """Keep an event's own way to be answered."""
    connection.execute(
        insert_new(connection, reply_routes),
        {
            "inbox_id": inbox_id,
            "tenant_id": tenant,
            "kind": route.kind,
            "token": route.token,
            "expires_at": route.expires_at,
            "uses_left": route.uses,
        },
    )


def copy_route(connection: sa.Connection, inbox_id: int, to_id: int) -> None:
    """Answer what follows from an event of a person the way the event is answered."""
    names = [column.name for column in reply_routes.c if column.name != "inbox_id"]
    held = sa.select(sa.literal(to_id), *(reply_routes.c[name] for name in names))
    connection.execute(
        sa.insert(reply_routes).from_select(["inbox_id", *names], held.where(reply_routes.c.inbox_id == inbox_id))
    )


def take_route(connection: sa.Connection, inbox_id: int, now: datetime) -> tuple[Route, SecretOf] | None:
    """Use an event's own way once more, its token as it is kept; None where it is spent or its time is over."""
    taken = connection.execute(
        sa.update(reply_routes)
        .where(reply_routes.c.inbox_id == inbox_id, reply_routes.c.uses_left > 0, reply_routes.c.expires_at > now)
        .values(uses_left=reply_routes.c.uses_left - 1)
        .returning(reply_routes.c.kind, reply_routes.c.token, reply_routes.c.expires_at, reply_routes.c.uses_left)
    ).first()
    if taken is None:
        return None
    whose = connection.execute(sa.select(inbox.c.tenant_id, inbox.c.sender).where(inbox.c.id == inbox_id)).one()
    return Route(taken.kind, taken.token, taken.expires_at, taken.uses_left), secret_of(*whose)


def reseal_some(connection: sa.Connection, vault: Vault, after: int, limit: int) -> Resealed:
    """Bring the next tokens behind a place under the newest key, as many as the limit says."""
    query = (
        sa.select(reply_routes.c.inbox_id, reply_routes.c.token, inbox.c.tenant_id, inbox.c.sender)
        .join(inbox, inbox.c.id == reply_routes.c.inbox_id)
        .where(reply_routes.c.inbox_id > after, sa.not_(reply_routes.c.token.startswith(vault.mark)))
        .order_by(reply_routes.c.inbox_id)
        .limit(limit)
    )
    done = Resealed()
    for id_, token, tenant, sender in connection.execute(query).all():
        done.last = id_
        try:
            sealed = vault.reseal(token, secret_of(tenant, sender))
        except CannotOpen:
            done.lost += 1
            continue
        connection.execute(sa.update(reply_routes).where(reply_routes.c.inbox_id == id_).values(token=sealed))
        done.sealed += 1
    return done


def secret_of(tenant: str, sender: str) -> SecretOf:
    """As what the token of an event of this sender's is sealed."""
    return SecretOf(tenant, sender, "reply_route")
