"""Calls of code that others wrote: it may neither end the process nor use up the threads that everything else needs.

An `async` function that blocks holds up the event loop; that cannot be contained here.
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
"""Of one function's calls so many run at once; a call that hangs keeps its thread until the process ends."""


class ForeignExit(Exception):
    """Code that others wrote tried to end the process."""


class AllBusy(Exception):
    """A call waited for a thread in vain: as many calls of its function as may be run still."""


@contextmanager
def contain_exits() -> Iterator[None]:
    """Turn what would end the process into an error of this piece of work.

    Raises:
        ForeignExit: `sys.exit` was called, or what Ctrl-C raises was raised.
    """
    try:
        yield
    except (SystemExit, KeyboardInterrupt) as ending:
        raise ForeignExit(f"{type(ending).__name__} {ending}".strip()) from ending


class ForeignThreads(Generic[P, T]):
    """Runs one blocking function, each call in a daemon thread of its own: the process's end waits for none of them."""

    def __init__(self, function: Callable[P, T], most: int = MOST_THREADS) -> None:
        """Start nothing; calls beyond `most` wait."""
        self._function = function
        self._free = asyncio.Semaphore(most)

    async def call(self, *args: P.args, **kwargs: P.kwargs) -> T:
        """Return what the function returns; cancelling this leaves the thread behind.

        Raises:
            AllBusy: it was cancelled before a thread was free.
        """
        try:
            await self._free.acquire()
        except asyncio.CancelledError:
            raise AllBusy from None
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
            with contain_exits():
                result = self._function(*args, **kwargs)
        except Exception as error:  # noqa: BLE001  one call: raised again where it is waited for
            broke = error

            def fail() -> T:
                raise broke

            return fail
        return lambda: result
