"""Conversations are consolidated while the process dies again and again: each passage once."""

import asyncio
import os
import random
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa

from agent.transcript import EndReason, TurnEnded, TurnStarted, UserItem
from channels.messages import Address
from gateway.store import journal
from gateway.store.consolidation import ABSTRACTS, DREAMS, FACTS
from gateway.store.consolidation_log import CONSOLIDATIONS
from gateway.store.engine import Connection, Store
from gateway.store.journal import TurnRow
from gateway.store.people import Newcomer, enrol
from gateway.store.tables.base import new_id
from tests.fakes.fork_server import Forked, ForkServer
from tests.torture import consolidation_worker
from tests.torture.consolidation_worker import READY, TENANT

PEOPLE, FIRST, MORE = 6, 40, 10
KILLS = int(os.environ.get("TORTURE_KILLS", "100"))
ROOT = Path(__file__).parents[2]


def talk(connection: Connection, user_id: str, person: int, first: int, count: int) -> None:
    """Let a person say so many messages, each of a thing of its own and long enough that a passage has a dozen."""
    now = datetime.now(UTC) - timedelta(seconds=2)
    session = journal.open_session(connection, TENANT, f"agent:coach:sim:main:direct:{person}", "steer", 1, now)
    for number in range(first, first + count):
        turn = TurnRow(new_id(), TENANT, session.id, user_id, "chat", Address("sim", "main", f"{person}"), None, now)
        journal.begin_turn(connection, turn)
        said = UserItem(f"{'w' * 1_500} x{person}y{number}", None, now.isoformat())
        events = [TurnStarted((said,)), TurnEnded(EndReason.COMPLETED, "Fine.")]
        journal.append(connection, turn, journal.next_seq(connection, session.id), events, now)
        journal.end_turn(connection, turn.id, EndReason.COMPLETED, now)


async def start(url: str, out: Path) -> Forked:
    """Start a process, and return it when it begins to work."""
    out.touch()
    process = ForkServer.of().start([str(consolidation_worker.__file__), url], os.environ, ROOT, out, out)
    while READY not in out.read_text().splitlines():
        assert process.poll() is None, out.read_text()
        await asyncio.sleep(0.02)
    return process


async def end(process: Forked) -> None:
    if process.poll() is None:
        process.kill()
        await process.wait()


async def settle(store: Store, messages: int) -> None:
    """Wait until everything is consolidated and dreamt of."""

    def is_settled(connection: Connection) -> bool:
        done = sa.select(sa.func.coalesce(sa.func.sum(CONSOLIDATIONS.c.messages), 0))
        return connection.execute(done).scalar() == messages and not DREAMS.count(connection)

    async with asyncio.timeout(60):
        while not await store.read(is_settled):
            await asyncio.sleep(0.1)


@pytest.mark.parametrize(
    "kills",
    [
        pytest.param(20, marks=[pytest.mark.gate, pytest.mark.timeout(240)]),
        pytest.param(KILLS, marks=[pytest.mark.long, pytest.mark.timeout(3600)]),
    ],
)
async def test_each_passage_is_consolidated_once(url: str, kills: int, tmp_path: Path) -> None:
    store, chance, processes = await Store.open(url), random.Random(kills), list[Forked]()
    people = []
    for person in range(PEOPLE):
        known = await store.commit(enrol, Newcomer(TENANT, f"sim:{person}", "", "", "member", "cli"), datetime.now(UTC))
        people.append(known.user_id)
        await store.of(TENANT).commit(talk, known.user_id, person, 0, FIRST)
    said, done = dict.fromkeys(range(PEOPLE), FIRST), list[int]()
    try:
        for kill in range(kills):
            processes.append(await start(url, tmp_path / f"{kill}.out"))
            for older in processes[:-1]:  # at work until now, and fenced
                await end(older)
            await asyncio.sleep(chance.uniform(0.0, 0.5))
            if chance.random() < 0.7:
                await end(processes[-1])
            if kill % 3 == 0:
                person = chance.randrange(PEOPLE)
                await store.of(TENANT).commit(talk, people[person], person, said[person], MORE)
                said[person] += MORE
            done.append(await store.read(CONSOLIDATIONS.count))
        processes.append(await start(url, tmp_path / "last.out"))
        await settle(store, sum(said.values()))
    finally:
        for process in processes:
            await end(process)
    facts, rows, abstracts = [await store.read(table.find) for table in (FACTS, CONSOLIDATIONS, ABSTRACTS)]
    await store.aclose()
    assert len(set(done)) > 3, "the process died at work"
    things = [f"x{person}y{number}" for person, count in said.items() for number in range(count)]
    assert sorted(things) == sorted(fact.object for fact in facts)
    assert {1} == {fact.mentions for fact in facts}
    passages = defaultdict(list)
    for row in sorted(rows, key=lambda each: (each.session_id, each.from_seq)):
        passages[row.session_id].append((row.from_seq, row.to_seq))
    for found in passages.values():
        assert [0, *(end for _, end in found[:-1])] == [begin for begin, _ in found]
    assert {session: f"{len(found)}" for session, found in passages.items()} == {
        each.session_id: each.text for each in abstracts
    }
