"""`tenk bench`: the gateway's figures, each beside a bare aiogram bot's on the same simulator and model server.

Both are measured in turn in one run, because two runs on a shared machine say nothing about each other: quote the
ratios. Nothing here judges.
"""

import argparse
import asyncio
import json
import platform
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from channels.telegram.simulator.server import TelegramSimulator
from gateway.bench import boot, ingest
from gateway.bench.boot import Start
from gateway.bench.subject import bare_bot, gateway
from gateway.bench.world import LONG_ANSWER, SHORT_ANSWER, TOKEN, Load, ModelServer, People


@dataclass(frozen=True, slots=True)
class Figures:
    """One bot under one load."""

    cpu_ms: float  # CPU milliseconds a message
    per_s: float  # messages a second
    p50_ms: float
    p95_ms: float
    rss_mb: float


@dataclass(frozen=True, slots=True)
class Loads:
    """How much is asked of each bot."""

    chats: int = 50
    messages_each: int = 40
    alone: int = 60


async def measure(start: Start, answer: str, loads: Loads, chats: int, *, model: bool = True) -> Figures:
    """One fresh bot, warmed up, then a closed loop of `chats`."""
    with tempfile.TemporaryDirectory(prefix="tenk-bench-") as directory:
        async with TelegramSimulator(throttled=False) as simulator, ModelServer() as server:
            simulator.add_bot(TOKEN)
            server.answer = answer
            environment = {"TELEGRAM_BOT_TOKEN": TOKEN, "TELEGRAM_API_BASE": simulator.base_url}
            if model:
                environment |= {"OPENAI_BASE_URL": server.base_url, "TENK_MODEL": "openai:bench"}
            async with start(Path(directory), environment) as subject:
                people = People(simulator)
                await people.closed_loop(chats, 3)
                before_s = subject.cpu_s()
                each = loads.alone if chats == 1 else loads.messages_each
                load = await people.closed_loop(chats, each)
                return _figures(load, subject.cpu_s() - before_s, subject.rss_mb())


def _figures(load: Load, cpu_s: float, rss_mb: float) -> Figures:
    return Figures(
        cpu_ms=cpu_s * 1000 / load.messages,
        per_s=load.per_s,
        p50_ms=load.percentile_ms(50),
        p95_ms=load.percentile_ms(95),
        rss_mb=rss_mb,
    )


def _compare(name: str, ours: Figures, bare: Figures) -> dict[str, object]:
    print(f"\n{name}")
    print(f"  {'':14}{'gateway':>10}{'bare bot':>10}{'ratio':>8}")
    for label, field in (
        ("CPU ms/message", "cpu_ms"), ("messages/s", "per_s"), ("p50 ms", "p50_ms"), ("p95 ms", "p95_ms"),
        ("RSS MiB", "rss_mb"),
    ):  # fmt: skip
        mine, theirs = getattr(ours, field), getattr(bare, field)
        print(f"  {label:14}{mine:10.2f}{theirs:10.2f}{mine / theirs:8.2f}")
    return {"gateway": _as_dict(ours), "bare": _as_dict(bare)}


def _as_dict(figures: Figures) -> dict[str, float]:
    return {name: round(getattr(figures, name), 3) for name in Figures.__slots__}


async def _beside(name: str, answer: str, loads: Loads, chats: int, *, echo: bool) -> dict[str, object]:
    """The gateway, and a bare bot that echoes (`echo`) or asks the same model."""
    ours = await measure(gateway, answer, loads, chats)
    bare = await measure(bare_bot, answer, loads, chats, model=not echo)
    return _compare(name, ours, bare)


async def _loads(loads: Loads) -> dict[str, object]:
    results: dict[str, object] = {}
    for name, answer, chats, echo in (
        ("50 chats, short answer; the bare bot asks the same model", SHORT_ANSWER, loads.chats, False),
        ("50 chats, 2 kB Markdown answer; the bare bot asks the same model", LONG_ANSWER, loads.chats, False),
        ("50 chats, short answer; the bare bot only echoes", SHORT_ANSWER, loads.chats, True),
        ("one chat, short answer; p50 less the bare bot's is what the gateway adds", SHORT_ANSWER, 1, False),
    ):
        results[name] = await _beside(name, answer, loads, chats, echo=echo)
    return results


ROWS: dict[str, Callable[[Loads], Awaitable[dict[str, object]]]] = {
    "loads": _loads,
    "ingest": lambda _loads: ingest.run(),
    "boot": lambda _loads: boot.run(),
}


async def _run(rows: Sequence[str], loads: Loads) -> dict[str, object]:
    print(f"tenk bench, {datetime.now(UTC):%Y-%m-%d}, Python {platform.python_version()}, {platform.machine()}")
    return {row: await ROWS[row](loads) for row in rows}


def main(arguments: Sequence[str]) -> int:
    """Measure what is asked for, print it, and keep it as JSON where told to."""
    parser = argparse.ArgumentParser(prog="tenk bench", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("rows", nargs="*", default=list(ROWS), help=f"of {', '.join(ROWS)}; all when none is named")
    parser.add_argument("--messages", type=int, default=Loads().messages_each, help="messages each chat writes")
    parser.add_argument("--json", type=Path, help="write the figures to this file, too")
    asked = parser.parse_args(arguments)
    unknown = [row for row in asked.rows if row not in ROWS]
    if unknown:
        parser.error(f"no row is called {unknown[0]!r}; there are: {', '.join(ROWS)}")
    results = asyncio.run(_run(asked.rows, Loads(messages_each=asked.messages)))
    if asked.json is not None:
        asked.json.write_text(json.dumps(results, indent=2))
    return 0
