"""Paths that channels serve on the gateway's own servers: found with each request, for channels load one by one."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from aiohttp import web

from channels.base import HttpRoute, ServesHttp
from gateway.http.connections import ConnectionLimiter

POST_S = 60.0  # for a request with a body, from its head to our answer

COME_BACK = {"Retry-After": "1", "Refresh": "1"}
"""Programs obey the first, browsers the second: a page that was opened too early loads by itself."""

Serve = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Mounted(Protocol):
    """Knows the channels."""

    def now_serving(self) -> Sequence[object]:
        """Every channel that is loaded by now and serves here."""
        ...

    @property
    def loading(self) -> bool:
        """Whether one may still come."""
        ...


class Mounts:
    """The paths of every channel that `ServesHttp`, for one of our servers."""

    def __init__(self, channels: Mounted, *, private: bool = False) -> None:
        """`private`: the paths that only the gateway's own user reaches, else the others."""
        self._channels = channels
        self._private = private
        self._tables: dict[int, Sequence[HttpRoute]] = {}

    async def serve(self, limiter: ConnectionLimiter, request: web.Request) -> web.StreamResponse:
        """What a channel answers: to a POST in its time, anything else for as long as who asked is there."""
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
        """Who serves this.

        Raises:
            HTTPNotFound, HTTPMethodNotAllowed: nobody does.
            HTTPServiceUnavailable: somebody may, once every channel is loaded.
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
        raise web.HTTPNotFound(text="there is nothing here\n")

    def _table(self, channel: object) -> Sequence[HttpRoute]:
        """What a channel serves, asked once; channels live as long as the gateway."""
        table = self._tables.get(id(channel))
        if table is None:
            routes = channel.http_routes() if isinstance(channel, ServesHttp) else ()
            table = tuple(route for route in routes if route.private == self._private)
            self._tables[id(channel)] = table
        return table
