"""Accepts who connects to a listening socket, one after the other; nobody is left open when the listening ends.

A process that has no descriptor left goes on listening: whoever asks meanwhile waits in the system's queue.
"""

import asyncio
import errno
import socket
from collections.abc import Awaitable, Callable

import structlog

Pause = Callable[[float], Awaitable[None]]
"""Wait so many seconds."""

EXHAUSTED = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
"""What `accept` and `socket` say while the process or the machine has no room for one more."""

FIRST_PAUSE_S = 0.05
LONGEST_PAUSE_S = 1.0

_log = structlog.get_logger()


async def accept_peer(listener: socket.socket, pause: Pause = asyncio.sleep) -> socket.socket:
    """The next peer; a cancellation comes before it is accepted or not at all, so that none is left open."""
    pause_s = FIRST_PAUSE_S
    while True:
        await _readable(listener)
        try:
            peer = waiting_peer(listener)
        except OSError as error:
            if error.errno not in EXHAUSTED:
                raise
            if pause_s == FIRST_PAUSE_S:
                _log.warning("descriptors_exhausted", error=error.strerror, mend="see connections of [http]")
            await pause(pause_s)
            pause_s = min(LONGEST_PAUSE_S, 2 * pause_s)
            continue
        if peer is not None:
            return peer


def waiting_peer(listener: socket.socket) -> socket.socket | None:
    """Whoever has connected already; None where nobody has, or is gone again.

    Raises:
        OSError: of EXHAUSTED where there is no room; any other means that the listener itself is broken.
    """
    try:
        peer, _ = listener.accept()
    except OSError as error:
        if error.errno in EXHAUSTED or error.errno in {errno.EBADF, errno.EINVAL, errno.ENOTSOCK, errno.EFAULT}:
            raise
        return None  # accept(2): anything else is the peer's or its network's, and nothing of ours
    peer.setblocking(False)
    return peer


async def _readable(listener: socket.socket) -> None:
    """Return once somebody may be waiting."""
    loop = asyncio.get_running_loop()
    readable: asyncio.Future[None] = loop.create_future()
    loop.add_reader(listener, _wake, readable)
    try:
        await readable
    finally:
        loop.remove_reader(listener)


def _wake(readable: asyncio.Future[None]) -> None:
    if not readable.done():
        readable.set_result(None)


def close_with(serving: asyncio.Task[None], peer: socket.socket) -> None:
    """Close a peer when the task that serves it ends, also where that is cancelled before it began."""
    serving.add_done_callback(lambda _ended: peer.close())
