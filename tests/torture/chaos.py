"""Several gateways over one PostgreSQL, under kills, pauses, cut connections and a server that restarts.

`python -m tests.torture.chaos [FAULTS] [CHATS] [SEED] [PLATFORM] [KIND ...] [ROLE ...]` prints a few lines;
with `turns` among the words, FAULTS is a number of turns while the server dies every 5 to 40 s (R8); with `--pause 60`
each pause lasts so many seconds.
"""

import asyncio
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.bench.figures import percentile
from tests.fakes.postgres import PostgresServer
from tests.torture.campaign import PLATFORMS, acquaint, talk
from tests.torture.cluster import ClusterWorld
from tests.torture.gateway_process import GatewayProcess
from tests.torture.invariants import Verdict
from tests.torture.platforms import Platform
from tests.torture.tabs import Tabs, two_tabs
from tests.torture.world import Said

PAUSE_S = (0.5, 6.0)
FAULT_EVERY_S = (0.2, 1.5)
AWAY_S = (0.0, 6.0)
"""Length of a server's absence: perhaps longer than leases last."""

MACHINES = 3
RESTS_S = 120.0
RESTART_S = (5.0, 40.0)
"""Life of the server between two deaths (R8)."""

Fault = Callable[["Chaos"], Coroutine[Any, Any, None]]


class Waits:
    """The waits of people whose chats' owner died."""

    def __init__(self, world: ClusterWorld) -> None:
        self._world = world
        self._open: list[tuple[Said, int, float]] = []  # with the calls seen in its chat, and when its owner died
        self.seconds: list[float] = []  # of each that stood still, in the end
        self.with_database_s: list[float] = []  # the same, from when the database was there
        self._back_s = float("-inf")  # when it came back last
        self.broke_s: list[tuple[float, str]] = []  # when each fault began and ended
        self._slowest: list[tuple[float, str]] = []  # with what else broke meanwhile
        self._asked: list[tuple[Said, float]] = []  # not answered yet, and when that was said
        self._known = 0  # of all that was said
        self.answered_s: list[tuple[float, int]] = []  # how long each answer took, and to which message

    def begin(self, owed: Sequence[Said], *, dead: bool = True) -> None:
        """Note that an owner died. Chats of a paused owner count only if an earlier owner of theirs had died."""
        now_s, known = time.monotonic(), {said for said, *_ in self._open}
        self._open = [each for each in self._open if each[0] not in owed]
        again = owed if dead else [said for said in owed if said in known]
        self._open += [(said, self._world.platform.calls(said.chat), now_s) for said in again]

    def note_back(self) -> None:
        """Note that the database is back: until then no machine could continue."""
        self._back_s = time.monotonic()

    def _note_end(self, said: Said, died_s: float, now_s: float) -> None:
        self.seconds.append(now_s - died_s)
        self.with_database_s.append(now_s - max(died_s, min(self._back_s, now_s)))
        broke = ", ".join(f"{name} {at_s - died_s:.1f}" for at_s, name in self.broke_s if died_s - 4 < at_s < now_s)
        self._slowest.append((self.with_database_s[-1], f"m{said.number} after {now_s - died_s:.1f} s: {broke}"))

    async def watch(self) -> None:
        """Note when each goes on: its answer is there, or its chat hears anything at all."""
        while True:
            now_s, still = time.monotonic(), []
            for said, calls, died_s in self._open:
                if self._world.platform.calls(said.chat) > calls or self._world.shows(said):
                    self._note_end(said, died_s, now_s)
                else:
                    still.append((said, calls, died_s))
            self._open = still
            self._asked += [(said, now_s) for said in self._world.said[self._known :]]
            self._known = len(self._world.said)
            shown = [each for each in self._asked if self._world.shows(each[0])]
            self.answered_s += [(now_s - said_s, said.number) for said, said_s in shown]
            self._asked = [each for each in self._asked if each not in shown]
            await asyncio.sleep(0.1)

    async def empty(self, timeout_s: float) -> None:
        """Wait until nothing stands still; what does after all counts with the whole time."""
        ends_s = time.monotonic() + timeout_s
        while (self._open or self._asked) and time.monotonic() < ends_s and not self._world.is_settled():
            await asyncio.sleep(0.5)
        await asyncio.sleep(0.5)
        for said, _, died_s in self._open:
            self._note_end(said, died_s, time.monotonic())

    def line(self) -> str:
        answered_s = [seconds for seconds, _ in self.answered_s]
        slowest = ", ".join(f"m{number} {seconds:.1f} s" for seconds, number in sorted(self.answered_s)[-3:])
        owed = f"{len(self.seconds)} owed at a kill go on after {_spread(self.seconds)}"
        owed += f"; from when the database was there {_spread(self.with_database_s)}"
        lines = [f"{owed}; {len(answered_s)} answers after {_spread(answered_s)} ({slowest})"]
        return "\n  ".join([*lines, *(words for _, words in sorted(self._slowest)[-5:])])


