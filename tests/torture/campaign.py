"""Random kill -9: messages keep coming, the gateway keeps dying, in the end everything must have been answered.

`python -m tests.torture.campaign [KILLS] [CHATS] [SEED] [PLATFORM]` prints the line of one campaign.
"""

import asyncio
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from tests.torture.gateway_process import ROOT
from tests.torture.invariants import Verdict, examine
from tests.torture.platforms import (
    DiscordPlatform,
    DiscordShardsPlatform,
    Platform,
    SlackHttpPlatform,
    SlackPlatform,
    SlackSocketsPlatform,
    TelegramPlatform,
)
from tests.torture.world import OWN_COMMANDS, NotSettled, World

KINDS = ("", "", "p", "i", "u", "pi", "l", "s", "s", "sp", "ls", "piu")
LIVES_S = (0.1, 2.0)
CATCHING_UP_LIVES_S = (0.5, 2.5)
"""Seconds that a gateway lives if it first has to backfill: in shorter lives hardly a turn would begin."""
FORGOTTEN = 0.25
"""Share of starts before which a forgetful platform has forgotten."""
USED = 0.1
"""Share of messages that come with a native command."""
AWAY_S = (0.0, 0.6)

STILL_S, LONGEST_S = 90.0, 900.0
"""Longest time without progress after the last kill (a row that was running in three crashes is tried alone after 60 s
at the latest), and longest wait for the end: hundreds of messages may wait behind such rows."""

PLATFORMS: Mapping[str, Callable[[], Platform]] = {
    "telegram": TelegramPlatform,
    "discord": DiscordPlatform,
    "discord-shards": DiscordShardsPlatform,
    "slack": SlackPlatform,
    "slack-sockets": SlackSocketsPlatform,
    "slack-http": SlackHttpPlatform,
}


async def run_campaign(
    directory: Path,
    platform: Platform | None = None,
    *,
    kills: int,
    chats: int,
    seed: int,
    every_s: float = 0.3,
    code: Path = ROOT,
    config: str = "",
) -> Verdict:
    """Kill so many times at random, then let it come to rest; what was found.

    A message arrives about every `every_s`, also while the gateway is down.
    """
    chance = random.Random(seed)
    async with World(directory, platform, code=code, pace_s=0.05, config=config) as world:
        if world.platform.forgets:
            await world.start()
            await acquaint(world, chats)
            await world.gateway.kill()
        async with asyncio.TaskGroup() as tasks:
            talking = tasks.create_task(talk(world, chance, chats, every_s))
            for _ in range(kills):
                await _live_and_die(world, chance)
            talking.cancel()
        await world.start()
        unsettled = None
        try:
            await world.settle(timeout_s=STILL_S, longest_s=LONGEST_S)
        except NotSettled as flaw:
            unsettled = str(flaw)[:200]
        await world.gateway.kill()
        verdict = examine(world)
    if unsettled is not None:
        verdict.wrong.append(f"I12: {unsettled}")
    return verdict


async def acquaint(world: World, chats: int) -> None:
    """Let everybody write once before the first kill: the history of an unknown chat is not read."""
    for chat in (*range(1, chats + 1), OWN_COMMANDS):
        world.say(chat)
    await world.settle()


async def _live_and_die(world: World, chance: random.Random) -> None:
    if world.platform.forgets and chance.random() < FORGOTTEN:
        await asyncio.sleep(chance.uniform(*AWAY_S))
        world.platform.forget()
    await world.start()
    half_s = chance.uniform(*(CATCHING_UP_LIVES_S if world.platform.forgets else LIVES_S)) / 2
    await asyncio.sleep(half_s)
    world.platform.disturb()
    await asyncio.sleep(half_s)
    await world.kill()


async def talk(world: World, chance: random.Random, chats: int, every_s: float) -> None:
    """Let people write at random; after a slow question the same person often adds a word, which steers."""
    while True:
        chat = chance.randrange(1, chats + 1)
        kinds = chance.choice(KINDS)
        world.say(chat, kinds)
        if chance.random() < USED:
            world.use()
        if kinds and chance.random() < 0.4:
            await asyncio.sleep(chance.uniform(0.05, 0.6))
            world.say(chat, chance.choice(("", "p", "i")))
        await asyncio.sleep(chance.expovariate(1 / every_s))


async def _alone(platform: Platform, kills: int, chats: int, seed: int) -> None:
    begun_s = time.monotonic()
    directory = Path(tempfile.mkdtemp(prefix=f"campaign-{platform.name}-"))
    verdict = await run_campaign(directory, platform, kills=kills, chats=chats, seed=seed)
    spent_s = time.monotonic() - begun_s
    sys.stdout.write(f"{platform.name:10} seed {seed}  {verdict.line()}  in {spent_s:.0f} s\n")
    for flaw in verdict.broken:
        sys.stdout.write(f"  {flaw}\n")
    if verdict.broken:
        sys.stdout.write(f"  its database and log are kept in {directory}\n")
    else:
        shutil.rmtree(directory)


if __name__ == "__main__":
    given = sys.argv[1:]
    name = given.pop() if given and given[-1] in PLATFORMS else "telegram"
    numbers = [int(argument) for argument in given]
    asyncio.run(_alone(PLATFORMS[name](), *(numbers + [30, 12, 1][len(numbers) :])))
