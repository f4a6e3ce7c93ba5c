"""A session's one mailbox, for the next turn and for steering: the head of its rows in the durable inbox."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable
from dataclasses import replace
from functools import partial

import structlog

from channels.bounded_dict import BoundedDict
from channels.messages import InboundEvent
from gateway.durable_queue import QueueHead, SerialWorker, load_filtered, weakly
from gateway.sessions.inbox_rules import CHAT, READING, joins, own_route_id
from gateway.sessions.modes import Is, rows_to_merge, rows_to_steer
from gateway.store import inbox
from gateway.store.engine import Connection, Store
from gateway.store.inbox import InboxRow
from gateway.store.journal import TurnRow
from gateway.supervision import care_of
from gateway.telemetry import FAULTS, series

log = structlog.get_logger()

BEGUN_AT_MOST = 1_000
"""A look into the store is never so slow that more are claimed meanwhile."""

KindOf = Callable[[InboxRow], str | None]
"""The kind of turn that a row starts; None for what never starts one (a command)."""


class Mailbox(SerialWorker[InboxRow]):
    """What waits in a session, and the task that hands it to the session row by row."""

    def __init__(
        self,
        store: Store,
        key: str,
        size: int,
        kind_of: KindOf,
        is_marked: Is,
        handle: Callable[[InboxRow], Awaitable[None]],
        tasks: asyncio.TaskGroup,
    ) -> None:
        """`handle` is called with one row at a time; what it was not called with may join its turn."""
        super().__init__(QueueHead(size, weakly(self._load)), handle, tasks, care_of(tasks, "session", key))
        self._store = store
        self._key = key
        self._kind_of = kind_of
        self._is_marked = is_marked
        self._edited: dict[int, InboundEvent] = {}  # by row: how it reads since it was offered
        self._begun: BoundedDict[int, None] = BoundedDict(BEGUN_AT_MOST)  # rows that turns have claimed, those last

    async def _load(self, after_id: int, limit: int) -> list[InboxRow]:
        rows = await load_filtered(
            self._load_offered,
            lambda row: self._kind_of(row) is not None and row.id not in self._begun,  # they were read before that
            after_id,
            limit,
        )
        return [self.current(row) for row in rows]  # an edit may have come while they were read

    async def _load_offered(self, after_id: int, limit: int) -> list[InboxRow]:
        """What was offered and is in the store alone; what the router has not seen yet may not be for a turn at all."""
        rows = await read_waiting(self._store, after_id, limit, self._key)
        return [row for row in rows if row.id <= self.head.offered_id]

    @property
    def busy(self) -> bool:
        """Whether anything waits or is being taken."""
        return self.running or bool(self.head)

    def __len__(self) -> int:
        """How many rows wait."""
        return len(self.head)

    def steering(self, turn: TurnRow) -> list[InboxRow]:
        """What may join the running turn; another member's message waits for a turn of its own."""
        if not self.head:
            return []
        return rows_to_steer(
            self.head, joins=lambda row: joins(row, turn) and self._kind_of(row) == CHAT, is_marked=self._is_marked
        )

    def interrupts(self, row: InboxRow, mode: str) -> bool:
        """Whether a row ends the turn of its person that is at work."""
        return self._is_marked(row) or (mode == "interrupt" and self._kind_of(row) != READING)

    def first_to_interrupt(self, turn: TurnRow, mode: str) -> InboxRow | None:
        """What waits, if anything does, that ends this turn: its person's own."""
        if not self.head:
            return None
        mine = (row for row in self.head if row.user_id == turn.user_id and row.event.address == turn.address)
        return next((row for row in mine if self.interrupts(row, mode)), None)

    def take_along(self, first: InboxRow, mode: str) -> list[InboxRow]:
        """Take out of turn what becomes one turn with this row."""
        if not self.head or self._kind_of(first) != CHAT:
            return []
        wanted = rows_to_merge(
            first,
            self.head,
            mode,
            joins=lambda row: self._kind_of(row) == CHAT and own_route_id(row) is None,
            is_marked=self._is_marked,
        )
        return self.take(wanted)

    def take(self, rows: Collection[InboxRow]) -> list[InboxRow]:
        """Take these out of turn, as far as they wait still and are as they were."""
        return self.head.take(lambda row: row in rows)

    def put_back(self, rows: Iterable[InboxRow]) -> None:
        """What was taken, or comes late, waits in its place; once, and not where a turn has claimed it already."""
        super().put_back([self.current(row) for row in rows if row.id not in self._begun])

    def note_begun(self, rows: Iterable[InboxRow]) -> None:
        """A turn has claimed these: whoever still has them at hand, of an earlier look, hands them in for nothing."""
        ids = [row.id for row in rows]
        for id_ in ids:
            self._begun[id_] = None
        self.drop(ids)

    def current(self, row: InboxRow) -> InboxRow:
        """A row that was taken or read a moment ago, as it reads now."""
        return replace(row, event=self._edited.get(row.id, row.event)) if self._edited else row

    def take_next(self, wanted: Callable[[InboxRow], bool]) -> InboxRow | None:
        """Take the row in front, where it is wanted."""
        first = next(iter(self.head), None)
        if first is None or not wanted(first):
            return None
        return self.head.take(lambda row: row.id == first.id)[0]

    def take_out(self, id_: int) -> bool:
        """Let a row wait here no more, as it is no message any more; False where it does not, or is being claimed."""
        return bool(self.head.take(lambda row: row.id == id_))

    def drop(self, ids: Collection[int]) -> None:
        """Forget these rows: the store has them cleared."""
        if ids:
            self.head.take(lambda row: row.id in ids)

    def change(self, original_id: int, edit: InboxRow) -> None:
        """Put the new text of a waiting message in its place, wherever it is: the store is about to have it."""
        at = 0 if self.handled is None else self.handled.id  # nobody asks any more how those before it read
        self._edited = {id_: event for id_, event in self._edited.items() if id_ >= at} | {original_id: edit.event}
        self.head.update(self.current)


async def read_waiting(store: Store, after_id: int, limit: int, session_key: str | None = None) -> list[InboxRow]:
    """As `inbox.waiting`, outages waited out. A row that cannot be read gets its outcome, and holds up nothing."""
    return await read_rows(store, partial(inbox.waiting, after_id=after_id, limit=limit, session_key=session_key))


async def read_rows(store: Store, query: Callable[[Connection], list[InboxRow]]) -> list[InboxRow]:
    """As `read_waiting`, of any query for rows."""
    while True:
        try:
            return await store.read(query, lasting=True)
        except inbox.UnreadableRow as bad:
            series(FAULTS, "row").inc()
            log.error("row_unreadable", inbox_id=bad.id, error=str(bad))
            await store.write(partial(inbox.set_aside, id_=bad.id, reason=str(bad)))
