"""Code that others wrote can neither end the process nor take all its threads."""

import asyncio
import sys
import threading

import pytest

from agent.bounded import run_bounded
from agent.foreign_code import AllBusy, ForeignExit, ForeignThreads, contain_exits
from tests.fakes.virtual_time import passes


class Panic(BaseException):
    """What extensions written in Rust raise as they panic."""


def fail(error):
    raise error


async def test_a_function_that_ends_the_process_or_raises_ends_its_call_alone():
    """Whatever it raises is raised where it is waited for; what asyncio cannot carry, too."""
    with pytest.raises(ForeignExit, match="SystemExit 3"):
        await ForeignThreads(sys.exit).call(3)
    for ending in (Panic, asyncio.CancelledError, GeneratorExit):
        with pytest.raises(ForeignExit, match=ending.__name__):
            await ForeignThreads(fail, most=1).call(ending)
    with pytest.raises(RuntimeError):
        await ForeignThreads(next).call(iter([]))
    assert 3 == await ForeignThreads(len).call("abc")


def test_a_waiting_coroutine_is_closed_in_silence():
    """The generator exit that closes it is no error of the code it waits for."""

    async def wait():
        with contain_exits():
            await asyncio.Event().wait()

    waiting, loop = wait(), asyncio.new_event_loop()
    task = loop.create_task(waiting)
    loop.run_until_complete(asyncio.sleep(0))
    waiting.close()
    task.cancel()
    loop.run_until_complete(asyncio.wait({task}))
    loop.close()


async def test_calls_beyond_the_bound_wait_for_a_thread():
    """One that waits in vain was never begun."""
    release, began = threading.Event(), []

    def hang(number):
        began.append(number)
        release.wait(30)

    threads = ForeignThreads(hang, most=2)
    async with asyncio.TaskGroup() as hung:
        for number in range(2):
            hung.create_task(threads.call(number))
        await passes(0.01)
        with pytest.raises(AllBusy):
            await run_bounded(threads.call(2), 0.2)
        release.set()
    await threads.call(3)
    assert [0, 1, 3] == sorted(began)
