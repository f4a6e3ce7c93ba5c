"""Three machines on one PostgreSQL, under everything that breaks."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.fakes.nats import NatsServer, binary
from tests.fakes.postgres import PostgresServer
from tests.torture.chaos import RESTART_S, run_chaos, run_restarts
from tests.torture.cluster import ClusterWorld
from tests.torture.platforms import SHARDS, DiscordShardsPlatform, TelegramWebhookPlatform

FAULTS = int(os.environ.get("TORTURE_FAULTS", "40"))
"""Of one long campaign."""

TURNS = int(os.environ.get("TORTURE_TURNS", "5000"))
"""Of R8."""


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    """A PostgreSQL of these tests' own: it is killed now and then."""
    with PostgresServer() as running:
        yield running


@pytest.fixture(scope="module")
def nats() -> Iterator[NatsServer | None]:
    """A NATS of these tests' own, where there is one; it is killed now and then."""
    if binary() is None:
        yield None
    else:
        with NatsServer() as running:
            yield running


@pytest.mark.gate
@pytest.mark.timeout(200)
async def test_three_machines_lose_nothing_and_double_nothing(
    tmp_path: Path, server: PostgresServer, nats: NatsServer | None, record_property: Callable[[str, object], None]
) -> None:
    """Kills, pauses, cut ways and a server that restarts: 0 lost, 0 doubled but for D2's marks, order kept."""
    verdict, chaos = await run_chaos(tmp_path, server, faults=4, chats=6, seed=3, nats=nats)
    record_property("campaign", f"{' '.join(chaos.done)}: {verdict.line()}")
    assert [] == verdict.broken, f"{' '.join(chaos.done)}: {verdict.line()}"


@pytest.mark.gate
@pytest.mark.timeout(150)
async def test_two_machines_share_the_shards_of_a_bot_and_one_takes_over_a_dead_ones(
    tmp_path: Path, server: PostgresServer
) -> None:
    """Two of four each; handed over and taken over they are resumed, not opened anew: nothing lost, nothing doubled."""
    platform = DiscordShardsPlatform()
    sessions = platform.side.bot.sessions
    async with ClusterWorld(tmp_path, ("all", "all"), server, platform) as world:
        await world.machines[0].start()
        await world.until(lambda: len(sessions.standing) == SHARDS, 30.0, "the shards")
        say_in_all(world)
        await world.machines[1].start()
        await world.until(lambda: world.holders("in discord:%") == {"home0": 2, "home1": 2}, 30.0, "a fair share")
        say_in_all(world)
        await world.settle()
        platform.disturb()
        say_in_all(world, "s")
        world.note_death()
        await world.machines[0].kill()
        say_in_all(world)
        await world.until(lambda: world.holders("in discord:%") == {"home1": 4}, 30.0, "the dead one's shards")
        await world.settle()
        assert (SHARDS, True) == (sessions.identifies, sessions.resumes >= 4)
        verdict = await world.end()
    assert [] == verdict.broken, verdict.line()


def say_in_all(world: ClusterWorld, kinds: str = "") -> None:
    """Somebody says something in a chat of each shard."""
    for chat in (1, 3, 7, 11):
        world.say(chat, kinds)


@pytest.mark.gate
@pytest.mark.timeout(150)
async def test_updates_are_taken_at_every_ingress_and_one_of_them_sets_the_webhook(
    tmp_path: Path, server: PostgresServer
) -> None:
    """Behind a balancer, with nobody polling: one dies, the other goes on, and answers are sent by the egress."""
    platform = TelegramWebhookPlatform(2)

    def times_set() -> list[object]:
        return [call for call in platform.sim.history() if call.method == "setWebhook"]

    secret = platform.secrets["webhook_secret"]
    (tmp_path / "secrets.toml").write_text(f'[channels.telegram.main]\nwebhook_secret = "{secret}"\n')
    (tmp_path / "secrets.toml").chmod(0o600)
    async with ClusterWorld(tmp_path, ("ingress", "ingress", "worker", "egress"), server, platform) as world:
        await world.start_all()
        await world.wait_for_owners()
        await world.until(lambda: platform.side.bot.webhook is not None, 30.0, "the webhook")
        for ingress in world.machines[:2]:
            await world.until(lambda ingress=ingress: "http_started" in ingress.tail(), 30.0, "an ingress")
        for chat in range(1, 13):
            world.say(chat)
        await world.settle()
        assert 2 == len([one for one, count in platform.taken.items() if count])
        assert ([1], 1) == ([*world.holders("hook telegram:%").values()], len(times_set()))
        (holder,) = world.holders("hook telegram:%")
        world.note_death()
        await next(machine for machine in world.machines if machine.home.name == holder).kill()
        for chat in range(1, 7):
            world.say(chat)
        await world.until(lambda: len(times_set()) == 2, 30.0, "whoever looks after the webhook now")
        await world.settle()
        assert 0 == platform.side.bot.updates.polls
        verdict = await world.end()
    assert [] == verdict.broken, verdict.line()


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("roles", [("all", "all", "all"), ("ingress", "worker", "worker", "egress")], ids="-".join)
async def test_a_long_campaign_over_machines(
    tmp_path: Path,
    server: PostgresServer,
    nats: NatsServer | None,
    roles: tuple[str, ...],
    record_property: Callable[[str, object], None],
) -> None:
    """The same for long, also where each does a part."""
    verdict, chaos = await run_chaos(tmp_path, server, faults=FAULTS, chats=12, seed=5, roles=roles, nats=nats)
    record_property("campaign", f"{' '.join(chaos.done)}: {verdict.line()}")
    assert [] == verdict.broken, f"{' '.join(chaos.done)}: {verdict.line()}"


@pytest.mark.long
@pytest.mark.timeout(3600)
async def test_a_server_that_dies_all_the_while_loses_no_turn(
    tmp_path: Path, server: PostgresServer, record_property: Callable[[str, object], None]
) -> None:
    """FAULTS R8: every 5 to 40 s, under 5,000 turns on three machines."""
    verdict, chaos = await run_restarts(tmp_path, server, turns=TURNS, chats=40, seed=8, restart_s=RESTART_S)
    record_property("campaign", f"{len(chaos.done)} restarts: {verdict.line()}")
    assert [] == verdict.broken, verdict.line()
