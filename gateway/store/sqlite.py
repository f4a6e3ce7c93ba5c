"""SQLite: WAL with full sync, one thread that owns the only writing connection, threads that read beside it."""

import asyncio
import os
import sqlite3
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from time import monotonic, sleep
from typing import Any, Literal, TypeVar
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy import Connection, event
from sqlalchemy.dialects import registry
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.pool import ConnectionPoolEntry, NullPool, QueuePool

from gateway.errors import StoreUnavailable
from gateway.safety.private_files import check_database
from gateway.store import schema
from gateway.store.writer import Job, Outcome, commit_group, mark_errors, unavailable

T = TypeVar("T")

READERS = 4
BUSY_TIMEOUT_MS = 5_000
BUSY_PAUSE_S = 0.01
CHECKPOINT_MS = 100
READER_WAIT_S = 10
WAL_KEPT_BYTES = 64 * 1024 * 1024

OUTAGES = frozenset(
    {
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_NOMEM,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_INTERRUPT,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_CORRUPT,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_PROTOCOL,
        sqlite3.SQLITE_NOTADB,
    }
)
"""Primary result codes that speak of the disk or the file, not of the statement (sqlite.org/rescode.html)."""


def is_outage(error: Exception) -> bool:
    """Whether the file failed, rather than the job."""
    return isinstance(error, OSError) or _code(error) in OUTAGES


def _code(error: Exception) -> int:
    """The primary result code; 0 where there is none."""
    return int(getattr(getattr(error, "orig", error), "sqlite_errorcode", 0)) & 0xFF


class EqualDialect(SQLiteDialect_pysqlite):
    """Equal to every other of its kind, so that a statement is compiled once a process, on whichever connection."""

    supports_statement_cache = True

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self)

    def __hash__(self) -> int:
        return hash(type(self))


registry.register("sqlite.equal", __name__, EqualDialect.__name__)


class SqliteEngine:
    """A database file of mode 0600, written by one thread.

    `synchronous` is FULL in the product; the power-loss test shows that it catches OFF and NORMAL.
    """

    dialect: Literal["sqlite", "postgresql"] = "sqlite"

    def __init__(self, path: Path, *, synchronous: str = "FULL", busy_timeout_ms: int = BUSY_TIMEOUT_MS) -> None:
        self._path = path
        self._busy_timeout_ms = busy_timeout_ms
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="store-writer")
        self._engine = writing_engine(path, synchronous, busy_timeout_ms)
        self._connection: Connection | None = None  # touched by the writer's thread only
        self._readers = _reading_engine(path)
        self._reading = ThreadPoolExecutor(READERS, thread_name_prefix="store-reader")
        self._free_readers = asyncio.Semaphore(READERS)

    async def open(self) -> str | None:
        """Create the file where it is missing and migrate it; the revision found."""
        return await self._in_thread(self._open)

    async def open_for_reading(self) -> None:
        """As the port says: by a connection that cannot write, not even what stands in the log into the file."""
        if not self._path.exists():
            raise StoreUnavailable(f"there is no database {self._path} yet: no gateway has run on this home")
        self._readers = _reading_engine(self._path, read_only=True)
        await self.read(schema.check)

    async def commit(self, jobs: Sequence[Job[Any]]) -> list[Outcome]:
        """One group: one hop to the writer's thread, one fsync."""
        return await self._in_thread(partial(self._commit, jobs))

    async def read(self, query: Callable[[Connection], T]) -> T:
        """One read transaction; it neither waits for the writer nor holds it up, and runs to its end if cancelled."""
        try:
            async with asyncio.timeout(READER_WAIT_S):
                await self._free_readers.acquire()
        except TimeoutError as error:
            raise StoreUnavailable(f"no reader was free for {READER_WAIT_S} s") from error
        try:
            return await asyncio.get_running_loop().run_in_executor(self._reading, partial(self._read, query))
        finally:
            self._free_readers.release()

    async def checkpoint(self) -> bool:
        """Truncate the log; False while a reader holds it open."""
        return await self._in_thread(self._checkpoint)

    def _checkpoint(self) -> bool:
        if self._connection is None:
            return False
        try:
            connection = self._connection.connection.dbapi_connection
            _run(connection, f"PRAGMA busy_timeout = {CHECKPOINT_MS}")  # who writes is not to wait for who reads
            (found,) = _run(connection, "PRAGMA wal_checkpoint(TRUNCATE)")
            _run(connection, f"PRAGMA busy_timeout = {self._busy_timeout_ms}")
        except sqlite3.Error:
            return False
        return found[0] == 0

    async def aclose(self) -> None:
        """Readers first: the last connection to close checkpoints, and only the writer may."""
        await self._in_thread(self._reading.shutdown)
        self._readers.dispose()
        await self._in_thread(self._drop)
        self._thread.shutdown(wait=False)

    async def _in_thread(self, call: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, call)

    def _open(self) -> str | None:
        try:
            make_file(self._path)
            with self._engine.connect() as connection:
                _run(connection.connection.dbapi_connection, "PRAGMA foreign_keys = OFF")  # a migration rebuilds tables
                found = schema.ensure(connection)
            self._connection = self._engine.connect()
        except (OSError, sa.exc.DBAPIError) as error:
            if is_outage(error):
                raise unavailable(error) from error
            raise
        return found

    def _read(self, query: Callable[[Connection], T]) -> T:
        try:
            with self._readers.begin() as connection:
                try:
                    return query(connection)
                except BaseException:
                    connection.invalidate()  # a result that was not read to its end would hold on to what it saw
                    raise
        except sa.exc.DBAPIError as error:
            if is_outage(error) and _code(error) != sqlite3.SQLITE_READONLY:  # a write in a read is its author's error
                raise unavailable(error) from error
            raise

    def _commit(self, jobs: Sequence[Job[Any]]) -> list[Outcome]:
        try:
            if self._connection is None:
                self._connection = self._engine.connect()
        except (OSError, sa.exc.DBAPIError) as error:
            return [(None, unavailable(error)) for _ in jobs]
        outcomes = commit_group(self._connection, jobs, is_outage)
        if isinstance(outcomes[-1][1], StoreUnavailable):
            self._drop()  # what a failed COMMIT left behind is unknown: only a new connection knows
        return outcomes

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.invalidate()
            connection.close()


