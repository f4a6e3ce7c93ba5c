"""Everybody works at once, but what the process died with again and again is tried alone.

A turn, or a message or command that never got as far as one, is suspected once the process has died three times with
it at work and without any progress of it. Most of these did nothing but stand beside. So suspects run one at a time,
each after a pause that grows with its deaths, while nothing else begins; only what was alone at work in three deaths
is given up, and its person is told. Nobody waits for ever: others wait until a bound is reached, then go on beside.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from enum import Enum
from functools import partial

import structlog

from channels.clocks import Sleep
from gateway.store import crashes
from gateway.store.crashes import AtWork, Record, row_work, turn_work
from gateway.store.engine import Store
from gateway.store.inbox import InboxRow
from gateway.store.journal import TurnRow

log = structlog.get_logger()

SUSPECT_AFTER = 3
"""Deaths of the process with a turn at work, after which it is tried alone."""

GIVEN_UP_AFTER = 3
"""Deaths of the process with nothing else at work, after which a turn is failed and its person told."""

LONGEST_PAUSE_S = 60.0
QUIET_S = (5.0, 10.0, 20.0, 40.0, 80.0, 160.0)
"""How long others are kept from beginning while a suspect waits for those at work to end; in between they go on."""

ALONE_S = (20.0, 40.0, 80.0, 160.0, 320.0)
"""How long a suspect works alone, by its deaths so far; then others may begin, and a death is no proof any more."""

NOTHING = Record(0, 0)


class GivenUp(Exception):
    """The process died of it again and again: it is not tried any more."""


class Admitted(Enum):
    """As what somebody works."""

    BESIDE = "beside"  # the others
    ALONE = "alone"
    GIVEN_UP = "given up"  # only its person is told


Work = Callable[[Admitted], Awaitable[None]]
"""What is to be done, told as what it may work."""


def pause_s(deaths: int) -> float:
    """How long after the start a suspect waits: 1 s after its third death, twice as long after each further one."""
    return float(min(2.0 ** min(deaths - SUSPECT_AFTER, 30), LONGEST_PAUSE_S))


def alone_s(deaths: int) -> float:
    """How long a suspect keeps the others waiting."""
    return ALONE_S[min(deaths - SUSPECT_AFTER, len(ALONE_S) - 1)]


def worst(records: Iterable[Record]) -> Record:
    """The one to go by, of several messages that are answered together."""
    return max(records, key=lambda record: (record.alone, record.deaths), default=NOTHING)


class _Beside(AbstractAsyncContextManager[Admitted]):
    """At work beside the others. No generator: every message passes here."""

    def __init__(self, trials: "Trials", admitted: Admitted = Admitted.BESIDE) -> None:
        self._trials = trials
        self._admitted = admitted

    async def __aenter__(self) -> Admitted:
        await self._trials.begin_beside()
        return self._admitted

    async def __aexit__(self, *_broke: object) -> None:
        self._trials.end_beside()


@asynccontextmanager
async def _both(own: asyncio.Semaphore, everybody: asyncio.Semaphore) -> AsyncIterator[None]:
    """The tenant's own first: what waits for that keeps nobody else waiting."""
    async with own, everybody:
        yield


