"""A discrete-event model of the gateway, fed with figures measured here, and its predictions beside real runs.

What it knows: one interpreter a process, whose lock every stage of a message needs; one writer that commits in groups;
a model that only waits; and where runs are to be met, the rig, one more interpreter that plays platform, people, model.
What is measured first: CPU of a message in both, what a commit takes alone, what a job adds to it, and how much of a
processor one gets who wants a whole one, as machines are shared. `.github/scale.md` is written with its figures.
"""

import asyncio
import heapq
import random
import tempfile
import time
from collections import deque
from collections.abc import Callable, Generator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from statistics import median

import sqlalchemy as sa

from gateway.store.engine import Store
from gateway.store.tables.base import EPOCH
from gateway.store.tables.people import audit
from tests.bench.figures import percentile
from tests.bench.loads import CASES, Loads, measure
from tests.bench.subject import gateway
from tests.bench.world import PLATFORMS

SIZES = (5, 15, 40)
"""Chats of the runs that the model is held against; none of them is one that it is fed with."""

FED_BY = (1, 50)
MESSAGES_EACH = 25

COMMITS = 3
"""Commits that a message waits for: taken in, its turn begun, its answer; that of the receipt nobody waits for."""

JITTER = 0.3
"""By how much a stage differs from its mean, either way: long answers, other people's stages, the collector."""

BUSY_S = 1.0
WIDTHS = (9, 7, 13, 10, 7, 10, 10, 7)

Step = tuple[str, float]
"""What a message asks for next: `cpu`, `rig` or `wait` and how long, in seconds; `commit`; `poll`, to be fetched."""


@dataclass(frozen=True, slots=True)
class Costs:
    """What a message takes; seconds."""

    cpu_s: float  # of the interpreter, all stages of a message and its jobs
    group_s: float  # of the interpreter, of each commit, however many share it
    commit_s: float  # of a commit, whatever is in it: the disk, or the server
    job_s: float  # of each job in it, in which the interpreter is not needed: on a server, its round trips
    model_s: float = 0.05
    rig_s: float = 0.0  # of the rig's interpreter
    around_s: float = 0.0  # of a message alone, beside all that: what the platform lets wait

    def stages(self) -> list[Step]:
        """A message's way."""
        share_s, rig = self.cpu_s / (COMMITS + 1), ("rig", self.rig_s / 3)
        work: list[Step] = [rig, ("poll", share_s), ("cpu", share_s), ("commit", 0.0), rig]
        work += [("wait", self.model_s), ("cpu", share_s), ("commit", 0.0), ("cpu", share_s), rig]
        return [*work, ("wait", self.around_s)]

    def on_a_share(self, share: float) -> "Costs":
        """The same where a process that wants a whole processor gets this much of it."""
        return replace(self, cpu_s=self.cpu_s / share, group_s=self.group_s / share, rig_s=self.rig_s / share)


