"""Ingest rate and durability while no model answers, and the time to the first poll with a backlog."""

import asyncio
import signal
import tempfile
import time
from pathlib import Path

from channels.simulators.telegram.server import TelegramSimulator
from tests.bench.figures import percentile
from tests.bench.subject import gateway
from tests.bench.world import ModelServer, unbraked_telegram, until

BACKLOG = 10_000
PACED_PER_S = 2000
PACED_S = 3.0
SETTLE_S = 4.0  # their placeholders and signs are out by then
PEOPLE = 200
"""Writers, all known to the gateway before the clock starts."""


async def run() -> dict[str, object]:
    """Measure ingest of a backlog, ingest at a pace, and a restart; every model request hangs."""
    with tempfile.TemporaryDirectory(prefix="tenk-bench-") as directory:
        async with unbraked_telegram() as telegram, ModelServer(delay_s=3600) as model:
            simulator, waiting = telegram, telegram.count_unacknowledged
            environment = {
                **telegram.environment(),
                "OPENAI_BASE_URL": model.base_url,
                "TENK_MODEL": "openai:bench",
            }
            async with gateway(Path(directory), environment) as subject:
                await until(telegram.is_connected, 60)
                for person in range(PEOPLE):
                    simulator.say(1000 + person, "hello")
                await until(lambda: waiting() == 0, 60)
                await asyncio.sleep(SETTLE_S)
                p99_ms = await _paced(telegram)
                for number in range(BACKLOG):
                    simulator.say(1000 + number % PEOPLE, "hello")
                took_s = await until(lambda: waiting() == 0, 120)
                rss_mb = subject.rss_mb()
                await subject.end(signal.SIGKILL)
            polls = telegram.arrivals()
            async with gateway(Path(directory), environment):
                restart_s = await until(lambda: telegram.arrivals() > polls, 60)
    print("\ndurable ingest (a poll confirms only what is committed; SQLite, synchronous=FULL)")
    print(f"  backlog of {BACKLOG}: {BACKLOG / took_s:.0f} messages/s, RSS {rss_mb:.0f} MiB after it")
    print(f"  at {PACED_PER_S}/s: p99 from arrival to acknowledgement {p99_ms:.0f} ms")
    print(f"  restart after kill -9 with {BACKLOG} waiting: first poll after {restart_s:.2f} s")
    return {
        "backlog_per_s": BACKLOG / took_s,
        "backlog_rss_mb": rss_mb,
        "paced_p99_ms": p99_ms,
        "restart_first_poll_s": restart_s,
    }


async def _paced(telegram: TelegramSimulator) -> float:
    simulator, waiting = telegram, telegram.count_unacknowledged
    arrived: list[float] = []
    ages: list[float] = []
    begun_s = time.monotonic()
    while (elapsed_s := time.monotonic() - begun_s) < PACED_S:
        due = int(elapsed_s * PACED_PER_S)
        for number in range(len(arrived), due):
            simulator.say(1000 + number % PEOPLE, "hello")
            arrived.append(time.monotonic())
        unacknowledged = waiting()
        if unacknowledged:
            ages.append(time.monotonic() - arrived[len(arrived) - unacknowledged])
        await asyncio.sleep(0.002)
    await until(lambda: waiting() == 0, 60)
    return percentile(ages, 99) * 1000
