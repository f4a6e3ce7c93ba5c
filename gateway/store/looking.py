"""Reads of an SQLite file beside its writer. No writer is loaded here: `tenk` has to list quickly."""

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Protocol, TypeVar
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy import Connection, event
from sqlalchemy.dialects import registry
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.pool import ConnectionPoolEntry, QueuePool

from gateway.errors import StoreUnavailable
from gateway.store.addresses import ESCAPES
from gateway.store.prepared import prepare_on

T = TypeVar("T")

READERS = 4
BUSY_TIMEOUT_MS = 5_000

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


NOT_OURS = "this user may not write the database, or files beside it; run as whose it is"


def is_outage(error: Exception) -> bool:
    """Return True if the file failed, rather than the job."""
    return isinstance(error, OSError) or code_of(error) in OUTAGES


def is_denied(error: Exception) -> bool:
    """Return True if this user may not write the file or beside it, which a reader needs, too."""
    return code_of(error) == sqlite3.SQLITE_READONLY


def code_of(error: Exception) -> int:
    """Return the primary result code; 0 if there is none."""
    return int(getattr(getattr(error, "orig", error), "sqlite_errorcode", 0)) & 0xFF


def unavailable(error: Exception) -> StoreUnavailable:
    """Return the outage in one line, without SQL or values, with the driver's error as its cause."""
    told = StoreUnavailable(f"the store did not answer: {why_not(error)}")
    told.__cause__ = error
    return told


MENDS = {
    "28": f"mend the user or the password in DATABASE_URL; {ESCAPES}",
    "3D": "make it (docs/several-machines.md), or mend its name in DATABASE_URL",
    "42501": "the gateway's role has to own the database and what is in it (ALTER DATABASE ... OWNER TO ...)",
    "42704": "take what the server does not know out of DATABASE_URL",
    "53300": "let it have more connections (max_connections), or end others",
}
"""Advice for each SQLSTATE of a server."""


def why_not(error: Exception) -> str:
    """Return the driver's words, and advice if the error is known."""
    if is_denied(error):
        return NOT_OURS
    origin = getattr(error, "orig", None) or error
    code = str(getattr(origin, "sqlstate", ""))
    mend = next((f"; {words}" for start, words in MENDS.items() if code.startswith(start)), "")
    words = str(origin) or f"no answer in time ({type(origin).__name__})"
    return f"{words}{mend}"


class Reader(Protocol):
    """A store, an engine that was opened for reading, or a file that is looked at."""

    async def read(self, query: Callable[[Connection], T]) -> T:
        """One consistent look at what is committed."""
        ...


def engine_to_look_at(path: Path) -> sa.Engine:
    """Return an engine that cannot write, and does not even move the log into the file.

    Raises:
        StoreUnavailable: there is no such file.
    """
    if not path.exists():
        raise StoreUnavailable(f"there is no database {path} yet: no gateway has run on this home")
    return reading_engine(path, read_only=True)


class EqualDialect(SQLiteDialect_pysqlite):
    """Equal to every other of its kind, so that a statement is compiled once a process, on whichever connection."""

    supports_statement_cache = True

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self)

    def __hash__(self) -> int:
        return hash(type(self))


registry.register("sqlite.equal", __name__, EqualDialect.__name__)


def reading_engine(path: Path, *, read_only: bool = False) -> sa.Engine:
    """Return an engine for reads, each transaction one consistent view."""
    url = sa.URL.create("sqlite+equal", database=str(path))
    if read_only:
        url = sa.URL.create("sqlite+equal", database=f"file:{quote(str(path))}", query={"mode": "ro", "uri": "true"})
    readers = sa.create_engine(url, poolclass=QueuePool, pool_size=READERS, max_overflow=0)
    event.listen(readers, "connect", _set_up_reader)
    event.listen(readers, "begin", _begin)
    prepare_on(readers)
    return readers


def _set_up_reader(connection: DBAPIConnection, _: ConnectionPoolEntry) -> None:
    connection.isolation_level = None
    run_all(
        connection,
        f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}",
        "PRAGMA query_only = ON",
        "PRAGMA wal_autocheckpoint = 0",  # two connections that checkpoint can corrupt a WAL before 3.51.3
    )


def run_all(connection: DBAPIConnection | None, *statements: str) -> list[tuple[object, ...]]:
    """Run statements as they stand; the last one's rows. Each is read to its end, where its error is."""
    assert connection is not None, "a connection that was invalidated"
    cursor = connection.cursor()
    rows: list[tuple[object, ...]] = []
    for statement in statements:
        cursor.execute(statement)
        rows = list(cursor.fetchall())
    cursor.close()
    return rows


def _begin(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN")
