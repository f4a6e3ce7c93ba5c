"""The outbox rows that lanes are at work on this moment: which of them sleep, and whose chat has moved meanwhile."""

import asyncio
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TypeVar

from channels.messages import Address
from gateway.store.outbox import OutboxRow

T = TypeVar("T")

FOREVER = datetime.max.replace(tzinfo=UTC)
"""How long a row may wait for a channel that does not load."""


class UnderWay:
    """A row is worked on by one lane at a time, also where its chat goes on under another id in the middle of it."""

    def __init__(self) -> None:
        self._rows: dict[int, tuple[str, asyncio.Event]] = {}  # by id: the lane, and what is set at the end
        self._asleep_until: dict[int, datetime] = {}
        self._moved: dict[str, Address] = {}  # lanes at work when their chat moved, and where to

    @contextmanager
    def working(self, row: OutboxRow) -> Iterator[None]:
        """For as long as this lasts the row is under way in its lane."""
        _, over = self._rows[row.id] = row.address.lane, asyncio.Event()
        try:
            yield
        finally:
            del self._rows[row.id]
            over.set()

    async def elsewhere(self, row: OutboxRow) -> bool:
        """Whether the row was under way in another lane; if so, that has ended when this returns."""
        if row.id not in self._rows:
            return False
        await self._rows[row.id][1].wait()
        return True

    async def waited(self, row: OutboxRow, until: datetime, end: Awaitable[T]) -> T:
        """What a wait ends with; meanwhile nothing happens to the row before `until`."""
        self._asleep_until[row.id] = until
        try:
            return await end
        finally:
            del self._asleep_until[row.id]

    def any_before(self, deadline: datetime) -> bool:
        """Whether something may happen to a row before this instant."""
        return any(self._asleep_until.get(id_, deadline) <= deadline for id_ in self._rows)

    def moved(self, lane: str, new: Address) -> None:
        """The chat of a lane goes on elsewhere."""
        self._moved = {old: new if to.lane == lane else to for old, to in self._moved.items()}
        if any(lane == at for at, _ in self._rows.values()):
            self._moved[lane] = new

    def has_moved(self, lane: str) -> bool:
        """Whether the chat of a lane has moved while the lane was at work, and it still is."""
        return lane in self._moved

    def left(self, lane: str) -> Address | None:
        """The lane's work has ended: where it goes on, if its chat has moved since that began."""
        return self._moved.pop(lane, None)
