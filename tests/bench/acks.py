"""Age of events at their acknowledgement, at a steady pace while no model answers.

Telegram: a poll confirms the update's offset. Slack: the envelope is acknowledged. Discord's acknowledgement cannot be
seen from outside, so the age ends when the row is committed, as a reader of the database sees it. The benchmark polls
every few milliseconds (Slack's simulator keeps the times), so figures below that mean little.
"""

import asyncio
import sqlite3
import tempfile
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack, closing, contextmanager
from pathlib import Path
from typing import Protocol

from channels.simulators.discord.server import DiscordSimulator
from channels.simulators.shared.simulator import AnySimulator
from channels.simulators.slack.server import SlackSimulator
from channels.simulators.slack.sockets import Envelope
from tests.bench.figures import Row, percentile
from tests.bench.subject import gateway
from tests.bench.world import FIRST_PERSON, ModelServer, unbraked_telegram, until

PEOPLE = 60
"""Writers on each platform, all known to the gateway before the clock starts."""

SETTLE_S = 4.0  # their placeholders and signs are out by then
LOOK_S = 0.003
END_S = 60.0
GOAL_MS = 1000.0  # at p99.9


class Meter(Protocol):
    """The arrivals of one platform's events, and their ages at their acknowledgement."""

    platform: AnySimulator
    label: str
    ages_s: list[float]

    def arrived(self) -> None:
        """Note that one event arrived; call it right after `say`."""
        ...

    def look(self) -> int:
        """Note what was acknowledged since the last look; how many events still wait."""
        ...


class TelegramMeter:
    """A meter by counts: Telegram confirms updates in order."""

    label = "Telegram, offset confirmed"

    def __init__(self) -> None:
        self.platform: AnySimulator = unbraked_telegram()
        self.ages_s: list[float] = []
        self._open: deque[float] = deque()

    def arrived(self) -> None:
        """See `Meter`."""
        self._open.append(time.monotonic())

    def look(self) -> int:
        """See `Meter`."""
        _settle(self._open, len(self._open) - self.platform.count_unacknowledged(), self.ages_s)
        return len(self._open)


class SlackMeter:
    """A meter by the simulator's times of each envelope and its acknowledgement."""

    label = "Slack, envelope acknowledged"

    def __init__(self) -> None:
        self._slack = SlackSimulator.with_bot()
        self.platform: AnySimulator = self._slack
        self.ages_s: list[float] = []
        self._open: list[Envelope] = []

    def arrived(self) -> None:
        """See `Meter`."""
        self._open.append(self._slack.sockets.open[-1])

    def look(self) -> int:
        """See `Meter`."""
        waiting: list[Envelope] = []
        for envelope in self._open:
            if envelope.acked_s is None:
                waiting.append(envelope)
            else:
                self.ages_s.append(envelope.acked_s - envelope.made_s)
        self._open = waiting
        return len(waiting)


class DiscordMeter:
    """A meter by rows, which appear in the order of the events."""

    label = "Discord, row committed"

    def __init__(self) -> None:
        self.platform: AnySimulator = DiscordSimulator.with_bot()
        self.ages_s: list[float] = []
        self._open: deque[float] = deque()
        self._database: sqlite3.Connection | None = None
        self._last_id = 0

    @contextmanager
    def reading(self, path: Path) -> Iterator[None]:
        """Look into this database, which another process writes."""
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as self._database:
            yield

    def arrived(self) -> None:
        """See `Meter`."""
        self._open.append(time.monotonic())

    def look(self) -> int:
        """See `Meter`."""
        if self._open and self._database is not None:
            query = "SELECT id FROM inbox WHERE id > ? AND channel = 'discord' AND kind = 'message' ORDER BY id"
            found = self._database.execute(query, (self._last_id,)).fetchall()
            if found:
                self._last_id = found[-1][0]
                _settle(self._open, len(found), self.ages_s)
        return len(self._open)


def _settle(waiting: deque[float], count: int, ages_s: list[float]) -> None:
    now_s = time.monotonic()
    ages_s.extend(now_s - waiting.popleft() for _ in range(count))


