"""Pure work on long texts beside the event loop: in one of two threads, with a deadline. Short texts stay in the loop.

What is done there is linear; this is for the factor. A thread that computes gives the loop its turn every few
milliseconds, which one call of a function cannot.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")

AT_ONCE_CHARS = 4_000
"""What so many characters take is less than what a change of threads may."""

DEADLINE_S = 20.0
"""Many times what the longest answer takes on a small machine."""

_THREADS = ThreadPoolExecutor(2, thread_name_prefix="costly")


async def costly(chars: int, work: Callable[[], T]) -> T:
    """What `work` gives; it may only read what nobody changes, and is about so many characters.

    Raises:
        TimeoutError: the deadline passed; a thread may still be at it, and nobody wants what it finds.
    """
    if chars <= AT_ONCE_CHARS:
        return work()
    async with asyncio.timeout(DEADLINE_S):
        return await asyncio.get_running_loop().run_in_executor(_THREADS, work)
