"""The serving of an aiohttp application on listening sockets, within a limit on connections."""

import asyncio
import contextlib
import socket
from collections.abc import Sequence
from typing import Any

from aiohttp import web

from gateway.http.connections import Connection, ConnectionLimiter

BACKLOG = 128  # connections waiting to be accepted


async def serve(
    application: web.Application, listeners: Sequence[socket.socket], limiter: ConnectionLimiter, **options: Any
) -> None:
    """Serve until cancelled, then end every stream and close the listeners. Pass `options` to `web.AppRunner`."""

    async def end_streams(_application: web.Application) -> None:
        for connection in limiter.open.values():
            if connection.stream is not None:
                connection.stream.cancel()

    runner = web.AppRunner(application, access_log=None, handle_signals=False, **options)
    application.on_shutdown.append(end_streams)
    await runner.setup()
    loop, server = asyncio.get_running_loop(), runner.server
    assert server is not None, "the runner is set up"
    make: Any = lambda: Connection(server(), limiter)  # noqa: E731  a protocol by what it does, not by its class
    async with contextlib.AsyncExitStack() as held:
        held.push_async_callback(runner.cleanup)
        for listener in listeners:
            listen: Any = loop.create_unix_server if listener.family == socket.AF_UNIX else loop.create_server
            listening = await listen(make, sock=listener, backlog=BACKLOG, start_serving=False)
            held.callback(listening.close)  # before it serves, so that a cancellation cannot leak it
            await listening.start_serving()
        await asyncio.Event().wait()
