"""Three machines on one PostgreSQL, under every kind of fault."""

import os
import signal
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import asyncpg
import pytest

from channels.simulators.discord.server import DiscordSimulator
from channels.simulators.shared.world import AnyMessage
from gateway.store.journal import shard_of
from gateway.testing.model import Fault
from tests.fakes.postgres import PostgresServer
from tests.journeys.house import said as words_said
from tests.journeys.test_linking import CODE
from tests.torture.campaign import PLATFORMS
from tests.torture.chaos import ALL, RESTART_S, run_chaos, run_restarts
from tests.torture.cluster import ClusterWorld
from tests.torture.gateway_process import GatewayProcess
from tests.torture.platforms import SHARDS, DiscordShardsPlatform, TelegramPlatform, TelegramWebhookPlatform
from tests.torture.world import Said

FAULTS = int(os.environ.get("TORTURE_FAULTS", "40"))
"""Faults of one long campaign."""

TURNS = int(os.environ.get("TORTURE_TURNS", "5000"))
"""Turns of R8."""


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    """Start a PostgreSQL for these tests alone, which kill it now and then."""
    with PostgresServer() as running:
        yield running


@pytest.mark.gate
@pytest.mark.timeout(200)
async def test_three_machines_lose_nothing_and_double_nothing(
    tmp_path: Path, server: PostgresServer, record_property: Callable[[str, object], None]
) -> None:
    verdict, chaos = await run_chaos(tmp_path, server, faults=4, chats=6, seed=3)
    record_property("campaign", f"{' '.join(chaos.done)}: {verdict.line()}")
    assert [] == verdict.broken, f"{' '.join(chaos.done)}: {verdict.line()}"


@pytest.mark.gate
@pytest.mark.timeout(60)
async def test_a_machine_that_is_stopped_during_its_start_leaves_at_once(
    tmp_path: Path, server: PostgresServer
) -> None:
    async with ClusterWorld(tmp_path, 1, server) as world:
        machine, members = world.machines[0], "SELECT id FROM members"
        async with asyncpg.create_pool(world.url, min_size=1) as pool, pool.acquire() as locking, locking.transaction():
            await locking.execute("LOCK TABLE parked_lanes")  # a start reads it after its join
            await machine.start()
            await world.until(lambda: bool(world.looker.rows(members)), 30.0, "a member")
            machine.signal(signal.SIGTERM)
            assert 0 == await machine.ended(10.0), machine.tail()
            assert [] == world.looker.rows(members)


@pytest.mark.gate
@pytest.mark.timeout(150)
async def test_one_machine_has_all_shards_of_a_bot_and_another_takes_them_over(
    tmp_path: Path, server: PostgresServer
) -> None:
    platform = DiscordShardsPlatform()
    sessions = platform.side.bot.sessions
    async with ClusterWorld(tmp_path, 2, server, platform) as world:
        await world.machines[0].start()
        await world.until(lambda: len(sessions.open_shards) == SHARDS, 30.0, "the shards")
        say_in_all(world)
        await world.machines[1].start()
        await world.until(lambda: world.holders("in discord:%") == {"home0": 1}, 30.0, "one owner")
        say_in_all(world)
        await world.settle()
        platform.disturb()
        say_in_all(world, "s")
        world.note_death()
        await world.machines[0].kill()
        say_in_all(world)
        await world.until(lambda: world.holders("in discord:%") == {"home1": 1}, 30.0, "the dead one's account")
        await world.settle()
        assert (SHARDS, True) == (sessions.identifies, sessions.resumes >= 4)
        verdict = await world.end()
    assert [] == verdict.broken, verdict.line()


ON_DISCORD = 500
"""From this number on a chat is a direct one on Discord."""


class TelegramAndDiscord(TelegramPlatform):
    """Two bots of one gateway."""

    config = TelegramPlatform.config + "[channels.discord.main]\n"

    def __init__(self) -> None:
        super().__init__()
        self.there = DiscordSimulator.with_bot()

    def environment(self) -> dict[str, str]:
        return {**super().environment(), **self.there.environment()}

    async def start(self) -> Mapping[str, str]:
        await self.there.__aenter__()
        return await super().start()

    async def aclose(self) -> None:
        await super().aclose()
        await self.there.__aexit__(None, None, None)

    def say(self, chat: int, text: str, picture: bytes | None = None) -> str:
        return super().say(chat, text) if chat < ON_DISCORD else str(self.there.say(self.there.direct(chat), text))

    def answers(self, chat: int) -> list[AnyMessage]:
        return super().answers(chat) if chat < ON_DISCORD else self.there.answers(self.there.direct(chat))

    def key(self, chat: int) -> str:
        return super().key(chat) if chat < ON_DISCORD else str(self.there.direct(chat))


