"""Serves the playground's page, its state as it changes, and its actions; on loopback only."""

import asyncio
import mimetypes
import sys
from collections.abc import Callable
from contextlib import suppress
from importlib.resources import files
from urllib.parse import urlsplit

import orjson
from aiohttp import web
from aiohttp.typedefs import Handler
from pydantic import ValidationError

from channels.web.page_files import HEADERS
from gateway.demo.playground import CONFIG, NotDone, Order, Playground
from gateway.demo.stage import Stage
from gateway.errors import GatewayError

PATH, PORT, HOST = "/playground", 8084, "127.0.0.1"
LOOK_S = 0.15  # between two looks for a change
MAX_BODY_BYTES = 64_000

_FILES = {PATH: "index.html", f"{PATH}/playground.css": "playground.css", f"{PATH}/playground.js": "playground.js"}
_HEADERS = HEADERS | {"Cache-Control": "no-store"}


async def serve(port: int, show: Callable[[str], None], *, attached: bool = False) -> None:
    """Serve until cancelled, or, if `attached`, until our parent closes our standard input.

    Raises:
        GatewayError: the port is taken.
    """
    async with Stage(CONFIG) as stage:
        playground = Playground(stage)
        runner = web.AppRunner(_application(playground), access_log=None, shutdown_timeout=1.0)
        await runner.setup()
        try:
            await web.TCPSite(runner, HOST, port).start()
            show(f"Playground: http://{HOST}:{runner.addresses[0][1]}{PATH}")
            async with asyncio.TaskGroup() as tasks:
                running = tasks.create_task(playground.run())
                if attached:
                    await _input_ends()
                    running.cancel()
        except OSError as error:
            raise GatewayError(f"port {port} cannot be used ({error.strerror}); give another with --port") from error
        finally:
            await runner.cleanup()


async def _input_ends() -> None:
    reader = asyncio.StreamReader()
    connecting = asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    transport, _ = await connecting
    try:
        while await reader.read(1024):
            pass
    finally:
        transport.close()


def _application(playground: Playground) -> web.Application:
    pages = _Pages(playground)
    application = web.Application(middlewares=[_guard], client_max_size=MAX_BODY_BYTES)
    application.router.add_get("/", _to_page)
    application.router.add_get("/favicon.ico", _no_icon)
    for path in _FILES:
        application.router.add_get(path, _page_file)
    application.router.add_get(f"{PATH}/events", pages.events)
    application.router.add_get(f"{PATH}/file", pages.file)
    application.router.add_get(f"{PATH}/log", pages.log)
    application.router.add_post(f"{PATH}/act", pages.act)
    return application


@web.middleware
async def _guard(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Refuse pages of other sites, also under a rebound name."""
    name = origin = None
    with suppress(ValueError):
        name = urlsplit(f"//{request.host}").hostname
        origin = urlsplit(request.headers.get("Origin", f"http://{request.host}")).netloc
    if name not in {HOST, "localhost"} or origin != request.host:
        raise web.HTTPForbidden(text="this is served to this machine alone\n")
    return await handler(request)


async def _to_page(_request: web.Request) -> web.Response:
    raise web.HTTPFound(PATH)


async def _no_icon(_request: web.Request) -> web.Response:
    return web.Response(status=204)


async def _page_file(request: web.Request) -> web.Response:
    name = _FILES[request.path]
    content = (files("gateway.demo") / "page" / name).read_bytes()
    return web.Response(body=content, content_type=mimetypes.guess_type(name)[0], charset="utf-8", headers=_HEADERS)


class _Pages:
    """The handlers of open pages."""

    def __init__(self, playground: Playground) -> None:
        self._playground = playground

    async def events(self, request: web.Request) -> web.StreamResponse:
        """Send the whole state each time that it changes, as server-sent events."""
        answer = web.StreamResponse(headers=_HEADERS | {"Content-Type": "text/event-stream"})
        await answer.prepare(request)
        shown = b""
        while True:
            state = orjson.dumps(self._playground.state())
            if state != shown:
                shown = state
                await answer.write(b"data: " + state + b"\n\n")
            await asyncio.sleep(LOOK_S)

    async def act(self, request: web.Request) -> web.Response:
        """Carry out one order; answer 400 if it is malformed, 409 if it cannot be carried out."""
        if request.content_type != "application/json":
            raise web.HTTPUnsupportedMediaType(text="JSON is taken here\n")
        try:
            await self._playground.act(Order.model_validate_json(await request.read()))
        except ValidationError as error:
            fields = ", ".join(".".join(map(str, problem["loc"])) for problem in error.errors(include_url=False))
            raise web.HTTPBadRequest(text=f"not an order of the playground: look at {fields or 'the JSON'}\n") from None
        except NotDone as error:
            raise web.HTTPConflict(text=f"{error}\n") from None
        return web.Response(status=204)

    async def file(self, request: web.Request) -> web.Response:
        """Send a file of a message: a picture, or bytes that a browser does not run."""
        number, query = request.query.get("n", ""), request.query
        if not (number.isascii() and number.isdigit() and len(number) < 3):
            raise web.HTTPNotFound
        found = self._playground.file(query.get("platform", ""), query.get("message", ""), int(number))
        if found is None:
            raise web.HTTPNotFound
        kind = mimetypes.guess_type(found.name)[0] or ""
        safe = kind if kind.startswith("image/") and kind != "image/svg+xml" else "application/octet-stream"
        return web.Response(body=found.content, content_type=safe, headers=_HEADERS)

    async def log(self, _request: web.Request) -> web.Response:
        """Send the end of the gateway's log."""
        return web.Response(text=self._playground.log(), headers=_HEADERS)
