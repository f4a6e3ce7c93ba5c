"""The test of the test: bugs put into a copy of our code, each of which the torture must find (FAULTS R7)."""

from pathlib import Path

import pytest

from tests.torture.cases import DOUBLE, SINGLE, Case
from tests.torture.fence import Unfenced, take_over
from tests.torture.invariants import examine
from tests.torture.seeded import BUGS, Bug, plant, provoke
from tests.torture.world import NotSettled, World

ALSO_CLEAN = tuple(
    bug for bug in BUGS if isinstance(bug.case, Case) and bug.case.name not in {case.name for case in (*SINGLE, *DOUBLE)}
)


async def _found(world: World, bug: Bug) -> list[str]:
    await world.start()
    try:
        await provoke(world, bug)
    except (NotSettled, Unfenced) as flaw:
        await world.gateway.kill()
        return [str(flaw)[:200]]
    await world.gateway.kill()
    return examine(world).broken


@pytest.mark.timeout(60)
@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
async def test_a_seeded_bug_is_found(tmp_path: Path, bug: Bug) -> None:
    """The gateway with this bug breaks a promise where the one without keeps them all."""
    async with World(tmp_path, code=plant(bug, tmp_path)) as world:
        assert [] != await _found(world, bug)


@pytest.mark.timeout(60)
@pytest.mark.parametrize("bug", ALSO_CLEAN, ids=lambda bug: bug.name)
async def test_our_own_code_has_none_of_it(tmp_path: Path, bug: Bug) -> None:
    """What finds the bug finds nothing in our own code. (The other cases are those of `test_failpoints`.)"""
    async with World(tmp_path) as world:
        assert [] == await _found(world, bug)


@pytest.mark.timeout(60)
async def test_a_gateway_that_lost_its_shards_writes_nothing_more(tmp_path: Path) -> None:
    """F62: its answer is thrown away, and the next owner answers once."""
    async with World(tmp_path) as world:
        await world.start()
        await take_over(world)
        await world.gateway.kill()
        assert [] == examine(world).broken
