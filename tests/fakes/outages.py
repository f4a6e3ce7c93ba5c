"""A store whose commits succeed unheard, as when a connection breaks after COMMIT."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy as sa

from gateway.errors import StoreUnavailable
from gateway.store.writer import Job, Outcome
from tests.fakes.spine import WatchedEngine

T = TypeVar("T")


class FickleEngine(WatchedEngine):
    """SQLite that fails on demand: before a commit, after it, or in reads."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.down = False  # nothing holds, nothing is read
        self.refused = asyncio.Event()  # a caller met the outage
        self.unheard = 0  # so many groups hold and are told to have failed

    async def commit(self, jobs: Sequence[Job[Any]]) -> list[Outcome]:
        if self.down:
            self.refused.set()
            return [(None, StoreUnavailable("down")) for _ in jobs]
        outcomes = await super().commit(jobs)
        if self.unheard > 0:
            self.unheard -= 1
            return [(None, StoreUnavailable("the connection broke")) for _ in jobs]
        return outcomes

    async def read(self, query: Callable[[sa.Connection], T]) -> T:
        if self.down:
            self.refused.set()
            raise StoreUnavailable("down")
        return await super().read(query)
