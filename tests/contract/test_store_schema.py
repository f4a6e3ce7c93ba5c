"""The schema on every store: models and revisions agree, a kill undoes a migration, an unknown revision is refused."""

import asyncio
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import asyncpg
import pytest
import sqlalchemy as sa
import sqlalchemy.ext.asyncio
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from structlog.testing import capture_logs

from gateway.coach.tables import PRACTICE_TABLES
from gateway.errors import SchemaDiffers, SettingsError, StoreUnavailable
from gateway.store import migrate
from gateway.store.agent_tables import bring_up, versions
from gateway.store.engine import Store, reading, upgrade
from gateway.store.revisions import HEAD
from gateway.store.schema import CREATION_LOCK, create_triggers, version, whole
from gateway.store.tables.turns import shards
from tests.contract.stores import StoreCase, note, subjects
from tests.fakes.newer_version import NewerVersion
from tests.fakes.postgres import PostgresServer

EVERYTHING: Any = [whole, PRACTICE_TABLES.metadata, versions.metadata]
"""The tables of the gateway and of the coach."""


def bring_up_coach(connection: sa.Connection) -> None:
    bring_up(connection, "coach", PRACTICE_TABLES)


@contextmanager
def opened(path: Path) -> Iterator[sa.Connection]:
    engine = sa.create_engine(f"sqlite:///{path}")
    with engine.begin() as connection:
        yield connection
    engine.dispose()


def definitions(path: Path) -> list[list[str]]:
    with opened(path) as connection:
        rows = connection.exec_driver_sql("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY type, name")
        declared = [" ".join(sql.replace('"', "").split()).removesuffix(" )") for (sql,) in rows]
    return [sorted(sql.split(", CONSTRAINT ")) for sql in declared]


def seeded(connection: sa.Connection) -> list[tuple[int, str | None, int]]:
    return [tuple(row) for row in connection.execute(sa.select(shards).order_by(shards.c.shard))]


@pytest.fixture(scope="module")
def newer(tmp_path_factory: pytest.TempPathFactory) -> NewerVersion:
    return NewerVersion(tmp_path_factory.mktemp("newer"))


async def places(url: str) -> list[str]:
    query = "SELECT place FROM audit ORDER BY id"
    if url.startswith("sqlite"):
        with opened(Path(sa.make_url(url).database or "")) as connection:
            return list(connection.exec_driver_sql(query).scalars())
    server = await asyncpg.connect(url)
    found = [row[0] for row in await server.fetch(query)]
    await server.close()
    return found


async def looked_at(url: str) -> None:
    async with reading(url):
        pass


def content(url: str) -> bytes:
    path = Path(sa.make_url(url).database or "")
    return path.read_bytes() if url.startswith("sqlite") else b""


class TestSchema:
    async def test_migrations_lead_to_the_same_sqlite_file_as_creation(self, tmp_path: Path) -> None:
        await upgrade(f"sqlite:///{tmp_path}/created.db")
        with opened(tmp_path / "migrated.db") as connection:
            migrate.upgrade(connection)
            create_triggers(connection)
            expected = seeded(connection)
            bring_up_coach(connection)
            differences = compare_metadata(MigrationContext.configure(connection), EVERYTHING)
            assert [] == differences, "write a revision: CONTRIBUTING says how"
        with opened(tmp_path / "created.db") as connection:
            bring_up_coach(connection)
            assert expected == seeded(connection)
        assert definitions(tmp_path / "created.db") == definitions(tmp_path / "migrated.db")

    async def test_migrations_lead_to_the_same_postgresql_database_as_creation(self, postgres: PostgresServer) -> None:
        created, migrated = await postgres.create(), await postgres.create()
        await upgrade(created)
        engine = sa.ext.asyncio.create_async_engine(migrated.replace("postgresql:", "postgresql+asyncpg:"))
        async with engine.begin() as connection:
            await connection.run_sync(migrate.upgrade)
            await connection.run_sync(create_triggers)
            await connection.run_sync(bring_up_coach)
            assert [] == await connection.run_sync(
                lambda c: compare_metadata(MigrationContext.configure(c), EVERYTHING)
            )
        await engine.dispose()
        store = await Store.open(created)
        await store.commit(bring_up_coach)
        await store.aclose()
        assert postgres.dump(created) == postgres.dump(migrated)

    async def test_an_upgrade_says_what_it_found(self, case: StoreCase) -> None:
        assert (None, HEAD) == await upgrade(case.url)
        assert (HEAD, HEAD) == await upgrade(case.url)

    @pytest.mark.gate
    async def test_a_killed_migration_leaves_the_database_as_it_was(
        self, case: StoreCase, newer: NewerVersion, tmp_path: Path
    ) -> None:
        store = await case.open()
        await store.commit(note("Ana"))
        await store.aclose()
        killed = newer.run(tmp_path, case.url, "db", "upgrade", killed=True)
        assert -signal.SIGKILL == killed.returncode, killed.stderr
        store = await case.open()
        assert ["Ana"] == await store.read(subjects)
        await store.aclose()
        done = newer.run(tmp_path, case.url, "db", "upgrade")
        assert 0 == done.returncode, done.stderr
        assert ["was Ana"] == await places(case.url)

    @pytest.mark.parametrize(
        ("revision", "words"),
        [("0057", "which no release had: this version cannot use it"), ("9999", "run the newer tenk-gateway")],
    )
    async def test_a_database_of_an_unknown_revision_is_refused_and_left_alone(
        self, case: StoreCase, revision: str, words: str
    ) -> None:
        store = await case.open()
        await store.commit(note("kept"))
        await store.commit(lambda c: c.execute(version.update().values(version_num=revision)) and None)
        await store.aclose()
        before = content(case.url)
        for opening in (case.open, lambda: upgrade(case.url), lambda: looked_at(case.url)):
            with pytest.raises(SchemaDiffers, match=f"version {revision}.*{words}"):
                await opening()
        assert before == content(case.url)

    async def test_two_processes_may_create_one_database_at_once(self, case: StoreCase) -> None:
        async with asyncio.TaskGroup() as group:
            opening = [group.create_task(Store.open(case.url)) for _ in range(3)]
        stores = [task.result() for task in opening]
        for n, store in enumerate(stores):
            await store.commit(note(str(n)))
        assert ["0", "1", "2"] == await stores[0].read(subjects)
        for store in stores:
            await store.aclose()