async def together(per_s: int, seconds: float) -> dict[str, object]:
    """Measure one gateway with all three channels, which send events in turn."""
    print(f"\nacknowledgement of {per_s} events/s for {seconds:g} s, by all three channels in turn; no model answers")
    return await _run([TelegramMeter(), SlackMeter(), DiscordMeter()], per_s, seconds)


async def each(per_s: int, seconds: float) -> dict[str, object]:
    """Measure one gateway a channel, one after another."""
    results: dict[str, object] = {}
    print(f"\nacknowledgement of {per_s} events/s for {seconds:g} s, each channel alone; no model answers")
    meters: Sequence[Meter] = (TelegramMeter(), SlackMeter(), DiscordMeter())
    for meter in meters:
        results |= await _run([meter], per_s, seconds)
    return results


async def _run(meters: Sequence[Meter], per_s: int, seconds: float) -> dict[str, object]:
    with tempfile.TemporaryDirectory(prefix="tenk-bench-") as directory:
        async with AsyncExitStack() as stack:
            model = await stack.enter_async_context(ModelServer(delay_s=3600))
            environment = {"OPENAI_BASE_URL": model.base_url, "TENK_MODEL": "openai:bench"}
            for meter in meters:
                await stack.enter_async_context(meter.platform)
                environment |= meter.platform.environment()
            subject = await stack.enter_async_context(gateway(Path(directory), environment))
            await until(lambda: all(meter.platform.is_connected() for meter in meters), 60)
            for meter in meters:
                if isinstance(meter, DiscordMeter):
                    stack.enter_context(meter.reading(Path(directory) / "tenk.db"))
            await _warmed_up(meters)
            paced_s = await _paced(meters, per_s, seconds)
            return _told(meters, paced_s, subject.rss_mb())


async def _warmed_up(meters: Sequence[Meter]) -> None:
    for person in range(PEOPLE):
        for meter in meters:
            meter.platform.say(meter.platform.direct(FIRST_PERSON + person), "hello")
            meter.arrived()
    await until(lambda: sum(meter.look() for meter in meters) == 0, END_S)
    await asyncio.sleep(SETTLE_S)
    for meter in meters:
        meter.ages_s.clear()


async def _paced(meters: Sequence[Meter], per_s: int, seconds: float) -> float:
    begun_s = time.monotonic()
    sent, total = 0, int(per_s * seconds)
    while sent < total:
        due = min(total, int((time.monotonic() - begun_s) * per_s))
        for number in range(sent, due):
            meter = meters[number % len(meters)]
            person = FIRST_PERSON + number // len(meters) % PEOPLE
            meter.platform.say(meter.platform.direct(person), "hello")
            meter.arrived()
        sent = due
        for meter in meters:
            meter.look()
        await asyncio.sleep(LOOK_S)
    paced_s = time.monotonic() - begun_s
    await until(lambda: sum(meter.look() for meter in meters) == 0, END_S, LOOK_S)
    return paced_s


def _told(meters: Sequence[Meter], paced_s: float, rss_mb: float) -> dict[str, object]:
    rows = {meter.label: meter.ages_s for meter in meters}
    if len(meters) > 1:
        rows["all"] = [age for meter in meters for age in meter.ages_s]
    print(f"  {'':30}{'events':>8}{'p50 ms':>9}{'p99 ms':>9}{'p99.9 ms':>10}{'max ms':>9}")
    results: dict[str, object] = {}
    for label, ages_s in rows.items():
        row = _row(ages_s)
        results[label] = row
        print(
            f"  {label:30}{len(ages_s):8}{row['p50_ms']:9.1f}{row['p99_ms']:9.1f}{row['p99.9_ms']:10.1f}"
            f"{row['max_ms']:9.1f}"
        )
    print(f"  goal: p99.9 at most {GOAL_MS:.0f} ms; sent within {paced_s:.1f} s; RSS {rss_mb:.0f} MiB after it")
    return results


def _row(ages_s: Sequence[float]) -> Row:
    ages_ms = [age_s * 1000 for age_s in ages_s]
    found = {f"p{percent:g}_ms": round(percentile(ages_ms, percent), 2) for percent in (50, 99, 99.9)}
    return {"events": len(ages_ms), **found, "max_ms": round(max(ages_ms, default=0.0), 2)}
