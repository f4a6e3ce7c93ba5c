"""The writer over a scripted engine: bounds, pauses, recovery, the end."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest
from sqlalchemy import Connection

from gateway.errors import StoreUnavailable
from gateway.store.writer import GROUP_JOBS, Job, Outcome, Writer

DONE = "done"


class Engine:
    def __init__(self) -> None:
        self.down = False
        self.groups: list[list[Job[Any]]] = []
        self.asked = asyncio.Event()

    async def commit(self, jobs: Sequence[Job[Any]]) -> list[Outcome]:
        await asyncio.sleep(0)
        self.groups.append(list(jobs))
        self.asked.set()
        if self.down:
            return [(None, StoreUnavailable("down")) for _ in jobs]
        return [(DONE, None) for _ in jobs]


def probe(_: Connection) -> None:
    pass


def job(_: Connection) -> None:
    pass


@asynccontextmanager
async def running(engine: Engine, **options: int) -> AsyncIterator[Writer]:
    writer = Writer(engine.commit, probe, **options)
    async with asyncio.TaskGroup() as group:
        group.create_task(writer.run())
        yield writer
        writer.close()


async def until(holds: Callable[[], bool], engine: Engine) -> None:
    """Let commits go by until it holds."""
    async with asyncio.timeout(30):
        while not holds():
            engine.asked.clear()
            await engine.asked.wait()
            await asyncio.sleep(0)


async def test_what_waits_goes_as_one_group_and_one_job_alone_goes_at_once() -> None:
    engine = Engine()
    async with running(engine) as writer:
        await writer.enqueue(job)
        futures = [writer.enqueue(job) for _ in range(GROUP_JOBS + 44)]
        await futures[-1]
    assert [1, GROUP_JOBS, 44] == [len(group) for group in engine.groups]


async def test_a_full_writer_refuses_at_once_what_is_not_lasting() -> None:
    engine = Engine()
    async with running(engine, room_jobs=3) as writer:
        futures = [writer.enqueue(job) for _ in range(3)]
        lasting = writer.enqueue(job, lasting=True)
        with pytest.raises(StoreUnavailable, match="full: 3 jobs"):
            await writer.enqueue(job)
        assert [DONE] * 4 == [await future for future in [*futures, lasting]]


async def test_a_lasting_job_keeps_its_place_before_younger_ones() -> None:
    engine = Engine()
    engine.down = True
    order: list[str] = []
    async with running(engine) as writer:
        older = writer.enqueue(job, lasting=True)
        older.add_done_callback(lambda _: order.append("older"))
        await until(lambda: len(engine.groups) == 1, engine)
        younger = writer.enqueue(job)
        younger.add_done_callback(lambda _: order.append("younger"))
        engine.down = False
        await older
        await younger
    assert ["older", "younger"] == order


async def test_an_engine_that_raises_is_an_outage() -> None:
    engine = Engine()
    broken = True

    async def commit(jobs: Sequence[Job[Any]]) -> list[Outcome]:
        if broken:
            raise RuntimeError("not foreseen")
        return await engine.commit(jobs)

    writer = Writer(commit, probe)
    async with asyncio.TaskGroup() as group:
        group.create_task(writer.run())
        with pytest.raises(StoreUnavailable, match="not foreseen"):
            await writer.enqueue(job)
        broken = False
        assert DONE == await writer.enqueue(job)
        writer.close()


async def test_a_writer_that_ends_by_an_error_leaves_no_caller_waiting() -> None:

    async def commit(_: Sequence[Job[Any]]) -> list[Outcome]:
        raise LookupError("not foreseen")

    writer = Writer(commit, probe)
    waiting = [writer.enqueue(job, lasting=True) for _ in range(GROUP_JOBS + 1)]
    with pytest.raises(LookupError):
        await writer.run()
    assert {StoreUnavailable} == {type(future.exception()) for future in (*waiting, writer.enqueue(job))}
    assert not writer.healthy
