"""Unexpected errors, and what each ends."""

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from gateway.errors import AlreadyRunning, StoreUnavailable
from gateway.supervision import REST_S, Faults, Supervised
from tests.fakes.simulated_channel import Pauses


@asynccontextmanager
async def supervised() -> AsyncIterator[tuple[Supervised, Pauses]]:
    rests = Pauses()
    async with Supervised(Faults(), rests) as tasks:
        yield tasks, rests


async def broken() -> None:
    raise ValueError("a bug")


async def test_a_task_that_breaks_ends_alone() -> None:
    async with supervised() as (tasks, _):
        done = asyncio.Event()
        neighbour = tasks.create_task(done.wait())
        assert await tasks.create_task(broken()) is None
        assert (1, False) == (tasks.faults.noted, neighbour.done())
        done.set()
        assert await neighbour


async def test_what_the_operator_has_to_mend_still_ends_everything() -> None:

    async def refused() -> None:
        raise AlreadyRunning("another gateway holds this home")

    async def run(begin: Callable[[Supervised], asyncio.Task[None]]) -> None:
        async with Supervised(Faults()) as tasks:
            await begin(tasks)

    for begin in (lambda tasks: tasks.keep_task("part", refused), lambda tasks: tasks.create_task(refused())):
        with pytest.raises(ExceptionGroup) as ended:
            await run(begin)
        assert ended.group_contains(AlreadyRunning)


async def test_a_task_that_is_cancelled_before_it_begins_leaves_nothing() -> None:
    async with supervised() as (tasks, _):
        never = tasks.create_task(broken())
        never.cancel()
        await asyncio.wait([never])
        assert (True, 0) == (never.cancelled(), tasks.faults.noted)


async def test_what_is_started_is_called_as_its_task_begins() -> None:
    called: list[str] = []

    async def breaks() -> None:
        called.append("breaks")
        raise ValueError("a bug")

    async def never() -> None:
        called.append("never")

    async with supervised() as (tasks, _):
        tasks.start(never).cancel()
        await asyncio.wait([tasks.start(breaks)])
        assert (["breaks"], 1) == (called, tasks.faults.noted)


async def test_nothing_is_started_in_a_group_that_has_ended() -> None:
    async with Supervised(Faults()) as tasks:
        pass
    with pytest.raises(RuntimeError):
        tasks.start(broken)


async def test_a_part_that_breaks_is_run_again_after_growing_pauses() -> None:
    errors: list[Exception] = [ValueError("a bug"), AlreadyRunning("the port is in use"), *map(KeyError, "abcd")]
    shown: list[dict[str, str]] = []
    async with supervised() as (tasks, rests):

        async def part() -> None:
            shown.append(dict(tasks.faults.resting()))
            if errors:
                raise errors.pop(0)

        await tasks.keep_task("control", part)
        assert [*REST_S, REST_S[-1]] == rests.asked_s
        assert (7, [{}] * 7) == (len(shown), shown)


async def test_a_store_that_does_not_answer_ends_nothing_and_counts_for_nothing() -> None:
    away: list[Exception] = [StoreUnavailable("the store did not answer")] * 7
    async with supervised() as (tasks, rests):

        async def part() -> None:
            if away:
                raise away.pop()

        await tasks.keep_task("erasures", part)
        assert ([REST_S[0]] * 7, 0, {}) == (rests.asked_s, tasks.faults.noted, dict(tasks.faults.resting()))
        away.append(StoreUnavailable("the store did not answer"))
        assert await tasks.create_task(part()) is None


async def test_what_comes_after_the_end_of_the_group_is_closed() -> None:

    async def late() -> None:
        pass

    async with Supervised(Faults()) as tasks:
        pass
    coro = late()
    with pytest.raises(RuntimeError):
        tasks.create_task(coro)
    assert inspect.CORO_CLOSED == inspect.getcoroutinestate(coro)
