"""One writer takes jobs in order and commits them in groups. The engine brings a group to the disk."""

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Generic, TypeAlias, TypeVar

import sqlalchemy as sa
import structlog
from sqlalchemy import Connection, Engine, event
from sqlalchemy.engine import ExceptionContext
from sqlalchemy.exc import SQLAlchemyError

from agent.foreign_code import contain_exits
from gateway.errors import StoreUnavailable
from gateway.failpoints import failpoint
from gateway.store.dialect import LOCKED, SPOILED
from gateway.store.looking import unavailable
from gateway.telemetry import COMMIT_JOBS, COMMIT_SECONDS, OUTCOMES, series

T = TypeVar("T")

Job: TypeAlias = Callable[[Connection], T]
"""A change of state over a connection. It may run more than once (alone after its group failed, again after an outage),
so all it does is SQL whose repetition its unique keys make harmless; it neither commits nor catches database errors."""

Outcome: TypeAlias = tuple[Any, Exception | None]
"""The result of a job, or its error: StoreUnavailable for an outage, else the job's own."""

GROUP_JOBS = 256
ROOM_JOBS = 20_000
FIRST_PAUSE_S = 0.05
LONGEST_PAUSE_S = 2.0

log = structlog.get_logger()


class SwallowedError(Exception):
    """A job caught a database error; nothing of it holds. A bug in that job."""


def commit_group(
    connection: Connection, jobs: Sequence[Job[Any]], is_outage: Callable[[Exception], bool]
) -> list[Outcome]:
    """Run all jobs in one transaction; if one fails, run each in its own.

    An outage ends the attempt: the job that met it and those after it are StoreUnavailable, those before it hold. A
    failed BEGIN or COMMIT is an outage whatever it says: the state of the connection is unknown.
    """
    in_jobs = False
    try:
        with connection.begin():
            in_jobs = True
            outcomes = _outcomes(connection, jobs)
            in_jobs = False
    except Exception as error:  # noqa: BLE001  one of the writer's jobs; the error goes to its caller
        if not in_jobs or is_outage(error):
            return [(None, unavailable(error)) for _ in jobs]
        if len(jobs) == 1:
            return [(None, error)]
    else:
        _count_outcomes(connection)
        return outcomes
    outcomes = []
    for job in jobs:
        outcomes += commit_group(connection, (job,), is_outage)
        if isinstance(outcomes[-1][1], StoreUnavailable):
            break
    return outcomes + [(None, outcomes[-1][1]) for _ in jobs[len(outcomes) :]]


def _outcomes(connection: Connection, jobs: Sequence[Job[Any]]) -> list[Outcome]:
    with contain_exits():  # an agent's changes are jobs, too
        outcomes: list[Outcome] = [(job(connection), None) for job in jobs]
    if connection.info[SPOILED]:
        raise SwallowedError("a job caught a database error and went on")
    return outcomes


def mark_errors(engine: Engine) -> None:
    """Note on a connection that a statement failed, so that `commit_group` sees it though a job swallowed it.

    PostgreSQL would answer the COMMIT with a rollback and call that success.
    """

    def spoil(context: ExceptionContext) -> None:
        if context.connection is not None and context.connection.in_transaction():  # else it is being made
            context.connection.info[SPOILED] = True

    def begin(connection: Connection) -> None:
        connection.info[SPOILED] = False
        connection.info[LOCKED] = set()
        take_news(connection)
        _forget_outcomes(connection)

    event.listen(engine, "handle_error", spoil)
    event.listen(engine, "begin", begin)


