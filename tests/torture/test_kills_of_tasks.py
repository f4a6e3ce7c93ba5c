"""Kills while conversations wait for tasks of their agents, and while tasks of the background run."""

import asyncio
import random
from pathlib import Path

import pytest

from tests.torture.invariants import MARK, examine
from tests.torture.world import Said, World

CONFIG = "\n[delegation]\nmax_tasks_overall = 1000\n"
KILLS = 30
CHATS_A_LIFE = 3


@pytest.mark.gate
@pytest.mark.timeout(300)
async def test_each_task_and_each_result_happens_once(tmp_path: Path) -> None:
    chance = random.Random(1)
    async with World(tmp_path, pace_s=0.05, config=CONFIG) as world:
        for _ in range(KILLS):
            await world.start()
            for _ in range(CHATS_A_LIFE):
                chat = len(world.said) + 1
                world.say(chat, "db"[chat % 2])
            await asyncio.sleep(chance.uniform(0.02, 0.6))
            await world.kill()
        await world.start()
        await world.settle(60, 200)
        await world.gateway.kill()
        verdict = examine(world)
        news = [_times_told(world, said) for said in world.said if said.kinds == "b"]
        noted = {number: world.ledger.noted[f"task{number}"] for number in (said.number for said in world.said)}
    assert [] == verdict.broken, verdict.line()
    assert 0 == verdict.told
    assert all(unmarked <= 1 <= unmarked + marked for unmarked, marked in news), news
    assert {1} == set(noted.values()), noted


def _times_told(world: World, said: Said) -> tuple[int, int]:
    """Return in how many messages a result was told, without and with the mark of a repeated one."""
    told = [shown.text for shown in world.answers(said.chat) if f"news-{said.number}" in shown.text.split()]
    marked = sum(MARK in text for text in told)
    return len(told) - marked, marked
