"""Calls of third-party code, which can neither end the process nor use up its threads.

An `async` function that blocks holds up the event loop; this cannot be contained here.
"""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import copy_context
from typing import Generic, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

MOST_THREADS = 8
"""Maximum parallel calls of one function; a call that hangs keeps its thread until the process ends."""


class ForeignExit(Exception):
    """Third-party code raised an error that would end the process: `SystemExit`, or a panic of a Rust extension."""


class AllBusy(Exception):
    """A call was cancelled while it waited for a thread: the function's other calls still run."""


@contextmanager
def contain_exits() -> Iterator[None]:
    """Turn exceptions that would end the process into an error of this piece of work.

    Raises:
        ForeignExit: the code raised neither an `Exception` nor a cancellation of its task.
    """
    task = _task()
    try:
        yield
    except BaseException as ending:
        is_closed = isinstance(ending, GeneratorExit) and _task() is not task  # from outside: it waited, and never ends
        if not is_closed and not isinstance(ending, Exception | asyncio.CancelledError):
            raise ForeignExit(f"{type(ending).__name__} {ending}".strip()) from ending
        raise


def _task() -> "asyncio.Task[object] | None":
    try:
        return asyncio.current_task()
    except RuntimeError:  # no event loop runs in this thread
        return None


class ForeignThreads(Generic[P, T]):
    """A blocking function, each call in a daemon thread of its own, so that the process can end before them."""

    def __init__(self, function: Callable[P, T], most: int = MOST_THREADS) -> None:
        self._function = function
        self._free = asyncio.Semaphore(most)

    async def call(self, *args: P.args, **kwargs: P.kwargs) -> T:
        """Call the function in a thread of its own; cancelling the call leaves the thread behind.

        Raises:
            AllBusy: the call was cancelled while it waited for a thread.
        """
        must_wait = self._free.locked()
        try:
            return await self._call(*args, **kwargs)
        except asyncio.CancelledError:
            if must_wait:
                raise AllBusy from None
            raise

    async def _call(self, *args: P.args, **kwargs: P.kwargs) -> T:
        await self._free.acquire()
        loop = asyncio.get_running_loop()
        ended: asyncio.Future[Callable[[], T]] = loop.create_future()

        def tell(outcome: Callable[[], T]) -> None:
            self._free.release()
            if not ended.done():
                ended.set_result(outcome)

        def work() -> None:
            outcome = self._outcome(*args, **kwargs)
            with suppress(RuntimeError):  # the loop is closed: the process ends
                loop.call_soon_threadsafe(tell, outcome)

        name = getattr(self._function, "__name__", "foreign")
        threading.Thread(target=copy_context().run, args=(work,), name=name, daemon=True).start()
        return (await ended)()

    def _outcome(self, *args: P.args, **kwargs: P.kwargs) -> Callable[[], T]:
        try:
            result = self._function(*args, **kwargs)
        except BaseException as error:  # noqa: BLE001  one call: raised again in the waiting task
            broke = error if isinstance(error, Exception) else ForeignExit(f"{type(error).__name__} {error}".strip())

            def fail() -> T:
                raise broke

            return fail
        return lambda: result
