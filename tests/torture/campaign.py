"""Random kill -9: messages keep coming, the gateway keeps dying, in the end everything must have been answered.

By itself: `python -m tests.torture.campaign [KILLS] [CHATS] [SEED]` prints the line of one campaign.
"""

import asyncio
import random
import sys
import tempfile
import time
from pathlib import Path

from tests.torture.gateway_process import ROOT
from tests.torture.invariants import Verdict, examine
from tests.torture.world import World

KINDS = ("", "", "p", "i", "u", "pi", "l", "s", "s", "sp", "ls", "piu")
LIVES_S = (0.1, 2.0)


async def run_campaign(
    directory: Path, *, kills: int, chats: int, seed: int, every_s: float = 0.3, code: Path = ROOT
) -> Verdict:
    """Kill so many times at random, then let it come to rest; what was found.

    A message arrives about every `every_s`, also while the gateway is down.
    """
    chance = random.Random(seed)
    async with World(directory, code=code, pace_s=0.05) as world:
        async with asyncio.TaskGroup() as tasks:
            talking = tasks.create_task(_talk(world, chance, chats, every_s))
            for _ in range(kills):
                await world.start()
                await asyncio.sleep(chance.uniform(*LIVES_S))
                await world.kill()
            talking.cancel()
        await world.start()
        await world.settle(timeout_s=60.0)
        await world.gateway.kill()
        return examine(world)


async def _talk(world: World, chance: random.Random, chats: int, every_s: float) -> None:
    """People write at random; after something slow the same person often adds a word, which steers."""
    while True:
        chat = chance.randrange(1, chats + 1)
        kinds = chance.choice(KINDS)
        world.say(chat, kinds)
        if kinds and chance.random() < 0.4:
            await asyncio.sleep(chance.uniform(0.05, 0.6))
            world.say(chat, chance.choice(("", "p", "i")))
        await asyncio.sleep(chance.expovariate(1 / every_s))


async def _alone(kills: int, chats: int, seed: int) -> None:
    begun_s = time.monotonic()
    with tempfile.TemporaryDirectory() as directory:
        verdict = await run_campaign(Path(directory), kills=kills, chats=chats, seed=seed)
    sys.stdout.write(f"seed {seed}  {verdict.line()}  in {time.monotonic() - begun_s:.0f} s\n")
    for flaw in verdict.broken:
        sys.stdout.write(f"  {flaw}\n")


if __name__ == "__main__":
    given = [int(argument) for argument in sys.argv[1:]]
    asyncio.run(_alone(*(given + [30, 12, 1][len(given) :])))