@dataclass(slots=True)
class Machine:
    """Processes side by side, each with its interpreter and its writer; one queue of events for all."""

    costs: Costs
    processes: int = 1
    seed: int = 7
    now_s: float = 0.0
    took_s: list[float] = field(default_factory=list)
    commits: int = 0
    _events: list[tuple[float, int, Callable[[], None]]] = field(default_factory=list)
    _number: int = 0
    _free: list[bool] = field(default_factory=list)
    _ready: list[deque[tuple[float, Callable[[], None]]]] = field(default_factory=list)
    _jobs: list[list[Callable[[], None]]] = field(default_factory=list)
    _writes: list[bool] = field(default_factory=list)
    _arrived: list[list[tuple[float, Callable[[], None]]]] = field(default_factory=list)
    _polls: list[bool] = field(default_factory=list)
    _random: random.Random = field(default_factory=random.Random)

    def closed_loop(self, chats: int, messages_each: int) -> tuple[float, float, float]:
        """Everybody writes again when answered; messages a second, p50 and p95 in milliseconds."""
        self._begin()
        for chat in range(chats):
            self._at(0.0, partial(self._message, chat % self.processes, messages_each))
        return self._results()

    def arriving(self, per_s: float, seconds: float) -> tuple[float, float, float]:
        """Messages come whenever they come, so many a second; the same."""
        self._begin()
        at_s, number = 0.0, 0
        while (at_s := at_s + self._random.expovariate(per_s)) < seconds:
            self._at(at_s, partial(self._message, number % self.processes, 1))
            number += 1
        return self._results()

    def _begin(self) -> None:
        self._random = random.Random(self.seed)
        self._free, self._writes = [True] * (self.processes + 1), [False] * self.processes  # the last is the rig's
        self._ready = [deque() for _ in range(self.processes + 1)]
        self._jobs = [[] for _ in range(self.processes)]
        self._arrived, self._polls = [[] for _ in range(self.processes)], [False] * self.processes

    def _results(self) -> tuple[float, float, float]:
        while self._events:
            self.now_s, _, does = heapq.heappop(self._events)
            does()
        return len(self.took_s) / self.now_s, 1000 * median(self.took_s), 1000 * percentile(self.took_s, 95)

    def _at(self, at_s: float, does: Callable[[], None]) -> None:
        self._number += 1
        heapq.heappush(self._events, (at_s, self._number, does))

    def _message(self, process: int, left: int) -> None:
        """One message on its way, and behind it the next of this chat."""
        if left:
            self._go_on(process, self._way(process, left))

    def _way(self, process: int, left: int) -> Generator[Step, None, None]:
        begun_s = self.now_s
        yield from self.costs.stages()
        self.took_s.append(self.now_s - begun_s)
        self._jobs[process].append(lambda: None)  # the receipt
        self._write(process)
        self._at(self.now_s, partial(self._message, process, left - 1))

    def _go_on(self, process: int, way: Generator[Step, None, None]) -> None:
        step = next(way, None)
        if step is None:
            return
        kind, takes_s = step
        goes_on = partial(self._go_on, process, way)
        if kind == "wait":
            self._at(self.now_s + takes_s, goes_on)
        elif kind == "poll":
            self._arrived[process].append((takes_s, goes_on))
            self._poll(process)
        elif kind in ("cpu", "rig"):
            interpreter = process if kind == "cpu" else self.processes
            self._ready[interpreter].append((takes_s * self._random.uniform(1 - JITTER, 1 + JITTER), goes_on))
            self._compute(interpreter)
        else:
            self._jobs[process].append(goes_on)
            self._write(process)

    def _poll(self, process: int) -> None:
        """All that has come is fetched at once and taken in in one commit; the next poll acknowledges it."""
        if self._polls[process] or not self._arrived[process]:
            return
        batch, self._arrived[process] = self._arrived[process], []
        self._polls[process] = True
        self._ready[process].append((sum(takes_s for takes_s, _ in batch), partial(self._take_in, process, batch)))
        self._compute(process)

    def _take_in(self, process: int, batch: list[tuple[float, Callable[[], None]]]) -> None:
        def acknowledge() -> None:
            self._polls[process] = False
            for _, then in batch:
                then()
            self._poll(process)

        self._jobs[process].append(acknowledge)
        self._write(process)

    def _compute(self, process: int) -> None:
        """One after the other: who computes has the interpreter."""
        if not self._free[process] or not self._ready[process]:
            return
        takes_s, then = self._ready[process].popleft()
        self._free[process] = False
        self._at(self.now_s + takes_s, partial(self._computed_to_end, process, then))

    def _computed_to_end(self, process: int, then: Callable[[], None]) -> None:
        self._free[process] = True
        then()
        self._compute(process)

    def _write(self, process: int) -> None:
        """All that waits goes in one commit; what comes meanwhile waits for the next."""
        if self._writes[process] or not self._jobs[process]:
            return
        group, self._jobs[process] = self._jobs[process], []
        self._writes[process] = True
        self.commits += 1
        self._ready[process].append((self.costs.group_s, partial(self._reach_disk, process, group)))
        self._compute(process)

    def _reach_disk(self, process: int, group: list[Callable[[], None]]) -> None:
        takes_s = self.costs.commit_s + self.costs.job_s * len(group)
        self._at(self.now_s + takes_s, partial(self._commit_group, process, group))

    def _commit_group(self, process: int, group: list[Callable[[], None]]) -> None:
        self._writes[process] = False
        for then in group:
            then()
        self._write(process)


async def commit_costs(url: str) -> tuple[float, float]:
    """Seconds that a commit takes alone, and that each further job adds; medians over groups of 1 and of 33."""
    store = await Store.open(url)
    took: dict[int, list[float]] = {1: [], 33: []}
    for _ in range(40):
        for jobs, kept in took.items():
            begun_s = time.perf_counter()
            await asyncio.wait([store.queue(_note) for _ in range(jobs)])
            kept.append(time.perf_counter() - begun_s)
    await store.aclose()
    job_s = (median(took[33]) - median(took[1])) / 32
    return max(median(took[1]) - job_s, 0.0), max(job_s, 0.0)


def _note(connection: sa.Connection) -> None:
    values = {"tenant_id": "t", "at": EPOCH, "actor": "cli", "action": "noted", "subject": "s", "detail": ""}
    connection.execute(audit.insert(), values)


