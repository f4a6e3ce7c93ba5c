"""The schema on every store: created at once or migrated it is the same; a database from the future is left alone."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import date
from pathlib import Path
from typing import Any

import asyncpg
import pytest
import sqlalchemy as sa
import sqlalchemy.ext.asyncio
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from structlog.testing import capture_logs

from agent.errors import Fenced
from gateway.coach.tables import PRACTICE_TABLES
from gateway.errors import SchemaDiffers, SchemaTooNew, SettingsError, StoreUnavailable
from gateway.store import journal, migrate
from gateway.store.agent_tables import bring_up, versions
from gateway.store.alerts import known_alerts
from gateway.store.engine import Store, engine_for, reading, upgrade
from gateway.store.glance import HEAD
from gateway.store.schema import CREATION_LOCK, version, whole
from gateway.store.tables.base import EPOCH, MICROSECOND
from gateway.store.tables.traffic import chats
from gateway.store.tables.turns import alerts, shards, usage
from gateway.store.usage import UsageSum, usage_by_day, usage_sums
from tests.contract.stores import StoreCase, note, subjects
from tests.fakes.postgres import PostgresServer

EVERYTHING: Any = [whole, PRACTICE_TABLES.metadata, versions.metadata]
"""What the revisions so far lead to: the harness's tables, and the coach's, which are older than agents' own."""


def bring_up_coach(connection: sa.Connection) -> None:
    """The coach's tables as a start of the gateway makes or finds them."""
    bring_up(connection, "coach", PRACTICE_TABLES)


@contextmanager
def opened(path: Path) -> Iterator[sa.Connection]:
    """A transaction on an SQLite file, which is closed afterwards."""
    engine = sa.create_engine(f"sqlite:///{path}")
    with engine.begin() as connection:
        yield connection
    engine.dispose()


def definitions(path: Path) -> list[list[str]]:
    """Every table and index of an SQLite file as it was declared; constraints in any order, names without quotes."""
    with opened(path) as connection:
        rows = connection.exec_driver_sql("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY type, name")
        declared = [" ".join(sql.replace('"', "").split()).removesuffix(" )") for (sql,) in rows]
    return [sorted(sql.split(", CONSTRAINT ")) for sql in declared]


def seeded(connection: sa.Connection) -> list[tuple[int, str | None, int]]:
    """The rows a new database starts with."""
    return [tuple(row) for row in connection.execute(sa.select(shards).order_by(shards.c.shard))]


async def make_at_revision(url: str, revision: str, insert: sa.Insert, rows: list[dict[str, object]]) -> None:
    """A database as an older version left it, with these rows in it."""

    def make(connection: sa.Connection) -> None:
        migrate.upgrade(connection, None, revision)
        connection.execute(insert, rows)

    if url.startswith("sqlite"):
        path = Path(sa.make_url(url).database or "")
        path.parent.mkdir()
        with opened(path) as connection:
            make(connection)
        return
    engine = sa.ext.asyncio.create_async_engine(sa.make_url(url).set(drivername="postgresql+asyncpg"))
    async with engine.begin() as postgres:
        await postgres.run_sync(make)
    await engine.dispose()


