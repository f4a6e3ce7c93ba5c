"""Databases for the contract tests: every test gets a fresh one, on every engine."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from gateway.store.engine import Store
from tests.contract.stores import PostgresCase, SqliteCase, StoreCase
from tests.fakes.postgres import PostgresServer


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """One PostgreSQL server a test process."""
    with PostgresServer() as server:
        yield server


@pytest.fixture(params=["sqlite", "postgresql"])
async def case(request: pytest.FixtureRequest, tmp_path: Path) -> StoreCase:
    """A fresh database on each engine in turn."""
    if request.param == "sqlite":
        return SqliteCase(tmp_path / "home" / "tenk.db")
    server: PostgresServer = request.getfixturevalue("postgres")
    return PostgresCase(server, await server.create())


@pytest.fixture
async def store(case: StoreCase) -> AsyncIterator[Store]:
    """An open store over it."""
    opened = await case.open()
    yield opened
    await opened.aclose()
