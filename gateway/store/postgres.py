"""PostgreSQL: one writing connection with `synchronous_commit = on`, a few reading ones, all on asyncpg.

Where several processes share it each has one more, for leases and notices.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from functools import partial
from threading import Thread
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import sqlalchemy as sa
import structlog
from sqlalchemy import Connection

from gateway.errors import ServerAway, StoreUnavailable
from gateway.event_loop import make_loop
from gateway.store import schema
from gateway.store.addresses import public_url, server_of
from gateway.store.inspection import RISKS, refuse_unfit, risks_of
from gateway.store.looking import unavailable
from gateway.store.prepared import prepare_on
from gateway.store.writer import Job, Outcome, commit_group, mark_errors
from gateway.threads import run_in_thread

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

T = TypeVar("T")

log = structlog.get_logger()

READERS = 4
CONNECT_TIMEOUT_S = 10
STATEMENT_TIMEOUT_S = 30
MIGRATION_TIMEOUT_S = 3600
"""The statement timeout at a start: a large table may be rewritten, or another process may be migrating."""

READER_WAIT_S = 10
CLOSE_S = 3.0
"""The seconds that an abandoned connection may take to close: SQLAlchemy waits two seconds for a server's goodbye."""

PAUSED_MS = "3000"
MIGRATION_IDLE_MS = 60_000

READ_ONLY = "25006"
FORBIDDEN = "42501"
OUTAGES = ("08", READ_ONLY, "40", "53", "55P03", "57", "58", "XX")
"""SQLSTATE prefixes that speak of the server or the connection, not of the statement: connection, read-only,
serialisation and deadlock, resources (53100 disk full), lock not available, shutdown and timeouts, I/O, corruption
(postgresql.org/docs/18/errcodes-appendix.html)."""


LOST = ("connection is closed", "another operation", "connection_lost")
"""Messages of asyncpg or SQLAlchemy, without a code, for a connection that ended."""


def is_outage(error: Exception) -> bool:
    """Return True if the server or the way to it failed, rather than the job."""
    if isinstance(error, sa.exc.DBAPIError) and error.connection_invalidated:
        return True
    origin: BaseException = getattr(error, "orig", None) or error
    while True:
        if str(getattr(origin, "sqlstate", "")).startswith(OUTAGES) or isinstance(origin, OSError):
            return True
        if any(words in str(origin).lower() for words in LOST):
            return True
        if origin.__cause__ is None:
            return False
        origin = origin.__cause__


def is_forbidden(error: Exception) -> bool:
    """Return True if the role lacks the right."""
    return getattr(getattr(error, "orig", None), "sqlstate", None) == FORBIDDEN


def _is_told(record: logging.LogRecord) -> bool:
    """Not of a broken connection whose closing was cut short: it is gone in any case."""
    return record.exc_info is None or not isinstance(record.exc_info[1], asyncio.CancelledError)


logging.getLogger("sqlalchemy.pool.impl.AsyncAdaptedQueuePool").addFilter(_is_told)  # noqa: TID251  it is SQLAlchemy's


def _errors() -> tuple[type[Exception], ...]:
    """Return the errors of a server that is away: asyncpg's own, while SQLAlchemy prepares a new connection."""
    import asyncpg  # type: ignore[import-untyped]  # noqa: PLC0415  it has no types; 30 ms, for those who open one only

    return (OSError, sa.exc.SQLAlchemyError, asyncpg.PostgresError, asyncpg.InterfaceError)


def _refused_write(error: Exception) -> bool:
    return getattr(getattr(error, "orig", None), "sqlstate", None) == READ_ONLY


