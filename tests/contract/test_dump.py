"""A database dumped as JSON lines and loaded into the other kind and back; a failed load leaves nothing."""

import array
import asyncio
import fcntl
import json
import os
import signal
import sys
import termios
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import asyncpg
import pytest
import sqlalchemy as sa
from click.testing import CliRunner, Result

from agent.ports import Change, LocalEffect, Principal
from channels.messages import DEFAULT_TENANT
from gateway.cli.root import root
from gateway.coach import writer
from gateway.coach.product import COACH
from gateway.coach.tables import PRACTICE_TABLES
from gateway.errors import GatewayError, StoreClosed
from gateway.ops.lock import HomeLock
from gateway.product import load_product
from gateway.safety.vault import Vault
from gateway.store import credentials, leases, outbox
from gateway.store.agent_tables import AgentTables, bring_up
from gateway.store.credentials import Connected
from gateway.store.dump import dump, reopen
from gateway.store.engine import Store, reading
from gateway.store.leases import Member
from gateway.store.load import load
from gateway.store.people import Newcomer, enrol
from gateway.store.tables import people, traffic, turns
from tests.contract.stores import note
from tests.contract.test_backup import ON_PAGE, PAGE, commands_on_page, typed
from tests.fakes.fork_server import ForkServer
from tests.fakes.fresh_database import copy_fresh
from tests.fakes.postgres import PostgresServer
from tests.fakes.settled_rows import fill

NOW = datetime(2026, 11, 23, tzinfo=UTC)
ODD = "ñ 💪 \\ ' \u2028 \r\n"
VAULT = Vault([bytes(32)])


def tables_of(agent: str) -> AgentTables | None:
    return load_product(agent).tables if agent == COACH.name else None


def history(connection: sa.Connection) -> None:
    fill(connection, 20)
    bring_up(connection, COACH.name, PRACTICE_TABLES)
    person = enrol(connection, Newcomer(DEFAULT_TENANT, "telegram:1", "", "Ana", "owner", "cli", "es"), NOW)
    principal = Principal(person.user_id, person.tenant, "Ana")
    writer.once(Change(connection, principal, "k1", NOW), LocalEffect(writer.log, "Piano", 45, NOW.date()))
    outbox.put_file(connection, DEFAULT_TENANT, "b1", bytes(range(256)), NOW)
    sealed = VAULT.seal("canary-key", credentials.secret_of(DEFAULT_TENANT, person.user_id, "p"))
    credentials.put(connection, DEFAULT_TENANT, person.user_id, Connected("p", "api", NOW), sealed)
    connection.execute(traffic.inbox.update().where(traffic.inbox.c.id == 7).values(payload=ODD))
    connection.execute(traffic.inbox.delete().where(traffic.inbox.c.id == 9))
    connection.execute(turns.shards.update().values(epoch=41))
    note("first")(connection)


async def with_history(tmp_path: Path) -> str:
    await copy_fresh(tmp_path / "home" / "tenk.db")
    url = f"sqlite:///{tmp_path}/home/tenk.db"
    store = await Store.open(url)
    await store.commit(history)
    await store.aclose()
    return url


@pytest.fixture
async def home(tmp_path: Path) -> str:
    return await with_history(tmp_path)


