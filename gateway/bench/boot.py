"""How soon the gateway is there and what it holds while nothing happens; with Telegram beside the bare bot."""

import asyncio
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

import aiohttp

from channels.telegram.simulator.server import TelegramSimulator
from gateway.bench.platforms import TOKEN
from gateway.bench.subject import Subject, bare_bot, gateway
from gateway.bench.world import until

Measure = Callable[[], Awaitable[tuple[float, float]]]
Start = Callable[[Path, Mapping[str, str]], Subject]

IDLE_S = 3.0
TRIES = 3


async def run() -> dict[str, object]:
    """Medians of a few starts."""
    alone_s, alone_mb = await _median(_without_channels)
    ours_s, ours_mb = await _median(lambda: _first_poll(gateway))
    bare_s, bare_mb = await _median(lambda: _first_poll(bare_bot))
    print("\nboot and idle memory")
    print(f"  without channels: ready after {alone_s:.2f} s, idle {alone_mb:.0f} MiB")
    print(f"  with Telegram:    first poll after {ours_s:.2f} s, idle {ours_mb:.0f} MiB")
    print(f"  bare bot:         first poll after {bare_s:.2f} s, idle {bare_mb:.0f} MiB")
    print(f"  ratio:            {ours_s / bare_s:.2f} time, {ours_mb / bare_mb:.2f} memory")
    return {
        "ready_s": alone_s, "idle_mb": alone_mb, "telegram_first_poll_s": ours_s, "telegram_idle_mb": ours_mb,
        "bare_first_poll_s": bare_s, "bare_idle_mb": bare_mb,
    }  # fmt: skip


async def _median(measure: Measure) -> tuple[float, float]:
    found = [await measure() for _ in range(TRIES)]
    return sorted(one[0] for one in found)[TRIES // 2], sorted(one[1] for one in found)[TRIES // 2]


async def _first_poll(start: Start) -> tuple[float, float]:
    with tempfile.TemporaryDirectory(prefix="tenk-bench-") as directory:
        async with TelegramSimulator() as simulator:
            bot = simulator.add_bot(TOKEN)
            environment = {"TELEGRAM_BOT_TOKEN": TOKEN, "TELEGRAM_API_BASE": simulator.base_url}
            async with start(Path(directory), environment) as subject:
                took_s = await until(lambda: bot.updates.polls > 0, 60)
                await asyncio.sleep(IDLE_S)
                return took_s, subject.rss_mb()


async def _without_channels() -> tuple[float, float]:
    with tempfile.TemporaryDirectory(prefix="tenk-bench-") as directory:
        port = 18_473
        begun_s = time.monotonic()
        async with gateway(Path(directory), {"TENK_HTTP": f"127.0.0.1:{port}"}) as subject:
            async with aiohttp.ClientSession() as http:
                while not await _ready(http, port):
                    await asyncio.sleep(0.005)
                took_s = time.monotonic() - begun_s
            await asyncio.sleep(IDLE_S)
            return took_s, subject.rss_mb()


async def _ready(http: aiohttp.ClientSession, port: int) -> bool:
    try:
        async with http.get(f"http://127.0.0.1:{port}/readyz") as response:
            return response.status == 200
    except aiohttp.ClientError:
        return False
