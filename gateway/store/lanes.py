"""Lanes with something to say, and lanes that are parked until their person is heard again.

Plain functions over a connection. When a lane is parked is decided in `gateway.delivery` and at admission.
"""

from datetime import datetime

import sqlalchemy as sa

from channels.messages import Address
from gateway.store.dialect import insert_new
from gateway.store.outbox import IS_OPEN
from gateway.store.tables.traffic import outbox
from gateway.store.tables.traffic import parked_lanes as parked


def open_lanes(connection: sa.Connection) -> list[Address]:
    """The lanes that have something to say, one address each, parked ones left out."""
    result = connection.execute(
        sa.select(outbox.c.channel, outbox.c.account, outbox.c.chat)
        .where(IS_OPEN, outbox.c.lane.not_in(sa.select(parked.c.lane)))
        .distinct()
    )
    return [Address(row.channel, row.account, row.chat) for row in result]


def park(connection: sa.Connection, tenant: str, lane: str, reason: str, now: datetime) -> None:
    """Stop a lane until its person is heard again."""
    connection.execute(
        insert_new(connection, parked), {"tenant_id": tenant, "lane": lane, "reason": reason, "parked_at": now}
    )


def unpark(connection: sa.Connection, lane: str) -> bool:
    """Let a lane go on; False where it was not parked."""
    return connection.execute(sa.delete(parked).where(parked.c.lane == lane)).rowcount > 0


def parked_lanes(connection: sa.Connection) -> list[str]:
    """The lanes that are parked."""
    return list(connection.execute(sa.select(parked.c.lane)).scalars())
