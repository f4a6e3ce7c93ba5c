"""Memory that chats leave behind: waves of people who each write once, and an even load for hours.

The figure is the resident memory of the gateway's process alone; platform and model server run elsewhere.
"""

import asyncio
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from channels.simulators.shared.simulator import AnySimulator
from tests.bench.subject import Subject, gateway
from tests.bench.world import FIRST_PERSON, SHORT_ANSWER, ModelServer, People, unbraked_telegram, until

AT_ONCE = 100
"""People of a wave who wait for their answers at the same time."""

IDLE_S = 120.0
"""After so long a session leaves memory (`[sessions] idle_s` as it comes), and within `SWEEP_S` of it."""

SWEEP_S = 20.0
GOAL_WAVE_KB = 10.0
GOAL_MB = 300
GOAL_HOUR_MB = 5.0


@dataclass(frozen=True, slots=True)
class Asked:
    """Number of people and length of the load."""

    waves: int = 3
    chats: int = 2_500  # of a wave
    per_s: float = 5.0  # messages a second of the even load
    minutes: float = 60.0
    people: int = 50  # who write it in turns


async def waves(asked: Asked) -> dict[str, object]:
    """Measure waves of new people who write once each; the sessions of a wave become idle before the next."""
    print(f"\n{asked.waves} waves of {asked.chats:,} chats that write once; RSS when their sessions are idle")
    print(f"  {'chats':>8}{'answered MiB':>14}{'idle MiB':>10}{'kB a chat':>11}  goal {GOAL_WAVE_KB:.0f} in wave 3")
    async with _running() as (subject, people):
        idle_mb = subject.rss_mb()
        print(f"  {0:>8}{'-':>14}{idle_mb:>10.0f}", flush=True)
        results: list[dict[str, float]] = [{"chats": 0, "idle_mb": idle_mb}]
        for wave in range(asked.waves):
            first = FIRST_PERSON + wave * asked.chats
            await people.each_once(range(first, first + asked.chats), AT_ONCE)
            answered_mb, before_mb = subject.rss_mb(), idle_mb
            await asyncio.sleep(IDLE_S + SWEEP_S)
            idle_mb = subject.rss_mb()
            each_kb = (idle_mb - before_mb) * 1024 / asked.chats
            chats = (wave + 1) * asked.chats
            print(f"  {chats:>8,}{answered_mb:>14.0f}{idle_mb:>10.0f}{each_kb:>11.1f}", flush=True)
            results.append({"chats": chats, "answered_mb": answered_mb, "idle_mb": idle_mb, "each_kb": each_kb})
    print(f"  goal for 10,000 chats: {GOAL_MB} MiB")
    return {"waves": results}


async def hours(asked: Asked) -> dict[str, object]:
    """Measure an even load of the same people; the slope is that of the second half.

    By then their conversations have to be as long as `[sessions] history_events` lets them be: 20 people get there
    after 11 minutes, 50 after 28.
    """
    print(f"\n{asked.per_s:g} messages a second of {asked.people:,} people in turns, for {asked.minutes:g} minutes")
    print(f"  {'minute':>8}{'RSS MiB':>10}")
    seen: list[tuple[float, float]] = []
    async with _running() as (subject, people), asyncio.TaskGroup() as writing:
        load = writing.create_task(people.evenly(asked.people, asked.per_s, asked.minutes * 60))
        begun_s = time.monotonic()
        while not load.done():
            await asyncio.wait([load], timeout=60.0)
            seen.append(((time.monotonic() - begun_s) / 60, subject.rss_mb()))
            print(f"  {seen[-1][0]:>8.1f}{seen[-1][1]:>10.1f}", flush=True)
    slope_mb = 60 * slope(seen[len(seen) // 2 :])
    print(f"  the second half grows by {slope_mb:.1f} MiB an hour (goal {GOAL_HOUR_MB:g})")
    return {"seen": seen, "hour_mb": slope_mb}


def slope(seen: Sequence[tuple[float, float]]) -> float:
    """Return the least-squares growth a minute; 0.0 for fewer than two points."""
    if len(seen) < 2:
        return 0.0
    middle_x = sum(x for x, _ in seen) / len(seen)
    middle_y = sum(y for _, y in seen) / len(seen)
    return sum((x - middle_x) * (y - middle_y) for x, y in seen) / sum((x - middle_x) ** 2 for x, _ in seen)


@asynccontextmanager
async def _running() -> AsyncIterator[tuple[Subject, People]]:
    with tempfile.TemporaryDirectory(prefix="tenk-bench-") as directory:
        platform: AnySimulator = unbraked_telegram()
        async with platform, ModelServer() as server:
            model = {"OPENAI_BASE_URL": server.base_url, "TENK_MODEL": "openai:bench"}
            async with gateway(Path(directory), {**platform.environment(), **model}) as subject:
                await until(lambda: subject.pid > 0 and platform.is_connected(), 60)  # a dead process says why
                await asyncio.sleep(2)
                yield subject, People(platform, SHORT_ANSWER[-12:])
