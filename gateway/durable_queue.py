"""A bounded in-memory window on an ordered durable queue, and a task that exists only while rows wait.

The bus, a session's mailbox and a chat's outgoing lane are such queues: rows in the store in id order, some of which
are in memory. A full window drops new rows and reads them again later.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import suppress
from typing import Generic, Protocol, TypeVar

from gateway.supervision import Supervised, run_again


class Numbered(Protocol):
    """Durable row with an ordering id."""

    @property
    def id(self) -> int: ...


T = TypeVar("T", bound=Numbered)

Load = Callable[[int, int], Awaitable[list[T] | None]]
"""Reader of the rows after an id, in order, at most this many; None as an empty list."""


class QueueHead(Generic[T]):
    """Window of at most `size` rows in memory; the store has the rest."""

    def __init__(self, size: int, read: Load[T], *, has_unread: bool = False) -> None:
        """Take the reader; with `has_unread` the store is read first, because an earlier process may have left rows."""
        self._size = size
        self._read = read
        self._rows: deque[T] = deque()
        self.offered_id = 0  # last row that was offered
        self.last_id = 0  # last row that is or was in memory
        self._has_unread = has_unread
        self._unseen = 0  # offered rows that are only in the store
        self._rewound = 0  # reads that began before the last rewind are ignored

    def offer(self, row: T) -> None:
        """Take a row that was just committed; a full head only notes that the store has more."""
        self.offered_id = max(row.id, self.offered_id)
        if self._has_unread or len(self._rows) >= self._size:
            self._has_unread = True
            self._unseen += 1
        elif row.id > self.last_id:
            self._rows.append(row)
            self.last_id = row.id

    async def next(self) -> T | None:
        """Take the next row; return None if there is none, in memory or in the store."""
        while not self._rows:
            if not self._has_unread:
                return None
            await self._refill()
        return self._rows.popleft()

    async def _load(self, after_id: int, limit: int) -> list[T] | None:
        return await self._read(after_id, limit)

    async def _refill(self) -> None:
        self._has_unread = False
        unseen, self._unseen = self._unseen, 0
        rewound = self._rewound
        try:
            rows = await self._load(self.last_id, self._size)
        except BaseException:
            self._has_unread = True  # nothing was read; the rows are still in the store
            self._unseen += unseen
            raise
        if not rows or rewound != self._rewound:
            return
        if len(rows) == self._size:  # there may be more between these and later offers
            self._has_unread = True
            self._rows = deque(rows)
        else:
            self._rows = deque([*rows, *(row for row in self._rows if row.id > rows[-1].id)])
        self.last_id = self._rows[-1].id

    def take(self, wanted: Callable[[T], bool]) -> list[T]:
        """Take the wanted rows among those in memory."""
        if not self._rows:
            return []
        taken = [row for row in self._rows if wanted(row)]
        if taken:
            self._rows = deque(row for row in self._rows if not wanted(row))
        return taken

    def put_back(self, rows: Iterable[T]) -> None:
        """Requeue rows in the order of their ids, each once."""
        waiting = {row.id: row for row in (*self._rows, *rows)}
        self._rows = deque(sorted(waiting.values(), key=lambda row: row.id))

    def update(self, current: Callable[[T], T]) -> None:
        """Replace each row in memory by what `current` returns for it."""
        self._rows = deque(current(row) for row in self._rows)

    def __iter__(self) -> Iterator[T]:
        return iter(self._rows)

    def __len__(self) -> int:
        """Return how many rows wait, as far as is known."""
        return len(self._rows) + self._unseen

    def reread(self) -> None:
        """Read the store again before the queue counts as empty: it may have rows that were never offered."""
        self._has_unread = True

    def rewind(self) -> None:
        """Read the store from its beginning, for queues whose rows leave it when they are done."""
        self._rows.clear()
        self.last_id = self._unseen = 0
        self._rewound += 1
        self._has_unread = True

    def __bool__(self) -> bool:
        return bool(self._rows) or self._has_unread


async def load_filtered(
    load: Callable[[int, int], Awaitable[list[T]]], wanted: Callable[[T], bool], after_id: int, limit: int
) -> list[T]:
    """Load the wanted rows only; fewer than `limit` still means that there are no more."""
    rows: list[T] = []
    while len(rows) < limit:
        page = await load(after_id, limit)
        rows += [row for row in page if wanted(row)]
        if len(page) < limit:
            break
        after_id = page[-1].id
    return rows[:limit]


class SerialWorker(Generic[T]):
    """Window of a queue and the one task that works it off; the task ends when no rows are left."""

    def __init__(
        self,
        head: QueueHead[T],
        handle: Callable[[T], Awaitable[None]],
        tasks: Supervised,
        kind: str,
        name: str,
    ) -> None:
        """Take a handler, which gets one row after another, never two at once.

        If it or the window raises, the queue pauses and reads the store again; operators see it by kind and name.
        """
        self.head = head
        self.handled: T | None = None  # row that is being handled
        self._handle = handle
        self._tasks = tasks
        self._care = tasks.care_of(kind, name)
        self._is_draining = False
        self._task: asyncio.Task[None] | None = None

    @property
    def running(self) -> bool:
        return self._task is not None

    @property
    def between_rows(self) -> bool:
        """Return True if the task is about to take a row; False while it handles one or pauses after an error."""
        return self._is_draining and self.handled is None

    def offer(self, row: T) -> None:
        """Take a row and start the task if it does not run."""
        self.head.offer(row)
        self.wake()

    def wake(self) -> None:
        """Start the task if it does not run."""
        if self._task is None:
            with suppress(RuntimeError):  # the parent is ending; the rows stay in the store
                self._task = self._tasks.start(self._run)

    def put_back(self, rows: Iterable[T]) -> None:
        """Requeue rows and start the task if it does not run."""
        self.head.put_back(rows)
        self.wake()

    async def _run(self) -> None:
        try:
            await run_again(self._care, self._drain, self.head.rewind)
        finally:
            self._task = None

    async def _drain(self) -> None:
        self._is_draining = True
        try:
            while (row := await self.head.next()) is not None:
                self.handled = row
                await self._handle(row)
                self.handled = None
        finally:
            self._is_draining, self.handled = False, None
