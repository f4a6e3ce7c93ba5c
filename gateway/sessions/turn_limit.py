"""The limit on concurrent turns, and the line in which rows begin after two crashes in a row.

An inbox row counts the attempts at it since its last journaled step (`inbox.attempts`): its claim writes the first, and
each start after a crash one more before anything of it runs.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager

from gateway.sessions.pauses import Pauses
from gateway.store import inbox
from gateway.store.engine import Store
from gateway.store.erasure import newest_row
from gateway.store.inbox import InboxRow

MAX_ATTEMPTS = 3
"""Attempts at a row without a journaled step; after that it is failed and its person is told."""

LINE_FROM = 2
"""Once a row has so many attempts behind it, all rows with any begin in line: after one crash all resume at once."""

LAST_AFTER_S = 5.0
"""The least uptime of the process, in seconds, before a row's last attempt: an earlier crash had another cause."""

LINE_S = 60.0
"""The longest time, in seconds, that the first in line keeps the next one waiting."""


class FairSlots:
    """So many slots; tenants that wait get the next free one in turn, each for what waits longest of it."""

    def __init__(self, slots: int) -> None:
        self._free = slots
        self._lines: dict[str, deque[asyncio.Future[None]]] = {}  # by tenant, the one whose turn is next first

    @asynccontextmanager
    async def slot(self, tenant: str) -> AsyncIterator[None]:
        """Hold one."""
        if self._free:
            self._free -= 1
        else:
            given: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._lines.setdefault(tenant, deque()).append(given)
            try:
                await given
            except asyncio.CancelledError:
                if not given.cancelled():  # it was given just before
                    self._give()
                raise
        try:
            yield
        finally:
            self._give()

    def _give(self) -> None:
        """Give a slot to the tenant whose turn it is, which then waits behind the others; else keep it free."""
        for tenant, line in list(self._lines.items()):
            del self._lines[tenant]
            while line:
                given = line.popleft()
                if not given.done():
                    self._lines.update({tenant: line} if line else {})
                    given.set_result(None)
                    return
        self._free += 1


class TurnLimit:
    """The limit on concurrent turns, and the line of rows that the process may have crashed with."""

    def __init__(self, store: Store, most_turns: int) -> None:
        self._store = store
        self._slots = FairSlots(most_turns)
        self._slots_of: dict[str, asyncio.Semaphore] = {}  # by tenant
        self._newest_row = 0  # the process before this one may have crashed with rows up to this one
        self._has_line = False
        self._begun_s = asyncio.get_running_loop().time()
        self._line = asyncio.Lock()
        self.pauses = Pauses(store)

    def set_bound(self, tenant: str, most_turns: int) -> None:
        """Limit the turns of a tenant, within the limit of all."""
        self._slots_of[tenant] = asyncio.Semaphore(most_turns)

    async def look_back(self) -> None:
        """Note which rows are older than this process, and how often it crashed with them; before anything begins."""
        self._newest_row = await self._store.read(newest_row, lasting=True)
        self._has_line = await self._store.read(inbox.most_attempts, lasting=True) >= LINE_FROM

    @asynccontextmanager
    async def slot(self, tenant: str, attempts: int = 0) -> AsyncIterator[None]:
        """Hold one of the tenant's slots and one of all; after crashes with it also the place in line."""
        async with self._in_line(attempts), AsyncExitStack() as slots:
            if (own := self._slots_of.get(tenant)) is not None:  # waiting for its own limit a tenant blocks no other
                await slots.enter_async_context(own)
            await slots.enter_async_context(self._slots.slot(tenant))
            yield

    @asynccontextmanager
    async def begin(self, rows: Sequence[InboxRow], *, takes_slot: bool = True) -> AsyncIterator[bool]:
        """Begin rows that no turn has claimed, each counted if it is older than this process.

        Yields False if there were too many attempts at them: they are to be failed.
        """
        attempts = max(row.attempts for row in rows)
        async with self.slot(rows[0].tenant, attempts) if takes_slot else self._in_line(attempts):
            if old := [row.id for row in rows if row.id <= self._newest_row]:
                attempts = await self._store.commit(inbox.count_attempt, old)
            yield attempts <= MAX_ATTEMPTS

    @asynccontextmanager
    async def _in_line(self, attempts: int) -> AsyncIterator[None]:
        """Wait until the one before has ended, or has run for long."""
        if not (attempts and self._has_line):
            yield
            return
        if attempts + 1 == MAX_ATTEMPTS:
            await asyncio.sleep(self._begun_s + LAST_AFTER_S - asyncio.get_running_loop().time())
        await self._line.acquire()
        with ExitStack() as place:
            place.callback(self._line.release)
            timer = asyncio.get_running_loop().call_later(LINE_S, place.close)
            place.callback(timer.cancel)
            yield