@pytest.fixture(params=["sqlite", "postgresql"])
async def other(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/other/tenk.db"
    server: PostgresServer = request.getfixturevalue("postgres")
    return await server.create()


async def rows_of(url: str, file: Path) -> list[str]:
    await dump(url, file, tables_of)
    return sorted(file.read_text().split("\n"))


async def is_empty(url: str) -> bool:
    if url.startswith("sqlite"):
        return not Path(sa.make_url(url).database or "").exists()
    connection = await asyncpg.connect(url)
    count = await connection.fetchval("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'")
    await connection.close()
    return bool(count == 0)


async def test_a_database_goes_to_the_other_and_back_with_every_row(home: str, other: str, tmp_path: Path) -> None:
    before = await rows_of(home, tmp_path / "first.jsonl")
    carried = await load(tmp_path / "first.jsonl", other, tables_of)
    assert before == await rows_of(other, tmp_path / "second.jsonl")
    again = f"sqlite:///{tmp_path}/again/tenk.db"
    await load(tmp_path / "second.jsonl", again, tables_of)
    assert before == await rows_of(again, tmp_path / "third.jsonl")
    assert (len(before) - carried.tables - 3, 0o600) == (
        carried.rows,
        (tmp_path / "third.jsonl").stat().st_mode & 0o777,
    )


async def test_a_gateway_goes_on_from_a_loaded_database(home: str, other: str, tmp_path: Path) -> None:
    await dump(home, tmp_path / "dump.jsonl", tables_of)
    await load(tmp_path / "dump.jsonl", other, tables_of)
    store = await Store.open(other)
    assert [3, 21] == [await store.commit(note("second")), await store.commit(put_row, event="new")]
    assert (ODD, 41, bytes(range(256))) == await store.read(seen)
    query = sa.select(people.credentials.c.user_id, people.credentials.c.sealed)
    key = await store.read(lambda c: c.execute(query).one())
    assert "canary-key" == VAULT.open(key.sealed, credentials.secret_of(DEFAULT_TENANT, key.user_id, "p"))
    await store.aclose()


def put_row(connection: sa.Connection, event: str) -> int:
    values = {
        "tenant_id": "t",
        "channel": "c",
        "account": "a",
        "event_id": event,
        "kind": "k",
        "chat": "1",
        "sender": "s",
        "payload": "",
        "received_at": NOW,
        "admitted_at": NOW,
        "outcome": "refused",
        "done_at": NOW,
    }
    return int(connection.execute(traffic.inbox.insert().returning(traffic.inbox.c.id), values).scalar_one())


def seen(connection: sa.Connection) -> tuple[object, ...]:
    return (
        connection.execute(sa.select(traffic.inbox.c.payload).where(traffic.inbox.c.id == 7)).scalar_one(),
        connection.execute(sa.select(sa.func.max(turns.shards.c.epoch))).scalar_one(),
        connection.execute(sa.select(turns.blobs.c.content)).scalar_one(),
    )


async def test_a_nul_that_postgresql_does_not_keep_is_replaced_and_counted(
    home: str, postgres: PostgresServer, tmp_path: Path
) -> None:
    store = await Store.open(home)
    await store.commit(lambda c: c.execute(people.users.update().values(display_name="A\x00na")) and None)
    await store.aclose()
    await dump(home, tmp_path / "dump.jsonl", tables_of)
    url = await postgres.create()
    carried = await load(tmp_path / "dump.jsonl", url, tables_of)
    store = await Store.open(url)
    name = await store.read(lambda c: c.execute(sa.select(people.users.c.display_name)).scalar_one())
    await store.aclose()
    assert (1, "A\ufffdna") == (carried.mended, name)


def edited(change: Callable[[dict[str, object]], object]) -> Callable[[str], str]:
    def edit(text: str) -> str:
        head, _, rest = text.partition("\n")
        line = json.loads(head)
        change(line)
        return f"{json.dumps(line)}\n{rest}"

    return edit


BAD: dict[str, tuple[Callable[[str], str], str]] = {
    "cut within a line": (lambda text: text[: len(text) // 2 - 1].rstrip("\n"), "was cut short"),
    "cut between lines": (lambda text: text[: text.rindex("\n", 0, -1) + 1], "the file was cut short"),
    "empty": (lambda _: "", "line 1 .* cut short"),
    "a line is no JSON": (lambda text: text.replace('{"table":"audit"', "{table:audit", 1), "is no JSON"),
    "another program's": (lambda _: '{"hello": 1}\n', "line 1 .* is not the beginning of a dump"),
    "a wrong value": (
        lambda text: text.replace('"owner","Ana"', '17,"Ana"', 1),
        "does not fit users.role: a text belongs there",
    ),
    "a wrong number of values": (lambda text: text.replace('"owner","Ana"', '"Ana"', 1), "users has .* columns"),
    "a wrong table": (
        lambda text: text.replace('{"table":"audit"', '{"table":"adit"', 1),
        "begins none that is expected",
    ),
    "a wrong count": (lambda text: text.replace('{"rows":', '{"rows":1', 1), "should be the last one"),
    "more behind the end": (lambda text: text + "[]\n", "should be the last one"),
    "a newer format": (edited(lambda line: line.update(tenk_dump=2)), "run the newer tenk-gateway"),
    "a newer version": (edited(lambda line: line.update(revision="9999")), "the dump has schema version 9999"),
    "an older version": (edited(lambda line: line.update(revision="0057")), "which no release had"),
    "another agent": (
        edited(lambda line: line.update(agents={"clerk": 0})),
        "agent clerk, which is not installed",
    ),
}


@pytest.mark.parametrize(
    ("other", "cases"), [("sqlite", tuple(BAD)), ("postgresql", ("a wrong count",))], indirect=["other"]
)
async def test_a_bad_dump_is_refused_with_its_line_and_nothing_is_written(
    home: str, other: str, cases: tuple[str, ...], tmp_path: Path
) -> None:
    file = tmp_path / "dump.jsonl"
    await dump(home, file, tables_of)
    text = file.read_text()
    for case in cases:
        spoil, words = BAD[case]
        spoilt = spoil(text)
        assert text != spoilt, case
        file.write_text(spoilt)
        with pytest.raises(GatewayError, match=words):
            await load(file, other, tables_of)
        assert await is_empty(other), case


async def test_what_is_not_empty_is_not_filled_and_no_file_is_written_over(
    home: str, other: str, tmp_path: Path
) -> None:
    file = tmp_path / "dump.jsonl"
    await dump(home, file, tables_of)
    with pytest.raises(GatewayError, match="is there already"):
        await dump(home, file, tables_of)
    store = await Store.open(other)
    await store.commit(note("theirs"))
    await store.aclose()
    with pytest.raises(GatewayError, match="is not empty: it has audit"):
        await load(file, other, tables_of)
    store = await Store.open(other)
    assert ["theirs"] == await store.read(lambda c: list(c.execute(sa.select(people.audit.c.subject)).scalars()))
    await store.aclose()


async def test_a_killed_load_leaves_nothing(home: str, other: str, tmp_path: Path) -> None:
    file, pipe = tmp_path / "dump.jsonl", tmp_path / "pipe"
    await dump(home, file, tables_of)
    os.mkfifo(pipe)
    environment = os.environ | {"TENK_HOME": str(tmp_path / "new"), "DATABASE_URL": other}
    out, command = tmp_path / "out", ["-m", "gateway", "db", "load", str(pipe)]
    loading = ForkServer.of().start(command, environment, tmp_path, out, out)
    whole = file.read_bytes()
    with pipe.open("wb", buffering=0) as half:
        half.write(whole[: len(whole) * 2 // 3])
        while await asyncio.to_thread(unread_bytes, half.fileno()):
            await asyncio.sleep(0.02)
        loading.kill()
        assert -signal.SIGKILL == await loading.wait()
    await load(file, other, tables_of)
    assert await rows_of(home, tmp_path / "a") == await rows_of(other, tmp_path / "b")


def unread_bytes(pipe: int) -> int:
    count = array.array("i", [0])
    fcntl.ioctl(pipe, termios.FIONREAD, count)
    return count[0]


async def test_after_a_final_dump_no_gateway_starts_until_it_is_reopened(home: str, tmp_path: Path) -> None:
    await dump(home, tmp_path / "final.jsonl", tables_of, NOW)
    for look in (Store.open, lambda url: reading(url).__aenter__()):
        with pytest.raises(StoreClosed, match="closed by `tenk db dump --final` on 2026-11-23 00:00 UTC"):
            await look(home)
    elsewhere = f"sqlite:///{tmp_path}/elsewhere/tenk.db"
    await load(tmp_path / "final.jsonl", elsewhere, tables_of)
    await (await Store.open(elsewhere)).aclose()
    assert (True, False) == (await reopen(home), await reopen(home))
    await (await Store.open(home)).aclose()


async def test_a_final_dump_waits_for_no_writer_on_postgresql(
    home: str, postgres: PostgresServer, tmp_path: Path
) -> None:
    url = await postgres.create()
    await dump(home, tmp_path / "dump.jsonl", tables_of)
    await load(tmp_path / "dump.jsonl", url, tables_of)
    store = await Store.open(url)
    final = partial(dump, url, tmp_path / "final.jsonl", tables_of, NOW)
    with pytest.raises(GatewayError, match="a gateway uses this database"):
        await final()
    await store.commit(leases.join, me=Member("w1:1", "a", "1", "key"), now=NOW, lease_s=600.0)
    await store.aclose()
    with pytest.raises(GatewayError, match=r"until \d\d:\d\d:\d\d UTC"):
        await final()
    connection = await asyncpg.connect(url)
    await connection.execute("DELETE FROM members")
    async with connection.transaction():
        await connection.execute("UPDATE users SET role = role")
        with pytest.raises(GatewayError, match="somebody writes"):
            await asyncio.wait_for(final(), 30)
    await connection.close()
    assert not (tmp_path / "final.jsonl").exists()
    await final()
    with pytest.raises(StoreClosed):
        await Store.open(url)


def tenk(home: Path, *arguments: str) -> Result:
    return CliRunner().invoke(root, list(arguments), env={"TENK_HOME": str(home)})


async def test_the_commands_say_what_was_done_and_what_is_needed_beside(home: str, tmp_path: Path) -> None:
    there, file, new = tmp_path / "home", str(tmp_path / "d.jsonl"), tmp_path / "new"
    with HomeLock(there):  # as a gateway does
        beside = await asyncio.to_thread(tenk, there, "db", "dump", str(tmp_path / "beside.jsonl"))
        refused = await asyncio.to_thread(tenk, there, "db", "dump", "--final", file)
    assert (0, True) == (beside.exit_code, "holds all" in beside.output), beside.output
    assert "already runs" in str(refused.exception)
    done = await asyncio.to_thread(tenk, there, "db", "dump", "--final", file)
    assert (0, True) == (done.exit_code, str(there / "secrets.key") in done.output), done.output
    assert "closed by" in str((await asyncio.to_thread(tenk, there, "db", "upgrade")).exception)
    loaded = await asyncio.to_thread(tenk, new, "db", "load", file)
    assert (0, True) == (loaded.exit_code, "continues from there" in loaded.output), loaded.output
    assert "needs a key that is not in" in loaded.output
    assert "open again" in (await asyncio.to_thread(tenk, there, "db", "reopen")).output
    gone = await asyncio.to_thread(tenk, there, "db", "move", "postgresql://h/d", "--anything")
    assert "run `tenk db dump --final FILE`, then `tenk db load FILE`" in str(gone.exception)


@pytest.mark.gate
async def test_the_page_on_postgresql_goes_there_and_back(home: str, postgres: PostgresServer, tmp_path: Path) -> None:
    url = await postgres.create()
    (tmp_path / "home").rename(tmp_path / "var")
    commands = [line for word in ("tenk db dump --final", "tenk db load", "mv var") for line in commands_on_page(word)]
    page = PAGE.read_text(encoding="utf-8")
    before = await rows_of(f"sqlite:///{tmp_path}/var/tenk.db", tmp_path / "before")
    for command in sorted(commands, key=page.index):
        with_tenk = f"PATH={Path(sys.executable).parent}:$PATH; {command.replace(ON_PAGE, url)}"
        await asyncio.to_thread(typed, postgres, with_tenk, tmp_path)
    assert 5 == len(commands)
    assert before == await rows_of(f"sqlite:///{tmp_path}/var/tenk.db", tmp_path / "after")