SHARES = "SELECT count(owner) FROM shards GROUP BY owner"


def owners(world: ClusterWorld) -> Callable[[str], GatewayProcess]:
    """Return a function that finds the machine that owns the session of a chat."""
    found = {shard: str(owner) for shard, owner in world.looker.rows("SELECT shard, owner FROM shards")}
    nodes = {(machine.home / "node").read_text().strip(): machine for machine in world.machines}
    return lambda key: nodes[found[shard_of(f"agent:coach:{key}")].partition(":")[0]]


class TwoChats:
    """Two chats of one person, owned by different machines whose clocks are half a minute apart."""

    def __init__(self, world: ClusterWorld) -> None:
        self.world = world
        owner = owners(world)
        self.here, self.owner = 1, owner("telegram:main:direct:1")
        keys = {chat: f"discord:main:direct:{chat}" for chat in range(ON_DISCORD, ON_DISCORD + 99)}
        self.there = next(chat for chat, key in keys.items() if owner(key) != self.owner)
        self.heir = owner(keys[self.there])

    async def hears(self, chat: int) -> list[str]:
        """Return what the model is told that was said, after one more message there."""
        said = self.world.say(chat)
        await self.world.until(lambda: self.world.shows(said), 30.0, f"the answer to m{said.number}")
        bodies = [received.body for received in self.world.server.requests]
        heard = [words for body in bodies if f"m{said.number} please" in (words := words_said(body))]
        return [word.removesuffix(" please") for word in heard[-1]]

    async def tells(self, chat: int, words: str, answer: str) -> str:
        """Return what the person is told now and was not told there before."""
        self.world.write(chat, words)

        def told() -> list[str]:
            return [shown.text for shown in self.world.answers(chat) if answer in shown.text]

        await self.world.until(lambda: bool(told()), 30.0, f"{answer!r} to {words!r}")
        return told()[-1]

    def id_of(self, chat: int) -> str:
        """Return the id of the open conversation there."""
        key = f"agent:coach:{'telegram' if chat == self.here else 'discord'}:main:direct:{chat}"
        named = f"SELECT id FROM sessions WHERE key = '{key}' ORDER BY generation DESC LIMIT 1"
        return str(self.world.looker.rows(named)[0][0])

    async def die(self, machine: GatewayProcess) -> None:
        """Kill the owner and wait until another machine owns its shards."""
        self.world.note_death()
        await machine.kill()
        await self.world.wait_for_owners()


@pytest.mark.gate
@pytest.mark.timeout(150)
async def test_a_conversation_is_continued_where_another_machine_owns_the_chat(
    tmp_path: Path, server: PostgresServer
) -> None:
    platform = TelegramAndDiscord()
    async with ClusterWorld(tmp_path, 2, server, platform) as world:
        await world.start_all()
        await world.wait_for_owners()
        await world.until(lambda: world.looker.rows(SHARES) == [(128,), (128,)], 30.0, "a fair share")
        await world.until(platform.there.is_connected, 30.0, "Discord: whom its bot never heard of, it cannot find")
        world.server.keeps_requests = True
        chats = TwoChats(world)
        here, there = chats.here, chats.there
        assert (["m1"], ["m2"]) == (await chats.hears(there), await chats.hears(here))
        (code,) = CODE.findall(await chats.tells(here, "/link", "Do not give this code"))
        await chats.tells(there, f"/link {code}", "Is that you, too?")
        await chats.tells(there, "/link yes", "Now I ask")
        await chats.tells(here, "/link yes", "Connected")
        await chats.tells(here, "/title Blue", "Blue")
        await chats.tells(there, f"/sessions {chats.id_of(here)}", "We go on here with “Blue” from Telegram")
        assert ["m2", "m3"] == await chats.hears(here)
        assert ["m2", "m4"] == await chats.hears(there)
        await chats.tells(here, f"/sessions {chats.id_of(there)}", "We go on here with “Blue” from Discord")
        assert ["m2", "m4", "m5"] == await chats.hears(there)
        world.server.answers(Fault(hang=True))
        hung = world.say(here)
        await world.until(
            lambda: any("m6 please" in words_said(one.body) for one in world.server.requests), 30.0, "the sixth request"
        )
        await chats.die(chats.owner)
        await world.until(lambda: world.shows(hung), 30.0, "the answer of the heir")
        assert ["m2", "m4", "m6", "m7"] == await chats.hears(here)
        await world.start_all()
        await chats.die(chats.heir)
        assert ["m2", "m4", "m6", "m7", "m8"] == await chats.hears(here)
        assert ["m2", "m4", "m5", "m9"] == await chats.hears(there)
        await world.settle()
        verdict = await world.end()
    assert [] == verdict.broken, verdict.line()