class Trials:
    """The one gate of a gateway that every turn and command passes; open but while a suspect is tried."""

    def __init__(self, store: Store, most_turns: int, tasks: asyncio.TaskGroup, sleep: Sleep = asyncio.sleep) -> None:
        """Nothing is known before `look_back`; `tasks` is the parent of what ends a trial's solitude.

        `sleep` is what a suspect waits with, and is for tests.
        """
        self._store = store
        self._sleep = sleep
        self._slots = asyncio.Semaphore(most_turns)
        self._slots_of: dict[str, asyncio.Semaphore] = {}
        self._tasks = tasks
        self._begun_s = asyncio.get_running_loop().time()
        self._records: dict[str, Record] = {}
        self._newest_row = 0  # rows up to this one are from before: the process may have died of one of them
        self._working = 0
        self._open = asyncio.Event()
        self._open.set()
        self._quiet = asyncio.Event()
        self._quiet.set()
        self._suspects = asyncio.Lock()

    def set_bound(self, tenant: str, most_turns: int) -> None:
        """No more turns of this tenant at once than so many, within those of all."""
        self._slots_of[tenant] = asyncio.Semaphore(most_turns)

    def _slot(self, tenant: str) -> AbstractAsyncContextManager[None]:
        own = self._slots_of.get(tenant)
        return self._slots if own is None else _both(own, self._slots)

    async def look_back(self) -> None:
        """Learn what earlier processes died with; before anything is begun."""
        self._records = dict(await self._store.read(crashes.records, lasting=True))
        self._newest_row = await self._store.read(crashes.newest_row, lasting=True)

    def clear(self, turn_id: str) -> None:
        """This turn has got on, as the next start would see: it is no suspect any more."""
        self._records.pop(turn_work(turn_id), None)

    async def run_again(self, turn: TurnRow, work: Work) -> None:
        """Take up a turn of an earlier process, as soon as it may run."""
        await self._run([turn_work(turn.id)], turn.tenant, work)

    async def run(self, rows: Sequence[InboxRow], work: Work) -> None:
        """Answer rows, as soon as that may run."""
        await self._run(self._old(rows), rows[0].tenant, work)

    async def _run(self, works: Sequence[str], tenant: str, work: Work) -> None:
        async with self._enter(works, tenant) as admitted, self._slot(tenant):
            await self._mark(works, tenant, admitted)
            await work(admitted)

    @asynccontextmanager
    async def command(self, row: InboxRow, *, urgent: bool) -> AsyncIterator[Admitted]:
        """Run a command within this; an urgent one waits for no trial but its own."""
        works = self._old([row])
        if urgent and not works:
            yield Admitted.BESIDE
            return
        async with self._enter(works, row.tenant) as admitted:
            await self._mark(works, row.tenant, admitted)
            yield admitted

    def _old(self, rows: Iterable[InboxRow]) -> list[str]:
        """Those from before this process began: the others it cannot have died of yet."""
        return [row_work(row.id) for row in rows if row.id <= self._newest_row]

    async def _mark(self, works: Sequence[str], tenant: str, admitted: Admitted) -> None:
        if works:
            at_work = AtWork.ALONE if admitted is Admitted.ALONE else AtWork.BESIDE
            await self._store.write(partial(crashes.mark, works=works, tenant=tenant, at_work=at_work))

    # ------------------------------------------------------------ the gate

    def _enter(self, works: Sequence[str], tenant: str) -> AbstractAsyncContextManager[Admitted]:
        record = worst(self._records[work] for work in works if work in self._records)
        if record.alone >= GIVEN_UP_AFTER:
            return _Beside(self, Admitted.GIVEN_UP)
        return _Beside(self) if record.deaths < SUSPECT_AFTER else self._try(record, works, tenant)

    @asynccontextmanager
    async def _try(self, record: Record, works: Sequence[str], tenant: str) -> AsyncIterator[Admitted]:
        """A suspect waits for its turn, and for all others to be at rest."""
        await self._sleep(self._begun_s + pause_s(record.deaths) - asyncio.get_running_loop().time())
        async with self._suspects:
            alone = await self._close_when_quiet()
            log.warning("suspect_tried", work=works[0], deaths=record.deaths, alone=alone)
            async with self._solitude(works, tenant, alone_s(record.deaths)) if alone else _Beside(self) as admitted:
                yield admitted

    async def begin_beside(self) -> None:
        """One more is at work, as soon as the gate is open."""
        while not self._open.is_set():
            await self._open.wait()
        self._working += 1
        self._quiet.clear()

    def end_beside(self) -> None:
        """One less."""
        self._working -= 1
        if not self._working:
            self._quiet.set()

    async def _close_when_quiet(self) -> bool:
        """Close the gate once nothing is at work; open again and False where something never ends."""
        for patience_s in QUIET_S:
            self._open.clear()
            try:
                async with asyncio.timeout(patience_s):
                    await self._quiet.wait()
            except TimeoutError:
                self._open.set()
                await asyncio.sleep(patience_s)
            except BaseException:
                self._open.set()
                raise
            else:
                return True
        return False

    @asynccontextmanager
    async def _solitude(self, works: Sequence[str], tenant: str, seconds: float) -> AsyncIterator[Admitted]:
        """The gate is closed, for so long at most."""
        ending = self._tasks.create_task(self._let_in(works, tenant, seconds))
        try:
            yield Admitted.ALONE
        finally:
            ending.cancel()
            self._open.set()

    async def _let_in(self, works: Sequence[str], tenant: str, seconds: float) -> None:
        await asyncio.sleep(seconds)
        await self._mark(works, tenant, Admitted.BESIDE)
        self._open.set()
