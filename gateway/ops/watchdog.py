"""Notices when the event loop stands still, and where: a thread looks at the loop's stack while its beat is missing.

Only told and counted here; nothing is ended. Silence of the whole process (SIGSTOP, a machine that sleeps or is busy
with others) is no stall of ours, and is said as what it is.
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
"""How often the loop shows that it comes round; a stall is taken to begin at most so much too early."""

SHOWN_FRAMES = 12
OURS = ("gateway.", "agent.", "channels.")
UNSEEN = "unseen"
"""The place of a stall that was over before the thread could look."""


@dataclass(frozen=True, slots=True)
class Stall:
    """The loop did not come round."""

    seconds: float
    place: str  # `module:function` of ours that was at work, or of whoever was
    stack: tuple[str, ...] = ()  # innermost first, `module:function:line`
    computed_s: float = 0.0  # by the loop's thread; where it is little, it waited: for a call, or for a busy machine


@dataclass(frozen=True, slots=True)
class StoodStill:
    """The whole process did not run."""

    seconds: float


@dataclass(frozen=True, slots=True)
class StallGap:
    """The time between two beats of the loop, and what ran in it."""

    seconds: float
    computed_s: float  # by the loop's thread
    watched_s: float  # in which the thread that watches could run
    stack: tuple[str, ...] = ()  # as it was seen in the gap, () where nobody could look


def judge(gap: StallGap, stall_s: float = STALL_S) -> Stall | StoodStill | None:
    """What a gap between two beats means.

    A loop that computes uses its thread's time; one that waits for something leaves the watching thread running. Where
    neither ran, the process did not.
    """
    if gap.seconds <= stall_s:
        return None
    if max(gap.computed_s, gap.watched_s) <= min(stall_s, gap.seconds / 2):
        return StoodStill(gap.seconds)
    return Stall(gap.seconds, place_of(gap.stack), gap.stack, gap.computed_s)


def place_of(stack: tuple[str, ...]) -> str:
    """The innermost function of ours on a stack, else the innermost of all."""
    if not stack:
        return UNSEEN
    return next((frame for frame in stack if frame.startswith(OURS)), stack[0]).rpartition(":")[0]


def stack_of(frame: FrameType | None) -> tuple[str, ...]:
    """What is being called, innermost first, as far as it is shown."""
    frames: list[str] = []
    while frame is not None and len(frames) < SHOWN_FRAMES:
        code = frame.f_code
        frames.append(f"{frame.f_globals.get('__name__', '?')}:{code.co_qualname}:{frame.f_lineno}")
        frame = frame.f_back
    return tuple(frames)


def tell(found: Stall | StoodStill) -> None:
    """Log it, and count what is a stall."""
    if isinstance(found, StoodStill):
        log.info("process_stood_still", seconds=round(found.seconds, 3))
        return
    seconds, computed_s = round(found.seconds, 3), round(found.computed_s, 3)
    log.warning("loop_stalled", seconds=seconds, computed_s=computed_s, place=found.place, frames=list(found.stack))
    series(LOOP_STALLS, found.place).inc()
    LOOP_STALL_SECONDS.observe(found.seconds)


class LoopWatchdog:
    """Watches the loop that runs it: twenty looks a second, each a few microseconds."""

    def __init__(
        self, tell: Callable[[Stall | StoodStill], None] = tell, *, beat_s: float = BEAT_S, stall_s: float = STALL_S
    ) -> None:
        """`tell` is called in the loop, after the gap."""
        self._tell = tell
        self._beat_s = beat_s
        self._stall_s = stall_s
        self._over = threading.Event()
        self._beat_at_s = 0.0  # monotonic
        self._watched_s = 0.0  # of all its time, in which the watching thread ran
        self._seen: tuple[float, tuple[str, ...]] = (0.0, ())  # the beat before a gap, and the stack in it

    @property
    def has_looked(self) -> bool:
        """Whether the gap that is under way is long enough to have been looked into."""
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
            self._tell(found)

    def _watch(self, loop_thread: int) -> None:
        before_s = time.monotonic()
        while not self._over.wait(self._beat_s):
            now_s = time.monotonic()
            self._watched_s += min(now_s - before_s, 2 * self._beat_s)  # longer than that, it did not run either
            before_s = now_s
            beat_at_s = self._beat_at_s
            if now_s - beat_at_s > self._stall_s and self._seen[0] != beat_at_s:
                frames = sys._current_frames()  # noqa: SLF001  the documented way to see another thread
                self._seen = beat_at_s, stack_of(frames.get(loop_thread))
