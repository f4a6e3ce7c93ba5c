"""An event loop whose clock stands still during work, and leaps to the next timer otherwise."""

import asyncio
import selectors
from collections.abc import Callable, Coroutine

BUSY_POLL_S = 0.05


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """A loop whose sleeps and deadlines take no time; threads run in real time, which its clock does not count."""

    def __init__(self) -> None:
        self.elapsed_s = 0.0
        self.busy: Callable[[], bool] = lambda: False
        self.sockets_s = 0.0  # real time that what was sent over a socket may take, where both ends are on this loop
        self.on_select: Callable[[], bool] = lambda: False  # asked in every step of the loop: True if it woke a task
        super().__init__(_LeapingSelector(self))

    def time(self) -> float:
        """Return seconds since the loop was made, as its timers see them."""
        return self.elapsed_s

    async def shutdown_default_executor(self, timeout: float | None = None) -> None:
        """Wait for threads in their own time: from 3.12 on asyncio gives up after 300 s of this clock."""
        self.busy = lambda: True
        await super().shutdown_default_executor(*(() if timeout is None else (timeout,)))


class _LeapingSelector(selectors.DefaultSelector):  # type: ignore[misc,valid-type]  a name for this system's best
    def __init__(self, loop: VirtualTimeLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Return what is ready; if nothing can become ready, let the awaited time pass at once."""
        if self._loop.on_select() or (timeout is not None and timeout <= 0):
            return super().select(0)
        if timeout is None or self._loop.busy():
            return super().select(BUSY_POLL_S)
        ready = super().select(0) or (super().select(self._loop.sockets_s) if self._loop.sockets_s else [])
        if not ready:
            self._loop.elapsed_s += timeout
        return ready


async def passes(seconds: float) -> None:
    """Let so much time pass on the loop's own clock."""
    await asyncio.sleep(seconds)


def run_virtually(scene: Callable[[VirtualTimeLoop], Coroutine[object, object, None]]) -> None:
    """Play a scene on a loop of its own."""
    loop = VirtualTimeLoop()
    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        runner.run(scene(loop))
