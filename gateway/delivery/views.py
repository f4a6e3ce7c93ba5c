"""Stored messages shown to the pages, terminals and programs that are connected to this process.

The commit that stores such a message delivers it (`channels.base.OWN_VIEWS`), in any process. Publishing after a commit
is a hint; a read of the store finds the messages of other processes.
"""

import asyncio
from collections.abc import Iterable
from functools import partial

import structlog

from channels.base import Channel, ShowsStored
from channels.bounded_dict import BoundedDict
from channels.errors import ChannelError
from channels.messages import Address
from gateway.delivery.lane_worker import ChannelDirectory
from gateway.delivery.sender import PartSender
from gateway.store import outbox
from gateway.store.engine import Store
from gateway.store.outbox import OutboxRow

LATE_ROWS = 2_000
"""Rows before the newest that each read includes: commits of several processes end out of id order."""

log = structlog.get_logger()


class StoredViews:
    """Messages of connected people, each shown once by this process."""

    def __init__(self, store: Store, channels: ChannelDirectory, sender: PartSender, tasks: asyncio.TaskGroup) -> None:
        """Take the parent task group of running calls, `tasks`."""
        self._store = store
        self._channels = channels
        self._sender = sender
        self._tasks = tasks
        self._known: BoundedDict[int, None] = BoundedDict(2 * LATE_ROWS)  # rows that were shown or had no viewer
        self._first: int | None = None  # the newest id at the first look: a page reads what is older by itself
        self._newest = 0  # id, at the last look
        self._order = asyncio.Lock()

    def show(self, rows: Iterable[OutboxRow]) -> None:
        """Show these rows, in order, to connected viewers; skip rows that were shown."""
        new = [row for row in rows if row.id not in self._known]
        self._known.update(dict.fromkeys(row.id for row in new))
        if seen := [(row, channel) for row in new if (channel := self._looked_at(row.part.address)) is not None]:
            self._tasks.create_task(self._show(seen))

    async def look(self) -> None:
        """Show what was stored since the last call; the first call only finds out what is there already.

        Raises:
            StoreUnavailable: the store cannot be read.
        """
        after_id = None if self._first is None else max(self._first, self._newest - LATE_ROWS)
        query = partial(outbox.shown_after, after_id=after_id, known=frozenset(self._known))
        self._newest, rows = await self._store.read(query, lasting=True)
        if self._first is None:
            self._first = self._newest
        self.show(rows)

    def _looked_at(self, address: Address) -> Channel | None:
        channel = self._channels.now_loaded(address)
        shows: object = channel
        return channel if isinstance(shows, ShowsStored) and shows.is_looked_at(address) else None

    async def _show(self, seen: Iterable[tuple[OutboxRow, Channel]]) -> None:
        async with self._order:
            for row, channel in seen:
                try:
                    await self._sender.attempt(row, channel)
                except ChannelError as failure:  # the page reads it from the store when it reconnects
                    log.warning("not_shown", outbox_id=row.id, error=str(failure))
