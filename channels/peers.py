"""Who connects to a listening socket, one after the other; nobody is left open, whenever the listening ends."""

import asyncio
import socket


async def accepted(listener: socket.socket) -> socket.socket:
    """The next peer; a cancellation comes before it is accepted or not at all, so that none is left open."""
    loop = asyncio.get_running_loop()
    while True:
        readable: asyncio.Future[None] = loop.create_future()
        loop.add_reader(listener, _wake, readable)
        try:
            await readable
        finally:
            loop.remove_reader(listener)
        try:
            peer, _ = listener.accept()
        except (BlockingIOError, ConnectionAbortedError):  # it went away again
            continue
        peer.setblocking(False)
        return peer


def _wake(readable: asyncio.Future[None]) -> None:
    if not readable.done():
        readable.set_result(None)


def close_with(serving: asyncio.Task[None], peer: socket.socket) -> None:
    """Close a peer when the task that serves it ends, also where that is cancelled before it began."""
    serving.add_done_callback(lambda _ended: peer.close())
