"""Files of people, as rows: written in the commit that needs them, gone with it when it fails."""

from datetime import datetime

import sqlalchemy as sa

from gateway.store.dialect import insert_new
from gateway.store.tables.turns import blobs


def put(connection: sa.Connection, tenant: str, id_: str, content: bytes, now: datetime) -> None:
    """Keep a file under an id of the caller's; the same again changes nothing."""
    row = {"id": id_, "tenant_id": tenant, "content": content, "created_at": now}
    connection.execute(insert_new(connection, blobs), row)


def get(connection: sa.Connection, id_: str) -> bytes | None:
    """The content; None where it is not kept any more."""
    return connection.execute(sa.select(blobs.c.content).where(blobs.c.id == id_)).scalar()
