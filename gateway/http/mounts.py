"""Paths that channels serve on the gateway's servers, looked up for each request because channels load one by one."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from aiohttp import web

from channels.base import HttpRoute, ServesHttp
from gateway.http.connections import ConnectionLimiter

POST_S = 60.0  # for a request with a body, from its head to our answer

COME_BACK = {"Retry-After": "1", "Refresh": "1"}
"""Headers for a request that comes too early: programs obey the first, browsers the second."""

Serve = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Mounted(Protocol):
    """The loaded channels."""

    def now_serving(self) -> Sequence[object]:
        """Return the channels that are loaded and serve here."""
        ...

    @property
    def loading(self) -> bool:
        """Return True if more channels may still load."""
        ...


class Mounts:
    """The paths of every channel that `ServesHttp`, for one of our servers."""

    def __init__(self, channels: Mounted, *, private: bool = False) -> None:
        """Keep the channels; `private` selects the paths that only the gateway's own user can reach."""
        self._channels = channels
        self._private = private
        self._tables: dict[int, Sequence[HttpRoute]] = {}

    async def serve(self, limiter: ConnectionLimiter, request: web.Request) -> web.StreamResponse:
        """Serve a request by its channel. A POST has a time limit, anything else ends with the connection."""
        serve = self.find(request.method, request.path)
        if request.method == "POST":
            try:
                async with asyncio.timeout(POST_S):
                    return await serve(request)
            except TimeoutError:
                raise web.HTTPRequestTimeout from None
        limiter.end_with(request)
        return await serve(request)

    def find(self, method: str, path: str) -> Serve:
        """Return the handler of a path.

        Raises:
            HTTPNotFound, HTTPMethodNotAllowed: no channel serves it.
            HTTPServiceUnavailable: a channel that is still loading may serve it.
        """
        wanted = "GET" if method == "HEAD" else method
        methods: dict[str, Serve] = {}
        for channel in self._channels.now_serving():
            for route in self._table(channel):
                if route.path == path:
                    methods.setdefault(route.method, route.handler)
        if wanted in methods:
            return methods[wanted]
        if methods:
            raise web.HTTPMethodNotAllowed(method, list(methods))
        if self._channels.loading:
            raise web.HTTPServiceUnavailable(text="starting\n", headers=COME_BACK)
        raise web.HTTPNotFound(text="there is nothing at this path\n")

    def _table(self, channel: object) -> Sequence[HttpRoute]:
        """Return a channel's routes, which are read once."""
        table = self._tables.get(id(channel))
        if table is None:
            routes = channel.http_routes() if isinstance(channel, ServesHttp) else ()
            table = tuple(route for route in routes if route.private == self._private)
            self._tables[id(channel)] = table
        return table
