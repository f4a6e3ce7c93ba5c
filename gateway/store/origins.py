"""Finds where something was asked for by the key of the change that asked: for what is to be said there later.

A key is `inbox:ROW/index` of a command's change, or `turn/step/index` of a tool's call.
"""

from dataclasses import dataclass

import sqlalchemy as sa

from channels.messages import INBOUND_EVENT, Address, ChatKind
from gateway.store.tables.traffic import inbox


@dataclass(frozen=True, slots=True)
class Origin:
    """A direct chat and its conversation."""

    address: Address
    session_key: str


def direct_origin(connection: sa.Connection, key: str) -> Origin | None:
    """Where it was asked, if that is a direct chat; None elsewhere: what one person is told is nobody else's."""
    first, _, _ = key.partition("/")
    row_id = first.removeprefix("inbox:")
    which = inbox.c.turn_id == first if row_id == first else inbox.c.id == int(row_id)
    query = sa.select(inbox.c.payload, inbox.c.session_key).where(which, inbox.c.session_key.is_not(None))
    row = connection.execute(query.order_by(inbox.c.id).limit(1)).first()
    if row is None or not row.payload:
        return None
    event = INBOUND_EVENT.validate_json(row.payload)
    if getattr(event, "kind", None) is not ChatKind.DIRECT:
        return None
    return Origin(event.address, row.session_key)