async def run() -> dict[str, object]:
    """Measure, predict, run, and print both; then what the model says of sizes that were not run."""
    with tempfile.TemporaryDirectory(prefix="tenk-bench-") as directory:
        commit_s, job_s = await commit_costs(f"sqlite:///{Path(directory) / 'tenk.db'}")
    alone, busy = [await _measure(chats) for chats in FED_BY]
    costs = feed(alone, busy, commit_s, job_s)
    without_s = Machine(costs.on_a_share(alone.share)).closed_loop(1, 50)[1] / 1000
    costs = replace(costs, around_s=max(0.0, alone.p50_ms / 1000 - without_s))
    print("\nscale: a discrete-event model beside real runs, SQLite, Telegram, a closed loop")
    print(f"  fed with: CPU {1000 * costs.cpu_s:.2f} ms a message and {1000 * costs.group_s:.2f} a commit, which takes")
    print(f"  {1000 * commit_s:.2f} ms and {1000 * job_s:.3f} a job; the rig {1000 * costs.rig_s:.2f} ms a message,")
    print(f"  and {1000 * costs.around_s:.1f} ms around one that is alone")
    heads = ("chats", "share", "predicted/s", "measured", "off", "p50", "measured", "off")
    print("".join(f"{head:>{width}}" for head, width in zip(heads, WIDTHS, strict=True)))
    results: dict[str, object] = {"costs": str(costs)}
    for chats in SIZES:
        found = await _measure(chats)
        per_s, p50_ms, _ = Machine(costs.on_a_share(found.share)).closed_loop(chats, MESSAGES_EACH)
        off = per_s / found.per_s - 1, p50_ms / found.p50_ms - 1
        print(
            f"  {chats:>7}{found.share:>7.2f}{per_s:>13.1f}{found.per_s:>10.1f}{100 * off[0]:>+6.0f}%"
            f"{p50_ms:>10.1f}{found.p50_ms:>10.1f}{100 * off[1]:>+6.0f}%"
        )
        results[str(chats)] = {"predicted": (per_s, p50_ms), "measured": (found.per_s, found.p50_ms)}
    results["sizes"] = list(predict(replace(costs, rig_s=0.0)))
    return results


def feed(alone: "Run", busy: "Run", commit_s: float, job_s: float) -> Costs:
    """What is paid once a commit is the difference between who has them alone and who shares them."""
    costs = Costs(busy.cpu_s, 0.0, commit_s, job_s, rig_s=busy.rig_s)
    for _ in range(5):  # how many share one depends on what it costs
        machine = Machine(costs)
        machine.closed_loop(FED_BY[1], MESSAGES_EACH)
        shared = machine.commits / len(machine.took_s)
        group_s = max(0.0, (alone.cpu_s - busy.cpu_s) / (COMMITS + 1 - shared))
        costs = replace(costs, group_s=group_s, cpu_s=busy.cpu_s - shared * group_s)
    return costs


@dataclass(frozen=True, slots=True)
class Run:
    """A real one."""

    cpu_s: float  # a message, the gateway's
    rig_s: float  # a message, this process's
    per_s: float
    p50_ms: float
    share: float  # of a processor, for who wants a whole one


async def _measure(chats: int) -> Run:
    before, begun_s = _share(), time.process_time()
    found = await measure(gateway, PLATFORMS["telegram"](), CASES[0], Loads(chats=chats, messages_each=MESSAGES_EACH))
    rig_s = (time.process_time() - begun_s) / (chats * (MESSAGES_EACH + CASES[0].warm_up))
    return Run(found.cpu_ms / 1000, rig_s, found.per_s, found.p50_ms, (before + _share()) / 2)


def _share() -> float:
    """How much of a processor this process gets while it does nothing but compute."""
    begun_s, used_s = time.perf_counter(), time.process_time()
    while time.perf_counter() - begun_s < BUSY_S:
        pass
    return (time.process_time() - used_s) / (time.perf_counter() - begun_s)


def predict(costs: Costs) -> Generator[tuple[float, int, float], None, None]:
    """p95 with so many messages a second and processes, printed; none where they do not keep up."""
    print("  messages/s   processes   p50 ms   p95 ms   busy")
    for per_s in (10, 100, 200, 300, 1_000):
        for processes in (1, 2, 4, 8):
            if per_s * costs.cpu_s / processes >= 1:
                continue
            machine = Machine(costs, processes)
            _, p50_ms, p95_ms = machine.arriving(per_s, 30.0)
            busy = (costs.cpu_s * len(machine.took_s) + costs.group_s * machine.commits) / processes / machine.now_s
            print(f"  {per_s:>10}{processes:>12}{p50_ms:>9.0f}{p95_ms:>9.0f}{100 * busy:>6.0f}%")
            yield per_s, processes, p95_ms
            break
