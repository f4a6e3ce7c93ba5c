"""The world of the power-loss test: a disk that keeps only what was synced, and a process that dies on it.

As a program (`python -m tests.torture.power_loss DIRECTORY SYNCHRONOUS SEED`) it writes rows through a real Store,
prints the number of each once its commit was acknowledged, and loses power in the middle of it.
"""

import asyncio
import itertools
import os
import random
import signal
import sys
from pathlib import Path

from gateway.store.engine import Store
from gateway.store.sqlite import SqliteEngine
from tests.contract.stores import note
from tests.torture.sqlite_disk import Disk, install

DATABASE = "tenk.db"
SECTOR_BYTES = 512
WRITERS = 6
"""Concurrent producers, so that groups have several jobs."""

FIRST_CUT, LAST_CUT = 1, 5000
"""Disk operations before the power goes: the first hundred create the schema, a checkpoint comes every 2,500 or so."""


class ShadowDisk(Disk):
    """A disk that keeps in `shadow` what was synced, and cuts the power at the operation the seed chooses.

    Unsynced writes are lost; with an odd seed each such write may arrive, whole or torn at a sector.
    """

    def __init__(self, shadow: Path, seed: int) -> None:
        self._shadow = shadow
        self._chance = random.Random(seed)
        self._left = self._chance.randint(FIRST_CUT, LAST_CUT)
        self._torn = seed % 2 == 1
        self._pending: dict[str, list[tuple[int, bytes | None]]] = {}

    def wrote(self, name: str, offset: int, data: bytes) -> None:
        self._pending.setdefault(name, []).append((offset, data))
        self._count()

    def truncated(self, name: str, size: int) -> None:
        self._pending.setdefault(name, []).append((size, None))
        self._count()

    def synced(self, name: str) -> None:
        self._apply(name, self._pending.pop(name, []))
        self._count()

    def deleted(self, name: str) -> None:
        self._pending.pop(name, None)
        (self._shadow / name).unlink(missing_ok=True)

    def _count(self) -> None:
        self._left -= 1
        if self._left <= 0:
            if self._torn:
                for name, changes in self._pending.items():
                    self._apply(name, [torn for change in changes if (torn := self._tear(change))])
            os.kill(os.getpid(), signal.SIGKILL)

    def _tear(self, change: tuple[int, bytes | None]) -> tuple[int, bytes | None] | None:
        offset, data = change
        if self._chance.random() < 0.5:
            return None
        if data is None:
            return change
        return offset, data[: self._chance.randint(0, len(data) // SECTOR_BYTES) * SECTOR_BYTES or len(data)]

    def _apply(self, name: str, changes: list[tuple[int, bytes | None]]) -> None:
        file = os.open(self._shadow / name, os.O_RDWR | os.O_CREAT, 0o600)
        for offset, data in changes:
            if data is None:
                os.ftruncate(file, offset)
            else:
                os.pwrite(file, data, offset)
        os.close(file)


async def write_until_the_power_goes(path: Path, synchronous: str) -> None:
    """Write rows from several tasks, each printed when its commit was acknowledged."""
    store = await Store(SqliteEngine(path, synchronous=synchronous)).start()
    numbers = itertools.count()

    async def producer() -> None:
        for number in numbers:
            await store.try_commit(note(str(number)))
            sys.stdout.write(f"{number}\n")
            sys.stdout.flush()

    async with asyncio.TaskGroup() as group:
        for _ in range(WRITERS):
            group.create_task(producer())


if __name__ == "__main__":
    directory, synchronous, seed = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    install(ShadowDisk(directory / "shadow", seed))
    asyncio.run(write_until_the_power_goes(directory / "disk" / DATABASE, synchronous))
