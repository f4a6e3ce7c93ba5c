"""Intake hands rows to sessions over a bus: a bounded, typed queue of pointers to inbox rows.

It carries nothing that the store does not have. A full bus forgets and reads the rows again, so it never makes a
webhook wait; what must not wait behind a backlog (`/stop`, approvals) passes it by.
"""

import asyncio
from collections import deque
from collections.abc import Callable

from gateway.durable_queue import Load, QueueHead
from gateway.store.inbox import InboxRow

URGENT_SIZE = 1000
"""Urgent rows kept in memory; beyond it they queue like all others."""


class Bus:
    """Inbox rows on their way to the router, in the order of their admission."""

    def __init__(self, size: int, load: Load[InboxRow], is_urgent: Callable[[InboxRow], bool]) -> None:
        """The store is read first: it may hold rows from an earlier life."""
        self._head = QueueHead(size, load, has_unread=True)
        self._urgent: deque[InboxRow] = deque()
        self._is_urgent = is_urgent
        self._passed_by: set[int] = set()  # urgent rows given out early; their place in the queue is still to come
        self._news = asyncio.Event()

    def publish(self, row: InboxRow) -> None:
        """Announce a committed row; called by the writer's post-commit hook, in row order."""
        if len(self._urgent) < URGENT_SIZE and self._is_urgent(row):
            self._urgent.append(row)
            self._passed_by.add(row.id)
        self._head.offer(row)
        self._news.set()

    def reread(self) -> None:
        """Look into the store for rows that were never announced: a commit whose outcome was unknown may hold."""
        self._head.reread()
        self._news.set()

    async def consume(self) -> InboxRow:
        """The next row; an urgent one as soon as it was published."""
        while True:
            self._news.clear()
            if self._urgent:
                return self._urgent.popleft()
            row = await self._head.next()
            if row is None:
                await self._news.wait()
            elif row.id in self._passed_by:
                self._passed_by.discard(row.id)
            else:
                self._passed_by -= {id_ for id_ in self._passed_by if id_ < row.id}
                return row
