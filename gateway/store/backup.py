"""Whole copies of an SQLite database, made beside a running gateway, checked, never over an existing file.

`cp` of the file alone would silently leave out what still stands in its log. PostgreSQL has tools of its own.
"""

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import structlog

from channels.clocks import wall_now
from gateway.errors import GatewayError
from gateway.safety.private_files import BESIDE_DATABASE, check_database
from gateway.store.revisions import HEAD, refusal

BUSY_S = 10.0
BEFORE = "before-"
"""The beginning of the name of a backup that a migration made."""

log = structlog.get_logger()


def back_up(database: Path, destination: Path) -> int:
    """Copy the database as of one moment; return the copy's size in bytes. Writers are not held up.

    Raises:
        GatewayError: there is nothing to copy, the destination is there, or the copy is not whole; nothing was left.
    """
    if not database.exists():
        raise GatewayError(f"there is no database at {database}")
    check_database(database)
    _put(database, destination, f"{destination} is there already; name a file that is not")
    return destination.stat().st_size


def back_up_older(database: Path) -> Path:
    """Copy a database that is about to be migrated to a file beside it: there is no other way back. The copy.

    Raises:
        GatewayError: as `back_up`; it is not to be migrated then.
    """
    copy = database.with_name(f"{BEFORE}{HEAD}-{wall_now():%Y%m%dT%H%M%S}.db")
    try:
        size = back_up(database, copy)
    except GatewayError as error:
        raise GatewayError(f"{error}; a database is not migrated without a backup beside it") from error
    log.warning("database_migrates", to=HEAD, backup=str(copy), bytes=size)
    return copy


def copies_of_older(database: Path) -> list[Path]:
    """Return the backups that migrations made, the newest last."""
    return sorted(database.parent.glob(f"{BEFORE}*.db"), key=lambda copy: copy.stat().st_mtime_ns)


def restore(source: Path, database: Path) -> None:
    """Put a backup where no database is. The caller holds the home's lock.

    Raises:
        GatewayError: the backup is not whole or too new, or there is a database; nothing was changed.
    """
    beside = [database.with_name(database.name + end) for end in BESIDE_DATABASE]
    for path in (database, *beside):
        if path.exists() and path.stat().st_size > 0 and not path.name.endswith("-shm"):
            raise GatewayError(f"there is a database already: move {database} and all that begins like it away first")
    if not source.is_file():
        raise GatewayError(f"there is no backup at {source}")
    for left_over in (database, *beside):
        left_over.unlink(missing_ok=True)
    _put(source, database, f"there is a database already at {database}")


def vacuum(database: Path) -> tuple[int, int]:
    """Write the file anew without its free pages, so that from now on it gives them back by itself.

    The result is its bytes before and after. The caller holds the home's lock.

    Raises:
        GatewayError: there is no database, or no room for a second copy of it.
    """
    if not database.exists():
        raise GatewayError(f"there is no database at {database}")
    check_database(database)
    before = database.stat().st_size
    with _errors(database), closing(sqlite3.connect(database, timeout=BUSY_S, isolation_level=None)) as connection:
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        connection.execute("VACUUM")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return before, database.stat().st_size


def _put(source: Path, destination: Path, taken: str) -> None:
    """Put a copy at a name where nothing is, looked over before it has that name."""

    def write(draft: Path) -> None:
        with _errors(source):
            _copy(source, draft)

    write_new(destination, write, taken)


def write_new(destination: Path, write: Callable[[Path], None], taken: str) -> None:
    """Write a file of mode 0600 under another name, then give it its own; if anything fails, leave nothing.

    Raises:
        GatewayError: the words of `taken` if there is such a file; or it cannot be written.
    """
    if os.path.lexists(destination):
        raise GatewayError(taken)
    draft = destination.with_name(f".{destination.name}.{os.getpid()}")
    try:
        os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW, 0o600))
    except OSError as error:
        raise GatewayError(f"{destination} cannot be written: {error.strerror}") from error
    try:
        write(draft)
        _sync(draft)
        os.link(draft, destination)
    except FileExistsError:
        raise GatewayError(taken) from None
    except OSError as error:
        raise GatewayError(f"{destination} cannot be written: {error.strerror}") from error
    finally:
        draft.unlink(missing_ok=True)
    _sync(destination.parent)


def _copy(source: Path, draft: Path) -> None:
    """Copy the database in one step, because SQLite restarts a stepwise backup at each write; open it read-only."""
    url = f"{source.absolute().as_uri()}?mode=ro"
    with (
        closing(sqlite3.connect(url, uri=True, timeout=BUSY_S)) as reading,
        closing(sqlite3.connect(draft, isolation_level=None)) as copy,
    ):
        reading.backup(copy)
        copy.execute("PRAGMA journal_mode = DELETE")  # one file, nothing beside it
        found = [row[0] for row in copy.execute("PRAGMA integrity_check")]
        if found != ["ok"]:
            raise GatewayError(f"{source} is damaged or cut short ({found[0]}); take another backup")
        (version,) = copy.execute("SELECT version_num FROM alembic_version").fetchone() or ("none",)
        if why := refusal(version):
            raise GatewayError(f"{source} is of another version: {why}")


@contextmanager
def _errors(path: Path) -> Iterator[None]:
    """Return what SQLite reports as broken, in an operator's words."""
    try:
        yield
    except sqlite3.Error as error:
        raise GatewayError(f"{path} cannot be used as a database of the gateway: {_in_words(error)}") from error


def _in_words(error: sqlite3.Error) -> str:
    if "no such table" in str(error):
        return "it is whole, but another program's"
    if error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_IOERR):
        return f"it is damaged or cut short ({error}); take another backup"
    return str(error)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
