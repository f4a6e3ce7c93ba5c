"""`/mcp`: the Model Context Protocol over HTTP, and over a WebSocket of the control socket for `tenk mcp serve`.

The SDK speaks the protocol: its HTTP transport without sessions answers each POST with JSON, its stream loop serves an
editor's program. The HTTP server has checked Host, Origin, size and encoding before.
"""

import asyncio
from collections.abc import Mapping, MutableMapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

import anyio
import structlog
from aiohttp import WSCloseCode, WSMsgType, web
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.message import SessionMessage
from mcp.types import jsonrpc_message_adapter
from pydantic import ValidationError

from channels.base import HttpRoute
from channels.clocks import steady_now, steady_s
from gateway.http.api.problems import ApiRefusal
from gateway.http.api.server import BODY_S, ApiServer, in_one_shape, locale_of
from gateway.http.config import MCP_PATH
from gateway.mcp.calls import ProgramCalls
from gateway.mcp.limits import CallLimits
from gateway.mcp.server import ProgramServer
from gateway.shared import Shared
from gateway.store.api_keys import ApiKey
from gateway.tenant import Tenant

MAX_MESSAGE_BYTES = 1_000_000

REQUEST_S = 90.0
"""Time limit of a request; longer than that of a call."""

PIPED_MESSAGES = 16
"""Messages between the WebSocket and the SDK's loop."""

HEARTBEAT_S = 30.0

log = structlog.get_logger()


class McpEndpoint:
    """The MCP server of every tenant. Each request acts for the key that it carries."""

    def __init__(self, api: ApiServer, tenants: Mapping[str, Tenant], shared: Shared) -> None:
        self._api = api
        self._tenants = tenants
        self._shared = shared
        self._limits = CallLimits(steady_s)

    def routes(self) -> Sequence[HttpRoute]:
        """Return the paths of the HTTP server."""
        return (HttpRoute("*", MCP_PATH, self._serve),)

    def local_routes(self) -> Sequence[HttpRoute]:
        """Return the paths of the control socket."""
        return (HttpRoute("GET", MCP_PATH, self._serve_stdio),)

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        return await in_one_shape(request, self._answer(request))

    async def _answer(self, request: web.Request) -> web.Response:
        server = await self._identify(request)
        if request.method != "POST":
            raise web.HTTPMethodNotAllowed(request.method, ["POST"], text="this server has no sessions and no streams")
        try:
            async with asyncio.timeout(BODY_S):
                body = await request.read()
        except TimeoutError:
            raise web.HTTPRequestTimeout(text="the body did not arrive in time") from None
        manager = StreamableHTTPSessionManager(server.build(), json_response=True, stateless=True)
        exchange = _Exchange(request, body)
        try:
            async with asyncio.timeout(REQUEST_S), manager.run():
                await manager.handle_request(exchange.scope, exchange.receive, exchange.send)
        except TimeoutError:
            raise ApiRefusal(504, "too_slow", "this took too long; it may still happen", "Look first.") from None
        return exchange.response()

    async def _identify(self, request: web.Request) -> ProgramServer:
        """Return the server for the key of a request.

        Raises:
            ApiRefusal: there is no valid key in its header.
        """
        if request.query_string:
            raise ApiRefusal(
                422, "bad_request", "this address takes no query", "Send the key as `Authorization: Bearer KEY`."
            )
        key, api = await self._api.identify(request)
        calls, seat = partial(self._calls, key.tenant), partial(self._seat, key)
        return ProgramServer(key, api, calls, seat, locale_of(request))

    def _calls(self, name: str) -> ProgramCalls:
        tenant = self._tenants[name]
        return ProgramCalls(
            agent=tenant.agent,
            tools=tenant.own_tools,
            store=tenant.store,
            apply_once=tenant.product.apply_once,
            scrub=self._shared.secrets.scrubber.scrub,
            now=steady_now,
        )

    def _seat(self, key: ApiKey) -> AbstractContextManager[None]:
        return self._limits.seat(key, self._tenants[key.tenant].settings.access.limits)

    # ---------------------------------------------------------------- an editor's program

    async def _serve_stdio(self, request: web.Request) -> web.StreamResponse:
        """Serve the messages of `tenk mcp serve`, one in each frame."""
        return await in_one_shape(request, self._connect(request))

    async def _connect(self, request: web.Request) -> web.StreamResponse:
        server = (await self._identify(request)).build()
        peer = web.WebSocketResponse(max_msg_size=MAX_MESSAGE_BYTES, heartbeat=HEARTBEAT_S)
        await peer.prepare(request)
        said, to_hear = anyio.create_memory_object_stream[SessionMessage | Exception](PIPED_MESSAGES)
        to_say, answers = anyio.create_memory_object_stream[SessionMessage](PIPED_MESSAGES)

        async def answer() -> None:
            async for message in answers:
                await peer.send_str(message.message.model_dump_json(by_alias=True, exclude_unset=True))

        try:
            async with said, answers, asyncio.TaskGroup() as tasks:
                tasks.create_task(server.run(to_hear, to_say, server.create_initialization_options()))
                answering = tasks.create_task(answer())
                async for frame in peer:
                    if frame.type is not WSMsgType.TEXT:
                        break
                    await self._identify(request)  # the key may have been revoked since
                    await said.send(_read(frame.data))
                await said.aclose()
                answering.cancel()
        except* (ApiRefusal, ConnectionError):  # the key was revoked, or the program has gone
            await peer.close(code=WSCloseCode.POLICY_VIOLATION)
        return peer


def _read(text: str) -> SessionMessage | Exception:
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(text, by_name=False))
    except ValidationError as error:
        return error


class _Exchange:
    """One HTTP request and its response, as the SDK's transport wants them (ASGI)."""

    def __init__(self, request: web.Request, body: bytes) -> None:
        self.scope: MutableMapping[str, Any] = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": request.method,
            "scheme": request.scheme,
            "path": request.path,
            "raw_path": request.path.encode(),
            "query_string": b"",
            "headers": [(name.lower(), value) for name, value in request.raw_headers],
            "client": None,
            "server": None,
        }
        self._unread: bytes | None = body
        self._status = 500
        self._headers: list[tuple[bytes, bytes]] = []
        self._written = bytearray()

    async def receive(self) -> MutableMapping[str, Any]:
        """Return the body once; afterwards wait, as the client stays connected."""
        if self._unread is None:
            await asyncio.Event().wait()
        body, self._unread = self._unread, None
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(self, message: MutableMapping[str, Any]) -> None:
        """Keep a part of the response."""
        if message["type"] == "http.response.start":
            self._status, self._headers = message["status"], list(message.get("headers", ()))
        else:
            self._written += message.get("body", b"")

    def response(self) -> web.Response:
        """Return the response, which is complete."""
        response = web.Response(status=self._status, body=bytes(self._written))
        for name, value in self._headers:
            if name.lower() != b"content-length":
                response.headers[name.decode("latin-1")] = value.decode("latin-1")
        response.headers["Cache-Control"] = "no-store"
        return response
