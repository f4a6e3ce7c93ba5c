"""A store is carried to the other database and back whole, lives in one of them at any time, and bears every kill."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from itertools import count
from pathlib import Path

import asyncpg
import pytest
import sqlalchemy as sa

from agent.coach.changes import LogPractice
from agent.ports import Principal
from channels.messages import DEFAULT_TENANT
from gateway.coach import practice
from gateway.coach.product import COACH
from gateway.coach.tables import PRACTICE_TABLES
from gateway.errors import GatewayError, StoreMoved
from gateway.product import load_product
from gateway.store import outbox
from gateway.store.agent_tables import AgentTables, bring_up
from gateway.store.engine import Store, reading
from gateway.store.moving import Moved, move
from gateway.store.people import Newcomer, enrol
from gateway.store.tables import people, traffic, turns
from tests.contract.stores import SqliteCase, note, subjects
from tests.fakes.fresh_database import copy_fresh
from tests.fakes.postgres import PostgresServer
from tests.fakes.settled_rows import fill

NOW = datetime(2026, 11, 23, tzinfo=UTC)
FAR = datetime(2126, 1, 1, 0, 0, 9, tzinfo=UTC)
ODD = "ñ 💪 \x00 \\ ' \u2028"
AS_POSTGRES_HAS_IT = ODD.replace("\x00", "\ufffd")


class Killed(BaseException):
    """As if the process had died: connections break, and the server undoes what was not committed."""


def tables_of(agent: str) -> AgentTables | None:
    """As the terminal finds them."""
    return load_product(agent).tables


@dataclass
class Ends:
    """A home with history on SQLite, and another database, which is empty."""

    home: str
    other: str
    odd: str  # what the other one keeps of `ODD`
    said: list[str]

    async def carry(self, source: str, target: str, dies_at: int | None = None) -> Moved:
        """Move; with `dies_at` to the end of the process, at its so many'th word."""
        steps = count()

        def say(words: str) -> None:
            self.said.append(words)
            if next(steps) == dies_at:
                raise Killed

        return await move(source, target, tables_of, NOW, say)

    async def alive(self) -> list[str]:
        """The databases that a gateway would start on."""
        found = []
        for url in (self.home, self.other):
            with suppress(StoreMoved):
                store = await Store.open(url)
                await store.aclose()
                found.append(url)
        return found


def history(connection: sa.Connection) -> None:
    """Something in many a table; ids with gaps, odd characters, a picture, practice."""
    fill(connection, 20)
    bring_up(connection, COACH.name, PRACTICE_TABLES)
    person = enrol(connection, Newcomer(DEFAULT_TENANT, "telegram:1", "", "Ana", "owner", "cli", "es"), NOW)
    principal = Principal(person.user_id, person.tenant, "Ana")
    practice.apply(connection, principal, LogPractice("Piano", 45, NOW.date()), "k1", NOW)
    outbox.put_file(connection, DEFAULT_TENANT, "b1", bytes(range(256)), NOW)
    connection.execute(traffic.inbox.update().where(traffic.inbox.c.id == 7).values(payload=ODD))
    connection.execute(traffic.inbox.delete().where(traffic.inbox.c.id == 9))
    connection.execute(turns.shards.update().values(epoch=41))
    note("first")(connection)


async def fill_home(tmp_path: Path) -> str:
    """A home with history; its URL."""
    path = tmp_path / "home" / "tenk.db"
    await copy_fresh(path)
    store = await Store.open(f"sqlite:///{path}")
    await store.write(history)
    await store.aclose()
    return f"sqlite:///{path}"


@pytest.fixture(params=["sqlite", "postgresql"])
async def ends(request: pytest.FixtureRequest, tmp_path: Path) -> Ends:
    """A home and the place to move to, nobody at work in either."""
    home = await fill_home(tmp_path)
    if request.param == "sqlite":
        return Ends(home, f"sqlite:///{tmp_path}/other/tenk.db", ODD, [])
    server: PostgresServer = request.getfixturevalue("postgres")
    return Ends(home, await server.create(), AS_POSTGRES_HAS_IT, [])