class TestSchema:
    """Creation, migration, refusal."""

    async def test_migrations_lead_to_the_same_sqlite_file_as_creation(self, tmp_path: Path) -> None:
        """Declared alike, with the same first rows; the coach's tables too, which the first six revisions made."""
        await upgrade(f"sqlite:///{tmp_path}/created.db")
        with opened(tmp_path / "migrated.db") as connection:
            migrate.upgrade(connection, None)
            expected = seeded(connection)
            bring_up_coach(connection)
            assert [] == compare_metadata(MigrationContext.configure(connection), EVERYTHING)
        with opened(tmp_path / "created.db") as connection:
            bring_up_coach(connection)
            assert expected == seeded(connection)
        assert definitions(tmp_path / "created.db") == definitions(tmp_path / "migrated.db")

    async def test_migrations_lead_to_the_same_postgresql_database_as_creation(self, postgres: PostgresServer) -> None:
        """`pg_dump` cannot tell them apart."""
        created, migrated = await postgres.create(), await postgres.create()
        await upgrade(created)
        engine = sa.ext.asyncio.create_async_engine(migrated.replace("postgresql:", "postgresql+asyncpg:"))
        async with engine.begin() as connection:
            await connection.run_sync(migrate.upgrade, None)
            await connection.run_sync(bring_up_coach)
            assert [] == await connection.run_sync(
                lambda c: compare_metadata(MigrationContext.configure(c), EVERYTHING)
            )
        await engine.dispose()
        store = await Store.open(created)
        await store.write(bring_up_coach)
        await store.aclose()
        assert postgres.dump(created) == postgres.dump(migrated)

    async def test_an_upgrade_says_what_it_found(self, case: StoreCase) -> None:
        """An empty database is created; one that is at the newest revision is left as it is."""
        assert (None, HEAD) == await upgrade(case.url)
        assert (HEAD, HEAD) == await upgrade(case.url)

    async def test_a_database_of_the_first_version_is_upgraded_with_its_rows(self, case: StoreCase) -> None:
        """0002: usage rows are numbered within their turn; what opens the store upgrades it by itself."""
        counted = {"tenant_id": "t", "user_id": "u", "session_id": "s", "model": "m", "at": 7, "input_tokens": 5}
        old = sa.table("usage", *map(sa.column, (*counted, "turn_id")))
        rows = [counted | {"turn_id": turn} for turn in ("a", "b", "a", "a")]
        await make_at_revision(case.url, "0001", sa.insert(old), rows)
        assert ("0001", HEAD) == await upgrade(case.url)
        store = await case.open()
        query = sa.select(usage.c.turn_id, usage.c.step, usage.c.input_tokens).order_by(usage.c.id)
        found = await store.read(lambda c: [tuple(row) for row in c.execute(query)])
        await store.aclose()
        assert [("a", 0, 5), ("b", 0, 5), ("a", 1, 5), ("a", 2, 5)] == found

    async def test_what_was_used_before_is_summed_by_the_upgrade(self, case: StoreCase) -> None:
        """0035, 0039: by UTC day, person and model, as a call's commit does it; what nobody counted is unknown."""
        day = 86_400_000_000
        same = {"tenant_id": "t", "user_id": "u", "session_id": "s", "model": "m", "step": 0, "output_tokens": None}
        new = {"discarded": 0, "estimated": False, "cost_microusd": 7}
        rows = [
            same | new | {"turn_id": "a", "at": 3 * day - 1, "input_tokens": 2_000_000_000},
            same | new | {"turn_id": "b", "at": 2 * day, "input_tokens": 2_000_000_000, "estimated": True},
            same | new | {"turn_id": "c", "at": 3 * day, "input_tokens": 1, "cost_microusd": None, "discarded": 2},
        ]
        old = sa.table("usage", *map(sa.column, rows[0]))
        await make_at_revision(case.url, "0031", sa.insert(old), rows)
        store = await case.open()
        found = await store.read(lambda c: usage_sums(c, "t", EPOCH))
        by_day = await store.read(lambda c: usage_by_day(c, "t", EPOCH))
        await store.aclose()
        days = [date(1970, 1, 3), date(1970, 1, 4)]
        first = UsageSum(days[0], "u", "m", 2, 4_000_000_000, None, None, None, 0, 1, 14, 0)
        assert [(days[0], 2, 4_000_000_000, 14), (days[1], 1, 1, None)] == by_day
        assert [first, UsageSum(days[1], "u", "m", 1, 1, None, None, None, 1, 0, None, 1)] == found

    async def test_who_runs_while_a_column_goes_is_fenced(self, case: StoreCase) -> None:
        """0008: another host's gateway of the version before would write it; its message stays open for the new one."""
        old = sa.table("shards", sa.column("owner"), sa.column("epoch"))
        held = sa.update(old).values(owner=sa.bindparam("b_owner"), epoch=sa.bindparam("b_epoch"))
        await make_at_revision(case.url, "0007", held, [{"b_owner": "elsewhere:7", "b_epoch": 3}])
        store = await case.open()
        fence = journal.Fence(0, 3)
        with pytest.raises(Fenced):
            await store.write(lambda connection: journal.hold(connection, fence))
        await store.aclose()

    async def test_direct_chats_from_before_are_known_after_the_upgrade(self, case: StoreCase) -> None:
        """0005: out of the inbox, strangers and commands in a server's channel left out."""
        row = {
            "tenant_id": "t", "channel": "discord", "account": "main", "kind": "message", "sender": "s", "attempts": 0,
            "received_at": 1,
        }  # fmt: skip
        direct, group = '{"kind":"direct"}', '{"kind":"group","text":"\\"kind\\":\\"direct\\""}'
        said = [
            ("1", "c1", "u1", "agent:coach:discord:main:direct:p1", direct, 5),
            ("2", "c1", "u1", "agent:coach:discord:main:direct:p1", direct, 9),
            ("3", "c2", None, None, direct, 5),
            ("4", "room", "u1", "agent:coach:discord:main:direct:p1", group, 5),  # what only its asker saw answered
            ("5", "room", "u1", "agent:coach:discord:main:group:room", group, 5),
        ]
        old = sa.table("inbox", *map(sa.column, (*row, "event_id", "chat", "user_id", "session_key", "payload")))
        old.append_column(sa.column("admitted_at"))
        names = ("event_id", "chat", "user_id", "session_key", "payload", "admitted_at")
        rows = [row | dict(zip(names, values, strict=True)) for values in said]
        await make_at_revision(case.url, "0002", sa.insert(old), rows)
        await upgrade(case.url)
        store = await case.open()
        query = sa.select(chats.c.chat, chats.c.thread, chats.c.direct, chats.c.user_id, chats.c.heard_at)
        found = await store.read(lambda c: [tuple(row) for row in c.execute(query)])
        await store.aclose()
        assert [("c1", "", True, "u1", EPOCH + 9 * MICROSECOND)] == found

    async def test_a_database_of_a_newer_version_is_refused_and_left_alone(self, case: StoreCase) -> None:
        """The error says what to do; nothing was changed."""
        store = await case.open()
        await store.write(note("of the future"))
        await store.write(lambda c: c.execute(version.update().values(version_num="9999")) and None)
        await store.aclose()
        with pytest.raises(SchemaTooNew, match="9999"):
            await case.open()
        with pytest.raises(SchemaTooNew):
            await upgrade(case.url)
        with pytest.raises(SchemaDiffers, match="run the newer tenk-gateway"):  # no start would bring it up to date
            async with reading(case.url):
                pass

    async def test_two_processes_may_create_one_database_at_once(self, case: StoreCase) -> None:
        """The second finds what the first made."""
        async with asyncio.TaskGroup() as group:
            opening = [group.create_task(Store.open(case.url)) for _ in range(3)]
        stores = [task.result() for task in opening]
        for n, store in enumerate(stores):
            await store.write(note(str(n)))
        assert ["0", "1", "2"] == await stores[0].read(subjects)
        for store in stores:
            await store.aclose()


