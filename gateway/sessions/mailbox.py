"""A session's one mailbox, for the next turn and for steering: a window on its rows in the durable inbox."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from functools import partial

import structlog

from channels.bounded_dict import BoundedDict
from channels.messages import InboundEvent, SystemEvent
from gateway.durable_queue import QueueHead, load_filtered
from gateway.sessions.inbox_rules import CHAT, RowClassifier, joins, own_route_id, rows_to_merge, rows_to_steer
from gateway.store import inbox
from gateway.store.children import READING
from gateway.store.engine import Connection, Store
from gateway.store.inbox import InboxRow
from gateway.store.journal import TurnRow
from gateway.telemetry import FAULTS, series

log = structlog.get_logger()

BEGUN_AT_MOST = 1_000
"""A look into the store is never so slow that more are claimed meanwhile."""


class Mailbox(QueueHead[InboxRow]):
    """The rows that wait in a session for a turn: a bounded window on the durable inbox."""

    def __init__(self, store: Store, key: str, size: int, kinds: RowClassifier) -> None:
        super().__init__(size, partial(read_waiting, store, session_key=key))
        self._kinds = kinds
        self._edited: dict[int, InboundEvent] = {}  # by row: how it reads since it was offered
        self._begun: BoundedDict[int, None] = BoundedDict(BEGUN_AT_MOST)  # rows that turns have claimed, those last
        self._taken_id = 0  # the row that was taken last

    def offer(self, row: InboxRow) -> None:
        """Take a row that was just committed, unless it was read before the hint came: it waits here, or is claimed."""
        if row.id in self._begun or any(row.id == other.id for other in self):
            self.offered_id = max(row.id, self.offered_id)
        else:
            super().offer(row)

    async def next(self) -> InboxRow | None:
        """Take the next row; None if there is none, in memory or in the store."""
        row = await super().next()
        self._taken_id = self._taken_id if row is None else row.id
        return row

    async def _load(self, after_id: int, limit: int) -> list[InboxRow]:
        rows = await load_filtered(self._read_offered, self._is_wanted, after_id, limit)
        return [self.current(row) for row in rows]  # an edit may have come while they were read

    async def _read_offered(self, after_id: int, limit: int) -> list[InboxRow]:
        """Read what was offered; what the router has not seen yet may not be for a turn at all."""
        return [row for row in await self._read(after_id, limit) or () if row.id <= self.offered_id]

    def _is_wanted(self, row: InboxRow) -> bool:
        return self._kinds.kind_of(row) is not None and row.id not in self._begun  # claimed since they were read

    def steering(self, turn: TurnRow) -> list[InboxRow]:
        """Return the rows that may join the running turn; another member's message waits for a turn of its own, and so
        does what may write while a turn only reads.
        """
        if not self or turn.kind == READING:
            return []
        return rows_to_steer(
            self,
            joins=lambda row: joins(row, turn) and self._kinds.kind_of(row) == CHAT,
            is_marked=self._kinds.is_marked,
        )

    def interrupts(self, row: InboxRow, mode: str) -> bool:
        """Return True if a row ends the running turn of its person."""
        if isinstance(row.event, SystemEvent):
            return False
        return self._kinds.is_marked(row) or (mode == "interrupt" and self._kinds.kind_of(row) != READING)

    def first_to_interrupt(self, turn: TurnRow, mode: str) -> InboxRow | None:
        """Return the first waiting row that ends this turn, or None."""
        if not self:
            return None
        mine = (row for row in self if row.user_id == turn.user_id and row.event.address == turn.address)
        return next((row for row in mine if self.interrupts(row, mode)), None)

    def take_along(self, first: InboxRow, mode: str) -> list[InboxRow]:
        """Take the rows that become one turn with this one."""
        if not self or self._kinds.kind_of(first) != CHAT:
            return []
        wanted = rows_to_merge(
            first,
            self,
            mode,
            joins=lambda row: self._kinds.kind_of(row) == CHAT and own_route_id(row) is None,
            is_marked=self._kinds.is_marked,
        )
        return self.take_rows(wanted)

    def take_rows(self, rows: Collection[InboxRow]) -> list[InboxRow]:
        """Take these rows, as far as they still wait and were not edited."""
        return self.take(lambda row: row in rows)

    def put_back(self, rows: Iterable[InboxRow]) -> None:
        """Requeue rows in the order of their ids; skip duplicates and claimed rows."""
        super().put_back([self.current(row) for row in rows if row.id not in self._begun])

    def note_begun(self, rows: Iterable[InboxRow]) -> None:
        """Forget rows that a turn has claimed, also those that an earlier read still brings."""
        ids = [row.id for row in rows]
        for id_ in ids:
            self._begun[id_] = None
        self.drop(ids)

    def current(self, row: InboxRow) -> InboxRow:
        """Return a row with its newest text, if it was edited since it was read."""
        return replace(row, event=self._edited.get(row.id, row.event)) if self._edited else row

    def take_next(self, wanted: Callable[[InboxRow], bool]) -> InboxRow | None:
        """Take the first row if it is wanted; return None otherwise."""
        first = next(iter(self), None)
        if first is None or not wanted(first):
            return None
        return self.take(lambda row: row.id == first.id)[0]

    def take_out(self, id_: int) -> bool:
        """Remove a row that became a command; return False if it is not queued."""
        return bool(self.take(lambda row: row.id == id_))

    def drop(self, ids: Collection[int]) -> None:
        """Forget rows that the store has cleared."""
        if ids:
            self.take(lambda row: row.id in ids)

    def change(self, original_id: int, edit: InboxRow) -> None:
        """Give a waiting message its new text; the store is about to have it."""
        asked_for = {id_: event for id_, event in self._edited.items() if id_ >= self._taken_id}
        self._edited = asked_for | {original_id: edit.event}
        self.update(self.current)


async def read_waiting(store: Store, after_id: int, limit: int, session_key: str | None = None) -> list[InboxRow]:
    """Read waiting rows and wait out outages; quarantine a row that cannot be read, so that it blocks no other."""
    return await read_rows(store, partial(inbox.waiting, after_id=after_id, limit=limit, session_key=session_key))


async def read_rows(store: Store, query: Callable[[Connection], list[InboxRow]]) -> list[InboxRow]:
    """Run a query for rows as `read_waiting` does."""
    while True:
        try:
            return await store.read(query, lasting=True)
        except inbox.UnreadableRow as bad:
            series(FAULTS, "row").inc()
            log.error("row_unreadable", inbox_id=bad.id, error=str(bad))
            await store.commit(inbox.set_aside, id_=bad.id, reason=str(bad))
