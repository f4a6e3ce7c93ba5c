"""Outages of every store (F64): nothing unwritten is acknowledged, and the store returns without a restart."""

import asyncio
import gc
import re
from pathlib import Path

import asyncpg
import pytest
import sqlalchemy as sa
from structlog.testing import capture_logs

from gateway.errors import GatewayError, StoreUnavailable
from gateway.inbound.intake import ChannelSink
from gateway.ops.home_check import check_database
from gateway.store.engine import Store, link_to
from gateway.store.postgres import is_outage
from tests.contract.stores import SqliteCase, StoreCase, note, subjects
from tests.fakes.chat import FakeChannel
from tests.fakes.door import UnheardHealth
from tests.fakes.postgres import PostgresServer


class TestOutages:
    async def test_an_outage_is_told_and_ends_without_a_restart(self, case: StoreCase, store: Store) -> None:
        await store.commit(note("before"))
        with case.outage():
            with pytest.raises(StoreUnavailable):
                await store.try_commit(note("refused"))
            assert not store.healthy
        await store.commit(note("after"))
        assert store.healthy
        assert ["before", "after"] == await store.read(subjects)

    async def test_a_channel_that_begins_in_an_outage_waits_it_out(self, case: StoreCase, store: Store) -> None:
        sink = ChannelSink(store, {}, FakeChannel(), UnheardHealth(), "default")
        async with asyncio.timeout(30), asyncio.TaskGroup() as tasks:
            with case.outage():
                asked = tasks.create_task(sink.cursor())
                with pytest.raises(StoreUnavailable):
                    await store.try_commit(note("refused"))
        assert asked.result() is None

    async def test_a_write_waits_an_outage_out_and_keeps_its_place(self, case: StoreCase, store: Store) -> None:
        with case.outage():
            writes = [store.queue(note(str(n))) for n in range(20)]
            with pytest.raises(StoreUnavailable):
                await store.try_commit(note("refused"))
        numbers = [await written for written in writes]
        assert sorted(numbers) == numbers
        assert [str(n) for n in range(20)] == await store.read(subjects)

    async def test_a_store_that_is_down_closes_and_tells_who_waits(self, case: StoreCase, store: Store) -> None:
        with case.outage():
            waiting = asyncio.ensure_future(store.commit(note("lost")))  # noqa: TID251  awaited below
            with pytest.raises(StoreUnavailable):
                await store.try_commit(note("refused"))
            await store.aclose()
            with pytest.raises(StoreUnavailable):
                await waiting
            with pytest.raises(StoreUnavailable):
                await store.read(subjects)


class TestDeletedFile:
    """A deleted SQLite file: writes to it would succeed and be lost."""

    @pytest.mark.parametrize(("name", "replaced"), [("tenk.db", False), ("tenk.db", True), ("tenk.db-wal", False)])
    async def test_nothing_is_acknowledged_before_the_very_file_is_back(
        self, tmp_path: Path, name: str, replaced: bool
    ) -> None:
        path, aside = tmp_path / name, tmp_path / "aside"
        store = await SqliteCase(tmp_path / "tenk.db").open()
        await store.commit(note("before"))
        path.rename(aside)
        if replaced:
            path.write_bytes(b"")
        for _ in range(2):
            with pytest.raises(StoreUnavailable, match="deleted or replaced"):
                await store.try_commit(note("refused"))
        assert not store.healthy
        assert replaced == path.exists()
        aside.replace(path)
        await store.commit(note("after"))
        assert store.healthy
        assert {"before", "after"} <= set(await store.read(subjects))
        await store.aclose()


class TestFullDisk:
    async def test_a_full_disk_refuses_and_recovers(self, tmp_path: Path) -> None:
        store = await SqliteCase(tmp_path / "tenk.db").open()

        def no_more_pages(connection: sa.Connection) -> None:
            pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
            connection.exec_driver_sql(f"PRAGMA max_page_count = {pages}")

        await store.commit(note("before"))
        await store.commit(no_more_pages)  # until the connection is opened anew, which the outage does
        with pytest.raises(StoreUnavailable, match="full"):
            await store.try_commit(note("big", "x" * 100_000))
        assert not store.healthy
        await store.commit(note("after"))
        assert store.healthy
        assert ["before", "after"] == await store.read(subjects)
        await store.aclose()


