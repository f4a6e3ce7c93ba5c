"""Shows stored messages to the pages, terminals and programs that are connected to this process.

Their messages are delivered by the commit that stores them (`channels.base.OWN_VIEWS`), in whichever process. What is
published after a commit is a hint; each look into the store finds what other processes stored.
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
"""Rows behind the newest that a look reads again: commits of several processes end in another order than their ids."""

log = structlog.get_logger()


class StoredViews:
    """The messages of connected people, each shown once by this process."""

    def __init__(self, store: Store, channels: ChannelDirectory, sender: PartSender, tasks: asyncio.TaskGroup) -> None:
        """Create it; `tasks` is the parent of what is being shown."""
        self._store = store
        self._channels = channels
        self._sender = sender
        self._tasks = tasks
        self._known: BoundedDict[int, None] = BoundedDict(2 * LATE_ROWS)  # rows that were shown, or had no viewer
        self._newest = 0  # id; 0: not looked yet
        self._order = asyncio.Lock()

    def show(self, rows: Iterable[OutboxRow]) -> None:
        """Show these rows, in order, to the viewers that are connected now; a row that was shown is left out."""
        new = [row for row in rows if row.id not in self._known]
        self._known.update(dict.fromkeys(row.id for row in new))
        if seen := [(row, channel) for row in new if (channel := self._looked_at(row.part.address)) is not None]:
            self._tasks.create_task(self._show(seen))

    async def look(self) -> None:
        """Show what was stored since the last look.

        Raises:
            StoreUnavailable: the store cannot be asked.
        """
        query = partial(outbox.shown_after, after_id=self._newest - LATE_ROWS if self._newest else None)
        self._newest, rows = await self._store.read(query, lasting=True)
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
                except ChannelError as failure:  # the page reads it from the store when it comes back
                    log.warning("not_shown", outbox_id=row.id, error=str(failure))
