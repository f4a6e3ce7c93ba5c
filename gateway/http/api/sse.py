"""Server-sent events: one answer that is written piece by piece, with a sign of life where there is nothing to tell."""

import asyncio
from collections.abc import Awaitable, Callable

from aiohttp import web

WRITE_S = 10.0
ALIVE_EVERY_S = 15.0
STILL_HERE = b": still here\n\n"


class ClientGone(Exception):
    """Nobody reads the stream any more."""

    def __init__(self, response: web.StreamResponse | None) -> None:
        """The response as far as it was written; None: not even its head."""
        super().__init__("the client went away, or reads nothing")
        self.response = response


class EventStream:
    """One stream, whose head is sent with its first event: until then an error has a status of its own."""

    def __init__(self, begin: Callable[[], Awaitable[web.StreamResponse]], now_s: Callable[[], float]) -> None:
        """`begin` sends the head; `now_s` is monotonic."""
        self._response: web.StreamResponse | None = None
        self._begin = begin
        self._now_s = now_s
        self._written_s = now_s()

    @property
    def has_begun(self) -> bool:
        """Whether the head is sent."""
        return self._response is not None

    async def begin(self) -> web.StreamResponse:
        """The response, begun now unless it was before."""
        self._response = self._response or await self._begin()
        return self._response

    async def write(self, piece: bytes) -> None:
        """Write an event.

        Raises:
            ClientGone: nobody takes it.
        """
        try:
            async with asyncio.timeout(WRITE_S):
                await (await self.begin()).write(piece)
        except (ConnectionError, TimeoutError):
            raise ClientGone(self._response) from None
        self._written_s = self._now_s()

    async def stay_alive(self) -> None:
        """Write a comment where nothing was written for a while: proxies close what is silent."""
        if self._now_s() - self._written_s >= ALIVE_EVERY_S:
            await self.write(STILL_HERE)


def to_event(name: str, data: bytes) -> bytes:
    """One event; `data` is one line of JSON."""
    return b"event: " + name.encode() + b"\ndata: " + data + b"\n\n"
