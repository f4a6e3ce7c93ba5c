"""The bus hands inbox rows to the router: a bounded queue that reads them from the store, in order of their ids.

What intake tells it after a commit is only a hint to look: a hint that is missing, late, repeated or out of order
changes nothing. A row that must not wait behind a backlog (`/stop`, approvals) is handed out with its hint.
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
"""Urgent rows kept in memory; beyond it they queue like all others."""


PRUNE_EVERY_S = 5.0
"""How often rows that wait no more are forgotten by one process of several."""

LoadNew = Callable[[Collection[int], Collection[int], int], Awaitable[list[InboxRow]]]
"""What waits in shards, without rows that are known, in order, at most so many."""


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
        """Look into the store for this row, which was committed; hand out an urgent one at once."""
        if self._is_urgent(row) and row.id not in self._passed_by and len(self._urgent) < URGENT_SIZE:
            if row.id > self._head.last_id:
                self._urgent.append(row)
                self._passed_by.add(row.id)
            else:  # it was read already, and is handed out once
                self._urgent.extend(self._head.take(lambda waiting: waiting.id == row.id))
        self.reread()

    def reread(self) -> None:
        """Look into the store for rows that were not handed out yet."""
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


class SharedBus(Bus):
    """The bus of one process of several: rows of its shards, whoever committed them; of others it tells their owners.

    What was committed elsewhere is found by a look into the store: after a word of it, and every `POLL_S` without one.
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
        self._known: dict[int, int] = {}  # rows that were given out, or are about to be, each with its shard
        self._shards: frozenset[int] = frozenset()
        self._parting: frozenset[int] = frozenset()  # among them: another process is to have them
        self._hinted: BoundedDict[int, None] = BoundedDict(
            URGENT_SIZE
        )  # urgent rows that were given out with their hint
        self._must_look = False
        self._pruned_s = 0.0

    def adopt(self, shards: Collection[int]) -> None:
        """Give out what waits in these, too: what was left open in them has been taken up."""
        self.drop(shards)  # of an earlier time, when they were this process's already
        self._shards |= frozenset(shards)
        self.reread()

    def part_with(self, shards: Collection[int]) -> None:
        """Give out only urgent rows of these shards: what goes on there ends, and another process has the rest."""
        self._parting = frozenset(shards)
        for row in [row for row in self._queue if self._known[row.id] in self._parting]:
            self._queue.remove(row)
            del self._known[row.id]
        self.reread()

    def drop(self, shards: Collection[int]) -> None:
        """Give out nothing of these any more."""
        self._shards -= frozenset(shards)
        self._known = {id_: shard for id_, shard in self._known.items() if shard not in shards}
        for rows in (self._queue, self._urgent):
            kept = [row for row in rows if row.id in self._known]
            rows.clear()
            rows.extend(kept)

    def holds(self, shard: int) -> bool:
        """Whether a row of a shard is on its way to its session."""
        return any(shard_of(row.session_key) == shard for rows in (self._queue, self._urgent) for row in rows)

    def wake(self, shard: str) -> None:
        """Something was committed in the shard of this number."""
        if any(shard == str(owned) for owned in self._shards):
            self.reread()

    def publish(self, row: InboxRow) -> None:
        """Look into the store for this row if it is of a shard of this process, else wake its owner."""
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
        """Take what is new in the store, in order with what is published meanwhile."""
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