def _spread(seconds: Sequence[float]) -> str:
    p50, p95 = (percentile(seconds, per_cent) for per_cent in (50, 95))
    return f"p50 {p50:.1f} s, p95 {p95:.1f} s, at most {max(seconds, default=0.0):.1f} s"


class Chaos:
    """One campaign whose faults are drawn from a seed."""

    def __init__(
        self,
        world: ClusterWorld,
        tabs: Tabs,
        seed: int,
        faults: Mapping[str, Fault],
        pause_s: tuple[float, float] = PAUSE_S,
    ) -> None:
        self.world = world
        self._tabs = tabs
        self.chance = random.Random(seed)
        self._faults = faults
        self._pause_s = pause_s
        self.done: list[str] = []
        self.taken_over_s: list[float] = []  # from each pause until nothing was the paused one's any more
        self.fenced = 0  # writes that were refused, as the machines logged them
        self.verdict = Verdict(0, 0)
        self.waits = Waits(world)

    async def run(self, faults: int, chats: int, every_s: float) -> None:
        """Break so many things while people write; then let all come to rest."""
        async with asyncio.TaskGroup() as tasks:
            talking = [
                tasks.create_task(talk(self.world, self.chance, chats, every_s)),
                tasks.create_task(self._tabs.talk()),
            ]
            watching = tasks.create_task(self.waits.watch())
            for _ in range(faults):
                await asyncio.sleep(self.chance.uniform(*FAULT_EVERY_S))
                name = self.chance.choice(sorted(self._faults))
                self.done.append(name)
                self.waits.broke_s.append((time.monotonic(), name))
                await self._faults[name](self)
                self.waits.broke_s.append((time.monotonic(), f"/{name}"))
                await self.world.start_all()
            for each in talking:
                each.cancel()
            await self.waits.empty(RESTS_S)
            watching.cancel()

    async def run_turns(self, turns: int, chats: int, restart_s: tuple[float, float]) -> None:
        """Answer so many questions, one after another in each chat, while the server dies now and then."""

        async def restart() -> None:
            while True:
                await asyncio.sleep(self.chance.uniform(*restart_s))
                self.done.append("restart")
                await self.restart()

        async def ask(chat: int) -> None:
            while len(self.world.said) < turns:
                said, ends_s = self.world.say(chat, ""), time.monotonic() + RESTS_S
                while not self.world.shows(said) and time.monotonic() < ends_s:
                    await asyncio.sleep(0.2)

        async with asyncio.TaskGroup() as tasks:
            restarting = tasks.create_task(restart())
            async with asyncio.TaskGroup() as asking:
                for chat in range(1, chats + 1):
                    asking.create_task(ask(chat))
            restarting.cancel()

    async def machine(self) -> int:
        """Return a random machine; first restart one that could not start while the server was away."""
        number = self.chance.randrange(len(self.world.machines))
        if not self.world.machines[number].running:
            await self.world.start_all()
        return number

    async def rest(self) -> None:
        await asyncio.sleep(1.0)

    async def kill(self) -> None:
        """Kill one machine and restart it after a while."""
        victim = self.world.machines[await self.machine()]
        self.world.note_death()
        owed = self.world.owed_by(victim)
        await victim.kill()
        self.waits.begin(owed)
        await asyncio.sleep(self.chance.uniform(0.0, 4.0))

    async def pause(self) -> None:
        """Pause one machine, perhaps for longer than its leases last."""
        victim = self.world.machines[await self.machine()]
        self.world.note_death()
        self.waits.begin(self.world.owed_by(victim), dead=False)
        victim.signal(signal.SIGSTOP)
        try:
            async with asyncio.TaskGroup() as watching:
                looking = watching.create_task(self._take_over(victim))
                await asyncio.sleep(self.chance.uniform(*self._pause_s))
                looking.cancel()
        finally:
            victim.signal(signal.SIGCONT)

    async def _take_over(self, victim: GatewayProcess) -> None:
        """Note how long it takes until the others have all that one owned."""
        begun_s, node = time.monotonic(), (victim.home / "node").read_text().strip()
        owned = " UNION ALL ".join(
            f"SELECT owner FROM {table} WHERE owner LIKE '{node}:%'" for table in ("shards", "leases")
        )
        while self.world.looker.rows(owned):
            await asyncio.sleep(0.1)
        self.taken_over_s.append(time.monotonic() - begun_s)

    async def stop(self) -> None:
        """Ask one machine to end; it drains."""
        victim = self.world.machines[await self.machine()]
        self.waits.begin(self.world.owed_by(victim), dead=False)
        victim.signal(signal.SIGTERM)
        if await victim.ended(15.0) is None:
            raise AssertionError(f"it did not end: {victim.tail()}")

    async def cut(self) -> None:
        """Cut one machine's connections to the database."""
        self.world.note_death()
        number = await self.machine()
        self.waits.begin(self.world.owed_by(self.world.machines[number]), dead=False)
        self.world.cuts[number].cut()

    async def silence(self) -> None:
        """Let one machine's connections to the database go silent for a while."""
        number = await self.machine()
        cut = self.world.cuts[number]
        self.world.note_death()
        self.waits.begin(self.world.owed_by(self.world.machines[number]), dead=False)
        cut.silent.clear()
        await asyncio.sleep(self.chance.uniform(*self._pause_s))
        cut.silent.set()
        cut.cut()

    async def terminate(self) -> None:
        """Let the server end connections of the gateways."""
        self.world.note_death()
        self.world.looker.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'tenk' AND random() < 0.5"
        )

    async def restart(self) -> None:
        """Crash the server and start it again."""
        self.world.note_death()
        await asyncio.to_thread(self.world.server_of_rows.kill)
        await asyncio.sleep(self.chance.uniform(*AWAY_S))
        await asyncio.to_thread(self.world.server_of_rows.start)
        self.waits.note_back()


