"""A fresh database for workers that die, on both engines."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.fakes.fresh_database import copy_fresh
from tests.fakes.postgres import PostgresServer


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with PostgresServer() as running:
        yield running


@pytest.fixture(params=["sqlite", "postgresql"])
async def url(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[str]:
    if request.param == "sqlite":
        path = tmp_path / "home" / "tenk.db"
        await copy_fresh(path)
        yield f"sqlite:///{path}"
        return
    server: PostgresServer = request.getfixturevalue("server")
    yield await server.create_migrated()
