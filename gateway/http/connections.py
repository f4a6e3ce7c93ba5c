"""Limits on an HTTP server's connections, in total and per address. Slow clients are a reverse proxy's job."""

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from aiohttp import web

from gateway.telemetry import HTTP_CUT, series


class Connection:
    """One connection: a wrapper of aiohttp's protocol `inner` that sees its begin and end."""

    def __init__(self, inner: asyncio.Protocol, limiter: "ConnectionLimiter") -> None:
        self.inner, self.limiter, self.is_idle = inner, limiter, True
        self.stream: asyncio.Task[object] | None = None  # cancelled with the connection

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Accept the connection if there is room."""
        peer = transport.get_extra_info("peername")
        self.transport, self.address = transport, self.limiter.address_of(peer[0] if isinstance(peer, tuple) else "")
        if self.limiter.makes_room(self.address):
            self.limiter.open[self.inner] = self
            self.inner.connection_made(transport)
        else:
            self.close("refused")

    def connection_lost(self, error: Exception | None) -> None:
        """Forget the connection and cancel its stream."""
        self.limiter.open.pop(self.inner, None)
        self.inner.connection_lost(error)
        if self.stream is not None:
            self.stream.cancel()

    def close(self, why: str) -> None:
        """Close the connection now; `why` labels the metric."""
        series(HTTP_CUT, why).inc()
        self.limiter.open.pop(self.inner, None)
        self.transport.abort()


class ConnectionLimiter:
    """The open connections. If there is no room, an idle one is closed for a new one."""

    def __init__(self, most: int, most_of_address: int, address_of: Callable[[str], str | None]) -> None:
        """Keep the limits; `address_of` returns the address to count, or None for a peer that may be many clients."""
        self.open: dict[object, Connection] = {}  # by aiohttp's protocol, the oldest first
        self.address_of, self._most, self._most_of_address = address_of, most, most_of_address

    @contextlib.contextmanager
    def answering(self, request: web.BaseRequest) -> Iterator[None]:
        """Mark the request's connection as busy inside the block."""
        if (connection := self.open.get(request.protocol)) is not None:
            connection.is_idle = False
        try:
            yield
        finally:
            if connection is not None:
                connection.is_idle, connection.stream = True, None

    def end_with(self, request: web.BaseRequest) -> None:
        """Cancel this task, a stream, as soon as its connection ends."""
        if (connection := self.open.get(request.protocol)) is not None:
            connection.stream = asyncio.current_task()

    def makes_room(self, address: str | None) -> bool:
        """Close an idle connection if there are too many. Return False if there is still no room."""
        crowd = [each for each in self.open.values() if address is not None and each.address == address]
        for connections, most in ((crowd, self._most_of_address), ([*self.open.values()], self._most)):
            if len(connections) >= most:
                if not (idle := [each for each in connections if each.is_idle]):
                    return False
                idle[0].close("made room")
        return True
