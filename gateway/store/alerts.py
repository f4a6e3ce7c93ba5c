"""Remembers what owners were told of troubles, so that a restart repeats nothing; `gateway.ops.alerts` tells them."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import datetime

import sqlalchemy as sa

from channels.tenant import DEFAULT_TENANT
from gateway.store.dialect import upsert
from gateway.store.tables.turns import alerts


@dataclass(frozen=True, slots=True)
class Alert:
    """One trouble as it is known."""

    key: str  # what is in trouble: "channel telegram:main"
    began_at: datetime
    told_at: datetime | None = None  # owners were told of it last; perhaps of an earlier time it was there
    over_at: datetime | None = None  # None: it lasts
    level: int = 0  # how much of it was told; more of it may be told again
    tenant_id: str = DEFAULT_TENANT  # whose trouble it is

    @property
    def is_told(self) -> bool:
        """Whether owners know of it as it is now."""
        return self.told_at is not None and self.told_at >= self.began_at


def known_alerts(connection: sa.Connection) -> dict[str, Alert]:
    """All of them, by key, which names its tenant. A system query."""
    return {row["key"]: Alert(**row) for row in connection.execute(sa.select(alerts)).mappings()}


def keep_alerts(connection: sa.Connection, kept: Iterable[Alert], gone: Iterable[str]) -> None:
    """Keep how these stand, and forget those."""
    for alert in kept:
        connection.execute(upsert(connection, alerts, ["began_at", "told_at", "over_at", "level"]), asdict(alert))
    for key in gone:
        connection.execute(sa.delete(alerts).where(alerts.c.key == key))