async def test_a_server_that_takes_no_writes_is_refused_and_risks_are_said(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    url = await postgres.create_migrated()
    for setting, value in (("synchronous_commit", "off"), ("default_transaction_read_only", "on")):
        connection = await asyncpg.connect(url)
        await connection.execute(f"ALTER DATABASE {url.rpartition('/')[2]} SET {setting} = {value}")
        await connection.close()
        if setting == "synchronous_commit":
            with capture_logs() as logs:
                store = await Store.open(url)
            shown = await store.read(lambda c: c.execute(sa.text("SHOW synchronous_commit")).scalar_one())
            await store.aclose()
            said = {entry["setting"] for entry in logs if entry["event"] == "server_risks_writes"}
            assert ("on", {"fsync", "synchronous_commit"}) == (shown, said)
            found = await check_database(url, tmp_path)
            assert found.words.endswith("its server has fsync, synchronous_commit off")
            assert found.to_do.startswith("fsync: set it to on")
    assert "cannot be used: it takes no writes" in (await check_database(url, tmp_path)).words
    with pytest.raises(GatewayError, match=r"takes no writes: it is a replica, or set to read-only"):
        await Store.open(url)


async def test_a_start_waits_for_a_server_that_is_away_and_no_longer_than_it_was_told(postgres: PostgresServer) -> None:
    url = await postgres.create_migrated()
    with pytest.raises(StoreUnavailable, match="password"):
        await Store.open(url.replace("://postgres:", "://postgres:not"), wait_s=60)
    postgres.kill()
    try:
        with pytest.raises(StoreUnavailable):
            await Store.open(url, wait_s=0.01)
        with capture_logs() as logs:
            async with asyncio.timeout(50), asyncio.TaskGroup() as tasks:
                opened = tasks.create_task(Store.open(url, wait_s=60))
                while not [entry for entry in logs if entry["event"] == "store_awaited"]:
                    await asyncio.sleep(0.01)
                await asyncio.to_thread(postgres.start)
    finally:
        postgres.kill()
        postgres.start()
    await opened.result().aclose()


async def test_a_read_that_is_given_up_at_the_end_leaves_no_error(
    postgres: PostgresServer, caplog: pytest.LogCaptureFixture
) -> None:
    store = await Store.open(await postgres.create_migrated())
    async with asyncio.TaskGroup() as tasks:
        reading = tasks.create_task(store.read(lambda c: c.execute(sa.text("SELECT pg_sleep(30)")).scalar()))
        busy = sa.text("SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%pg_sleep(30)'")
        while not await store.read(lambda c: c.execute(busy).scalar_one()):
            await asyncio.sleep(0.01)
        reading.cancel()
    await store.aclose()
    assert [] == [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]


@pytest.mark.parametrize("words", [b"LISTEN", b"standard_conforming_strings"])
async def test_a_connection_that_is_lost_while_it_is_made_is_an_outage(postgres: PostgresServer, words: bytes) -> None:
    url = await postgres.create_migrated()
    listened: list[bytes] = []

    async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, cuts: bytes | None) -> None:
        while (data := await reader.read(65536)) and not (cuts and cuts in data and not listened.append(data)):
            writer.write(data)
        writer.transport.abort()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        back, to = await asyncio.open_connection("127.0.0.1", postgres.port)
        async with asyncio.TaskGroup() as ways:
            ways.create_task(pass_on(reader, to, None if listened else words))
            ways.create_task(pass_on(back, writer, None))

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        link = link_to(url.replace(f":{postgres.port}/", f":{port}/"), lambda _words: None, lambda: None)
        with pytest.raises(StoreUnavailable):
            await link.transact(lambda _connection: None, 30.0)
        await link.transact(lambda _connection: None, 30.0)
        await link.aclose()


