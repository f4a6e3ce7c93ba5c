"""The store: ordered writes in group commits and separate reads, over SQLite or PostgreSQL. No query lives here."""

import asyncio
import copy
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Concatenate, Literal, ParamSpec, Protocol, Self, TypeVar

import sqlalchemy as sa
import structlog

from channels.messages import DEFAULT_TENANT
from gateway.errors import ServerAway, StoreUnavailable
from gateway.failpoints import failpoint
from gateway.store.addresses import file_of
from gateway.store.postgres import PostgresEngine, PostgresLink
from gateway.store.revisions import HEAD
from gateway.store.schema import probe
from gateway.store.sqlite import SqliteEngine
from gateway.store.tenancy import run_as
from gateway.store.writer import FIRST_PAUSE_S, LONGEST_PAUSE_S, Job, Outcome, Writer

Connection = sa.Connection
"""The connection that every job and every query takes; for rooms that may not import SQLAlchemy."""

VALUE_REFUSED = (sa.exc.StatementError, ValueError)
"""Errors of a job whose values the database, or an encoder on the way to it, refuses."""

LONGEST_WAIT_S = 15.0
"""Between two tries to reach a server that is away as a gateway starts; each is said."""

P = ParamSpec("P")
T = TypeVar("T")
N = TypeVar("N")

log = structlog.get_logger()


class Engine(Protocol):
    """The differences between databases: connections, and the meaning of a group commit."""

    dialect: Literal["sqlite", "postgresql"]

    async def open(self) -> str | None:
        """Connect and bring the schema up to date; the revision found, None for an empty database."""
        ...

    async def open_for_reading(self) -> None:
        """Be ready for `read` alone: nothing is made, migrated or locked, so that another process may be at work."""
        ...

    async def commit(self, jobs: Sequence[Job[Any]]) -> list[Outcome]:
        """One group, an outcome a job; it raises nothing."""
        ...

    async def read(self, query: Callable[[Connection], T]) -> T:
        """One consistent look at what is committed."""
        ...

    async def checkpoint(self) -> bool:
        """Empty what is written ahead of the database, where there is such a log; whether it is empty."""
        ...

    async def aclose(self) -> None:
        """Close every connection, the writing one last; also after an `open` that failed."""
        ...


