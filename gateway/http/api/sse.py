"""Server-sent events: one response written piece by piece, with comments that keep it alive."""

import asyncio
from collections.abc import Awaitable, Callable

from aiohttp import web

WRITE_S = 10.0
ALIVE_EVERY_S = 15.0
STILL_HERE = b": still here\n\n"


class ClientGone(Exception):
    """An error: the client has disconnected."""

    def __init__(self, response: web.StreamResponse | None) -> None:
        """Keep the response as far as it was sent; None if not even its head was."""
        super().__init__("the client went away, or reads nothing")
        self.response = response


class EventStream:
    """One stream. Its head is sent with the first event; until then an error can have its own status."""

    def __init__(self, begin: Callable[[], Awaitable[web.StreamResponse]], now_s: Callable[[], float]) -> None:
        """Keep `begin`, which sends the head, and the monotonic clock `now_s`."""
        self._response: web.StreamResponse | None = None
        self._begin = begin
        self._now_s = now_s
        self._written_s = now_s()

    @property
    def has_begun(self) -> bool:
        """Return True if the head is sent."""
        return self._response is not None

    async def begin(self) -> web.StreamResponse:
        """Send the head if it is not sent yet, and return the response."""
        self._response = self._response or await self._begin()
        return self._response

    async def write(self, piece: bytes) -> None:
        """Write an event.

        Raises:
            ClientGone: the client has disconnected.
        """
        try:
            async with asyncio.timeout(WRITE_S):
                await (await self.begin()).write(piece)
        except (ConnectionError, TimeoutError):
            raise ClientGone(self._response) from None
        self._written_s = self._now_s()

    async def stay_alive(self) -> None:
        """Write a comment after a silence, or proxies would close the connection."""
        if self._now_s() - self._written_s >= ALIVE_EVERY_S:
            await self.write(STILL_HERE)


def to_event(name: str, data: bytes) -> bytes:
    """Format one event; `data` is one line of JSON."""
    return b"event: " + name.encode() + b"\ndata: " + data + b"\n\n"