WAITING = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'advisory'"


@asynccontextmanager
async def another_migrates(url: str, waiting: int) -> "AsyncIterator[asyncpg.Connection[Any]]":
    other, looker = await asyncpg.connect(url), await asyncpg.connect(url)
    async with asyncio.timeout(60), other.transaction():
        await other.execute(f"SELECT pg_advisory_xact_lock({CREATION_LOCK})")
        yield other
        while await looker.fetchval(WAITING) < waiting:
            await asyncio.sleep(0.01)
    await other.close()
    await looker.close()


@pytest.mark.gate
async def test_of_several_workers_one_migrates(postgres: PostgresServer, newer: NewerVersion, tmp_path: Path) -> None:
    url = await postgres.create_migrated()
    homes = [tmp_path / str(n) for n in range(3)]
    async with asyncio.TaskGroup() as group, another_migrates(url, len(homes)):
        for home in homes:
            home.mkdir()
        running = [group.create_task(asyncio.to_thread(newer.run, home, url, "db", "upgrade")) for home in homes]
    done = [task.result() for task in running]
    assert [0] * 3 == [one.returncode for one in done], done


async def test_a_start_during_a_newer_migration_waits_and_is_refused(postgres: PostgresServer) -> None:
    url = await postgres.create_migrated()
    async with asyncio.TaskGroup() as group, another_migrates(url, 1) as newer:
        await newer.execute("UPDATE alembic_version SET version_num = '9999'")
        opening = group.create_task(refused_start(url))
    assert "the database has schema version 9999" in opening.result()


async def refused_start(url: str) -> str:
    with pytest.raises(SchemaDiffers) as refused, capture_logs() as logs:
        await Store.open(url)
    assert "schema_awaited" in [entry["event"] for entry in logs]
    return str(refused.value)


class TestOpening:
    async def test_file_and_directory_are_their_owners_only(self, tmp_path: Path) -> None:
        """Cover A93."""
        store = await Store.open(f"sqlite:///{tmp_path}/home/tenk.db")
        await store.commit(note("one"))
        files = {path.name: oct(path.stat().st_mode & 0o777) for path in (tmp_path / "home").iterdir()}
        await store.aclose()
        assert {"tenk.db": "0o600", "tenk.db-wal": "0o600", "tenk.db-shm": "0o600"} == files
        assert 0o700 == (tmp_path / "home").stat().st_mode & 0o777

    async def test_a_file_that_others_could_read_is_closed_with_its_log(self, tmp_path: Path) -> None:
        path = tmp_path / "tenk.db"
        path.touch(0o644)
        store = await Store.open(f"sqlite:///{path}")
        await store.commit(note("one"))
        modes = [found.stat().st_mode & 0o777 for found in tmp_path.iterdir()]
        await store.aclose()
        assert [0o600] * 3 == modes

    @pytest.mark.parametrize("url", ["sqlite://", "sqlite:///:memory:", "mysql://h/d", "tenk.db", "", "nonsense:/x"])
    async def test_a_url_of_no_store_is_a_settings_error(self, url: str) -> None:
        with pytest.raises(SettingsError, match=r"sqlite:///path/tenk\.db"):
            await Store.open(url)

    async def test_what_cannot_be_reached_is_unavailable(self, tmp_path: Path, postgres: PostgresServer) -> None:
        (tmp_path / "text.db").write_text("this is no database, and long enough to be looked at as one " * 100)
        sqlite = (f"sqlite:///{tmp_path}", f"sqlite:///{tmp_path}/text.db")
        for url in (*sqlite, "postgresql://u:p@127.0.0.1:1/d", postgres.url("no_such_database")):
            with pytest.raises(StoreUnavailable):
                await Store.open(url)

    async def test_the_password_is_in_no_error(self, postgres: PostgresServer) -> None:
        """Cover S5."""
        wrong = postgres.url("postgres").replace("@", "canary-3141@")
        with pytest.raises(StoreUnavailable, match="authentication failed") as caught:
            await Store.open(wrong)
        assert "canary-3141" not in f"{caught.value!r} {caught.value} {caught.value.__cause__!r}"

    def test_a_boot_does_not_import_alembic(self, tmp_path: Path) -> None:
        script = "import asyncio, sys; from gateway.store.engine import upgrade\n"
        script += "for _ in range(2): asyncio.run(upgrade(sys.argv[1]))\nprint('alembic' in sys.modules)"
        command = [sys.executable, "-c", script, f"sqlite:///{tmp_path}/t.db"]
        assert b"False\n" == subprocess.run(command, capture_output=True, check=True).stdout
