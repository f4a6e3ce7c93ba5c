"""Chores: work that the gateway repeats by itself, each a function with its pause, all run by one loop.

`gateway.chores` has the table of them. A chore that breaks shows in `tenk status` and is run again after a pause
(`gateway.supervision`).
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Chore:
    """One row of the table."""

    name: str
    every_s: float  # pause between two runs
    run: Callable[[], Awaitable[object]]
    first_s: float = 0.0  # pause before the first run
    everywhere: bool = False  # every process of several does it; else one for all of them


async def repeat(chore: Chore) -> None:
    """Run a chore again and again until cancelled."""
    await asyncio.sleep(chore.first_s)
    while True:
        await chore.run()
        await asyncio.sleep(chore.every_s)
