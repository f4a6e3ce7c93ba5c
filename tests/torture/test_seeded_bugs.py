"""The test of the torture itself: planted bugs, each of which it must find."""

from pathlib import Path

import pytest

from tests.torture.campaign import PLATFORMS
from tests.torture.cases import COMMITTED, DOUBLE, SINGLE, THREADS, Case
from tests.torture.gateway_process import ROOT
from tests.torture.invariants import examine
from tests.torture.sampling import sampled
from tests.torture.scenarios import Unfenced, deliver_twice, die_in_a_gap, take_over
from tests.torture.seeded import BUGS, Bug, plant, provoke
from tests.torture.world import NotSettled, World

TRIED_ELSEWHERE = {case.name for case in (*SINGLE, *COMMITTED, *DOUBLE, *THREADS)}


def test_what_finds_a_bug_finds_nothing_in_our_own_code() -> None:
    assert set() == {bug.case.name for bug in BUGS if isinstance(bug.case, Case)} - TRIED_ELSEWHERE


async def _found(world: World, bug: Bug) -> list[str]:
    await world.start()
    try:
        await provoke(world, bug)
    except (NotSettled, Unfenced) as flaw:
        await world.gateway.kill()
        return [str(flaw)[:200]]
    await world.gateway.kill()
    return examine(world).broken


def test_every_seeded_bug_has_its_line() -> None:
    assert [] == [bug.name for bug in BUGS if (ROOT / bug.file).read_text().count(bug.old) != 1]


@pytest.mark.gate
@pytest.mark.timeout(60)
@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
async def test_a_seeded_bug_is_found(tmp_path: Path, bug: Bug) -> None:
    async with World(tmp_path, PLATFORMS[bug.platform](), code=plant(bug, tmp_path)) as world:
        assert [] != await _found(world, bug)


@pytest.mark.timeout(60)
async def test_a_gateway_that_lost_its_shards_writes_nothing_more(tmp_path: Path) -> None:
    """Cover F62."""
    async with World(tmp_path) as world:
        await world.start()
        await take_over(world)
        await world.gateway.kill()
        assert [] == examine(world).broken


@pytest.mark.timeout(60)
async def test_what_is_delivered_twice_is_answered_once(tmp_path: Path) -> None:
    async with World(tmp_path) as world:
        await world.start()
        await deliver_twice(world)
        await world.gateway.kill()
        assert [] == examine(world).broken


@pytest.mark.timeout(60)
@pytest.mark.parametrize("platform", sampled(["discord", "slack"], 2))
async def test_a_gap_that_was_cut_is_filled_before_what_came_after_it(tmp_path: Path, platform: str) -> None:
    async with World(tmp_path, PLATFORMS[platform]()) as world:
        await world.start()
        await die_in_a_gap(world)
        await world.gateway.kill()
        assert [] == examine(world).broken
