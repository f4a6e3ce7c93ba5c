"""Start time and idle memory of the gateway; with Telegram beside the bare bot."""

import asyncio
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median

import aiohttp

from tests.bench.subject import Subject, bare_bot, gateway
from tests.bench.world import PLATFORMS, unbraked_telegram, until

Measure = Callable[[], Awaitable[tuple[float, float]]]
Start = Callable[[Path, Mapping[str, str]], Subject]

IDLE_S = 3.0
TRIES = 3


async def run() -> dict[str, object]:
    alone_s, alone_mb = await _median(_without_channels)
    ours_s, ours_mb = await _median(lambda: _first_poll(gateway))
    bare_s, bare_mb = await _median(lambda: _first_poll(partial(bare_bot, "telegram")))
    three = await _median_of_three()
    print("\nboot and idle memory")
    print(f"  without channels: ready after {alone_s:.2f} s, idle {alone_mb:.0f} MiB")
    print(f"  with Telegram:    first poll after {ours_s:.2f} s, idle {ours_mb:.0f} MiB")
    print(f"  bare bot:         first poll after {bare_s:.2f} s, idle {bare_mb:.0f} MiB")
    print(f"  ratio:            {ours_s / bare_s:.2f} time, {ours_mb / bare_mb:.2f} memory")
    print(
        f"  with all three:   first connected after {three.first_s:.2f} s, all after {three.all_s:.2f} s, "
        f"idle {three.idle_mb:.0f} MiB"
    )
    return {
        "ready_s": alone_s,
        "idle_mb": alone_mb,
        "telegram_first_poll_s": ours_s,
        "telegram_idle_mb": ours_mb,
        "bare_first_poll_s": bare_s,
        "bare_idle_mb": bare_mb,
        "three_first_s": three.first_s,
        "three_all_s": three.all_s,
        "three_idle_mb": three.idle_mb,
    }


async def _median(measure: Measure) -> tuple[float, float]:
    found = [await measure() for _ in range(TRIES)]
    return sorted(one[0] for one in found)[TRIES // 2], sorted(one[1] for one in found)[TRIES // 2]


async def _first_poll(start: Start) -> tuple[float, float]:
    telegram = unbraked_telegram()
    with tempfile.TemporaryDirectory(prefix="tenk-bench-") as directory:
        async with telegram, start(Path(directory), telegram.environment()) as subject:
            took_s = await until(telegram.is_connected, 60)
            await asyncio.sleep(IDLE_S)
            return took_s, subject.rss_mb()


@dataclass(frozen=True, slots=True)
class Three:
    """A start with all three channels."""

    first_s: float  # until one is connected
    all_s: float
    idle_mb: float


async def _median_of_three() -> Three:
    found = [await _three() for _ in range(TRIES)]
    return Three(
        median(one.first_s for one in found), median(one.all_s for one in found), median(one.idle_mb for one in found)
    )


async def _three() -> Three:
    platforms = [make() for make in PLATFORMS.values()]
    with tempfile.TemporaryDirectory(prefix="tenk-bench-") as directory:
        async with AsyncExitStack() as stack:
            environment: dict[str, str] = {}
            for platform in platforms:
                await stack.enter_async_context(platform)
                environment |= platform.environment()
            subject = await stack.enter_async_context(gateway(Path(directory), environment))
            first_s = await until(lambda: any(platform.is_connected() for platform in platforms), 60)
            all_s = first_s + await until(lambda: all(platform.is_connected() for platform in platforms), 60)
            await asyncio.sleep(IDLE_S)
            return Three(first_s, all_s, subject.rss_mb())


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
