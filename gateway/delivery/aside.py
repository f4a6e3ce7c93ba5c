"""Costly pure work beside the event loop: what a long text takes is one thread's time, not everybody's."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

AT_ONCE_CHARS = 3_000
"""Text up to this long is worked on where it is: 10 µs a character at worst, and a thread costs 100 (November 2026)."""

DEADLINE_S = 60.0
"""Nobody waits longer; the longest answer takes under one second of it."""

T = TypeVar("T")


class Aside:
    """One thread at a time for the long texts of everybody, in turn."""

    def __init__(self) -> None:
        """Nothing is worked on."""
        self._turn = asyncio.Lock()
        self.under_way = 0  # texts that are worked on, or wait for it

    async def run(self, chars: int, work: Callable[[], T]) -> T:
        """What the work on a text of so many characters comes to. It goes on when nobody waits for it any more.

        Raises:
            TimeoutError: it did not come to an end within the deadline.
        """
        if chars <= AT_ONCE_CHARS:
            return work()
        self.under_way += 1
        try:
            async with asyncio.timeout(DEADLINE_S), self._turn:
                return await asyncio.to_thread(work)
        finally:
            self.under_way -= 1
