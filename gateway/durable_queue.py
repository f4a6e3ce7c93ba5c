"""A bounded window on an ordered durable queue, and a task that exists only while something waits in it.

The bus, a session's mailbox and a chat's outgoing lane are the same thing: rows in the store, in order of their ids,
of which a bounded number is kept in memory. A head that is full forgets what comes and reads it again later.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import suppress
from typing import Generic, Protocol, TypeVar

from gateway.supervision import Care, run_again, start


class Numbered(Protocol):
    """A durable row whose id says its place."""

    @property
    def id(self) -> int:
        """The order of the queue."""
        ...


T = TypeVar("T", bound=Numbered)

Load = Callable[[int, int], Awaitable[list[T] | None]]
"""Read the rows behind an id, in order, at most so many; None as an empty list."""


class QueueHead(Generic[T]):
    """At most `size` rows in memory; nothing is lost beyond it, because the store has it."""

    def __init__(self, size: int, read: Load[T], *, has_unread: bool = False) -> None:
        """With `has_unread` the store is read first: an earlier process may have left rows."""
        self._size = size
        self._read = read
        self._rows: deque[T] = deque()
        self.offered_id = 0  # the last row that was offered
        self.last_id = 0  # the last row that is or was in memory
        self._has_unread = has_unread
        self._unseen = 0  # rows offered that are in the store alone
        self._rewound = 0  # what a read brings that began before the last rewinding is void

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
            self._has_unread = True  # nothing was read: what waits in the store still does
            self._unseen += unseen
            raise
        if not rows or rewound != self._rewound:
            return
        if len(rows) == self._size:  # there may be more between these and what was offered meanwhile
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
        """The rows in memory."""
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
        """True if there may be more."""
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
    """The head of a queue and the one task that works it off; the task ends when nothing is left."""

    def __init__(
        self,
        head: QueueHead[T],
        handle: Callable[[T], Awaitable[None]],
        tasks: asyncio.TaskGroup,
        care: Care | None = None,
    ) -> None:
        """`handle` is called with one row after another, never two at once.

        If it raises, or the head does, the queue rests and reads the store anew; without `care` the error travels up.
        """
        self.head = head
        self.handled: T | None = None  # the row that `handle` is at
        self._handle = handle
        self._tasks = tasks
        self._care = care
        self._is_draining = False
        self._task: asyncio.Task[None] | None = None

    @property
    def running(self) -> bool:
        """True while the task exists."""
        return self._task is not None

    @property
    def between_rows(self) -> bool:
        """Whether the task is about to take the next row; False while it works on one, or rests after an error."""
        return self._is_draining and self.handled is None

    def offer(self, row: T) -> None:
        """Take a row and start the task if it does not run."""
        self.head.offer(row)
        self.wake()

    def wake(self) -> None:
        """Start the task if it does not run."""
        if self._task is None:
            with suppress(RuntimeError):  # the parent ends (a commit was on its way): what waits is in the store
                self._task = start(self._tasks, self._run)

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