async def answered(world: ClusterWorld, chat: int) -> Said:
    """Say something and wait until everything has finished."""
    said = world.say(chat)
    await world.until(lambda: world.shows(said), 30.0, f"the answer to m{said.number}")
    await world.settle()
    return said


@pytest.mark.gate
@pytest.mark.timeout(150)
async def test_machines_whose_clocks_differ_go_by_one(tmp_path: Path, server: PostgresServer) -> None:
    async with ClusterWorld(tmp_path, 2, server) as world:
        await world.machines[0].start()
        await world.until(lambda: world.holders("in telegram:%") == {"home0": 1}, 30.0, "the reader")
        await world.machines[1].start()
        await world.until(lambda: world.looker.rows(SHARES) == [(128,), (128,)], 30.0, "a fair share")
        owner = owners(world)
        chat = next(one for one in range(1, 99) if owner(f"telegram:main:direct:{one}") is world.machines[1])
        said, *_ = [await answered(world, chat) for _ in range(3)]
        world.platform.sim.edit(chat, int(said.message_id), f"m{said.number} please")
        edits = "SELECT outcome FROM inbox WHERE kind = 'message' AND event_id LIKE 'edit:%' AND outcome IS NOT NULL"
        await world.until(lambda: bool(world.looker.rows(edits)), 30.0, "the edit's outcome")
        assert [("context",)] == world.looker.rows(edits)


def say_in_all(world: ClusterWorld, kinds: str = "") -> None:
    """Say something in a chat of each shard."""
    for chat in (1, 3, 7, 11):
        world.say(chat, kinds)


@pytest.mark.gate
@pytest.mark.timeout(150)
async def test_updates_are_taken_by_every_machine_and_one_of_them_sets_the_webhook(
    tmp_path: Path, server: PostgresServer
) -> None:
    platform = TelegramWebhookPlatform(2)

    def times_set() -> list[object]:
        return [call for call in platform.sim.history() if call.method == "setWebhook"]

    secret = platform.secrets["webhook_secret"]
    (tmp_path / "secrets.toml").write_text(f'[channels.telegram.main]\nwebhook_secret = "{secret}"\n')
    (tmp_path / "secrets.toml").chmod(0o600)
    async with ClusterWorld(tmp_path, 2, server, platform) as world:
        await world.start_all()
        await world.wait_for_owners()
        await world.until(lambda: platform.side.bot.webhook is not None, 30.0, "the webhook")
        for machine in world.machines:
            await world.until(lambda machine=machine: "http_started" in machine.tail(), 30.0, "its server")
        for chat in range(1, 13):
            world.say(chat)
        await world.settle()
        assert 2 == len([one for one, count in platform.taken.items() if count])
        assert ([1], 1) == ([*world.holders("in telegram:%").values()], len(times_set()))
        (holder,) = world.holders("in telegram:%")
        world.note_death()
        await next(machine for machine in world.machines if machine.home.name == holder).kill()
        for chat in range(1, 7):
            world.say(chat)
        await world.until(lambda: len(times_set()) == 2, 30.0, "the new owner of the webhook")
        await world.settle()
        assert 0 == platform.side.bot.updates.polls
        verdict = await world.end()
    assert [] == verdict.broken, verdict.line()


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", ["telegram", "discord-shards", "slack"])
async def test_a_long_campaign_over_machines(
    tmp_path: Path,
    server: PostgresServer,
    name: str,
    record_property: Callable[[str, object], None],
) -> None:
    kinds = {kind: fault for kind, fault in ALL.items() if (name, kind) != ("slack", "pause")}
    verdict, chaos = await run_chaos(
        tmp_path,
        server,
        faults=FAULTS,
        chats=12,
        seed=5,
        kinds=kinds,
        platform=PLATFORMS[name](),
    )
    record_property("campaign", f"{' '.join(chaos.done)}: {verdict.line()} {chaos.waits.line()}")
    assert [] == verdict.broken, f"{' '.join(chaos.done)}: {verdict.line()}"


@pytest.mark.long
@pytest.mark.timeout(3600)
async def test_a_server_that_dies_all_the_while_loses_no_turn(
    tmp_path: Path, server: PostgresServer, record_property: Callable[[str, object], None]
) -> None:
    """Cover R8."""
    verdict, chaos = await run_restarts(tmp_path, server, turns=TURNS, chats=40, seed=8, restart_s=RESTART_S)
    record_property("campaign", f"{len(chaos.done)} restarts: {verdict.line()}")
    assert [] == verdict.broken, verdict.line()
