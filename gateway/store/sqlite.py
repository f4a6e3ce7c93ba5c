"""SQLite: WAL with full sync, one thread that owns the only writing connection, threads that read beside it."""

import asyncio
import os
import sqlite3
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from time import monotonic, sleep
from typing import Any, Literal, TypeVar

import sqlalchemy as sa
from sqlalchemy import Connection, event
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.pool import ConnectionPoolEntry, NullPool

from gateway.errors import StoreUnavailable
from gateway.safety.private_files import check_database
from gateway.store import schema
from gateway.store.backup import back_up_older
from gateway.store.looking import (
    BUSY_TIMEOUT_MS,
    READERS,
    code_of,
    engine_to_look_at,
    is_outage,
    reading_engine,
    run_all,
    unavailable,
)
from gateway.store.prepared import prepare_on
from gateway.store.writer import Job, Outcome, commit_group, mark_errors

T = TypeVar("T")

BUSY_PAUSE_S = 0.01
CHECKPOINT_MS = 100
READER_WAIT_S = 10
STANDS_ASIDE_S = 0.005
"""Longest wait of the event loop for the statements of a group; a disk that hangs blocks the loop no longer."""

KEPT_STATEMENTS = 256
"""The number of statements that the driver keeps ready."""

WAL_KEPT_BYTES = 64 * 1024 * 1024


class SqliteEngine:
    """A database file of mode 0600, written by one thread.

    `synchronous` is FULL in the product; the power-loss test shows that it catches OFF and NORMAL.
    """

    dialect: Literal["sqlite", "postgresql"] = "sqlite"

    def __init__(
        self,
        path: Path,
        *,
        synchronous: str = "FULL",
        busy_timeout_ms: int = BUSY_TIMEOUT_MS,
        stands_aside_s: float = STANDS_ASIDE_S,
    ) -> None:
        """`stands_aside_s` is how long the loop waits at most while a group's statements run."""
        self._path = path
        self._stands_aside_s = stands_aside_s
        self._have_run = threading.Event()  # the statements of the group: what is left of it is its commit
        self._busy_timeout_ms = busy_timeout_ms
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="store-writer")
        self._engine = writing_engine(path, synchronous, busy_timeout_ms)
        event.listen(self._engine, "commit", lambda _connection: self._have_run.set())
        self._connection: Connection | None = None  # touched by the writer's thread only
        self._is_lost = False  # the file was not there when it was looked at last
        self._file: tuple[int, int] | None = None  # device and inode of the file that was opened
        self._log: tuple[int, int] | None = None  # of the write-ahead log that the connection writes; None: not yet
        self._readers = reading_engine(path)
        self._reading = ThreadPoolExecutor(READERS, thread_name_prefix="store-reader")
        self._free_readers = asyncio.Semaphore(READERS)
        self._is_closed = False

    async def open(self) -> str | None:
        """Create the file where it is missing; migrate it, behind a backup beside it; the revision found."""
        return await self._in_thread(self._open)

    async def open_for_reading(self) -> None:
        self._readers = engine_to_look_at(self._path)
        try:
            await self.read(schema.check)
        except sa.exc.DBAPIError as error:
            if is_outage(error):
                raise unavailable(error) from error
            raise

    async def commit(self, jobs: Sequence[Job[Any]]) -> list[Outcome]:
        """One group: one hop to the writer's thread, one fsync.

        The loop stands aside while the statements run, not for the commit: both threads need the one interpreter, and
        at each statement the writer would wait until the loop lets go of it.
        """
        self._have_run.clear()
        committing = asyncio.get_running_loop().run_in_executor(self._thread, self._run, jobs)
        self._have_run.wait(self._stands_aside_s)
        return await committing

    async def read(self, query: Callable[[Connection], T]) -> T:
        """One read transaction; it neither waits for the writer nor holds it up, and runs to its end if cancelled."""
        try:
            async with asyncio.timeout(READER_WAIT_S):
                await self._free_readers.acquire()
        except TimeoutError as error:
            raise StoreUnavailable(f"no reader was free for {READER_WAIT_S} s") from error
        try:
            if self._is_closed:  # a request that came while the gateway stops
                raise StoreUnavailable("the store is closed")
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
            run_all(connection, f"PRAGMA busy_timeout = {CHECKPOINT_MS}")  # who writes is not to wait for who reads
            (found,) = run_all(connection, "PRAGMA wal_checkpoint(TRUNCATE)")
            run_all(connection, f"PRAGMA busy_timeout = {self._busy_timeout_ms}")
        except sqlite3.Error:
            return False
        return found[0] == 0

    async def aclose(self) -> None:
        """Readers first: the last connection to close checkpoints, and only the writer may."""
        self._is_closed = True
        await self._in_thread(self._reading.shutdown)
        self._readers.dispose()
        await self._in_thread(self._drop)
        self._thread.shutdown(wait=False)

    async def _in_thread(self, call: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, call)

    def _open(self) -> str | None:
        try:
            make_file(self._path)
            if self._is_older():
                back_up_older(self._path)
            with self._engine.connect() as connection:
                driver = connection.connection.dbapi_connection
                run_all(driver, "PRAGMA foreign_keys = OFF", "PRAGMA temp_store = FILE")  # some rebuild large tables
                found = schema.ensure(connection)
            self._connection = self._engine.connect()
            self._file = _identity(self._path)
        except (OSError, sa.exc.DBAPIError) as error:
            if is_outage(error):
                raise unavailable(error) from error
            raise
        return found

    def _is_older(self) -> bool:
        """Look before anything is written: a database that this version refuses stays as it is to the last byte."""
        looking = engine_to_look_at(self._path)
        try:
            with looking.begin() as connection:
                return schema.is_older(connection)
        finally:
            looking.dispose()

    def _read(self, query: Callable[[Connection], T]) -> T:
        try:
            with self._readers.begin() as connection:
                try:
                    return query(connection)
                except BaseException:
                    connection.invalidate()  # a result that was not read to its end would hold on to what it saw
                    raise
        except sa.exc.DBAPIError as error:
            if is_outage(error) and code_of(error) != sqlite3.SQLITE_READONLY:  # a write in it is its author's
                raise unavailable(error) from error
            raise

    def _run(self, jobs: Sequence[Job[Any]]) -> list[Outcome]:
        try:
            return self._commit(jobs)
        finally:
            self._have_run.set()

    def _commit(self, jobs: Sequence[Job[Any]]) -> list[Outcome]:
        """Commit a group to the file that was opened; in one that was deleted or replaced nothing would be found again.

        Its connection is kept meanwhile: to close it would take away the log beside the file of that name.
        """
        try:
            if self._is_lost:
                self._check_file()
            if self._connection is None:
                self._check_file()
                self._connection = self._engine.connect()
            outcomes = commit_group(self._connection, jobs, is_outage)
            self._check_file()
        except (OSError, sa.exc.DBAPIError) as error:
            return [(None, unavailable(error)) for _ in jobs]
        if isinstance(outcomes[-1][1], StoreUnavailable):
            self._drop()  # what a failed COMMIT left behind is unknown: only a new connection knows
        return outcomes

    def _check_file(self) -> None:
        """Raise OSError if the path, or that of the log beside it, names another file than the one that was opened."""
        self._is_lost = True
        log = self._path.with_name(f"{self._path.name}-wal")
        if self._connection is not None and self._log is None:
            self._log = _identity(log)
        for path, opened in ((self._path, self._file), (log, self._log)):
            if opened is not None and _identity(path) != opened:
                raise OSError(
                    f"{path} was deleted or replaced; put that very file back, or stop the gateway, remove the files "
                    f"{self._path.name}-wal and -shm beside a {self._path.name} of another origin, and start it"
                )
        self._is_lost = False

    def _drop(self) -> None:
        connection, self._connection, self._log = self._connection, None, None
        if connection is not None:
            connection.invalidate()
            connection.close()


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def writing_engine(path: Path, synchronous: str = "FULL", busy_timeout_ms: int = BUSY_TIMEOUT_MS) -> sa.Engine:
    """Return an engine for writes: each transaction holds the file from its begin."""
    kept = {"cached_statements": KEPT_STATEMENTS}
    engine = sa.create_engine(sa.URL.create("sqlite+equal", database=str(path)), poolclass=NullPool, connect_args=kept)
    event.listen(engine, "connect", partial(_set_up_writer, synchronous, busy_timeout_ms))
    event.listen(engine, "begin", _begin_immediate)
    mark_errors(engine)
    prepare_on(engine)
    return engine


