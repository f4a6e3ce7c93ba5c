"""A stalled loop is reported with its place; a stopped process is not."""

import asyncio
import threading
import time
from contextlib import suppress

import pytest

from gateway.ops.watchdog import UNSEEN, LoopWatchdog, ProcessPause, Stall, StallGap, judge, place_of, report
from gateway.telemetry import LOOP_STALLS, series

QUICK = {"beat_s": 0.005, "stall_s": 0.02}
GIVE_UP_S = 15.0


def a_function_that_blocks(watchdog: LoopWatchdog) -> None:
    """Hold the loop until the watchdog has looked."""
    until_s = time.monotonic() + GIVE_UP_S
    while not watchdog.has_sampled and time.monotonic() < until_s:
        pass


def a_function_that_waits(watchdog: LoopWatchdog) -> None:
    """Hold the loop without computing anything."""
    until_s = time.monotonic() + GIVE_UP_S
    while not watchdog.has_sampled and time.monotonic() < until_s:
        threading.Event().wait(0.005)


@pytest.mark.parametrize("blocking", [a_function_that_blocks, a_function_that_waits])
async def test_a_function_that_blocks_the_loop_is_named(blocking) -> None:
    told: asyncio.Queue[Stall | ProcessPause] = asyncio.Queue()
    watchdog = LoopWatchdog(told.put_nowait, **QUICK)
    watching = asyncio.ensure_future(watchdog.run())  # noqa: TID251  cancelled below
    await asyncio.sleep(0)
    found: Stall | ProcessPause = ProcessPause(0.0)
    async with asyncio.timeout(2 * GIVE_UP_S):
        while isinstance(found, ProcessPause):  # as long as a busy machine lets the process stand
            blocking(watchdog)
            found = await told.get()
    watching.cancel()
    with suppress(asyncio.CancelledError):
        await watching
    assert any(blocking.__name__ in frame for frame in found.stack)


async def test_the_watching_thread_ends_with_the_loop_that_is_watched() -> None:
    watching = asyncio.ensure_future(LoopWatchdog(**QUICK).run())  # noqa: TID251  cancelled below
    await asyncio.sleep(0)
    assert "watchdog" in {thread.name for thread in threading.enumerate()}
    watching.cancel()
    with suppress(asyncio.CancelledError):
        await watching
    assert "watchdog" not in {thread.name for thread in threading.enumerate()}


def test_a_short_gap_is_nothing() -> None:
    assert judge(StallGap(0.19, 0.19, 0.19)) is None


@pytest.mark.parametrize(("computed_s", "watched_s"), [(0.3, 0.0), (0.0, 0.3), (0.21, 0.1)])
def test_a_gap_in_which_we_ran_is_a_stall(computed_s: float, watched_s: float) -> None:
    assert Stall(0.3, UNSEEN, computed_s=computed_s) == judge(StallGap(0.3, computed_s, watched_s))


@pytest.mark.parametrize("seconds", [0.25, 45.0, 3600.0])
def test_a_gap_of_the_whole_machine_is_not_a_stall(seconds: float) -> None:
    """SIGSTOP, a sleeping laptop and a busy machine look like this."""
    assert ProcessPause(seconds) == judge(StallGap(seconds, 0.01, 0.1))


def test_the_place_is_the_innermost_function_of_ours() -> None:
    ours = ("gateway.safety.guard:find:118", "agent.loop:run_turn:30")
    stack = ("json.decoder:JSONDecoder.decode:337", *ours, "asyncio:run:1")
    assert "gateway.safety.guard:find" == place_of(stack)
    assert "json.decoder:JSONDecoder.decode" == place_of(stack[:1])
    assert UNSEEN == place_of(())


def test_a_stall_is_counted_by_its_place() -> None:
    before = series(LOOP_STALLS, "gateway.safety.guard:find")._value.get()  # noqa: SLF001  the figure itself
    report(Stall(0.3, "gateway.safety.guard:find"))
    report(ProcessPause(45.0))
    assert 1 == series(LOOP_STALLS, "gateway.safety.guard:find")._value.get() - before  # noqa: SLF001  the figure itself
