"""Lets connections in to an HTTP server: so many in all, so many from one address, and room for those who come.

Where there is no room, whoever keeps us waiting goes: first who has asked nothing yet, then who may ask again, then who
sends a body slowly; of each the one who connected first. Somebody who is being answered, or has a stream open, is never
cut for another: then it is the newcomer who is closed at once. So whatever strangers connect, the descriptors that
everything else needs stay free.
"""

import asyncio
import contextlib
import socket
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import NoReturn

import structlog

from channels.viewers.socket_accept import EXHAUSTED, accept_peer, waiting_peer
from gateway.http.connection import HttpConnection, Phase
from gateway.telemetry import HTTP_CUT, series

BATCH = 16
"""Peers that are let in before anything else has a turn."""

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

    async def serve(
        self, listener: socket.socket, server: Callable[[], asyncio.Protocol], tasks: asyncio.TaskGroup
    ) -> NoReturn:
        """Let peers in to `server` until cancelled; `tasks` parents what hands them over."""
        while True:
            self._meet(await accept_peer(listener), server, tasks)
            for peer in islice(_who_waits(listener), BATCH - 1):
                self._meet(peer, server, tasks)

    @contextlib.contextmanager
    def at_work(self, inner: object, is_incomplete: Callable[[], bool] | None) -> Iterator[None]:
        """While held, a request on this protocol is being answered; `is_incomplete` says whether its body is."""
        connection = self._by_inner.get(inner)
        if connection is None:  # gone already
            yield
            return
        connection.begin(is_incomplete)
        try:
            yield
        finally:
            connection.end()

    def end_with(self, inner: object, stream: "asyncio.Task[object]") -> None:
        """Cancel a stream as soon as its connection is over; it would notice when it next has something to say."""
        connection = self._by_inner.get(inner)
        if connection is not None:
            connection.ends(stream)

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


async def _hand_over(peer: socket.socket, connection: HttpConnection) -> None:
    try:
        await asyncio.get_running_loop().connect_accepted_socket(lambda: connection, peer)
    except OSError:  # it went away meanwhile, or there is no room for it
        connection.abort()
        peer.close()


def _close_unless_handed_over(peer: socket.socket, handing: "asyncio.Task[None]") -> None:
    if handing.cancelled():
        peer.close()