@pytest.fixture
async def to_server(tmp_path: Path, postgres: PostgresServer) -> Ends:
    """The same to a server alone."""
    return Ends(await fill_home(tmp_path), await postgres.create(), AS_POSTGRES_HAS_IT, [])


async def test_a_store_moves_and_goes_on_and_moves_back(ends: Ends) -> None:
    """All rows, epochs and the numbers of the next ones; what was left says where it went, and is not even read."""
    moved = await ends.carry(ends.home, ends.other)
    assert (int(ends.odd != ODD), [ends.other]) == (moved.mended, await ends.alive())
    with pytest.raises(StoreMoved, match=r"was moved to (/.*/other/tenk.db|postgresql://postgres:\*\*\*@127)"):
        await Store.open(ends.home)
    with pytest.raises(StoreMoved, match="is the past"):
        async with reading(ends.home):
            pass
    store = await Store.open(ends.other)
    numbers = [await store.write(note("second")), await store.write(partial(put_row, event="new"))]
    assert ([3, 21], ["first", "second"]) == (numbers, (await store.read(subjects))[-2:])
    assert [(ends.odd, 41, bytes(range(256)), 45)] == await store.read(seen)
    await store.aclose()
    again = await ends.carry(ends.other, ends.home)
    assert (moved.rows + 2, [ends.home]) == (again.rows, await ends.alive())
    store = await Store.open(ends.home)
    assert [(ends.odd, 41, bytes(range(256)), 45)] == await store.read(seen)
    assert 22 == await store.write(partial(put_row, event="newer"))
    await store.aclose()


def put_row(connection: sa.Connection, event: str) -> int:
    """A settled row of the inbox; its number."""
    values = {
        "tenant_id": "t", "channel": "c", "account": "a", "event_id": event, "kind": "k", "chat": "1", "sender": "s",
        "payload": "", "received_at": NOW, "admitted_at": NOW, "outcome": "refused", "done_at": NOW,
    }  # fmt: skip
    return int(connection.execute(traffic.inbox.insert().returning(traffic.inbox.c.id), values).scalar_one())


def seen(connection: sa.Connection) -> list[tuple[object, ...]]:
    """A little of many tables."""
    minutes = "SELECT minutes FROM practice_sessions"
    return [
        (
            connection.execute(sa.select(traffic.inbox.c.payload).where(traffic.inbox.c.id == 7)).scalar_one(),
            connection.execute(sa.select(sa.func.max(turns.shards.c.epoch))).scalar_one(),
            connection.execute(sa.select(turns.blobs.c.content)).scalar_one(),
            connection.execute(sa.text(minutes)).scalar_one(),
        )
    ]


async def kill_at_each(ends: Ends, every: int) -> None:
    """Kill at the steps 0, every ...; whatever stands then, one end at most lives, and the next call goes on."""
    there, back = ends.home, ends.other
    for step in count(0, every):
        there, back = back, there
        try:
            await ends.carry(there, back, step)
        except Killed:
            assert 1 >= len(await ends.alive())
            ends.said.clear()
            await ends.carry(there, back)
            assert "where it was begun before" in ends.said[0] or step == 0
        else:
            assert [back] == await ends.alive()
            return
        assert [back] == await ends.alive()
        store = await Store.open(back)
        assert [(ends.odd, 41, bytes(range(256)), 45)] == await store.read(seen)
        await store.write(note(str(step)))
        await store.aclose()


async def test_a_move_that_dies_goes_on(ends: Ends) -> None:
    """In the middle, and between its last two commits, where nothing lives."""
    with pytest.raises(Killed):
        await ends.carry(ends.home, ends.other, 7)
    assert [ends.home] == await ends.alive()
    store = await Store.open(ends.home)
    await store.write(note("said meanwhile"))
    await store.aclose()
    ends.said.clear()
    await ends.carry(ends.home, ends.other)
    assert "where it was begun before" in ends.said[0]
    store = await Store.open(ends.other)
    assert ["first", "said meanwhile"] == (await store.read(subjects))[-2:]
    await store.aclose()


