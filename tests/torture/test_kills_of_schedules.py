"""Kills around the times at which schedules are due."""

import asyncio
import json
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa

from agent.schedules.missed import Missed
from agent.schedules.rules import Once, dump_rule
from channels.messages import Address
from gateway.store import schedules
from gateway.store.engine import Store
from gateway.store.schedules import SCHEDULES, StoredSchedule
from gateway.store.tables.base import new_id
from gateway.store.tables.traffic import inbox
from tests.torture.invariants import MARK
from tests.torture.world import World

CHAT, FIRST = 1, 501
DUE_A_LIFE = 2


async def plan(store: Store, number: int, due_at: datetime) -> None:
    """Keep a schedule for the chat, due once."""

    def job(connection: sa.Connection) -> None:
        query = sa.select(inbox.c.user_id, inbox.c.session_key, inbox.c.account, inbox.c.chat).limit(1)
        person = connection.execute(query.where(inbox.c.user_id.is_not(None))).one()
        row = StoredSchedule(
            id=new_id(),
            tenant="default",
            user_id=person.user_id,
            agent="torture",
            name=f"number {number}",
            prompt=f"m{number}p please",
            rule=dump_rule(Once(day=due_at.date(), at=due_at.time().replace(second=0, microsecond=0))),
            missed=Missed.ONCE,
            address=json.dumps(schedules.to_json(Address("telegram", person.account, person.chat))),
            session_key=person.session_key,
            zone="UTC",
            next_at=due_at,
            next_wall=schedules.to_wall_text(due_at.replace(tzinfo=None)),
            created_at=due_at,
        )
        SCHEDULES.add(connection, row)

    await store.of("default").commit(job)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("kills", [pytest.param(2, marks=pytest.mark.gate), pytest.param(30, marks=pytest.mark.long)])
async def test_each_slot_is_answered_once(tmp_path: Path, kills: int) -> None:
    chance, numbers = random.Random(kills), list[int]()
    async with World(tmp_path, pace_s=0.05, config="\n[schedules]\n") as world:
        await world.start()
        world.say(CHAT)
        await world.settle()
        await world.kill()
        for _ in range(kills):
            store = await Store.open(f"sqlite:///{world.database}")
            for _ in range(DUE_A_LIFE):
                numbers.append(FIRST + len(numbers))
                await plan(store, numbers[-1], datetime.now(UTC) + timedelta(seconds=chance.uniform(0.5, 3.0)))
            await store.aclose()
            await world.start()
            await asyncio.sleep(chance.uniform(0.02, 3.0))
            await world.kill()
        await world.start()
        await world.until(lambda: not world.count("SELECT count(*) FROM schedules"), 30, "the last slots")
        await world.settle(60, 200)
        await world.gateway.kill()
        told = [_times_told(world, number) for number in numbers]
        events = world.count("SELECT count(*) FROM inbox WHERE event_id LIKE 'schedule:%'")
        logged = [world.count(f"SELECT count(*) FROM practice_sessions WHERE notes = 'm{each}'") for each in numbers]
    assert [] == world.model.unsendable
    assert len(numbers) == events
    assert {1} == set(logged), logged
    assert all(unmarked <= 1 <= unmarked + marked for unmarked, marked in told), told


def _times_told(world: World, number: int) -> tuple[int, int]:
    """Return in how many messages a schedule was answered, without and with the mark of a repeated one."""
    shown = [each.text for each in world.answers(CHAT) if f"re:m{number} " in each.text]
    marked = sum(MARK in text for text in shown)
    return len(shown) - marked, marked
