"""Queries of a start, a message, a sweep and `tenk status`: they read open rows only, however many are settled."""

import asyncio
import json
import sqlite3
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import asyncpg
import pytest
import sqlalchemy as sa

from gateway.app import Gateway
from gateway.cli.stored_status import gateway_status
from gateway.config.settings import Settings, load
from gateway.operators.client import call
from gateway.ops.housekeeper import sweep
from gateway.ops.retention_config import RetentionConfig
from gateway.store import journal
from gateway.store.engine import Store
from gateway.store.usage import total_quarters
from tests.contract.stores import SqliteCase, StoreCase
from tests.contract.test_retention import answered, sent
from tests.fakes.people import NOON
from tests.fakes.settled_rows import NUMBERS, fill

FEW = 100
"""Rows that a query may read of tables with thousands of settled ones."""

SETTLED = [3_000, pytest.param(1_000_000, marks=[pytest.mark.long, pytest.mark.timeout(900)])]

STEPS_A_ROW = 4
"""Steps of SQLite's machine that reading one row takes, at least: next, a column or two, a comparison."""

NEW = 5_000_000
"""The number of a message that no settled row has."""

LONG_TALK = "s"
"""The id of the conversation that all settled turns were in."""

GROWING = ("inbox", "outbox", "events", "turns")

USED = (
    "INSERT INTO usage (tenant_id, user_id, session_id, turn_id, model, input_tokens, at, step) "
    f"{NUMBERS.replace(':begin', '0')} SELECT 'default', 'u1', 's', 't' || i, 'm', 10, i, 0 FROM n"
)

Asked = tuple[str, Any]
"""A statement as the driver got it, and its parameters."""


@contextmanager
def watched() -> Iterator[list[Asked]]:
    asked: list[Asked] = []

    def note(_connection: object, _cursor: object, statement: str, parameters: Any, *_more: object) -> None:
        if not statement.startswith(("INSERT", "CREATE")) and any(
            f"{name}." in statement for name in (*GROWING, "usage")
        ):
            asked.append((statement, parameters))

    sa.event.listen(sa.Engine, "before_cursor_execute", note)
    try:
        yield asked
    finally:
        sa.event.remove(sa.Engine, "before_cursor_execute", note)


def settings_of(directory: Path, url: str) -> Settings:
    file = directory / "gateway.toml"
    file.write_text('[http]\nlisten = "127.0.0.1:0"\n')
    home = directory / "home"
    home.mkdir(mode=0o700, exist_ok=True)
    return load(file, {"TENK_HOME": str(home), "DATABASE_URL": url})


@asynccontextmanager
async def running(settings: Settings) -> AsyncIterator[None]:
    store = await Store.open(settings.database_url)
    try:
        async with asyncio.TaskGroup() as tasks:
            gateway = tasks.create_task(Gateway(settings, store).run())
            while not settings.control_path.exists():
                await asyncio.sleep(0.01)
            yield
            gateway.cancel()
    finally:
        await store.aclose()


async def asked_by_a_life(directory: Path, url: str) -> list[Asked]:
    """Start, status, what was given up and used, the recovery of a turn, stop, and status again."""
    settings = settings_of(directory, url)
    with watched() as asked:
        async with running(settings):
            begun_s = time.perf_counter()
            await call(settings.control_path, "GET /v1/status", timeout_s=60.0)
            await call(settings.control_path, "GET /v1/outbox", {"state": "discarded"}, timeout_s=60.0)
            await call(settings.control_path, "GET /v1/usage/summary", {"days": 366}, timeout_s=60.0)
            sys.stdout.write(f"status: {1000 * (time.perf_counter() - begun_s):.0f} ms\n")
        await gateway_status(settings)
        store = await Store.open(url)
        await store.read(lambda connection: journal.events_of_turn(connection, "no such turn"))
        await store.aclose()
    return asked


async def asked_by_a_message(url: str) -> list[Asked]:
    store = await Store.open(url)
    kept = RetentionConfig.model_validate(dict.fromkeys(RetentionConfig.model_fields, 36_500))
    with watched() as asked:
        await store.commit(lambda connection: answered(connection, NEW))
        await store.commit(sent)
        await store.read(lambda connection: journal.next_seq(connection, LONG_TALK))
        await sweep(store, kept, NOON, at_once)
    await store.aclose()
    return asked


async def at_once(_: float) -> None:
    pass


def rows_read_by_sqlite(path: Path, asked: list[Asked]) -> Iterator[tuple[float, str]]:
    connection = sqlite3.connect(path, isolation_level=None)
    for statement, parameters in asked:
        steps = 0

        def step() -> int:
            nonlocal steps
            steps += 1
            return 0

        plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}", parameters)]
        connection.set_progress_handler(step, 1)
        connection.execute("BEGIN")
        connection.execute(statement, parameters).fetchall()
        connection.set_progress_handler(None, 1)
        connection.execute("ROLLBACK")
        yield steps / STEPS_A_ROW, f"{plan}: {statement}"
    connection.close()


async def rows_read_by_postgres(url: str, asked: list[Asked]) -> list[tuple[float, str]]:
    read = []
    connection = await asyncpg.connect(url)
    try:
        for statement, parameters in asked:
            transaction = connection.transaction()
            await transaction.start()
            plan = json.loads(await connection.fetchval(f"EXPLAIN (ANALYZE, FORMAT JSON) {statement}", *parameters))
            await transaction.rollback()
            read.append((float(sum(rows_of(plan[0]["Plan"]))), f"{json.dumps(plan)}: {statement}"))
    finally:
        await connection.close()
    return read


def rows_of(plan: dict[str, Any]) -> Iterator[int]:
    yield plan["Actual Rows"] * plan["Actual Loops"] + plan.get("Rows Removed by Filter", 0)
    for inner in plan.get("Plans", ()):
        yield from rows_of(inner)


@pytest.mark.parametrize("settled", SETTLED)
async def test_no_start_message_or_sweep_reads_a_settled_row(case: StoreCase, tmp_path: Path, settled: int) -> None:
    store = await case.open()
    await store.commit(lambda connection: fill(connection, settled))
    await store.commit(lambda connection: connection.execute(sa.text(USED), {"count": settled}))
    await store.commit(total_quarters, now=NOON)
    await store.aclose()
    by_a_life, by_a_message = await asked_by_a_life(tmp_path, case.url), await asked_by_a_message(case.url)
    asked = by_a_life + by_a_message
    if isinstance(case, SqliteCase):
        read = list(rows_read_by_sqlite(case.path, asked))
    else:
        await analyse(case.url)
        read = await rows_read_by_postgres(case.url, asked)
    assert set(GROWING) == {name for name in GROWING if any(f"{name}." in statement for statement, _ in asked)}
    assert [] == [told for rows, told in read if rows > FEW]


async def analyse(url: str) -> None:
    connection = await asyncpg.connect(url)
    await connection.execute("ANALYZE")
    await connection.close()