@pytest.mark.timeout(300)
@pytest.mark.parametrize("every", [pytest.param(5, marks=pytest.mark.gate), pytest.param(1, marks=pytest.mark.long)])
async def test_a_move_may_die_at_every_step(ends: Ends, every: int) -> None:
    """There and back, again and again, some steps later each time."""
    await ends.carry(ends.home, ends.other)
    await kill_at_each(ends, every)


async def test_on_postgres_what_is_no_place_for_it_is_refused_and_nothing_changes(
    to_server: Ends, postgres: PostgresServer
) -> None:
    """Another store, another version, another program's, a replica, and whoever still writes."""
    url = await postgres.create_migrated()
    store = await Store.open(url)
    await store.write(note("theirs"))
    with pytest.raises(GatewayError, match=r"a gateway uses .*1 connections"):
        await to_server.carry(to_server.home, url)
    await store.aclose()
    with pytest.raises(GatewayError, match="is not empty: it has audit"):
        await to_server.carry(to_server.home, url)
    for statement, words in (
        ("UPDATE alembic_version SET version_num = '0001'", "is of version 0001"),
        ("DROP TABLE alembic_version", "another program's tables"),
        (f"ALTER DATABASE {url.rpartition('/')[2]} SET default_transaction_read_only = on", "takes no writes"),
    ):
        connection = await asyncpg.connect(url)
        await connection.execute(statement)
        await connection.close()
        with pytest.raises(GatewayError, match=words):
            await to_server.carry(to_server.home, url)
    with pytest.raises(GatewayError, match="lives already"):
        await to_server.carry(to_server.home, to_server.home)
    assert [to_server.home] == (await to_server.alive())[:1]


async def test_on_postgres_a_server_that_somebody_writes_to_is_not_left(to_server: Ends) -> None:
    """A gateway by its connections, one on another machine by its leases, anybody else by what they hold."""
    await to_server.carry(to_server.home, to_server.other)
    store = await Store.open(to_server.other)
    with pytest.raises(GatewayError, match="a gateway still uses"):
        await to_server.carry(to_server.other, to_server.home)
    await store.write(
        lambda c: (
            c.execute(turns.shards.update().values(owner="w1", until=datetime(2126, 1, 1, 0, 0, 9, tzinfo=UTC)))
            and None
        )
    )
    await store.aclose()
    with pytest.raises(GatewayError, match="until 00:00:09 UTC"):
        await to_server.carry(to_server.other, to_server.home)
    connection = await asyncpg.connect(to_server.other)
    await connection.execute("UPDATE shards SET owner = NULL")
    async with connection.transaction():
        await connection.execute("UPDATE users SET role = role")
        with pytest.raises(GatewayError, match="somebody writes"):
            await asyncio.wait_for(to_server.carry(to_server.other, to_server.home), 30)
    await connection.close()
    await to_server.carry(to_server.other, to_server.home)
    assert [to_server.home] == await to_server.alive()


@pytest.mark.gate
async def test_a_file_that_somebody_writes_to_is_not_left(tmp_path: Path) -> None:
    """Another program that holds it: it is named, and nothing was changed."""
    home, other = await fill_home(tmp_path), f"sqlite:///{tmp_path}/other/tenk.db"
    ends = Ends(home, other, ODD, [])
    with SqliteCase(tmp_path / "home" / "tenk.db").outage(), pytest.raises(GatewayError) as refused:
        await ends.carry(home, other)
    assert f"somebody writes to {tmp_path}/home/tenk.db" in str(refused.value)
    await ends.carry(home, other)


@pytest.mark.gate
async def test_on_postgres_a_row_that_does_not_fit_is_named(to_server: Ends) -> None:
    """SQLite keeps longer texts than it was told to."""
    store = await Store.open(to_server.home)
    await store.write(lambda c: c.execute(people.users.update().values(locale="x" * 40)) and None)
    await store.aclose()
    with pytest.raises(GatewayError, match="a row of users does not fit: locale has 40 characters of 35"):
        await to_server.carry(to_server.home, to_server.other)
    assert [to_server.home] == (await to_server.alive())