WAITING = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'advisory'"


@asynccontextmanager
async def another_migrates(url: str, waiting: int) -> "AsyncIterator[asyncpg.Connection[Any]]":
    """Another process is at it, over this connection, until what is done here has so many wait; they said so."""
    other, looker = await asyncpg.connect(url), await asyncpg.connect(url)
    with capture_logs() as logs:
        async with asyncio.timeout(60), other.transaction():
            await other.execute(f"SELECT pg_advisory_xact_lock({CREATION_LOCK})")
            yield other
            while await looker.fetchval(WAITING) < waiting:
                await asyncio.sleep(0.01)
    assert waiting == sum(entry["event"] == "schema_awaited" for entry in logs)
    await other.close()
    await looker.close()


@pytest.mark.gate
async def test_of_several_workers_one_migrates(postgres: PostgresServer) -> None:
    """Each of an older database's new workers begins; whoever is not the first waits, and finds what it has made."""
    url = await postgres.create()
    row = {"key": "channel sim:main", "began_at": EPOCH, "level": 1}
    await make_at_revision(url, "0031", sa.insert(alerts), [row])
    engines = [engine_for(url) for _ in range(3)]
    async with asyncio.TaskGroup() as group, another_migrates(url, len(engines)):
        opening = [group.create_task(engine.open()) for engine in engines]
    assert ["0031", HEAD, HEAD] == sorted((str(task.result()) for task in opening), key=lambda found: found != "0031")
    assert ["channel sim:main"] == list(await engines[2].read(known_alerts))
    for engine in engines:
        await engine.aclose()


