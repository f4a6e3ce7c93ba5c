"""Fixtures of the contract tests: fresh databases on every engine, every channel with people at its other end."""

from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from gateway.store.engine import Store
from gateway.testing.channel_rig import Rig
from tests.contract.channel_rigs import RIGS
from tests.contract.statements import watch
from tests.contract.stores import PostgresCase, SqliteCase, StoreCase
from tests.fakes.fresh_database import copy_fresh
from tests.fakes.postgres import PostgresServer
from tests.fakes.spine import quick_store

pytest.register_assert_rewrite("gateway.testing.channel_contract")

EXAMPLE = Path(__file__).with_name("example_channel")

sa.event.listen(sa.Engine, "before_execute", watch)


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """Start one PostgreSQL server for this test process."""
    with PostgresServer() as server:
        yield server


@pytest.fixture(params=["sqlite", "postgresql"])
async def case(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[StoreCase]:
    """Return a fresh database on each engine in turn; it has our tables if the test takes a `store`."""
    migrated = "store" in request.fixturenames
    if request.param == "sqlite":
        path = tmp_path / "home" / "tenk.db"
        if migrated:
            await copy_fresh(path)
        yield SqliteCase(path)
        return
    server: PostgresServer = request.getfixturevalue("postgres")
    url = await (server.create_migrated() if migrated else server.create())
    yield PostgresCase(server, url)
    if migrated:
        await server.give_back(url)


@pytest.fixture
async def store(case: StoreCase) -> AsyncIterator[Store]:
    opened = await case.open()
    yield opened
    await opened.aclose()


@pytest.fixture(params=RIGS, ids=lambda rig: rig.name)
async def rig(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Rig]:
    """Run each channel in turn."""
    monkeypatch.syspath_prepend(str(EXAMPLE))
    make: Callable[[Store, Path], Rig] = request.param
    store = await quick_store(tmp_path / "tenk.db")
    directory = tmp_path / "rig"
    directory.mkdir()
    try:
        async with make(store, directory).alive() as made:
            yield made
    finally:
        await store.aclose()
