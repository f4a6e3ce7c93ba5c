"""A death at every named point, and deaths in the recovery from a death."""

from dataclasses import replace
from pathlib import Path

import pytest

from gateway.errors import GatewayError
from gateway.failpoints import FAILPOINTS
from tests.torture.campaign import PLATFORMS
from tests.torture.cases import (
    BY_HTTP,
    COMMITTED,
    DOUBLE,
    ELSEWHERE,
    EVERY_COMMIT,
    KILLED,
    SINGLE,
    THREADS,
    Case,
    approve_newest,
    run_case,
)
from tests.torture.invariants import examine
from tests.torture.platforms import Platform, SlackPlatform
from tests.torture.sampling import sampled
from tests.torture.world import World

CASES_A_WORLD = 6
TOLD_OF_AN_ERROR = {"claim_pre", "command_pre"}
"""An error there ends the matter with words; nothing was changed."""

OF_THEIR_OWN = {"recovery_begun", "recovery_turn"}


def _groups(cases: tuple[Case, ...], size: int = CASES_A_WORLD) -> list[tuple[Case, ...]]:
    return [cases[at : at + size] for at in range(0, len(cases), size)]


def _names(cases: tuple[Case, ...]) -> str:
    return ",".join(case.name for case in cases)


def test_no_point_is_left_out() -> None:
    tried = {case.point_name for case in (*SINGLE, *COMMITTED, *EVERY_COMMIT, *DOUBLE)}
    assert set(FAILPOINTS) == tried | OF_THEIR_OWN


async def _survives(
    directory: Path, cases: tuple[Case, ...], platform: Platform | None = None, *, pace_s: float = 0.1
) -> None:
    async with World(directory, platform, pace_s=pace_s) as world:
        await world.start()
        for at, case in enumerate(cases):
            await run_case(world, case, chat=100 + at)
        await world.gateway.kill()
        verdict = examine(world)
    assert [] == verdict.broken, verdict.line()
    told = sum(case.point in TOLD_OF_AN_ERROR and case.action == "raise" for case in cases)
    assert told == verdict.told, verdict.line()


@pytest.mark.timeout(150)
@pytest.mark.parametrize("cases", sampled(_groups(SINGLE), 5), ids=_names)
async def test_a_death_at_a_named_point_costs_nothing(tmp_path: Path, cases: tuple[Case, ...]) -> None:
    await _survives(tmp_path, cases)


@pytest.mark.timeout(150)
@pytest.mark.parametrize("cases", sampled(_groups(COMMITTED), 3), ids=_names)
async def test_a_death_behind_each_kind_of_commit_costs_nothing(tmp_path: Path, cases: tuple[Case, ...]) -> None:
    """The caller did not hear of its commit: what would have followed it is found in the store."""
    await _survives(tmp_path, cases)


@pytest.mark.gate
@pytest.mark.timeout(150)
@pytest.mark.parametrize(
    "where",
    [
        (name, cases[at::groups])
        for name, cases, groups in (
            ("telegram", EVERY_COMMIT, 5),
            ("discord", EVERY_COMMIT[::2], 3),
            ("slack", EVERY_COMMIT[1::2], 3),
        )
        for at in range(groups)
    ],
    ids=lambda where: f"{where[0]}:{_names(where[1])}",
)
async def test_a_death_behind_any_commit_of_a_talk_costs_nothing(
    tmp_path: Path, where: tuple[str, tuple[Case, ...]]
) -> None:
    """The gateway dies behind the first commit of a talk, of another talk behind the second, and so on; on Discord and
    Slack behind every other one, since most commits know no platform.
    """
    platform, cases = where
    await _survives(tmp_path, cases, PLATFORMS[platform]())


@pytest.mark.gate
@pytest.mark.timeout(150)
@pytest.mark.parametrize("cases", sampled(_groups(DOUBLE), 2), ids=_names)
async def test_a_death_in_the_recovery_from_a_death_costs_nothing(tmp_path: Path, cases: tuple[Case, ...]) -> None:
    """Cover F51, R5."""
    await _survives(tmp_path, cases)


@pytest.mark.gate
@pytest.mark.timeout(150)
@pytest.mark.parametrize(
    "where",
    [(name, cases) for name in ("discord", "slack") for cases in _groups(ELSEWHERE, 4)],
    ids=lambda where: f"{where[0]}:{_names(where[1])}",
)
async def test_a_death_on_another_platform_costs_nothing(tmp_path: Path, where: tuple[str, tuple[Case, ...]]) -> None:
    platform, cases = where
    await _survives(tmp_path, cases, PLATFORMS[platform]())


@pytest.mark.timeout(150)
async def test_a_death_where_slack_posts_costs_nothing(tmp_path: Path) -> None:
    await _survives(tmp_path, BY_HTTP, PLATFORMS["slack-http"]())


@pytest.mark.gate
@pytest.mark.timeout(150)
@pytest.mark.parametrize("cases", sampled(_groups(THREADS, 3), 4), ids=_names)
async def test_a_death_around_a_stream_costs_nothing(tmp_path: Path, cases: tuple[Case, ...]) -> None:
    platform = SlackPlatform()
    await _survives(tmp_path, cases, platform, pace_s=0.4)  # after a death the stream is looked for before it grows
    said = [one for chat in platform.sim.world.chats.values() for one in chat.messages.values() if one.by_bot]
    streams = [one for one in said if one.streamed]
    assert len(cases) == len(streams)
    assert [] == [one for one in streams if one.streaming or one.broken or one.metadata is None]


@pytest.mark.timeout(60)
async def test_an_approval_that_was_cut_holds(tmp_path: Path) -> None:
    async with World(tmp_path, access="pairing") as world:
        await world.start()
        world.platform.say(5, "hello")
        await world.until(lambda: len(world.answers(5)) == 1, 10, "the code")
        await world.gateway.arm("commit_done/decide:1:exit")
        with pytest.raises(GatewayError):
            await approve_newest(world)
        assert KILLED == await world.gateway.ended(10)
        world.note_death()
        await world.start()
        await world.until(lambda: len(world.answers(5)) == 3, 10, "the welcome, and the answer to what was said before")
        world.say(5)
        await world.settle()
        await world.gateway.kill()
        verdict = examine(world)
        assert [] == verdict.broken
        assert 4 == len(world.answers(5))


@pytest.mark.long
@pytest.mark.timeout(150)
@pytest.mark.parametrize("action", ["raise", "stop"])
@pytest.mark.parametrize("case", SINGLE, ids=lambda case: case.name)
async def test_an_error_or_a_freeze_at_a_named_point_costs_nothing(tmp_path: Path, case: Case, action: str) -> None:
    """Cover R4."""
    await _survives(tmp_path, (replace(case, action=action),))


@pytest.mark.long
@pytest.mark.timeout(150)
@pytest.mark.parametrize("hit", [2, 5])
@pytest.mark.parametrize("case", SINGLE, ids=lambda case: case.name)
async def test_a_later_death_at_a_named_point_costs_nothing(tmp_path: Path, case: Case, hit: int) -> None:
    """Cover R4."""

    async def crowd(world: World, chat: int) -> None:
        for each in range(hit):
            await case.provoke(world, chat + each)

    if case.point in ONCE:
        pytest.skip("is passed once in a life")
    await _survives(tmp_path, (replace(case, provoke=crowd, hit=hit),))


ONCE = {"shutdown_begun", "received", "inbox_pre", "acked"}
"""Batches: how many a crowd makes is not ours to say."""