def writing_engine(path: Path, synchronous: str = "FULL", busy_timeout_ms: int = BUSY_TIMEOUT_MS) -> sa.Engine:
    """Connections that write: each holds the file for as long as a transaction of it lasts."""
    engine = sa.create_engine(sa.URL.create("sqlite+equal", database=str(path)), poolclass=NullPool)
    event.listen(engine, "connect", partial(_set_up_writer, synchronous, busy_timeout_ms))
    event.listen(engine, "begin", _begin_immediate)
    mark_errors(engine)
    return engine


def make_file(path: Path) -> None:
    """An empty file of mode 0600, where there is none; where there is one, it is nobody else's.

    Raises:
        LaxFile: others could write it.
    """
    _make_directory(path.parent)
    check_database(path)
    if not path.exists():  # to close a file drops every lock this process has on it
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))  # its -wal and -shm take the same mode


def _make_directory(directory: Path) -> None:
    """Make what is missing of it, each directory its owner's only and on the disk before anything is put in it."""
    if directory.exists():
        return
    _make_directory(directory.parent)
    directory.mkdir(mode=0o700, exist_ok=True)
    parent = os.open(directory.parent, os.O_RDONLY)
    try:
        os.fsync(parent)
    finally:
        os.close(parent)


def _reading_engine(path: Path, *, read_only: bool = False) -> sa.Engine:
    url = sa.URL.create("sqlite+equal", database=str(path))
    if read_only:
        url = sa.URL.create("sqlite+equal", database=f"file:{quote(str(path))}", query={"mode": "ro", "uri": "true"})
    readers = sa.create_engine(url, poolclass=QueuePool, pool_size=READERS, max_overflow=0)
    event.listen(readers, "connect", _set_up_reader)
    event.listen(readers, "begin", _begin)
    return readers


def _set_up_writer(synchronous: str, busy_ms: int, connection: DBAPIConnection, _: ConnectionPoolEntry) -> None:
    connection.isolation_level = None  # transactions are begun by us alone
    _run(connection, f"PRAGMA busy_timeout = {busy_ms}", "PRAGMA auto_vacuum = INCREMENTAL")  # of a new file only
    if _begin_wal(connection, monotonic() + busy_ms / 1000) != [("wal",)]:
        raise OSError("the file system cannot keep a write-ahead log; the store needs a local disk")
    _run(
        connection,
        f"PRAGMA synchronous = {synchronous}",
        "PRAGMA foreign_keys = ON",
        "PRAGMA secure_delete = ON",  # what is deleted is overwritten, or a person could not be forgotten
        f"PRAGMA journal_size_limit = {WAL_KEPT_BYTES}",
    )


def _begin_wal(connection: DBAPIConnection, until_s: float) -> list[tuple[object, ...]]:
    """Keep a write-ahead log; where two begin a new file at once, SQLite refuses one without waiting for the other."""
    while True:
        try:
            return _run(connection, "PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or monotonic() >= until_s:
                raise
        sleep(BUSY_PAUSE_S)


def _set_up_reader(connection: DBAPIConnection, _: ConnectionPoolEntry) -> None:
    connection.isolation_level = None
    _run(
        connection,
        f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}",
        "PRAGMA query_only = ON",
        "PRAGMA wal_autocheckpoint = 0",  # two connections that checkpoint can corrupt a WAL before 3.51.3
    )


def _run(connection: DBAPIConnection | None, *statements: str) -> list[tuple[object, ...]]:
    """The last one's rows; each statement is read to its end, where its error is."""
    assert connection is not None, "a connection that was invalidated"
    cursor = connection.cursor()
    rows: list[tuple[object, ...]] = []
    for statement in statements:
        cursor.execute(statement)
        rows = list(cursor.fetchall())
    cursor.close()
    return rows


def _begin_immediate(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE")


def _begin(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN")
