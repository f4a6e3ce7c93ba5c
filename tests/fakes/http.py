"""The gateway's own HTTP server around some channels."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from aiohttp import web

from gateway.http.config import HttpConfig
from gateway.http.connections import ConnectionLimiter
from gateway.http.mounts import Mounts
from gateway.http.server import HttpServer, PartHealth
from gateway.ops.control import ControlServer


class Loaded:
    """The loaded channels, which a test may change at any time. Their health is empty."""

    def __init__(self, channels: Sequence[object] = (), *, loading: bool = False) -> None:
        self.channels = list(channels)
        self.loading = loading

    def now_serving(self) -> Sequence[object]:
        return self.channels

    def health(self) -> Mapping[str, PartHealth]:
        return {}


@asynccontextmanager
async def served(loaded: Loaded, **http: object) -> AsyncIterator[str]:
    """Serve the channels; yield the base URL with a slash at its end. `http` goes into the configuration."""
    config = HttpConfig.model_validate({"listen": "127.0.0.1:0"} | http)
    server = HttpServer(config, loaded, Mounts(loaded))
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(server.run())
        await server.started.wait()
        yield server.url
        running.cancel()


async def no_api(_limiter: ConnectionLimiter, _request: web.Request) -> web.StreamResponse:
    """Answer under `/v1` that there is nothing."""
    raise web.HTTPNotFound


@asynccontextmanager
async def served_privately(loaded: Loaded, path: Path) -> AsyncIterator[None]:
    """Serve on a control socket what the channels serve there."""
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(ControlServer(path, no_api, Mounts(loaded, private=True)).run())
        while not path.exists() and not running.done():
            await asyncio.sleep(0)
        yield
        running.cancel()
