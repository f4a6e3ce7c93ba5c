"""A session's one mailbox, for the next turn and for steering: a bounded window on its rows in the durable inbox."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable
from dataclasses import replace

from channels.messages import InboundEvent
from gateway.durable_queue import Drained, Window, load_wanted
from gateway.sessions.kinds import CHAT
from gateway.sessions.rows import joins
from gateway.sessions.waiting import read_waiting
from gateway.store.engine import Store
from gateway.store.inbox import InboxRow
from gateway.store.journal import TurnRow
from gateway.supervision import care_of

KindOf = Callable[[InboxRow], str | None]
"""The kind of turn that a row starts; None for what never starts one (a command)."""


class Mailbox:
    """What waits in a session, and the task that takes it up row by row."""

    def __init__(
        self,
        store: Store,
        key: str,
        size: int,
        kind_of: KindOf,
        take: Callable[[InboxRow], Awaitable[None]],
        tasks: asyncio.TaskGroup,
    ) -> None:
        """`take` is called with one row at a time; what it has not taken may join its turn."""
        self._store = store
        self._key = key
        self._kind_of = kind_of
        self._take_up = take
        self._offered_id = 0
        self._edited: dict[int, InboundEvent] = {}  # by row, from here on: how it reads since it was offered
        self._rows = Drained(Window(size, self._load), self._take_next, tasks, care_of(tasks, "session", key))

    async def _load(self, after_id: int, limit: int) -> list[InboxRow]:
        rows = await load_wanted(self._waiting, lambda row: self._kind_of(row) is not None, after_id, limit)
        return [self.current(row) for row in rows]  # an edit may have come while they were read

    async def _take_next(self, row: InboxRow) -> None:
        """Take a row up; nobody asks any more how those before it read."""
        self._edited = {id_: event for id_, event in self._edited.items() if id_ >= row.id}
        await self._take_up(row)

    async def _waiting(self, after_id: int, limit: int) -> list[InboxRow]:
        """What was offered and is in the store alone; what the router has not seen yet may not be for a turn at all."""
        rows = await read_waiting(self._store, after_id, limit, self._key)
        return [row for row in rows if row.id <= self._offered_id]

    def offer(self, row: InboxRow) -> None:
        """Take a row; beyond the bound the store alone remembers it."""
        self._offered_id = max(row.id, self._offered_id)
        self._rows.offer(row)

    def hold(self) -> None:
        """Give out nothing until `release`; steering may still be taken."""
        self._rows.hold()

    def release(self) -> None:
        """Give out again."""
        self._rows.release()

    @property
    def busy(self) -> bool:
        """Whether anything waits or is being taken."""
        return self._rows.running or bool(self._rows.window)

    def __len__(self) -> int:
        """How many rows wait."""
        return len(self._rows.window)

    def steering(self, turn: TurnRow) -> list[InboxRow]:
        """What may join the running turn; another member's message waits for a turn of its own."""
        return [row for row in self._rows.window if joins(row, turn) and self._kind_of(row) == CHAT]

    def take(self, rows: Collection[InboxRow]) -> list[InboxRow]:
        """Take these out of turn, as far as they wait still and are as they were."""
        return self._rows.window.take(lambda row: row in rows)

    def put_back(self, rows: Iterable[InboxRow]) -> None:
        """What was taken waits again, in its place."""
        self._rows.put_back(self.current(row) for row in rows)

    def current(self, row: InboxRow) -> InboxRow:
        """A row that was taken or read a moment ago, as it reads now."""
        return replace(row, event=self._edited.get(row.id, row.event)) if self._edited else row

    def take_next(self, wanted: Callable[[InboxRow], bool]) -> InboxRow | None:
        """Take the row in front, where it is wanted."""
        first = next(iter(self._rows.window), None)
        if first is None or not wanted(first):
            return None
        return self._rows.window.take(lambda row: row.id == first.id)[0]

    def drop(self, ids: Collection[int]) -> None:
        """Forget these rows: the store has them cleared."""
        if ids:
            self._rows.window.take(lambda row: row.id in ids)

    def change(self, original_id: int, edit: InboxRow) -> None:
        """Put the new text of a waiting message in its place, wherever it is: the store is about to have it."""
        self._edited[original_id] = edit.event
        self._rows.window.swap(self.current)
