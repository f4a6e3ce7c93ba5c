"""The world of the failing-disk test: a disk that refuses one operation, or every one until it is repaired.

As a program (`python -m tests.torture.failing_disk DIRECTORY FAULT PHASE LASTING N...`) it lets the N-th disk operation
of a real Store fail and prints one JSON object a line for each N.
"""

import asyncio
import json
import sqlite3
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import sqlalchemy as sa

from gateway.errors import StoreUnavailable
from gateway.store.dialect import insert_new
from gateway.store.engine import Store, upgrade
from gateway.store.sqlite import SqliteEngine
from gateway.store.tables.traffic import channel_accounts
from gateway.store.writer import Job
from tests.torture.sqlite_disk import Disk, install

FAULTS = {
    "io_error": {
        "write": sqlite3.SQLITE_IOERR_WRITE,
        "truncate": sqlite3.SQLITE_IOERR_TRUNCATE,
        "sync": sqlite3.SQLITE_IOERR_FSYNC,
    },
    "unreadable": {"read": sqlite3.SQLITE_IOERR_READ},
    "full": {"write": sqlite3.SQLITE_FULL},
    "read_only": {"write": sqlite3.SQLITE_READONLY, "truncate": sqlite3.SQLITE_READONLY},
    "locked": {"lock": sqlite3.SQLITE_BUSY},
}
"""Result of each refused operation; an operation that is not named goes through."""

ROWS = 30
ENOUGH_TOLD = 4
"""Callers who heard of a lasting fault before the disk is repaired: each attempt comes after a longer pause."""

CHECKPOINT_PAGES = 12
"""So few that the operations that fail are a checkpoint's, too."""


class FailingDisk(Disk):
    """A disk that refuses the armed operation, and, if the fault lasts, the following ones until it is repaired."""

    def __init__(self, codes: dict[str, int]) -> None:
        self._codes = codes
        self._left = 0
        self._lasting = False
        self.refused = 0

    def arm(self, n: int, *, lasting: bool) -> None:
        """Let the n-th operation from now on fail."""
        self._left, self._lasting, self.refused = n, lasting, 0

    def repair(self) -> None:
        self._left = 0

    def refuses(self, operation: str, name: str) -> int:
        if self._left == 0 or operation not in self._codes:
            return sqlite3.SQLITE_OK
        if self._left > 1:
            self._left -= 1
            return sqlite3.SQLITE_OK
        self.refused += 1
        if not self._lasting:
            self._left = 0
        return self._codes[operation]


@dataclass(frozen=True, slots=True)
class Report:
    """The result of one failed operation."""

    n: int
    refused: int  # operations the disk refused
    told: int  # callers who heard StoreUnavailable
    acknowledged: int
    lost: int  # acknowledged and not in the file
    integrity: str
    recovery_s: float  # from the repair to the next acknowledged write
    healthy: bool  # after that


async def opened(path: Path) -> Store:
    """Return a store that does not wait long for a lock."""
    return await Store(SqliteEngine(path, busy_timeout_ms=20)).start()


def admit(key: str) -> Job[None]:
    """Return a job that may be repeated: one row a key, however often it runs."""

    def job(connection: sa.Connection) -> None:
        row = {"tenant_id": "t", "channel": "telegram", "account": key, "cursor": "x" * 400}
        connection.execute(insert_new(connection, channel_accounts), row)

    return job


def checkpoint_often(connection: sa.Connection) -> None:
    """Make every commit a checkpoint until the connection is reopened."""
    connection.exec_driver_sql(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}")


async def fail(disk: FailingDisk, path: Path, n: int, *, lasting: bool) -> Report:
    """Write rows while the n-th operation fails, repair the disk, and look."""
    await upgrade(f"sqlite:///{path}")  # and checkpoint: the operations counted below are those of our rows
    store = await opened(path)
    await store.commit(checkpoint_often)
    disk.arm(n, lasting=lasting)
    acknowledged, told = [], 0
    for row in range(ROWS):
        try:
            await store.try_commit(admit(str(row)))
        except StoreUnavailable:
            told += 1
            if told == ENOUGH_TOLD:
                break
        else:
            acknowledged.append(str(row))
    disk.repair()
    began = time.monotonic()
    await store.commit(admit("after the repair"))
    recovery_s, healthy = time.monotonic() - began, store.healthy
    await store.aclose()
    kept, integrity = look(path)
    lost = len({*acknowledged, "after the repair"} - kept)
    return Report(n, disk.refused, told, len(acknowledged), lost, integrity, recovery_s, healthy)


async def fail_creation(disk: FailingDisk, path: Path, n: int, *, lasting: bool) -> Report:
    """Let the n-th operation of a database's creation fail, repair the disk, and open it again."""
    disk.arm(n, lasting=lasting)
    told = 0
    try:
        store = await opened(path)
    except StoreUnavailable:
        told = 1
    else:
        await store.aclose()
    disk.repair()
    began = time.monotonic()
    store = await opened(path)
    await store.commit(admit("after the repair"))
    recovery_s, healthy = time.monotonic() - began, store.healthy
    await store.aclose()
    kept, integrity = look(path)
    return Report(n, disk.refused, told, 0, len({"after the repair"} - kept), integrity, recovery_s, healthy)


def look(path: Path) -> tuple[set[str], str]:
    """Return the rows and the integrity check, as a plain SQLite sees them."""
    connection = sqlite3.connect(path)
    kept = {account for (account,) in connection.execute("SELECT account FROM channel_accounts")}
    integrity = connection.execute("PRAGMA integrity_check").fetchone()[0]
    connection.close()
    return kept, integrity


async def main(directory: Path, fault: str, phase: str, lasting: bool, numbers: list[int]) -> None:
    """Run each N on a database of its own."""
    disk = FailingDisk(FAULTS[fault])
    install(disk)
    attempt = fail_creation if phase == "creation" else fail
    for n in numbers:
        report = await attempt(disk, directory / f"{n}.db", n, lasting=lasting)
        sys.stdout.write(json.dumps(asdict(report)) + "\n")


if __name__ == "__main__":
    asyncio.run(
        main(Path(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4] == "lasting", [int(n) for n in sys.argv[5:]])
    )
