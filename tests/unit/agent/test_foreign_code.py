"""Foreign code: it can neither end the process nor take all its threads."""

import asyncio

from agent.foreign_code import contain_exits


def test_a_waiting_coroutine_is_closed_in_silence():

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