async def test_whoever_starts_while_a_newer_version_migrates_waits_and_is_refused(postgres: PostgresServer) -> None:
    """Between both nothing is changed by the older; the newer's migration stands."""
    url = await postgres.create_migrated()
    async with asyncio.TaskGroup() as group, another_migrates(url, 1) as newer:
        await newer.execute("UPDATE alembic_version SET version_num = '9999'")
        opening = group.create_task(refused_start(url))
    assert "the database is at revision 9999" in opening.result()


async def refused_start(url: str) -> str:
    """In which words a newer database is refused."""
    with pytest.raises(SchemaTooNew) as refused:
        await Store.open(url)
    return str(refused.value)


class TestOpening:
    """What a store URL may be, and what opening leaves on the disk."""

    async def test_file_and_directory_are_their_owners_only(self, tmp_path: Path) -> None:
        """A93: mode 0600 for the database with its log, 0700 for a directory we make."""
        store = await Store.open(f"sqlite:///{tmp_path}/home/tenk.db")
        await store.write(note("one"))
        files = {path.name: oct(path.stat().st_mode & 0o777) for path in (tmp_path / "home").iterdir()}
        await store.aclose()
        assert {"tenk.db": "0o600", "tenk.db-wal": "0o600", "tenk.db-shm": "0o600"} == files
        assert 0o700 == (tmp_path / "home").stat().st_mode & 0o777

    async def test_a_file_that_others_could_read_is_closed_with_its_log(self, tmp_path: Path) -> None:
        """Its log takes the mode of the file, so the file comes first."""
        path = tmp_path / "tenk.db"
        path.touch(0o644)
        store = await Store.open(f"sqlite:///{path}")
        await store.write(note("one"))
        modes = [found.stat().st_mode & 0o777 for found in tmp_path.iterdir()]
        await store.aclose()
        assert [0o600] * 3 == modes

    @pytest.mark.parametrize("url", ["sqlite://", "sqlite:///:memory:", "mysql://h/d", "tenk.db", "", "nonsense:/x"])
    async def test_a_url_of_no_store_is_a_settings_error(self, url: str) -> None:
        """The message says what to write instead."""
        with pytest.raises(SettingsError, match=r"sqlite:///path/tenk\.db"):
            await Store.open(url)

    async def test_what_cannot_be_reached_is_unavailable(self, tmp_path: Path, postgres: PostgresServer) -> None:
        """A directory where a file should be, a file that is no database, a port where nobody listens, a wrong name."""
        (tmp_path / "text.db").write_text("this is no database, and long enough to be looked at as one " * 100)
        sqlite = (f"sqlite:///{tmp_path}", f"sqlite:///{tmp_path}/text.db")
        for url in (*sqlite, "postgresql://u:p@127.0.0.1:1/d", postgres.url("no_such_database")):
            with pytest.raises(StoreUnavailable):
                await Store.open(url)

    async def test_the_password_is_in_no_error(self, postgres: PostgresServer) -> None:
        """S5: what an operator is shown, and what its cause says, never holds the URL's password."""
        wrong = postgres.url("postgres").replace("@", "canary-3141@")
        with pytest.raises(StoreUnavailable, match="authentication failed") as caught:
            await Store.open(wrong)
        assert "canary-3141" not in f"{caught.value!r} {caught.value} {caught.value.__cause__!r}"

    def test_a_boot_does_not_import_alembic(self, tmp_path: Path) -> None:
        """0.7 s that only a migration needs."""
        script = "import asyncio, sys; from gateway.store.engine import upgrade; asyncio.run(upgrade(sys.argv[1]));"
        script += "print('alembic' in sys.modules)"
        for _ in range(2):
            command = [sys.executable, "-c", script, f"sqlite:///{tmp_path}/t.db"]
            assert b"False\n" == subprocess.run(command, capture_output=True, check=True).stdout