class PostgresEngine:
    """A PostgreSQL database, written over one connection that is opened anew whenever it is lost.

    All of it runs in the event loop of a thread of its own: a group of jobs asks the server a dozen times, and would
    wait as often for everything else that the gateway's loop has to do.
    """

    dialect: Literal["sqlite", "postgresql"] = "postgresql"

    def __init__(self, url: str) -> None:
        self._url = url
        self._engine: AsyncEngine | None = None
        self._connection: AsyncConnection | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: Thread | None = None

    async def open(self) -> str | None:
        """Connect and migrate; the revision found."""
        return await self._in_thread(self._open())

    async def open_for_reading(self) -> None:
        await self._in_thread(self._open_for_reading())

    async def commit(self, jobs: Sequence[Job[Any]]) -> list[Outcome]:
        """One group in one transaction on the writing connection."""
        return await self._in_thread(self._commit(jobs))

    async def read(self, query: Callable[[Connection], T]) -> T:
        """One read-only transaction over one snapshot; again where a restart left dead connections in the pool."""
        return await self._in_thread(self._read(query))

    async def checkpoint(self) -> bool:
        """Nothing to do: its own vacuum takes what was deleted, its log goes with the operator's archive."""
        return True

    async def aclose(self) -> None:
        """Close the writing connection and the readers, and end the thread."""
        loop, thread = self._loop, self._thread
        if loop is None or thread is None:
            return
        try:
            await self._in_thread(self._close())
        finally:
            self._loop = self._thread = None
            loop.call_soon_threadsafe(loop.stop)
            await run_in_thread(thread.join)
            loop.close()

    async def _in_thread(self, work: Coroutine[Any, Any, T]) -> T:
        if self._loop is None:
            self._loop = make_loop()
            self._thread = Thread(target=self._loop.run_forever, name="store-postgres", daemon=True)
            self._thread.start()
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))

    async def _open(self) -> str | None:
        self._engine = make_engine(self._url)
        starting = make_engine(self._url, command_timeout_s=MIGRATION_TIMEOUT_S, synchronous_commit="")
        migrating = False
        try:
            async with starting.connect() as connection:
                await _look_at_server(connection)
                migrating = True
                found = await connection.run_sync(schema.ensure, _tell_wait)
                migrating = False
            self._connection = await self._engine.connect()  # whoever looks for a gateway here finds it
        except _errors() as error:  # also a wrong password, or no such database
            if is_outage(error):  # also where two waited for each other: this one was undone, and is tried again
                raise ServerAway(self._said_of(error)) from error
            if migrating and not is_forbidden(error):
                raise
            raise StoreUnavailable(self._said_of(error)) from error
        finally:
            await starting.dispose()
        return found

    async def _open_for_reading(self) -> None:
        self._engine = make_engine(self._url)
        try:
            await self._read(schema.check)
        except _errors() as error:
            raise StoreUnavailable(self._said_of(error)) from error

    def _said_of(self, error: Exception) -> str:
        return f"{unavailable(error)} ({public_url(self._url)})"

    async def _commit(self, jobs: Sequence[Job[Any]]) -> list[Outcome]:
        assert self._engine is not None, "open first"
        try:
            if self._connection is None:
                self._connection = await self._engine.connect()
        except _errors() as error:
            return [(None, unavailable(error)) for _ in jobs]
        outcomes = await self._connection.run_sync(partial(commit_group, jobs=jobs, is_outage=is_outage))
        if isinstance(outcomes[-1][1], StoreUnavailable):
            await self._drop()
        return outcomes

    async def _read(self, query: Callable[[Connection], T]) -> T:
        for left in reversed(range(READERS + 1)):
            connected: list[AsyncConnection] = []
            try:
                return await self._read_once(query, connected)
            except _errors() as error:
                if _refused_write(error) or not (is_outage(error) or isinstance(error, sa.exc.TimeoutError)):
                    raise
                if not left or not connected:
                    raise unavailable(error) from error
        raise AssertionError("the last attempt returns or raises")

    async def _close(self) -> None:
        reading = asyncio.all_tasks() - {asyncio.current_task()}  # of somebody who does not wait any more
        if reading:
            _, late = await asyncio.wait(reading, timeout=CLOSE_S)
            for task in late:
                task.cancel()
            if late:
                await asyncio.wait(late)
        await self._drop()
        if self._engine is not None:
            await self._engine.dispose()

    async def _read_once(self, query: Callable[[Connection], T], connected: "list[AsyncConnection]") -> T:
        assert self._engine is not None, "open first"
        readers = self._engine.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
        async with readers.begin() as connection:
            connected.append(connection)
            try:
                return await connection.run_sync(query)
            except _errors() as error:
                if is_outage(error):
                    await connection.invalidate()  # or the next reader had it
                raise

    async def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.invalidate()
            await connection.close()


NOTICES = "tenk"
"""The channel of LISTEN and NOTIFY; the triggers of the schema name it, too."""


def _tell_wait() -> None:
    log.warning("schema_awaited", why="another process makes or migrates the tables of this database")


async def _look_at_server(connection: "AsyncConnection") -> None:
    """Refuse what cannot be written; say what is risky, as the server has it. From then on commits wait for its disk,
    and a migration may think for a while between two statements.

    Raises:
        GatewayError: it takes no writes.
    """
    await connection.run_sync(refuse_unfit)
    for name in await connection.run_sync(risks_of):
        log.warning("server_risks_writes", setting=name, value="off", mend=RISKS[name])
    await connection.execute(sa.text("SET synchronous_commit = on"))
    await connection.execute(sa.text(f"SET idle_in_transaction_session_timeout = {MIGRATION_IDLE_MS}"))
    await connection.commit()


