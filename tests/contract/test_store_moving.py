"""A store is carried to the other database and back whole, lives in one of them at any time, and bears every kill."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
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
from tests.contract.stores import note, subjects
from tests.fakes.fresh_database import copy_fresh
from tests.fakes.postgres import PostgresServer
from tests.fakes.settled_rows import fill

NOW = datetime(2026, 11, 23, tzinfo=UTC)
ODD = "ñ 💪 \x00 \\ ' \u2028"
AS_POSTGRES_HAS_IT = ODD.replace("\x00", "\ufffd")


class Killed(BaseException):
    """As if the process had died: connections break, and the server undoes what was not committed."""


def tables_of(agent: str) -> AgentTables | None:
    """As the terminal finds them."""
    return load_product(agent).tables


@dataclass
class Ends:
    """A home with history on SQLite, and an empty database of a server."""

    sqlite: str
    postgres: str
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
        for url in (self.sqlite, self.postgres):
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


@pytest.fixture
async def ends(tmp_path: Path, postgres: PostgresServer) -> Ends:
    """Both, nobody at work."""
    path = tmp_path / "home" / "tenk.db"
    await copy_fresh(path)
    store = await Store.open(f"sqlite:///{path}")
    await store.write(history)
    await store.aclose()
    return Ends(f"sqlite:///{path}", await postgres.create(), [])


async def test_a_store_moves_and_goes_on_and_moves_back(ends: Ends) -> None:
    """All rows, epochs and the numbers of the next ones; what was left says where it went, and is not even read."""
    moved = await ends.carry(ends.sqlite, ends.postgres)
    assert (1, [ends.postgres]) == (moved.mended, await ends.alive())
    with pytest.raises(StoreMoved, match=r"moved to postgresql://postgres:\*\*\*@127"):
        await Store.open(ends.sqlite)
    with pytest.raises(StoreMoved, match="is the past"):
        async with reading(ends.sqlite):
            pass
    store = await Store.open(ends.postgres)
    numbers = [await store.write(note("second")), await store.write(partial(put_row, event="new"))]
    assert ([3, 21], ["first", "second"]) == (numbers, (await store.read(subjects))[-2:])
    assert [(AS_POSTGRES_HAS_IT, 41, bytes(range(256)), 45)] == await store.read(seen)
    await store.aclose()
    again = await ends.carry(ends.postgres, ends.sqlite)
    assert (moved.rows + 2, [ends.sqlite]) == (again.rows, await ends.alive())
    store = await Store.open(ends.sqlite)
    assert [(AS_POSTGRES_HAS_IT, 41, bytes(range(256)), 45)] == await store.read(seen)
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
    there, back = ends.sqlite, ends.postgres
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
        assert [(AS_POSTGRES_HAS_IT, 41, bytes(range(256)), 45)] == await store.read(seen)
        await store.write(note(str(step)))
        await store.aclose()


async def test_a_move_that_dies_goes_on(ends: Ends) -> None:
    """In the middle, and between its last two commits, where nothing lives."""
    with pytest.raises(Killed):
        await ends.carry(ends.sqlite, ends.postgres, 7)
    assert [ends.sqlite] == await ends.alive()
    store = await Store.open(ends.sqlite)
    await store.write(note("said meanwhile"))
    await store.aclose()
    ends.said.clear()
    await ends.carry(ends.sqlite, ends.postgres)
    assert "where it was begun before" in ends.said[0]
    store = await Store.open(ends.postgres)
    assert ["first", "said meanwhile"] == (await store.read(subjects))[-2:]
    await store.aclose()


@pytest.mark.timeout(300)
@pytest.mark.parametrize("every", [pytest.param(5, marks=pytest.mark.gate), pytest.param(1, marks=pytest.mark.long)])
async def test_a_move_may_die_at_every_step(ends: Ends, every: int) -> None:
    """There and back, again and again, some steps later each time."""
    await ends.carry(ends.sqlite, ends.postgres)
    await kill_at_each(ends, every)


async def test_what_is_no_place_for_it_is_refused_and_nothing_changes(ends: Ends, postgres: PostgresServer) -> None:
    """Another store, another version, another program's, a replica, and whoever still writes."""
    url = await postgres.create_migrated()
    store = await Store.open(url)
    await store.write(note("theirs"))
    with pytest.raises(GatewayError, match=r"a gateway uses .*1 connections"):
        await ends.carry(ends.sqlite, url)
    await store.aclose()
    with pytest.raises(GatewayError, match="is not empty: it has audit"):
        await ends.carry(ends.sqlite, url)
    for statement, words in (
        ("UPDATE alembic_version SET version_num = '0001'", "is of version 0001"),
        ("DROP TABLE alembic_version", "another program's tables"),
        (f"ALTER DATABASE {url.rpartition('/')[2]} SET default_transaction_read_only = on", "takes no writes"),
    ):
        connection = await asyncpg.connect(url)
        await connection.execute(statement)
        await connection.close()
        with pytest.raises(GatewayError, match=words):
            await ends.carry(ends.sqlite, url)
    with pytest.raises(GatewayError, match="lives already"):
        await ends.carry(ends.sqlite, ends.sqlite)
    assert [ends.sqlite] == (await ends.alive())[:1]


async def test_a_server_that_somebody_writes_to_is_not_left(ends: Ends) -> None:
    """A gateway by its connections, one on another machine by its leases, anybody else by what they hold."""
    await ends.carry(ends.sqlite, ends.postgres)
    store = await Store.open(ends.postgres)
    with pytest.raises(GatewayError, match="a gateway still uses"):
        await ends.carry(ends.postgres, ends.sqlite)
    await store.write(
        lambda c: c.execute(turns.shards.update().values(owner="w1", until=NOW + timedelta(seconds=9))) and None
    )
    await store.aclose()
    with pytest.raises(GatewayError, match="until 00:00:09 UTC"):
        await ends.carry(ends.postgres, ends.sqlite)
    connection = await asyncpg.connect(ends.postgres)
    await connection.execute("UPDATE shards SET owner = NULL")
    async with connection.transaction():
        await connection.execute("UPDATE users SET role = role")
        with pytest.raises(GatewayError, match="somebody writes"):
            await asyncio.wait_for(ends.carry(ends.postgres, ends.sqlite), 30)
    await connection.close()
    await ends.carry(ends.postgres, ends.sqlite)
    assert [ends.sqlite] == await ends.alive()


@pytest.mark.gate
async def test_a_row_that_does_not_fit_is_named(ends: Ends) -> None:
    """SQLite keeps longer texts than it was told to."""
    store = await Store.open(ends.sqlite)
    await store.write(lambda c: c.execute(people.users.update().values(locale="x" * 40)) and None)
    await store.aclose()
    with pytest.raises(GatewayError, match="a row of users does not fit: locale has 40 characters of 35"):
        await ends.carry(ends.sqlite, ends.postgres)
    assert [ends.sqlite] == (await ends.alive())
