"""Chores: periodic; a failed one is visible, and runs again after a pause."""

import asyncio

from gateway.supervision import Chore, Faults, Supervised, repeat


async def test_a_chore_that_breaks_shows_and_is_run_again() -> None:
    faults, runs, rested, mended = Faults(), 0, [], asyncio.Event()

    async def work() -> None:
        nonlocal runs
        runs += 1
        if runs == 2:
            raise ValueError("a row that was not expected")
        if runs == 4:
            mended.set()

    async def rest(_seconds: float) -> None:
        rested.append(dict(faults.resting()))

    chore = Chore("requests", 0.0, work)
    async with asyncio.timeout(30), Supervised(faults, rest) as tasks:
        kept = tasks.keep_task(chore.name, lambda: repeat(chore))
        await mended.wait()
        kept.cancel()
    assert [{"part requests": "ValueError: a row that was not expected; tried again after 1 s"}] == rested
    assert {} == faults.resting()
