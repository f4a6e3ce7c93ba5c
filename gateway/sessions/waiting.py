"""Reads what waits in the inbox. A row that cannot be read is set aside, so that it holds up nothing behind it."""

from functools import partial

import structlog

from gateway.store import inbox
from gateway.store.engine import Store
from gateway.store.inbox import InboxRow
from gateway.telemetry import FAULTS, series

log = structlog.get_logger()


async def read_waiting(store: Store, after_id: int, limit: int, session_key: str | None = None) -> list[InboxRow]:
    """As `inbox.waiting`, with patience. Its order and its bound hold; an unreadable row gets its outcome instead."""
    query = partial(inbox.waiting, after_id=after_id, limit=limit, session_key=session_key)
    while True:
        try:
            return await store.read(query, lasting=True)
        except inbox.UnreadableRow as bad:
            series(FAULTS, "row").inc()
            log.error("row_unreadable", inbox_id=bad.id, error=str(bad))
            await store.write(partial(inbox.set_aside, id_=bad.id, reason=str(bad)))
