"""Lets connections in to an HTTP server: so many in all, so many from one address, and room for those who come.

Where there is no room, whoever keeps us waiting goes: first who has asked nothing yet, then who may ask again, then who
sends a body slowly; of each the one who connected first. Somebody who is being answered, or has a stream open, is never
cut for another: then it is the newcomer who is closed at once. So whatever strangers connect, the descriptors that
everything else needs stay free. A process that has none left goes on listening: whoever asks meanwhile waits in the
system's queue.
"""

import asyncio
import contextlib
import errno
import socket
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any, NoReturn

import structlog
from aiohttp import web

from gateway.http.connection import HttpConnection, Phase
from gateway.telemetry import HTTP_CUT, series

BATCH = 16
"""Peers that are let in before anything else has a turn."""

BODIED = frozenset({"POST", "PUT", "PATCH"})

Pause = Callable[[float], Awaitable[None]]
"""Wait so many seconds."""

EXHAUSTED = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
"""What `accept` and `socket` say while the process or the machine has no room for one more."""

FIRST_PAUSE_S = 0.05
LONGEST_PAUSE_S = 1.0

TELL_EVERY_S = 60.0
"""Between two lines in the log about somebody who found no room."""

_log = structlog.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class DoorRules:
    """Who may be connected at the same time, and how long a request's head may take."""

    most: int
    most_of_address: int
    head_s: float
    stands_for_many: Callable[[str], bool]  # whether so many from one address mean nothing: a proxy, this machine
    as_one: Callable[[str], str]  # what counts as one address


class Door:
    """Who is connected."""

    def __init__(self, rules: DoorRules) -> None:
        """Nobody is."""
        self._rules = rules
        self._in: dict[Phase, dict[HttpConnection, None]] = {phase: {} for phase in Phase}  # longest in a phase first
        self._from: dict[str, dict[HttpConnection, None]] = {}  # by address, in the order they came
        self._address: dict[HttpConnection, str] = {}
        self._by_inner: dict[object, HttpConnection] = {}
        self._told_at_s = float("-inf")

    def __len__(self) -> int:
        """How many are connected."""
        return len(self._address)

    async def serve(self, application: web.Application, listeners: Sequence[socket.socket], **options: Any) -> None:
        """Let peers in to an application until cancelled, then end what is still being said.

        `options` are those of `web.AppRunner`. The listeners are closed in the end.
        """
        runner = web.AppRunner(application, access_log=None, handle_signals=False, **options)
        application.on_shutdown.append(self._end_streams)
        await runner.setup()
        server = runner.server
        assert server is not None, "the runner is set up"
        try:
            async with asyncio.TaskGroup() as tasks:
                for listener in listeners:
                    tasks.create_task(self._let_in(listener, server, tasks))
        finally:
            for listener in listeners:
                listener.close()
            await runner.cleanup()

    async def _let_in(
        self, listener: socket.socket, server: Callable[[], asyncio.Protocol], tasks: asyncio.TaskGroup
    ) -> NoReturn:
        """Let peers in to `server`; `tasks` parents what hands them over."""
        while True:
            self._meet(await accept_peer(listener), server, tasks)
            for peer in islice(_who_waits(listener), BATCH - 1):
                self._meet(peer, server, tasks)

    @contextlib.contextmanager
    def at_work(self, request: web.BaseRequest) -> Iterator[None]:
        """While held, a request is being answered."""
        connection = self._by_inner.get(request.protocol)
        if connection is None:  # gone already
            yield
            return
        body = request.content
        connection.begin((lambda: not body.is_eof()) if request.method in BODIED else None)
        try:
            yield
        finally:
            connection.end()

    def end_with(self, request: web.BaseRequest) -> None:
        """Cancel this task, a stream, as soon as its connection is over; it would notice when it next has to write."""
        connection, stream = self._by_inner.get(request.protocol), asyncio.current_task()
        if connection is not None and stream is not None:
            connection.ends(stream)

    async def _end_streams(self, _application: web.Application) -> None:
        """WebSockets and event streams end with the server."""
        for connection in self._address:
            connection.end_stream()

    # ------------------------------------------------------------ who comes

    def _meet(self, peer: socket.socket, server: Callable[[], asyncio.Protocol], tasks: asyncio.TaskGroup) -> None:
        try:
            remote = "" if peer.family == socket.AF_UNIX else str(peer.getpeername()[0])
        except OSError:  # it is gone again
            peer.close()
            return
        if not self._makes_room(remote):
            peer.close()
            self._tell_full()
            return
        connection = HttpConnection(server(), self._on_phase, head_s=self._rules.head_s)
        self._address[connection] = address = self._rules.as_one(remote)
        self._from.setdefault(address, {})[connection] = None
        self._by_inner[connection.inner] = connection
        self._in[Phase.HEAD][connection] = None
        handing = tasks.create_task(_hand_over(peer, connection))
        handing.add_done_callback(partial(_close_unless_handed_over, peer))

    def _on_phase(self, connection: HttpConnection, before: Phase) -> None:
        """It is in another phase, or over."""
        self._in[before].pop(connection, None)
        if not connection.over:
            self._in[connection.phase][connection] = None
            return
        self._by_inner.pop(connection.inner, None)
        address = self._address.pop(connection, "")
        of_address = self._from.get(address, {})
        of_address.pop(connection, None)
        if not of_address:
            self._from.pop(address, None)

    # ------------------------------------------------------------ room

    def _makes_room(self, remote: str) -> bool:
        if not self._rules.stands_for_many(remote):
            of_address = self._from.get(self._rules.as_one(remote), {})
            if len(of_address) >= self._rules.most_of_address and not _cut_first(_by_phase(of_address)):
                return False
        return len(self) < self._rules.most or _cut_first(
            connection for phase in Phase for connection in self._in[phase]
        )

    def _tell_full(self) -> None:
        series(HTTP_CUT, "refused").inc()
        now_s = asyncio.get_running_loop().time()
        if now_s - self._told_at_s >= TELL_EVERY_S:
            self._told_at_s = now_s
            _log.warning("http_connections_refused", connected=len(self), mend="see connections of [http]")


def _by_phase(those: Iterable[HttpConnection]) -> list[HttpConnection]:
    order = list(Phase)
    return sorted(those, key=lambda connection: order.index(connection.phase))


def _cut_first(those: Iterable[HttpConnection]) -> bool:
    """Cut the first that keeps us waiting; whether there was one."""
    found = next((connection for connection in those if connection.waits), None)
    if found is None:
        return False
    series(HTTP_CUT, "made room").inc()
    found.abort()
    return True


def _who_waits(listener: socket.socket) -> Iterator[socket.socket]:
    """Everybody who has connected already, while there are descriptors."""
    try:
        while (peer := waiting_peer(listener)) is not None:
            yield peer
    except OSError as error:
        if error.errno not in EXHAUSTED:
            raise


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


async def _hand_over(peer: socket.socket, connection: HttpConnection) -> None:
    try:
        await asyncio.get_running_loop().connect_accepted_socket(lambda: connection, peer)
    except OSError:  # it went away meanwhile, or there is no room for it
        connection.abort()
        peer.close()


def _close_unless_handed_over(peer: socket.socket, handing: "asyncio.Task[None]") -> None:
    if handing.cancelled():
        peer.close()