async def test_a_connection_that_ends_as_soon_as_it_is_made_is_an_outage(postgres: PostgresServer) -> None:
    url = await postgres.create_migrated()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        back, to = await asyncio.open_connection("127.0.0.1", postgres.port)
        said = b""
        while b"Z\0\0\0\5I" not in said:
            to.write(await reader.read(65536))
            writer.write(said := await back.read(65536))
        writer.close()
        to.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        link = link_to(url.replace(f":{postgres.port}/", f":{port}/"), lambda _words: None, lambda: None)
        with pytest.raises(StoreUnavailable):
            await link.transact(lambda _connection: None, 30.0)
        await link.aclose()


async def test_an_abandoned_connection_reports_its_error() -> None:
    untold: list[str] = []
    asyncio.get_running_loop().set_exception_handler(lambda _loop, context: untold.append(context["message"]))
    async with await asyncio.start_server(lambda _reader, writer: writer.transport.abort(), "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        for steps in range(40):
            link = link_to(f"postgresql://u:p@127.0.0.1:{port}/d", lambda _words: None, lambda: None)
            using = asyncio.ensure_future(link.transact(lambda _connection: None, 30.0))  # noqa: TID251  awaited below
            for _ in range(steps):
                await asyncio.sleep(0)
            using.cancel()
            with pytest.raises((asyncio.CancelledError, StoreUnavailable)):
                await using
            await link.aclose()
    while len(asyncio.all_tasks()) > 1:
        await asyncio.sleep(0)
    gc.collect()
    assert [] == untold


def test_a_connection_that_ended_as_it_was_made_is_an_outage() -> None:
    assert is_outage(sa.exc.ResourceClosedError("This Connection is closed"))


async def test_a_database_that_is_no_place_for_a_store_is_refused_in_words(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    url = await postgres.create_owned()
    base, name = url.rpartition("/")[0], url.rpartition("/")[2]
    role = base.partition("//")[2].partition(":")[0]
    admin = await asyncpg.connect(postgres.url(name))
    try:
        await admin.execute(f"CREATE DATABASE {name}_latin TEMPLATE template0 ENCODING 'LATIN1' OWNER {role}")
        await admin.execute(f"CREATE DATABASE {name}_theirs")
        await admin.execute("CREATE TABLE users (id int)")
        cases = {
            f"{url}_latin": "is in LATIN1, .* ENCODING 'UTF8'",
            f"{url}_theirs": f"make no tables: ALTER DATABASE {name}_theirs OWNER TO {role}",
            url: r"another program's tables \(users\): name an empty database",
            f"{url}?sslmode=bogus": "`sslmode` parameter must be one of",
            f"{url}?chanel=1": 'parameter "chanel"; take .* out of DATABASE_URL',
            f"{url}_none": "does not exist; make it",
            url.replace("@", "x@"): "password authentication failed .*; mend the user or the password in DATABASE_URL",
        }
        for wrong, says in cases.items():
            with pytest.raises(GatewayError, match=says):
                await Store.open(wrong, wait_s=60)
            found = await check_database(wrong, tmp_path)
            assert re.search(says, f"{found.words} {found.to_do}"), (wrong, found)
        assert 1 == await admin.fetchval("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'")
        await admin.execute("DROP TABLE users; CREATE TABLE alembic_version (version_num text)")
        with pytest.raises(GatewayError, match=r"permission denied .*; the gateway's role has to own"):
            await Store.open(url)
    finally:
        await admin.close()


async def test_what_a_managed_server_gives_as_its_url_is_understood(postgres: PostgresServer) -> None:
    url = f"{await postgres.create_owned()}?sslmode=prefer&options=-c%20work_mem%3D3MB"
    store = await Store.open(url)
    assert "3MB" == await store.read(lambda c: c.execute(sa.text("SHOW work_mem")).scalar_one())
    await store.aclose()
    link = link_to(url, lambda _words: None, lambda: None)
    assert "tenk" == await link.transact(lambda c: c.execute(sa.text("SHOW application_name")).scalar_one(), 30)
    await link.aclose()