class Writer:
    """Takes jobs synchronously, commits them in that order, tells each caller after the commit.

    `healthy` is False from an outage until the next commit; meanwhile the writer tries again by itself, with a write of
    its own (`probe`) where no job waits, so that it recovers without being asked.
    """

    def __init__(
        self,
        commit: Callable[[Sequence[Job[Any]]], Awaitable[list[Outcome]]],
        probe: Job[None],
        *,
        room_jobs: int = ROOM_JOBS,
    ) -> None:
        self.healthy = True
        self.listeners: dict[type, Callable[[Any], None]] = {}
        """Called with the news of committed jobs, by the type of the news."""
        self._commit = commit
        self._probe = probe
        self._room_jobs = room_jobs
        self._queue: deque[_Entry[Any]] = deque()
        self._group: list[_Entry[Any]] = []  # taken from the queue, not yet told
        self._work = asyncio.Event()
        self._closing = asyncio.Event()

    def enqueue(self, job: Job[T], *, lasting: bool = False) -> asyncio.Future[T]:
        """Queue a job now; cancelling the future gives up the answer, not the job.

        A lasting job outlives outages: it keeps its place and is tried until it holds. It has a caller who waits, so
        the bound on room does not refuse it.
        """
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        if self._closing.is_set():
            future.set_exception(StoreUnavailable("the store is closed"))
        elif len(self._queue) >= self._room_jobs and not lasting:
            future.set_exception(StoreUnavailable(f"the writer is full: {self._room_jobs} jobs wait"))
        else:
            self._queue.append(_Entry(job, future, lasting))
            self._work.set()
        return future

    async def run(self) -> None:
        """Commit group after group until `close` was called and the queue is empty."""
        try:
            await self._run()
        finally:  # where it ends by an error, nobody is left waiting for an answer that cannot come
            self.close()
            self.healthy = self.healthy and not self._group
            for entry in (*self._group, *self._queue):
                entry.fail(StoreUnavailable("the store has stopped"))

    def close(self) -> None:
        """Take no more; what is queued is tried once more, then told."""
        self._closing.set()
        self._work.set()

    async def _next(self, pause_s: float) -> bool:
        """Wait for something to do: work, or after an outage the end of a pause. False when all is done."""
        if pause_s and not self._closing.is_set():
            try:
                await asyncio.wait_for(self._closing.wait(), pause_s)
            except TimeoutError:
                return True
        while not self._queue:
            if self._closing.is_set():
                return False
            self._work.clear()
            await self._work.wait()
        return True

    async def _run(self) -> None:
        pause_s = 0.0
        while await self._next(pause_s):
            self._group = [self._queue.popleft() for _ in range(min(GROUP_JOBS, len(self._queue)))]
            begun_s = time.perf_counter()
            outcomes = await self._attempt([entry.run for entry in self._group] or [self._probe])
            COMMIT_SECONDS.observe(time.perf_counter() - begun_s)
            COMMIT_JOBS.observe(len(outcomes))
            outage = next((e for _, e in outcomes if isinstance(e, StoreUnavailable)), None)
            self._settle(outcomes)
            if self.healthy != (outage is None):
                self._turn(outage)
            pause_s = 0.0 if outage is None else min(max(FIRST_PAUSE_S, 2 * pause_s), LONGEST_PAUSE_S)

    async def _attempt(self, jobs: Sequence[Job[Any]]) -> list[Outcome]:
        try:
            outcomes = await self._commit(jobs)
            failpoint("commit_unknown")
            return outcomes
        except (OSError, RuntimeError, SQLAlchemyError) as error:  # an engine should not; it is an outage all the same
            return [(None, unavailable(error)) for _ in jobs]

    def _settle(self, outcomes: list[Outcome]) -> None:
        group, self._group = self._group, []
        again: list[_Entry[Any]] = []
        for entry, (result, error) in zip(group, outcomes, strict=False):  # a probe has no entry
            if error is None:
                for news in entry.news:
                    if (hear := self.listeners.get(type(news))) is not None:
                        asyncio.get_running_loop().call_soon(hear, news)
                entry.succeed(result)
            elif entry.lasting and isinstance(error, StoreUnavailable) and not self._closing.is_set():
                again.append(entry)
            else:
                entry.fail(error)
        self._queue.extendleft(reversed(again))

    def _turn(self, outage: StoreUnavailable | None) -> None:
        self.healthy = outage is None
        if outage is None:
            log.info("store_recovered", waiting_jobs=len(self._queue))
        else:
            log.error("store_lost", error=str(outage), waiting_jobs=len(self._queue))


class _Entry(Generic[T]):
    """A queued job and who waits for it."""

    __slots__ = ("future", "job", "lasting", "news")

    def __init__(self, job: Job[T], future: asyncio.Future[T], lasting: bool) -> None:
        self.job = job
        self.future = future
        self.lasting = lasting
        self.news: Sequence[object] = ()

    def run(self, connection: Connection) -> T:
        """Run the job, and keep what it tells until it is committed."""
        result = self.job(connection)
        self.news = take_news(connection)
        return result

    def succeed(self, result: T) -> None:
        """Tell the caller, if it waits still."""
        if not self.future.done():
            self.future.set_result(result)

    def fail(self, error: Exception) -> None:
        """Tell the caller, or the log where the caller has gone."""
        if not self.future.done():
            self.future.set_exception(error)
        else:
            log.error("store_job_failed", error=repr(error))


_OUTCOMES = "outcomes"


def note_outcome(connection: sa.Connection, outcome: str, rows: int) -> None:
    """Count rows that end with this outcome, once the transaction commits; negative if rows were reopened."""
    counts = connection.info.setdefault(_OUTCOMES, {})
    counts[outcome] = counts.get(outcome, 0) + rows


def _forget_outcomes(connection: sa.Connection) -> None:
    connection.info.pop(_OUTCOMES, None)


def _count_outcomes(connection: sa.Connection) -> None:
    for outcome, rows in connection.info.pop(_OUTCOMES, {}).items():
        series(OUTCOMES, outcome).inc(max(rows, 0))


_NEWS = "news"


def tell(connection: sa.Connection, news: object) -> None:
    """Tell the listener for news of this type once the job is committed: a hint that the next start makes up for."""
    connection.info.setdefault(_NEWS, []).append(news)


def take_news(connection: sa.Connection) -> Sequence[object]:
    """Return what the job that has just run tells."""
    return connection.info.pop(_NEWS, ())  # type: ignore[no-any-return]  # only `tell` writes it