class PostgresLink:
    """One connection beside those of the store, for leases and notices, so that commits do not hold it up.

    Its commits may not be on a disk yet when they return: a caller that relies on one commits behind it, in the same
    log.
    """

    def __init__(self, url: str, hear: Callable[[str], None], on_connected: Callable[[], None]) -> None:
        """`hear` is given every notice; `on_connected` is called when some may have been missed."""
        self._engine = make_engine(url, connections=1, synchronous_commit="off")
        self._hear = hear
        self._on_connected = on_connected
        self._connection: AsyncConnection | None = None
        self._turn = asyncio.Lock()
        self._closed = False

    async def transact(self, job: Job[T], within_s: float) -> T:
        """Commit a job and return its result; reconnect if the connection was lost.

        Raises:
            StoreUnavailable: it may hold, or not.
        """
        return await self._use(lambda connection: connection.run_sync(partial(_transact, job=job)), within_s)

    async def _use(self, does: "Callable[[AsyncConnection], Awaitable[T]]", within_s: float) -> T:
        async with self._turn:
            if self._closed:
                raise StoreUnavailable("the link to the others is closed")
            try:
                async with asyncio.timeout(within_s):
                    if self._connection is None:
                        await self._connect()
                    assert self._connection is not None, "connected above"
                    return await does(self._connection)
            except _errors() as error:  # among them TimeoutError, an OSError
                await self._drop()
                raise unavailable(error) from error
            except BaseException:
                await self._drop()
                raise

    async def notify(self, words: str, within_s: float) -> None:
        """Notify every listening process, in one statement that is its own transaction.

        Raises:
            StoreUnavailable: perhaps no process heard.
        """
        await self._use(
            partial(_ask_driver, ask=lambda driver: driver.execute("SELECT pg_notify($1, $2)", NOTICES, words)),
            within_s,
        )

    async def aclose(self) -> None:
        """Hear nothing more; what is under way ends first."""
        async with self._turn:
            self._closed = True
            await self._drop()
            await self._engine.dispose()

    async def _connect(self) -> None:
        connection = await self._engine.connect()
        self._connection = connection

        def hear(_driver: object, _process: int, _channel: str, words: str) -> None:
            self._hear(words)

        await _ask_driver(connection, lambda driver: driver.add_listener(NOTICES, hear))
        self._on_connected()

    async def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.invalidate()
            await connection.close()


async def _ask_driver(connection: "AsyncConnection", ask: Callable[[Any], Awaitable[object]]) -> None:
    """Ask the driver itself; its errors are asyncpg's own."""
    await ask((await connection.get_raw_connection()).driver_connection)


def _transact(connection: Connection, job: Job[T]) -> T:
    with connection.begin():
        return job(connection)


def make_engine(
    url: str,
    *,
    command_timeout_s: float = STATEMENT_TIMEOUT_S,
    connections: int = READERS + 1,
    synchronous_commit: str = "on",
) -> "AsyncEngine":
    """Return an engine whose connections carry our name; the writer keeps one. Commits reach the disk unless the server
    says otherwise.
    """
    from sqlalchemy.ext.asyncio import create_async_engine  # noqa: PLC0415  78 ms, for those who open a store only

    address, behind = server_of(url)
    engine = create_async_engine(
        address,
        pool_size=connections,
        max_overflow=0,
        pool_timeout=READER_WAIT_S,
        connect_args={
            **behind,
            "async_creator_fn": _connect_whole,
            "timeout": CONNECT_TIMEOUT_S,
            "command_timeout": command_timeout_s,
            "server_settings": {
                "application_name": "tenk",
                "jit": "off",
                **({"synchronous_commit": synchronous_commit} if synchronous_commit else {}),
                # One that was paused within a commit, or cut off, keeps its locks no longer than this.
                "idle_in_transaction_session_timeout": PAUSED_MS,
                "tcp_keepalives_idle": "5",
                "tcp_keepalives_interval": "2",
                "tcp_keepalives_count": "3",
            },
        },
    )
    mark_errors(engine.sync_engine)
    prepare_on(engine.sync_engine)
    return engine


async def _connect_whole(**given: Any) -> Any:
    """Finish connecting even if the caller is cancelled: asyncpg would leave an error unreported."""
    import asyncpg  # noqa: PLC0415  as above

    making = asyncio.ensure_future(asyncpg.connect(**given))  # noqa: TID251  it has an end of its own, by its timeout
    try:
        return await asyncio.shield(making)
    except asyncio.CancelledError:
        making.add_done_callback(_let_go)
        raise


def _let_go(making: "asyncio.Future[Any]") -> None:
    if not making.cancelled() and making.exception() is None:
        making.result().terminate()
