"""Random kills while people write.

`python -m tests.torture.campaign KILLS CHATS SEED PLATFORM` runs more of it and prints a line.
"""

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from gateway.sessions.turn_limit import MAX_ATTEMPTS
from tests.torture.campaign import PLATFORMS, run_campaign
from tests.torture.invariants import examine
from tests.torture.sampling import sampled
from tests.torture.scenarios import die_of_one
from tests.torture.world import World

HUNDREDS = int(os.environ.get("TORTURE_KILLS", "150"))
"""Kills of one long campaign; from the environment, because `make torture` is run with more at night."""


@pytest.mark.timeout(200)
@pytest.mark.parametrize("kills_and_seed", sampled([(4, 1), (10, 2), (10, 3)], 3), ids=str)
async def test_kills_lose_nothing_and_double_nothing(
    tmp_path: Path, kills_and_seed: tuple[int, int], record_property: Callable[[str, object], None]
) -> None:
    """Cover R1."""
    kills, seed = kills_and_seed
    verdict = await run_campaign(tmp_path, kills=kills, chats=12, seed=seed)
    record_property("campaign", verdict.line())
    assert [] == verdict.broken, verdict.line()
    assert kills == verdict.kills


@pytest.mark.gate
@pytest.mark.timeout(100)
@pytest.mark.parametrize("platform", ["slack", "discord"])
async def test_six_kills_on_another_platform_double_nothing_at_all(
    tmp_path: Path, platform: str, record_property: Callable[[str, object], None]
) -> None:
    verdict = await run_campaign(tmp_path, PLATFORMS[platform](), kills=6, chats=12, seed=4)
    record_property("campaign", verdict.line())
    assert ([], 0) == (verdict.broken, verdict.marked), verdict.line()
    assert 6 == verdict.kills


@pytest.mark.gate
@pytest.mark.timeout(100)
@pytest.mark.parametrize("platform", ["discord-shards", "slack-sockets"])
async def test_kills_beside_broken_connections_of_several_double_nothing_at_all(tmp_path: Path, platform: str) -> None:
    verdict = await run_campaign(tmp_path, PLATFORMS[platform](), kills=2, chats=12, seed=7)
    assert ([], 0) == (verdict.broken, verdict.marked), verdict.line()


@pytest.mark.gate
@pytest.mark.timeout(150)
async def test_what_kills_leave_under_way_stays_counted(tmp_path: Path) -> None:
    config = "\n[budgets]\nday_tokens = 1_000_000_000\nturn_tokens = 1_000_000_000\n"
    verdict = await run_campaign(tmp_path, kills=5, chats=8, seed=6, config=config)
    assert [] == verdict.broken, verdict.line()
    with closing(sqlite3.connect(tmp_path / "home" / "tenk.db")) as store:
        read = partial(_one, store)
        recorded = read("SELECT sum(input_tokens) + sum(output_tokens) FROM usage")
        counted = read("SELECT sum(tokens) FROM budget_use WHERE scope = 'day'")
        by_turns = read("SELECT sum(tokens) FROM budget_use WHERE scope = 'turn'")
        still_open = read("SELECT count(*) FROM budget_holds")
    assert 0 < recorded <= counted == by_turns
    assert 0 == still_open


def _one(store: sqlite3.Connection, query: str) -> int:
    return int(store.execute(query).fetchone()[0])


@pytest.mark.long
@pytest.mark.timeout(300)
async def test_what_kills_the_gateway_each_time_is_told_and_everybody_else_is_answered(tmp_path: Path) -> None:
    async with World(tmp_path, pace_s=0.05) as world:
        await world.start()
        deaths = await die_of_one(world, starts=MAX_ATTEMPTS + 2)
        await world.gateway.kill()
        verdict = examine(world)
    assert ([], 1) == (verdict.broken, verdict.told), verdict.line()
    assert deaths <= MAX_ATTEMPTS + 1


@pytest.mark.long
@pytest.mark.timeout(36_000)
@pytest.mark.parametrize("seed", [11, 12])
async def test_hundreds_of_kills_lose_nothing_and_double_nothing(
    tmp_path: Path, seed: int, record_property: Callable[[str, object], None]
) -> None:
    """Cover R1, R2, R3."""
    verdict = await run_campaign(tmp_path, kills=HUNDREDS, chats=20, seed=seed)
    record_property("campaign", verdict.line())
    assert [] == verdict.broken, verdict.line()


@pytest.mark.long
@pytest.mark.timeout(36_000)
@pytest.mark.parametrize("platform", ["discord", "slack", "slack-http"])
async def test_hundreds_of_kills_on_another_platform_double_nothing_at_all(
    tmp_path: Path, platform: str, record_property: Callable[[str, object], None]
) -> None:
    """Cover R1, R2, R3."""
    verdict = await run_campaign(tmp_path, PLATFORMS[platform](), kills=HUNDREDS, chats=20, seed=13)
    record_property("campaign", verdict.line())
    assert ([], 0) == (verdict.broken, verdict.marked), verdict.line()