ALL: Mapping[str, Fault] = {
    "kill": Chaos.kill,
    "pause": Chaos.pause,
    "stop": Chaos.stop,
    "cut": Chaos.cut,
    "silence": Chaos.silence,
    "terminate": Chaos.terminate,
    "restart": Chaos.restart,
}


@asynccontextmanager
async def campaign(
    world: ClusterWorld,
    chats: int,
    seed: int,
    kinds: Mapping[str, Fault] = ALL,
    pause_s: tuple[float, float] = PAUSE_S,
) -> AsyncIterator[Chaos]:
    """Run machines while the body disturbs them, then let them settle; fill `verdict`."""
    async with world:
        await world.start_all()
        await world.wait_for_owners()
        await world.until(lambda: world.platform.arrivals() > 0, RESTS_S, "a gateway that listens")
        if world.platform.forgets:
            await acquaint(world, chats)
        async with two_tabs(world.addresses) as tabs:
            chaos = Chaos(world, tabs, seed, kinds, pause_s)
            yield chaos
            if not world.server_of_rows.running:
                await asyncio.to_thread(world.server_of_rows.start)
            await world.start_all()
            unsettled = None
            try:
                await world.settle(timeout_s=RESTS_S)
                await world.until(tabs.has_all, RESTS_S, "every answer in both tabs")
            except AssertionError as flaw:
                unsettled = str(flaw)
            chaos.verdict = verdict = await world.end()
            tabs.examine(verdict)
        chaos.fenced = sum(machine.tail(100_000_000).count("_fenced") for machine in world.machines)
    if unsettled is not None:
        verdict.wrong.append(f"I12: {unsettled}")


