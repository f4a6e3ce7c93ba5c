"""Deadlines and stops that end work even if it ignores its cancellation (F48).

The clock of a deadline can be paused while a turn's model works.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from collections.abc import Set as AbstractSet
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from agent.transcript import EndReason

T = TypeVar("T")

GRACE_S = 1.0
"""Seconds in which cancelled work may clean up before it is left behind."""

_left_behind: set[asyncio.Task[Any]] = set()
"""Cancelled work that has not ended; referenced here so that it is not garbage collected."""


class Deadline:
    """A deadline of `limit_s` whose clock can be paused, for at most `grace_s` in all."""

    def __init__(self, limit_s: float, grace_s: float, now_s: Callable[[], float]) -> None:
        self._now_s = now_s
        self._ends_at_s = now_s() + limit_s
        self._grace_s = grace_s
        self._held_at_s: float | None = None

    def hold(self, held: bool) -> None:
        """Pause or resume the clock."""
        now_s = self._now_s()
        if self._held_at_s is not None:
            free_s = min(now_s - self._held_at_s, self._grace_s)
            self._ends_at_s += free_s
            self._grace_s -= free_s
        self._held_at_s = now_s if held else None

    def give_back(self, seconds: float) -> None:
        """Add seconds that should not have counted."""
        self._ends_at_s += seconds

    def remaining_s(self) -> float:
        """Return the seconds that are left; negative once the deadline has passed."""
        self.hold(self._held_at_s is not None)
        return self._ends_at_s - self._now_s()


class Interrupted(Exception):
    """The turn has to end now; the result of the work is not needed."""

    def __init__(self, reason: EndReason) -> None:
        super().__init__(reason.value)
        self.reason = reason


async def run_bounded(
    work: Coroutine[Any, Any, T],
    limit_s: float | Callable[[], float],
    stop: asyncio.Future[EndReason] | None = None,
) -> T:
    """Return the work's result unless it takes longer than `limit_s` or `stop` completes first.

    A limit that is a function returns the seconds that are left; it is called again after that time. The work is a task
    of its own, so that work that swallows its cancellation cannot hold the turn: it has `GRACE_S` to end and is then
    left behind. A result within the grace counts.

    Raises:
        TimeoutError: the limit passed.
        Interrupted: it was stopped.
    """
    async with beside(work) as task:
        await _first_of({task} if stop is None else {task, stop}, limit_s)
    if task.done() and not task.cancelled():
        return task.result()
    if stop is not None and stop.done():
        raise Interrupted(stop.result())
    raise TimeoutError


@asynccontextmanager
async def beside(work: Coroutine[Any, Any, T]) -> AsyncIterator[asyncio.Task[T]]:
    """Run work as a task until the block ends; then it has `GRACE_S` to end and is left behind."""
    task = asyncio.create_task(work)  # noqa: TID251  a TaskGroup would wait forever for work that ignores its cancellation
    try:
        yield task
    finally:
        await _cancel(task)


async def _first_of(wanted: AbstractSet[asyncio.Future[Any]], limit_s: float | Callable[[], float]) -> None:
    """Wait until one is done, or until the limit has passed."""
    left_s = limit_s() if callable(limit_s) else limit_s
    while True:
        done, _ = await asyncio.wait(wanted, timeout=max(0.0, left_s), return_when=asyncio.FIRST_COMPLETED)
        if done or not callable(limit_s) or (left_s := limit_s()) <= 0:
            return


async def _cancel(task: asyncio.Task[T]) -> None:
    if task.done():
        if not task.cancelled():
            task.exception()  # read it: the waiting task may be gone
        return
    task.cancel()
    _left_behind.add(task)
    task.add_done_callback(_forget)
    await asyncio.wait({task}, timeout=GRACE_S)


def _forget(task: asyncio.Task[Any]) -> None:
    _left_behind.discard(task)
    if not task.cancelled():
        task.exception()  # read it, so that the loop does not warn
