"""Several gateways over one PostgreSQL, under kills, pauses, cut connections and a server that restarts.

By itself: `python -m tests.torture.chaos [FAULTS] [CHATS] [SEED] [KIND ...] [ROLE ...]` prints one line.
"""

import asyncio
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.fakes.postgres import PostgresServer
from tests.torture.campaign import KINDS
from tests.torture.cluster import ClusterWorld
from tests.torture.invariants import Verdict, examine
from tests.torture.platforms import Platform
from tests.torture.world import NotSettled

PAUSE_S = (0.5, 6.0)
FAULT_EVERY_S = (0.2, 1.5)
RESTS_S = 120.0

Fault = Callable[["Chaos"], Coroutine[Any, Any, None]]


class Chaos:
    """One campaign: what breaks next is drawn from a seed."""

    def __init__(self, world: ClusterWorld, seed: int, faults: Mapping[str, Fault]) -> None:
        self.world = world
        self.chance = random.Random(seed)
        self._faults = faults
        self.done: list[str] = []

    async def run(self, faults: int, chats: int, every_s: float) -> None:
        """Break so many things while people write; then let all come to rest."""
        async with asyncio.TaskGroup() as tasks:
            talking = tasks.create_task(self._talk(chats, every_s))
            for _ in range(faults):
                await asyncio.sleep(self.chance.uniform(*FAULT_EVERY_S))
                name = self.chance.choice(sorted(self._faults))
                self.done.append(name)
                await self._faults[name](self)
                await self.world.start_all()
            talking.cancel()

    async def _talk(self, chats: int, every_s: float) -> None:
        while True:
            chat, kinds = self.chance.randrange(1, chats + 1), self.chance.choice(KINDS)
            self.world.say(chat, kinds)
            if kinds and self.chance.random() < 0.4:
                await asyncio.sleep(self.chance.uniform(0.05, 0.6))
                self.world.say(chat, self.chance.choice(("", "p", "i")))
            await asyncio.sleep(self.chance.expovariate(1 / every_s))

    async def machine(self) -> int:
        """One of them; one that could not start, because the server was away just then, is started again before."""
        number = self.chance.randrange(len(self.world.machines))
        if not self.world.machines[number].running:
            await self.world.start_all()
        return number

    async def rest(self) -> None:
        """Nothing breaks."""
        await asyncio.sleep(1.0)

    async def kill(self) -> None:
        """One dies, and comes back after a while."""
        victim = self.world.machines[await self.machine()]
        self.world.note_death()
        await victim.kill()
        await asyncio.sleep(self.chance.uniform(0.0, 4.0))

    async def pause(self) -> None:
        """One stands still, perhaps for longer than its leases last, and goes on."""
        victim = self.world.machines[await self.machine()]
        self.world.note_death()
        victim.signal(signal.SIGSTOP)
        try:
            await asyncio.sleep(self.chance.uniform(*PAUSE_S))
        finally:
            victim.signal(signal.SIGCONT)

    async def stop(self) -> None:
        """One is told to end, and drains."""
        victim = self.world.machines[await self.machine()]
        victim.signal(signal.SIGTERM)
        if await victim.ended(15.0) is None:
            raise AssertionError(f"it did not end: {victim.tail()}")

    async def cut(self) -> None:
        """The way of one to the database breaks."""
        self.world.note_death()
        self.world.cuts[await self.machine()].cut()

    async def silence(self) -> None:
        """The way of one to the database is silent for a while."""
        cut = self.world.cuts[await self.machine()]
        self.world.note_death()
        cut.silent.clear()
        await asyncio.sleep(self.chance.uniform(*PAUSE_S))
        cut.silent.set()
        cut.cut()

    async def terminate(self) -> None:
        """The server ends connections of the gateways."""
        self.world.note_death()
        self.world.looker.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'tenk' AND random() < 0.5"
        )

    async def restart(self) -> None:
        """The server crashes, and comes back."""
        self.world.note_death()
        await asyncio.to_thread(self.world.server_of_rows.kill)
        await asyncio.sleep(self.chance.uniform(0.0, 2.0))
        await asyncio.to_thread(self.world.server_of_rows.start)


ALL: Mapping[str, Fault] = {
    "kill": Chaos.kill, "pause": Chaos.pause, "stop": Chaos.stop, "cut": Chaos.cut, "silence": Chaos.silence,
    "terminate": Chaos.terminate, "restart": Chaos.restart,
}  # fmt: skip


ROLES = ("all", "ingress", "worker", "egress")


async def run_chaos(
    directory: Path,
    server: PostgresServer,
    *,
    faults: int,
    chats: int,
    seed: int,
    roles: Sequence[str] = ("all", "all", "all"),
    kinds: Mapping[str, Fault] = ALL,
    platform: Platform | None = None,
    every_s: float = 0.3,
) -> tuple[Verdict, Chaos]:
    """One campaign over several machines; what was found."""
    async with ClusterWorld(directory, roles, server, platform) as world:
        await world.start_all()
        await world.wait_for_owners()
        chaos = Chaos(world, seed, kinds)
        await chaos.run(faults, chats, every_s)
        await world.start_all()
        unsettled = None
        try:
            await world.settle(timeout_s=RESTS_S)
        except NotSettled as flaw:
            unsettled = str(flaw)
        for machine in world.machines:
            await machine.kill()
        world.export()
        verdict = examine(world)
        secrets = {**world.platform.secrets}
        verdict.wrong += [f"I13: {name} stands in a log" for name, secret in secrets.items() if secret in world.tails()]
    if unsettled is not None:
        verdict.wrong.append(f"I12: {unsettled}")
    return verdict, chaos


async def _alone(faults: int, chats: int, seed: int, kinds: Mapping[str, Fault], roles: Sequence[str]) -> None:
    begun_s = time.monotonic()
    directory = Path(tempfile.mkdtemp(prefix="cluster-"))
    with PostgresServer() as server:
        verdict, chaos = await run_chaos(
            directory, server, faults=faults, chats=chats, seed=seed, kinds=kinds, roles=roles
        )
    sys.stdout.write(f"{' '.join(chaos.done)}\n{verdict.line()}  in {time.monotonic() - begun_s:.0f} s\n")
    for flaw in verdict.broken:
        sys.stdout.write(f"  {flaw}\n")
    if verdict.broken:
        sys.stdout.write(f"  its logs are kept in {directory}\n")
    else:
        shutil.rmtree(directory)


if __name__ == "__main__":
    numbers = [int(argument) for argument in sys.argv[1:] if argument.isdecimal()]
    roles = [role for role in sys.argv[1:] if role in ROLES] or ["all"] * 3
    named = {name: getattr(Chaos, name) for name in sys.argv[1:] if name.isalpha() and name not in ROLES}
    asyncio.run(_alone(*(numbers + [10, 8, 1][len(numbers) :]), named or ALL, roles))