async def run_chaos(
    directory: Path,
    server: PostgresServer,
    *,
    faults: int,
    chats: int,
    seed: int,
    kinds: Mapping[str, Fault] = ALL,
    platform: Platform | None = None,
    every_s: float = 0.3,
    pause_s: tuple[float, float] = PAUSE_S,
) -> tuple[Verdict, Chaos]:
    """Run one campaign over several machines; return the verdict."""
    world = ClusterWorld(directory, MACHINES, server, platform)
    async with campaign(world, chats, seed, kinds, pause_s) as chaos:
        await chaos.run(faults, chats, every_s)
    return chaos.verdict, chaos


async def run_restarts(
    directory: Path, server: PostgresServer, *, turns: int, chats: int, seed: int, restart_s: tuple[float, float]
) -> tuple[Verdict, Chaos]:
    """Run so many turns on three machines while the server dies every so many seconds (R8); return the verdict."""
    async with campaign(ClusterWorld(directory, MACHINES, server), chats, seed) as chaos:
        await chaos.run_turns(turns, chats, restart_s)
    return chaos.verdict, chaos


async def _alone(numbers: Sequence[int], words: Sequence[str], pause_s: tuple[float, float]) -> None:
    many, chats, seed = (*numbers, *(10, 8, 1)[len(numbers) :])
    named = {word: ALL[word] for word in words if word in ALL}
    platforms = [PLATFORMS[word]() for word in words if word in PLATFORMS]
    begun_s = time.monotonic()
    directory = Path(tempfile.mkdtemp(prefix="cluster-"))
    with PostgresServer() as server:
        if "turns" in words:
            verdict, chaos = await run_restarts(
                directory, server, turns=many, chats=chats, seed=seed, restart_s=RESTART_S
            )
        else:
            verdict, chaos = await run_chaos(
                directory,
                server,
                faults=many,
                chats=chats,
                seed=seed,
                kinds=named or ALL,
                platform=platforms[0] if platforms else None,
                pause_s=pause_s,
            )
    sys.stdout.write(f"{' '.join(chaos.done)}\n{verdict.line()}  in {time.monotonic() - begun_s:.0f} s\n")
    taken = ", ".join(f"{taken_s:.1f}" for taken_s in chaos.taken_over_s)
    sys.stdout.write(f"writes refused {chaos.fenced}, what a paused one owned was taken over after {taken or '-'} s\n")
    sys.stdout.write(f"{chaos.waits.line()}\n")
    for flaw in verdict.broken:
        sys.stdout.write(f"  {flaw}\n")
    if verdict.broken:
        sys.stdout.write(f"  its logs are kept in {directory}\n")
    else:
        shutil.rmtree(directory)


if __name__ == "__main__":
    given, pauses_s = sys.argv[1:], PAUSE_S
    if "--pause" in given:
        at = given.index("--pause")
        pauses_s = (float(given[at + 1]),) * 2
        del given[at : at + 2]
    asyncio.run(_alone([int(word) for word in given if word.isdecimal()], given, pauses_s))
