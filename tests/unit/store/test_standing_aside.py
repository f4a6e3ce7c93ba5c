"""The event loop during a group's statements: it yields, and no longer than set."""

import asyncio
import threading
from pathlib import Path

from sqlalchemy import Connection

from gateway.store.engine import Store
from gateway.store.sqlite import SqliteEngine
from tests.fakes.fresh_database import copy_fresh

LONG_S = 60.0


async def test_the_loop_does_nothing_while_statements_run(tmp_path: Path) -> None:
    await copy_fresh(tmp_path / "tenk.db")
    store = await Store(SqliteEngine(tmp_path / "tenk.db", stands_aside_s=LONG_S)).start()
    turns: list[None] = []
    over = asyncio.Event()

    async def spin() -> None:
        while not over.is_set():
            turns.append(None)
            await asyncio.sleep(0)

    def job(_: Connection) -> tuple[int, int]:
        before = len(turns)
        threading.Event().wait(0.02)  # other tasks run meanwhile
        return before, len(turns)

    async with asyncio.TaskGroup() as group:
        group.create_task(spin())
        before, after = await store.commit(job)
        over.set()
    assert before == after
    await store.aclose()
