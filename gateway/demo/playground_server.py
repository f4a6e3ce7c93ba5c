"""Serves the playground's page, what is seen as it changes, and what is done there; on loopback alone."""

import asyncio
import mimetypes
import sys
from collections.abc import Callable, Mapping
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

PATH = "/playground"
PORT = 8084
HOST = "127.0.0.1"

LOOK_S = 0.15  # how often the page is shown what changed
STILL_HERE_S = 15.0
MAX_BODY_BYTES = 64_000

_FILES: Mapping[str, tuple[str, str]] = {
    PATH: ("index.html", "text/html"),
    f"{PATH}/playground.css": ("playground.css", "text/css"),
    f"{PATH}/playground.js": ("playground.js", "text/javascript"),
}
_HEADERS = HEADERS | {"Cache-Control": "no-store"}


async def serve(port: int, show: Callable[[str], None], *, attached: bool = False) -> None:
    """Serve until cancelled; `attached`: until whoever started us closes our standard input.

    Raises:
        GatewayError: the port is taken.
    """
    async with Stage(CONFIG) as stage:
        playground = Playground(stage)
        runner = web.AppRunner(_application(playground), access_log=None, shutdown_timeout=1.0)
        await runner.setup()
        try:
            site = web.TCPSite(runner, HOST, port)
            await _listen(site, port)
            show(f"Playground: http://{HOST}:{runner.addresses[0][1]}{PATH}")
            async with asyncio.TaskGroup() as tasks:
                beginning = tasks.create_task(playground.begin())
                watching = tasks.create_task(playground.watch())
                if attached:
                    await _input_ends()
                    beginning.cancel()
                    watching.cancel()
        finally:
            await runner.cleanup()


async def _listen(site: web.TCPSite, port: int) -> None:
    try:
        await site.start()
    except OSError as error:
        raise GatewayError(f"port {port} cannot be used ({error.strerror}); give another with --port") from error


async def _input_ends() -> None:
    """Return when nobody holds the other end of our standard input any more."""
    reader = asyncio.StreamReader()
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), sys.stdin
    )
    try:
        while await reader.read(1024):
            pass
    finally:
        transport.close()


def _application(playground: Playground) -> web.Application:
    pages = _Pages(playground)
    application = web.Application(middlewares=[_guard], client_max_size=MAX_BODY_BYTES)
    for path in _FILES:
        application.router.add_get(path, _file)
    application.router.add_get("/", _to_page)
    application.router.add_get("/favicon.ico", _no_icon)
    application.router.add_get(f"{PATH}/events", pages.events)
    application.router.add_get(f"{PATH}/file", pages.file)
    application.router.add_get(f"{PATH}/log", pages.log)
    application.router.add_post(f"{PATH}/act", pages.act)
    return application


@web.middleware
async def _guard(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Only pages of ours, under a name of this machine: no other site's page plays here, rebound name or not."""
    try:
        name = urlsplit(f"//{request.host}").hostname
        origin = urlsplit(request.headers.get("Origin", f"http://{request.host}")).netloc
    except ValueError:
        raise web.HTTPForbidden(text="this Host is not served here\n") from None
    if name not in {HOST, "localhost"} or origin != request.host:
        raise web.HTTPForbidden(text="this is served to this machine alone\n")
    return await handler(request)


async def _to_page(_request: web.Request) -> web.Response:
    raise web.HTTPFound(PATH)


async def _no_icon(_request: web.Request) -> web.Response:
    return web.Response(status=204)


async def _file(request: web.Request) -> web.Response:
    name, kind = _FILES[request.path]
    content = (files("gateway.demo") / "page" / name).read_bytes()
    return web.Response(body=content, content_type=kind, charset="utf-8", headers=_HEADERS)


class _Pages:
    """What open pages ask."""

    def __init__(self, playground: Playground) -> None:
        self._playground = playground

    async def events(self, request: web.Request) -> web.StreamResponse:
        """The whole state each time that it has changed, as server-sent events."""
        answer = web.StreamResponse(headers=_HEADERS | {"Content-Type": "text/event-stream"})
        await answer.prepare(request)
        shown, quiet_s = b"", 0.0
        while True:
            state = orjson.dumps(self._playground.state())
            if state != shown:
                shown, quiet_s = state, 0.0
                await answer.write(b"data: " + state + b"\n\n")
            elif quiet_s >= STILL_HERE_S:
                quiet_s = 0.0
                await answer.write(b": still here\n\n")
            await asyncio.sleep(LOOK_S)
            quiet_s += LOOK_S

    async def act(self, request: web.Request) -> web.Response:
        """Carry out one order; 400 says what is wrong with it, 409 why it cannot be."""
        if request.content_type != "application/json":
            raise web.HTTPUnsupportedMediaType(text="JSON is taken here\n")
        try:
            await self._playground.act(Order.model_validate_json(await request.read()))
        except ValidationError as error:
            problem = error.errors(include_url=False, include_input=False, include_context=False)[0]
            raise web.HTTPBadRequest(text=f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}\n") from None
        except NotDone as error:
            raise web.HTTPConflict(text=f"{error}\n") from None
        return web.Response(status=204)

    async def file(self, request: web.Request) -> web.Response:
        """A file of a message, which no browser runs as a page."""
        number = request.query.get("n", "")
        found = None
        if number.isascii() and number.isdigit() and len(number) < 3:
            message = request.query.get("message", "")
            found = self._playground.file(request.query.get("platform", ""), message, int(number))
        if found is None:
            raise web.HTTPNotFound(text="there is no such file\n")
        name, content = found
        kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
        safe = kind if kind.startswith("image/") and kind != "image/svg+xml" else "application/octet-stream"
        return web.Response(body=content, content_type=safe, headers=_HEADERS)

    async def log(self, _request: web.Request) -> web.Response:
        """The end of the gateway's log."""
        return web.Response(text=self._playground.log(), headers=_HEADERS)
