"""A watchdog thread that samples the event loop's stack while the loop is stalled.

It logs and counts stalls. A pause of the whole process (SIGSTOP, a sleeping or busy machine) is logged separately.
"""

import asyncio
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType

import structlog

from gateway.telemetry import LOOP_STALL_SECONDS, LOOP_STALLS, series

log = structlog.get_logger()

STALL_S = 0.2
BEAT_S = 0.05
"""Seconds between two beats of the loop, and the error of a stall's begin."""

SHOWN_FRAMES = 12
OURS = ("gateway.", "agent.", "channels.")
UNSEEN = "unseen"
"""Place of a stall that ended before the thread could sample it."""


@dataclass(frozen=True, slots=True)
class Stall:
    """A stall of the event loop."""

    seconds: float
    place: str  # `module:function` that was running, ours if there was one
    stack: tuple[str, ...] = ()  # innermost first, `module:function:line`
    computed_s: float = 0.0  # CPU time of the loop's thread; if small, it waited for a call or for the CPU


@dataclass(frozen=True, slots=True)
class ProcessPause:
    """A pause of the whole process."""

    seconds: float


@dataclass(frozen=True, slots=True)
class StallGap:
    """The time between two beats of the loop, and what ran in between."""

    seconds: float
    computed_s: float  # CPU time of the loop's thread
    watched_s: float  # time in which the watchdog's thread could run
    stack: tuple[str, ...] = ()  # sampled in the gap; () if it was too short


def judge(gap: StallGap, stall_s: float = STALL_S) -> Stall | ProcessPause | None:
    """Return the stall or pause that a gap between two beats means, or None.

    A busy loop uses CPU time; a blocked loop lets the watchdog's thread run. If neither ran, the process was paused.
    """
    if gap.seconds <= stall_s:
        return None
    if max(gap.computed_s, gap.watched_s) <= min(stall_s, gap.seconds / 2):
        return ProcessPause(gap.seconds)
    return Stall(gap.seconds, place_of(gap.stack), gap.stack, gap.computed_s)


def place_of(stack: tuple[str, ...]) -> str:
    """Return our innermost function on a stack, else the innermost of all."""
    if not stack:
        return UNSEEN
    return next((frame for frame in stack if frame.startswith(OURS)), stack[0]).rpartition(":")[0]


def stack_of(frame: FrameType | None) -> tuple[str, ...]:
    """Return the innermost frames of a stack as `module:function:line`, innermost first."""
    frames: list[str] = []
    while frame is not None and len(frames) < SHOWN_FRAMES:
        code = frame.f_code
        frames.append(f"{frame.f_globals.get('__name__', '?')}:{code.co_qualname}:{frame.f_lineno}")
        frame = frame.f_back
    return tuple(frames)


def report(found: Stall | ProcessPause) -> None:
    """Log a stall or pause, and count stalls."""
    if isinstance(found, ProcessPause):
        log.info("process_paused", seconds=round(found.seconds, 3))
        return
    seconds, computed_s = round(found.seconds, 3), round(found.computed_s, 3)
    log.warning("loop_stalled", seconds=seconds, computed_s=computed_s, place=found.place, frames=list(found.stack))
    series(LOOP_STALLS, found.place).inc()
    LOOP_STALL_SECONDS.observe(found.seconds)


class LoopWatchdog:
    """A watchdog for the event loop that runs it."""

    def __init__(
        self,
        report: Callable[[Stall | ProcessPause], None] = report,
        *,
        beat_s: float = BEAT_S,
        stall_s: float = STALL_S,
    ) -> None:
        """Keep `report`, which the loop calls after each stall or pause."""
        self._report = report
        self._beat_s = beat_s
        self._stall_s = stall_s
        self._over = threading.Event()
        self._beat_at_s = 0.0  # monotonic
        self._watched_s = 0.0  # total time in which the watchdog's thread ran
        self._seen: tuple[float, tuple[str, ...]] = (0.0, ())  # the beat before a gap, and the stack in it

    @property
    def has_sampled(self) -> bool:
        """Return True if the current gap has been sampled."""
        return self._seen[0] == self._beat_at_s

    async def run(self) -> None:
        """Watch until cancelled."""
        self._beat_at_s = time.monotonic()
        thread = threading.Thread(target=self._watch, args=(threading.get_ident(),), name="watchdog", daemon=True)
        thread.start()
        try:
            while True:
                await self._beat()
        finally:
            self._over.set()
            thread.join(timeout=1.0)

    async def _beat(self) -> None:
        begun_s, computed_s, watched_s = self._beat_at_s, time.thread_time(), self._watched_s
        await asyncio.sleep(self._beat_s)
        now_s = time.monotonic()
        seen_behind_s, stack = self._seen
        stack = stack if seen_behind_s == begun_s else ()
        gap = StallGap(now_s - begun_s, time.thread_time() - computed_s, self._watched_s - watched_s, stack)
        self._beat_at_s = now_s
        found = judge(gap, self._stall_s)
        if found is not None:
            self._report(found)

    def _watch(self, loop_thread: int) -> None:
        before_s = time.monotonic()
        while not self._over.wait(self._beat_s):
            now_s = time.monotonic()
            self._watched_s += min(now_s - before_s, 2 * self._beat_s)  # more means that it was paused, too
            before_s = now_s
            beat_at_s = self._beat_at_s
            if now_s - beat_at_s > self._stall_s and self._seen[0] != beat_at_s:
                frames = sys._current_frames()  # noqa: SLF001  the documented way to see another thread
                self._seen = beat_at_s, stack_of(frames.get(loop_thread))
