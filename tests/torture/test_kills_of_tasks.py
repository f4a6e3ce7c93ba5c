"""Kills while conversations wait for tasks of their agents, and while tasks of the background run."""

import asyncio
import random
from pathlib import Path

import pytest

from tests.fakes.postgres import PostgresServer
from tests.torture.cluster import ClusterWorld
from tests.torture.invariants import MARK, examine
from tests.torture.world import Said, World

CONFIG = "\n[delegation]\nmax_tasks_overall = 1000\n"
KILLS, MACHINES_KILLED = 30, 8
CHATS_A_LIFE = 3


@pytest.mark.gate
@pytest.mark.timeout(300)
async def test_each_task_and_each_result_happens_once(tmp_path: Path) -> None:
    chance = random.Random(1)
    async with World(tmp_path, pace_s=0.05, config=CONFIG) as world:
        for _ in range(KILLS):
            await world.start()
            give_tasks(world)
            await asyncio.sleep(chance.uniform(0.02, 0.6))
            await world.kill()
        await world.start()
        await world.settle(60, 200)
        await world.gateway.kill()
        verdict = examine(world)
        assert_once(world)
    assert ([], 0) == (verdict.broken, verdict.told), verdict.line()


@pytest.mark.long
@pytest.mark.timeout(300)
async def test_tasks_of_machines_that_die_are_taken_over_once(tmp_path: Path) -> None:
    chance = random.Random(5)
    with PostgresServer() as server:
        world = ClusterWorld(tmp_path, 3, server, config=CONFIG)
        async with world:
            await world.start_all()
            await world.wait_for_owners()
            await world.until(lambda: world.platform.arrivals() > 0, 60, "a gateway that listens")
            for _ in range(MACHINES_KILLED):
                give_tasks(world)
                await asyncio.sleep(chance.uniform(0.1, 1.5))
                world.note_death()
                await chance.choice(world.machines).kill()
                await asyncio.sleep(chance.uniform(0.0, 2.0))
                await world.start_all()
            await world.settle(90)
            assert_once(world)
            verdict = await world.end()
    assert [] == verdict.broken, verdict.line()


def give_tasks(world: World) -> None:
    """Let people in new chats ask for tasks, at once and in the background."""
    for _ in range(CHATS_A_LIFE):
        chat = len(world.said) + 1
        world.say(chat, "db"[chat % 2])


def assert_once(world: World) -> None:
    """Check that each task was worked on once, and each result of the background told once."""
    news = [_times_told(world, said) for said in world.said if said.kinds == "b"]
    assert all(unmarked <= 1 <= unmarked + marked for unmarked, marked in news), news
    noted = {said.number: world.ledger.noted[f"task{said.number}"] for said in world.said}
    assert {1} == set(noted.values()), noted


def _times_told(world: World, said: Said) -> tuple[int, int]:
    """Return in how many messages a result was told, without and with the mark of a repeated one."""
    told = [shown.text for shown in world.answers(said.chat) if f"news-{said.number}" in shown.text.split()]
    marked = sum(MARK in text for text in told)
    return len(told) - marked, marked
