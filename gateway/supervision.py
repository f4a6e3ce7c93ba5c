"""Supervised tasks, and chores, which are repeated.

An unexpected error ends only the piece of work that raised it: it is logged, counted and shown. The task's owner says
what a piece is: a lane, a mailbox, the control socket. A `GatewayError` travels up, because the process cannot go on;
`StoreUnavailable` does not, because the store comes back.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextvars import Context
from dataclasses import dataclass
from typing import Any, TypeVar

import structlog

from agent.foreign_code import contain_exits
from channels.bounded_dict import BoundedDict
from channels.clocks import Sleep
from channels.foreign import words_of
from gateway.errors import GatewayError, StoreUnavailable
from gateway.telemetry import FAULTS, series

T = TypeVar("T")

log = structlog.get_logger()

REST_S = (1.0, 5.0, 15.0, 60.0, 300.0)
"""Waits before broken work is tried again, in seconds; the last one repeats."""

STEADY_S = 60.0
"""Seconds after which a failure counts as the first again."""

MOST_SHOWN = 100
MAX_WORDS = 300

Run = Callable[[], Coroutine[Any, Any, None]]


class Faults:
    """Record of unexpected errors, and of work that is paused after one."""

    def __init__(self) -> None:
        self.noted = 0  # total
        self._resting: BoundedDict[str, str] = BoundedDict(MOST_SHOWN)

    def note(self, kind: str, name: str, error: BaseException) -> None:
        """Log an error with its traceback; `kind` is one of a few words, `name` says which piece."""
        self.noted += 1
        series(FAULTS, kind).inc()
        log.error("fault_contained", kind=kind, name=name, error=_words(error), exc_info=error)

    def rests(self, kind: str, name: str, error: BaseException, for_s: float) -> None:
        """Mark the work as paused for this time."""
        self._resting[f"{kind} {name}"] = f"{_words(error)}; tried again after {for_s:g} s"

    def note_mended(self, kind: str, name: str) -> None:
        """Mark the work as healthy."""
        self._resting.pop(f"{kind} {name}", None)

    def resting(self) -> Mapping[str, str]:
        """Return paused work by name, with reasons, the newest last."""
        return dict(self._resting)


@dataclass(frozen=True, slots=True)
class Care:
    """Error handling of one named piece of work."""

    faults: Faults
    sleep: Sleep
    kind: str
    name: str

    async def rest(self, error: Exception, failures: int) -> None:
        """Record an error, number `failures` in a row, and wait before the next try."""
        for_s = REST_S[min(failures, len(REST_S)) - 1]
        self.faults.note(self.kind, self.name, error)
        self.faults.rests(self.kind, self.name, error, for_s)
        await self.sleep(for_s)

    def note_mended(self) -> None:
        """Mark the work as healthy."""
        self.faults.note_mended(self.kind, self.name)


class Supervised(asyncio.TaskGroup):
    """Task group in which an unexpected error ends only its own task."""

    def __init__(self, faults: Faults, sleep: Sleep = asyncio.sleep) -> None:
        """Take a sleep function, for tests."""
        super().__init__()
        self.faults = faults
        self._sleep = sleep

    def create_task(  # type: ignore[override]  # a coroutine is all anybody gives
        self, coro: Coroutine[Any, Any, T], *, name: str | None = None, context: Context | None = None
    ) -> "asyncio.Task[T]":
        """Create a task; the result of a task that broke is None."""
        guarded = self._contain(lambda: coro)
        try:
            task = super().create_task(guarded, name=name, context=context)
        except RuntimeError:  # the group is ending
            guarded.close()
            coro.close()  # which `guarded` never began
            raise
        task.add_done_callback(lambda _ended: coro.close())  # a task cancelled before its start never began it
        return task

    def start(self, run: Run) -> "asyncio.Task[None]":
        """Create a task from a function, called when the task starts, so that no coroutine is left if it never does.

        Raises:
            RuntimeError: the group is ending.
        """
        guarded = self._contain(run)
        try:
            return super().create_task(guarded)
        except RuntimeError:
            guarded.close()
            raise

    async def _contain(self, run: Callable[[], Coroutine[Any, Any, T]]) -> T:
        coro = run()
        try:
            with contain_exits():
                return await coro
        except GatewayError as error:
            if not isinstance(error, StoreUnavailable):
                raise
            log.warning("task_lost", task=getattr(coro, "__qualname__", ""), error=str(error))
            return None  # type: ignore[return-value]  # as below
        except Exception as error:  # noqa: BLE001  one task: recorded here, the others go on
            self.faults.note("task", getattr(coro, "__qualname__", ""), error)
            return None  # type: ignore[return-value]  # the result of a broken task is not used

    def care_of(self, kind: str, name: str) -> Care:
        """Return the error handling of a piece of work."""
        return Care(self.faults, self._sleep, kind, name)

    def keep(self, name: str, run: Run) -> None:
        """Run `keep_task` without returning its task."""
        self.keep_task(name, run).set_name(name)

    def keep_task(self, name: str, run: Run) -> "asyncio.Task[None]":
        """Run a part of the gateway, and restart it after a pause if it breaks.

        A GatewayError of the first run travels up: the part cannot start. Later ones count as failures.
        """
        return super().create_task(self._run_kept(self.care_of("part", name), run), name=name)

    async def _run_kept(self, care: Care, run: Run) -> None:
        failures, loop = 0, asyncio.get_running_loop()
        while True:
            begun_s = loop.time()
            error = await self._apart(run)
            if error is None:
                return
            if isinstance(error, StoreUnavailable):
                log.warning("part_awaits_store", part=care.name, error=str(error))
                await self._sleep(REST_S[0])
                continue
            if not failures and isinstance(error, GatewayError):
                raise error
            failures = 1 if loop.time() - begun_s > STEADY_S else failures + 1
            await care.rest(error, failures)
            care.note_mended()

    async def _apart(self, run: Run) -> Exception | None:
        """Run in a task of its own and return its error.

        CPython 3.11.2 leaves a cancellation behind in a task whose task group failed; it must not hit the next run.
        """
        broke: list[Exception] = []
        await until_ended(super().create_task(_note_failure(run, broke)))
        return broke[0] if broke else None


async def run_again(care: Care, run: Run, before_again: Callable[[], None]) -> None:
    """Run a piece of work to its end; if it breaks, pause, call `before_again` and run it again.

    Raises:
        GatewayError: the process cannot go on.
    """
    failures, loop = 0, asyncio.get_running_loop()
    while True:
        begun_s = loop.time()
        try:
            await run()
        except Exception as error:  # noqa: BLE001  one piece of work: recorded, told, and tried again after a rest
            if isinstance(error, GatewayError):
                raise
            failures = 1 if loop.time() - begun_s > STEADY_S else failures + 1
            await care.rest(error, failures)
            care.note_mended()
            before_again()
        else:
            return


async def until_ended(task: asyncio.Task[None]) -> None:
    """Wait for a task's end; cancel the task if the waiter is cancelled."""
    try:
        await asyncio.wait([task])
    finally:
        if not task.done():
            task.cancel()
            await asyncio.wait([task])


async def run_until(run: Run, over: Run, tasks: asyncio.TaskGroup) -> None:
    """Run until it ends, or cancel it when `over` ends. Raise its error."""
    broke: list[Exception] = []
    both = [tasks.create_task(_note_failure(run, broke)), tasks.create_task(over())]
    try:
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in both:
            task.cancel()
        await asyncio.wait(both)
    if broke:
        raise broke[0]


async def _note_failure(run: Run, broke: list[Exception]) -> None:
    try:
        with contain_exits():
            await run()
    except Exception as error:  # noqa: BLE001  one run of one part: given to who keeps it
        broke.append(error)


def _words(error: BaseException) -> str:
    return words_of(f"{type(error).__name__}: {error}", MAX_WORDS)


@dataclass(frozen=True, slots=True)
class Chore:
    """Row of the chore table."""

    name: str
    every_s: float  # pause between two runs
    run: Callable[[], Awaitable[object]]
    first_s: float = 0.0  # pause before the first run
    everywhere: bool = False  # every process of a cluster runs it; else one


async def repeat(chore: Chore) -> None:
    """Repeat a chore until cancelled."""
    await asyncio.sleep(chore.first_s)
    while True:
        await chore.run()
        await asyncio.sleep(chore.every_s)
