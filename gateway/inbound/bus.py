"""The bus: a bounded queue that reads inbox rows from the store in id order and hands them to the router.

`publish` after a commit is only a hint; hints may be lost, late, repeated or out of order. Urgent rows (`/stop`,
approvals) are handed out at once.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Collection

from channels.bounded_dict import BoundedDict
from gateway.durable_queue import Load, QueueHead
from gateway.ownership import POLL_S
from gateway.store.inbox import InboxRow
from gateway.store.journal import shard_of

URGENT_SIZE = 1000
"""Maximum of urgent rows in memory; others wait in order."""


PRUNE_EVERY_S = 5.0
"""Seconds between two removals of finished rows, in a cluster."""

LoadNew = Callable[[Collection[int], Collection[int], int], Awaitable[list[InboxRow]]]
"""Loader of the waiting rows of some shards, in id order: skips known rows, bounded by a limit."""


class Bus:
    """Queue of inbox rows for the router, in the order of admission."""

    def __init__(self, size: int, load: Load[InboxRow], is_urgent: Callable[[InboxRow], bool]) -> None:
        """Read the store first: it may hold rows from before a restart."""
        self._head = QueueHead(size, load, has_unread=True)
        self._urgent: deque[InboxRow] = deque()
        self._is_urgent = is_urgent
        self._passed_by: set[int] = set()  # urgent rows handed out early, which the queue will meet again
        self._news = asyncio.Event()

    def publish(self, row: InboxRow) -> None:
        """Note that a row was committed; hand it out at once if it is urgent."""
        if self._is_urgent(row) and row.id not in self._passed_by and len(self._urgent) < URGENT_SIZE:
            if row.id > self._head.last_id:
                self._urgent.append(row)
                self._passed_by.add(row.id)
            else:  # it is queued: take it out of its place
                self._urgent.extend(self._head.take(lambda waiting: waiting.id == row.id))
        self.reread()

    def reread(self) -> None:
        """Read new rows from the store."""
        self._head.reread()
        self._news.set()

    async def consume(self) -> InboxRow:
        """Return the next row; an urgent one first."""
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


class SharedBus(Bus):
    """Bus of one process in a cluster: it hands out rows of its own shards and wakes the owners of others.

    Rows committed by other processes are found when it is woken, and at the latest after `POLL_S`.
    """

    def __init__(
        self,
        size: int,
        load: LoadNew,
        still_waiting: Callable[[Collection[int]], Awaitable[set[int]]],
        is_urgent: Callable[[InboxRow], bool],
        tell: Callable[[int], None],
    ) -> None:
        """Own no shard before `adopt`; `tell` wakes the owner of a shard."""
        super().__init__(size, _nothing, is_urgent)
        self._size = size
        self._load_new = load
        self._still_waiting = still_waiting
        self._tell = tell
        self._queue: deque[InboxRow] = deque()
        self._known: dict[int, int] = {}  # rows that were handed out or are queued, each with its shard
        self._shards: frozenset[int] = frozenset()
        self._parting: frozenset[int] = frozenset()  # shards that are being given to another process
        self._hinted: BoundedDict[int, None] = BoundedDict(
            URGENT_SIZE
        )  # urgent rows that were given out with their hint
        self._must_look = False
        self._pruned_s = 0.0

    def adopt(self, shards: Collection[int]) -> None:
        """Start handing out rows of these shards; interrupted turns in them are recovered already."""
        self.drop(shards)  # rows from an earlier ownership
        self._shards |= frozenset(shards)
        self.reread()

    def part_with(self, shards: Collection[int]) -> None:
        """Hand out only urgent rows of these shards, until another process owns them."""
        self._parting = frozenset(shards)
        for row in [row for row in self._queue if self._known[row.id] in self._parting]:
            self._queue.remove(row)
            del self._known[row.id]
        self.reread()

    def drop(self, shards: Collection[int]) -> None:
        """Stop handing out rows of these shards."""
        self._shards -= frozenset(shards)
        self._known = {id_: shard for id_, shard in self._known.items() if shard not in shards}
        for rows in (self._queue, self._urgent):
            kept = [row for row in rows if row.id in self._known]
            rows.clear()
            rows.extend(kept)

    def holds(self, shard: int) -> bool:
        """Return True if a row of the shard is queued here."""
        return any(shard_of(row.session_key) == shard for rows in (self._queue, self._urgent) for row in rows)

    def wake(self, shard: str) -> None:
        """Read new rows if this process owns the shard of this number."""
        if any(shard == str(owned) for owned in self._shards):
            self.reread()

    def publish(self, row: InboxRow) -> None:
        """Note that a row was committed: read it if this process owns its shard, else wake the owner."""
        shard = shard_of(row.session_key)
        if shard not in self._shards:
            self._tell(shard)
            return
        if self._is_urgent(row) and row.id not in self._hinted and len(self._urgent) < URGENT_SIZE:
            self._hinted[row.id] = None
            self._take(row, shard)
        self.reread()

    def reread(self) -> None:
        self._must_look = True
        self._news.set()

    async def consume(self) -> InboxRow:
        while True:
            self._news.clear()
            if self._must_look and len(self._queue) < self._size:
                await self._look()
            if self._urgent:
                return self._urgent.popleft()
            if self._queue:
                return self._queue.popleft()
            try:
                async with asyncio.timeout(POLL_S):
                    await self._news.wait()
            except TimeoutError:
                self._must_look = bool(self._shards)

    async def _look(self) -> None:
        """Read new rows from the store and sort them with those that were published."""
        await self._prune()
        self._must_look = False
        rows = await self._load(self._shards - self._parting)
        self._must_look = self._must_look or len(rows) == self._size
        rows += await self._load(self._shards & self._parting)
        for row in rows:
            if (shard := shard_of(row.session_key)) in self._shards:
                self._take(row, shard)
        self._queue = deque(sorted(self._queue, key=lambda row: row.id))

    async def _load(self, shards: Collection[int]) -> list[InboxRow]:
        return await self._load_new(shards, list(self._known), self._size) if shards else []

    async def _prune(self) -> None:
        now_s = asyncio.get_running_loop().time()
        if not self._known or now_s - self._pruned_s < PRUNE_EVERY_S:
            return
        self._pruned_s = now_s
        known = list(self._known)
        waiting = await self._still_waiting(known)
        for id_ in known:
            if id_ not in waiting:
                self._known.pop(id_, None)

    def _take(self, row: InboxRow, shard: int) -> None:
        is_urgent = self._is_urgent(row)
        if row.id not in self._known and (is_urgent or shard not in self._parting):
            self._known[row.id] = shard
            (self._urgent if is_urgent else self._queue).append(row)


async def _nothing(_after_id: int, _limit: int) -> list[InboxRow]:
    return []