def make_file(path: Path) -> None:
    """Make an empty file of mode 0600 if there is none; an existing one must be writable by its owner alone.

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


def _set_up_writer(synchronous: str, busy_ms: int, connection: DBAPIConnection, _: ConnectionPoolEntry) -> None:
    connection.isolation_level = None  # transactions are begun by us alone
    run_all(connection, f"PRAGMA busy_timeout = {busy_ms}", "PRAGMA auto_vacuum = INCREMENTAL")  # of a new file only
    if _begin_wal(connection, monotonic() + busy_ms / 1000) != [("wal",)]:
        raise OSError("the file system cannot keep a write-ahead log; the store needs a local disk")
    run_all(
        connection,
        f"PRAGMA synchronous = {synchronous}",
        "PRAGMA foreign_keys = ON",
        "PRAGMA temp_store = MEMORY",  # or the pages that a statement of many rows changes are put into a file first
        "PRAGMA secure_delete = ON",  # what is deleted is overwritten, or a person could not be forgotten
        f"PRAGMA journal_size_limit = {WAL_KEPT_BYTES}",
    )


def _begin_wal(connection: DBAPIConnection, until_s: float) -> list[tuple[object, ...]]:
    """Keep a write-ahead log; where two begin a new file at once, SQLite refuses one without waiting for the other."""
    while True:
        try:
            return run_all(connection, "PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or monotonic() >= until_s:
                raise
        sleep(BUSY_PAUSE_S)


def _begin_immediate(connection: Connection) -> None:
    """Each group does: the driver takes 3 µs for it, SQLAlchemy's own way 30 (November 2026)."""
    driver: Any = connection.connection.dbapi_connection
    try:
        driver.execute("BEGIN IMMEDIATE")
    except sqlite3.Error as error:
        raise sa.exc.OperationalError("BEGIN IMMEDIATE", None, error) from error
