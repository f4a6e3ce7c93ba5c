"""The control socket: how another process of the same user talks to the running gateway, over HTTP on a Unix socket.

`POST /control/pairing.list` with a JSON object of arguments is answered `{"value": ...}` with status 200, or
`{"error": "..."}` with any other. What the names do is given as handlers; who asks is `control_client`. Channels have
their private paths beside: terminals come in there.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from pathlib import Path

import structlog
from aiohttp import web
from aiohttp.typedefs import Handler as RequestHandler
from pydantic import JsonValue

from gateway.errors import GatewayError
from gateway.http.door import Door, DoorRules
from gateway.http.mounts import Mounts
from gateway.ops.control_client import MAX_REQUEST_BYTES
from gateway.ops.unix_socket import listening
from gateway.telemetry import FAULTS, series

MAX_ANSWER_BYTES = 8 * 1024 * 1024
DEADLINE_S = 10.0
MAX_CONNECTIONS = 64
SHUTDOWN_S = 0.1
Handler = Callable[[dict[str, JsonValue]], Awaitable[JsonValue]]

log = structlog.get_logger()


class ControlServer:
    """Serves handlers by name on a socket, from `run` until it is cancelled."""

    def __init__(
        self, path: Path, handlers: Mapping[str, Handler], mounts: Mounts, *, deadline_s: float = DEADLINE_S
    ) -> None:
        """`path` is the socket's; `handlers` take the arguments and answer JSON. What they may raise: GatewayError.

        `mounts` finds what channels serve here.
        """
        self._path = path
        self._handlers = handlers
        self._mounts = mounts
        self._deadline_s = deadline_s
        everybody = DoorRules(
            most=MAX_CONNECTIONS, most_of_address=MAX_CONNECTIONS, head_s=deadline_s,
            stands_for_many=lambda _: True, as_one=lambda address: address,
        )  # fmt: skip
        self._door = Door(everybody)

    async def run(self) -> None:
        """Listen until cancelled; then the socket file is gone.

        Raises:
            AlreadyRunning: another gateway answers on this path.
            GatewayError: the socket cannot be made there.
        """
        application = web.Application(middlewares=[self._attend], client_max_size=MAX_REQUEST_BYTES)
        application.router.add_post("/control/{name}", self._serve)
        application.router.add_route("*", "/{path:.*}", partial(self._mounts.serve, self._door))
        with listening(self._path) as listener:
            await self._door.serve(application, [listener], shutdown_timeout=SHUTDOWN_S, lingering_time=0)

    @web.middleware
    async def _attend(self, request: web.Request, handler: RequestHandler) -> web.StreamResponse:
        with self._door.at_work(request):
            return await handler(request)

    async def _serve(self, request: web.Request) -> web.Response:
        try:
            async with asyncio.timeout(self._deadline_s):
                value = await self._call(request.match_info["name"], await _arguments_of(request))
            encoded = json.dumps({"value": value})
        except GatewayError as refusal:
            return _error(409, str(refusal))
        except TimeoutError:
            waited = f"the gateway has not done it within {self._deadline_s:g} s"
            return _error(504, f"{waited}; it may still happen, so look first")
        except web.HTTPException:
            raise
        except Exception as failure:  # noqa: BLE001  one control request; the gateway goes on, the operator is told
            series(FAULTS, "control").inc()
            log.error("control_request_failed", error=repr(failure), exc_info=failure)
            return _error(500, f"the gateway failed at this ({type(failure).__name__}); its log has more")
        if len(encoded) > MAX_ANSWER_BYTES:
            return _error(500, "the answer is too long for the control socket")
        return web.Response(text=encoded, content_type="application/json")

    async def _call(self, name: str, arguments: dict[str, JsonValue]) -> JsonValue:
        handler = self._handlers.get(name)
        if handler is None:
            raise GatewayError(f"this gateway knows no {name!r}; it knows: {', '.join(sorted(self._handlers))}")
        return await handler(arguments)


async def _arguments_of(request: web.Request) -> dict[str, JsonValue]:
    try:
        arguments = json.loads(await request.read())
    except (ValueError, RecursionError):
        raise GatewayError("the arguments are JSON") from None
    if not isinstance(arguments, dict):
        raise GatewayError("the arguments are a JSON object")
    return arguments


def _error(status: int, problem: str) -> web.Response:
    return web.json_response({"error": problem}, status=status)
