"""An event's own way to be answered is kept until it expires or is used up (Discord and Slack give such tokens).

Plain functions over a connection. How a route is used is the adapters' matter.
"""

from datetime import datetime

import sqlalchemy as sa

from channels.messages import Route
from gateway.store.dialect import insert_new
from gateway.store.tables.traffic import reply_routes


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


def take_route(connection: sa.Connection, inbox_id: int, now: datetime) -> Route | None:
    """Use an event's own way once more; None where it is spent or its time is over."""
    taken = connection.execute(
        sa.update(reply_routes)
        .where(reply_routes.c.inbox_id == inbox_id, reply_routes.c.uses_left > 0, reply_routes.c.expires_at > now)
        .values(uses_left=reply_routes.c.uses_left - 1)
        .returning(reply_routes.c.kind, reply_routes.c.token, reply_routes.c.expires_at, reply_routes.c.uses_left)
    ).first()
    return None if taken is None else Route(taken.kind, taken.token, taken.expires_at, taken.uses_left)