class Store:
    """Every committed thing of the gateway; made by `open`, ended by `aclose`, used from one event loop."""

    tenant: str | None = None
    """The tenant whose rows its jobs and queries see; None: all tenants'."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._writer = Writer(engine.commit, probe)
        self._task: asyncio.Task[None] | None = None
        self._whole: Store = self  # not a tenant's part of it
        self.unheard = 0
        """The number of commits that ended after their caller was cancelled, so that nothing followed them; of the
        whole store.
        """

    @property
    def home_tenant(self) -> str:
        """Return the tenant of new rows; the default tenant for the whole store."""
        return self.tenant or DEFAULT_TENANT

    def of(self, tenant: str | None) -> "Store":
        """Return the store limited to one tenant's rows; None: the whole store.

        It is opened and closed as a whole.
        """
        part = copy.copy(self._whole)
        part.tenant = tenant
        return part

    @classmethod
    async def open(cls, url: str, *, wait_s: float = 0.0) -> Self:
        """Open `sqlite:

        /path/tenk.db` or `postgresql:

        user:password@host/db`; create or migrate its schema.

        Waits up to `wait_s` for a server that is away, and does not retry what it refuses, such as a password.

        Raises:
            SettingsError: the URL names no database we know.
            SchemaDiffers: this version does not know the revision of this database; nothing was changed.
            StoreUnavailable: the database cannot be reached or opened.
        """
        until_s, pause_s = time.monotonic() + wait_s, FIRST_PAUSE_S
        while True:
            try:
                return await cls(engine_for(url)).start()
            except ServerAway as away:
                left_s = until_s - time.monotonic()
                if left_s <= 0:
                    raise
                log.warning("store_awaited", error=str(away), seconds_left=round(left_s))
            pause_s = min(2 * pause_s, LONGEST_WAIT_S)
            await asyncio.sleep(min(pause_s, left_s))

    async def start(self) -> Self:
        """Connect, migrate, and begin to take jobs."""
        try:
            await self._engine.open()
        except BaseException:
            await self._engine.aclose()
            raise
        self._task = asyncio.create_task(  # noqa: TID251  the store outlives the call that opens it; aclose awaits it
            self._writer.run(), name="store-writer"
        )
        return self

    @property
    def healthy(self) -> bool:
        """False from an outage until the next commit; the store tries by itself meanwhile."""
        return self._writer.healthy

    @property
    def dialect(self) -> Literal["sqlite", "postgresql"]:
        """Which SQL the jobs meet."""
        return self._engine.dialect

    async def commit(self, job: Callable[Concatenate[Connection, P], T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run the job in the next group commit and return its result once that is on disk.

        Jobs commit in the order of the calls. An outage is waited out: the job keeps its place until it is committed.
        A caller that is cancelled does not take its job back, so what follows a commit can only be a hint.

        Raises:
            Exception: what the job raised; nothing of the job is stored, the other jobs of its group are.
            StoreUnavailable: the store was closed first.
        """
        return await self._hear(job, self.queue(job, *args, **kwargs))

    async def try_commit(self, job: Callable[Concatenate[Connection, P], T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Commit as `commit` does, but fail in an outage instead of waiting for its end.

        Raises:
            StoreUnavailable: the store does not answer; the job may be committed nevertheless.
        """
        return await self._hear(
            job, self._writer.enqueue(lambda connection: run_as(self.tenant, job, connection, *args, **kwargs))
        )

    def queue(
        self, job: Callable[Concatenate[Connection, P], T], /, *args: P.args, **kwargs: P.kwargs
    ) -> asyncio.Future[T]:
        """Queue a job as `commit` does, for a caller that does not wait for it."""
        return self._writer.enqueue(
            lambda connection: run_as(self.tenant, job, connection, *args, **kwargs), lasting=True
        )

    def listen(self, kind: type[N], hear: Callable[[N], None]) -> None:
        """Call this with each piece of news of this kind, see `writer.tell`, once its job is committed."""
        self._writer.listeners[kind] = hear

    async def _hear(self, job: Callable[..., T], committed: asyncio.Future[T]) -> T:
        try:
            result = await asyncio.shield(committed)
            failpoint("commit_done", job)
            return result
        except asyncio.CancelledError:
            committed.add_done_callback(self._whole._note_unheard)  # noqa: SLF001  its own
            raise

    def _note_unheard(self, committed: asyncio.Future[Any]) -> None:
        self.unheard += 1
        if (error := committed.exception()) is not None:
            log.error("store_job_failed", error=repr(error))

    async def read(self, query: Callable[[Connection], T], *, lasting: bool = False) -> T:
        """Return the query's result over one consistent view of committed data; a write in it is refused.

        With `lasting` it waits until an outage is over.

        Raises:
            StoreUnavailable: the database does not answer; the query changed nothing.
        """
        pause_s = FIRST_PAUSE_S
        while True:
            try:
                return await self._engine.read(partial(run_as, self.tenant, query))
            except StoreUnavailable:
                if not lasting or self._whole._task is None:  # noqa: SLF001  its own
                    raise
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)

    async def checkpoint(self) -> bool:
        """Empty the write-ahead log, so that what was deleted stands in no file; whether that went.

        Deleted rows are overwritten (`PRAGMA secure_delete`), but older versions of a page stand in the log. That of
        PostgreSQL is its own matter.
        """
        return await self._engine.checkpoint()

    async def aclose(self) -> None:
        """Commit what is queued, then close. Nothing is taken from the first moment on; a second call does nothing."""
        self._writer.close()
        task, self._task = self._task, None
        if task is not None:
            await asyncio.shield(task)
            await self._engine.aclose()


async def upgrade(url: str) -> tuple[str | None, str]:
    """Bring a database to the newest revision and close it; the revision before (None: it was empty) and after.

    Raises:
        SettingsError, SchemaDiffers, StoreUnavailable: as `Store.open`.
    """
    engine = engine_for(url)
    try:
        return await engine.open(), HEAD
    finally:
        await engine.aclose()


@asynccontextmanager
async def reading(url: str) -> AsyncIterator[Store]:
    """Open a database for reading only, beside a running gateway or without one.

    Raises:
        SettingsError, StoreUnavailable: as `Store.open`; there is none yet.
        SchemaDiffers: it is another version's; nothing was changed.
    """
    engine = engine_for(url)
    try:
        await engine.open_for_reading()
        yield Store(engine)
    finally:
        await engine.aclose()


def link_to(url: str, hear: Callable[[str], None], on_connected: Callable[[], None]) -> PostgresLink:
    """Return a connection, beside those of the store, for one process of a cluster on PostgreSQL."""
    return PostgresLink(url, hear, on_connected)


def engine_for(url: str) -> Engine:
    """Return the engine of a store URL.

    Raises:
        SettingsError: not a URL, another database, or SQLite without a file.
    """
    file = file_of(url)
    return PostgresEngine(url) if file is None else SqliteEngine(file)
