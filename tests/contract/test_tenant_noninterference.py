"""Isolation of tenants on both databases: no call reads or changes another tenant's rows."""

import logging
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gateway.store.postgres import make_engine
from tests.contract.canaries import OF_TENANTS, UNFILTERED, Play
from tests.fakes.people import database
from tests.fakes.postgres import PostgresServer
from tests.house.tree import PACKAGES, ROOT

SAMPLE, WHOLE = 1_000, 4_000
SEED = int(os.environ.get("SEED", "20261123"))

NAMES = [table.name for table in OF_TENANTS]
FILTER = "if isinstance(table, sa.Table) and TENANT in table.c:"
"""The line of `gateway.store.tenancy` that decides which tables have the filter."""


@pytest.mark.parametrize(
    "operations", [SAMPLE, pytest.param(WHOLE, marks=[pytest.mark.gate, pytest.mark.timeout(300)])]
)
def test_no_tenant_reads_or_changes_anything_of_another(operations: int, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG), database() as connection:
        play = Play(connection, SEED)
        play.call_plainly()
        play.call_at_random(operations)
    assert "canary-of" not in caplog.text


@pytest.mark.gate
@pytest.mark.timeout(600)
async def test_no_tenant_reads_or_changes_anything_of_another_on_postgresql(postgres: PostgresServer) -> None:
    engine = make_engine(await postgres.create_migrated())
    async with engine.connect() as connection:
        play = await connection.run_sync(Play, SEED)
        await connection.run_sync(lambda _: play.call_plainly())
        await connection.run_sync(lambda _: play.call_at_random(WHOLE))
    await engine.dispose()


def test_without_the_filter_the_calls_read_rows_of_others() -> None:
    with database() as connection, pytest.raises(AssertionError, match="canary-of"):
        Play(connection, SEED, filtered=False).call_at_random(SAMPLE)


@pytest.mark.parametrize("tables", [NAMES[::13], pytest.param(NAMES, marks=pytest.mark.gate)], ids=["some", "all"])
@pytest.mark.timeout(120)
def test_the_missing_filter_of_one_table_is_found(tables: list[str], tmp_path: Path) -> None:
    for package in PACKAGES:
        shutil.copytree(ROOT / package, tmp_path / package)
    tenancy = tmp_path / "gateway" / "store" / "tenancy.py"
    assert 1 == tenancy.read_text().count(FILTER)
    bug = f'{FILTER[:-1]} and table.name != __import__("os").environ["{UNFILTERED}"]:'
    tenancy.write_text(tenancy.read_text().replace(FILTER, bug))
    found = subprocess.run(
        [sys.executable, "-m", "tests.contract.canaries", "none", *tables],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"},
        capture_output=True,
        check=True,
        text=True,
    )
    assert ["none"] == found.stdout.split(), "only with all filters in place the calls find nothing"
