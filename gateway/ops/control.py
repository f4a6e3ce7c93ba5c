"""The control socket: how another process of the same user talks to the running gateway, over HTTP on a Unix socket.

`POST /control/pairing.list` with a JSON object of arguments is answered `{"value": ...}` with status 200, or
`{"error": "..."}` with any other. What the names do is given as handlers; who asks is `control_client`. Channels have
their private paths beside: terminals come in there.
"""

import asyncio
import contextlib
import json
import socket
import stat
import tempfile
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

import structlog
from aiohttp import web
from aiohttp.typedefs import Handler as RequestHandler
from pydantic import JsonValue

from gateway.errors import AlreadyRunning, GatewayError
from gateway.http.connections import ConnectionLimiter
from gateway.http.mounts import Mounts
from gateway.http.serving import serve
from gateway.ops.control_client import MAX_REQUEST_BYTES, Handler, short_name
from gateway.telemetry import FAULTS, series

MAX_ANSWER_BYTES = 8 * 1024 * 1024
DEADLINE_S = 10.0
MAX_CONNECTIONS = 64
SHUTDOWN_S = 0.1
BACKLOG = 128

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
        self._limiter = ConnectionLimiter(MAX_CONNECTIONS, MAX_CONNECTIONS, lambda _: None)

    async def run(self) -> None:
        """Listen until cancelled; then the socket file is gone.

        Raises:
            AlreadyRunning: another gateway answers on this path.
            GatewayError: the socket cannot be made there.
        """
        application = web.Application(middlewares=[self._attend], client_max_size=MAX_REQUEST_BYTES)
        application.router.add_post("/control/{name}", self._serve)
        application.router.add_route("*", "/{path:.*}", partial(self._mounts.serve, self._limiter))
        with listening(self._path) as listener:
            await serve(
                application, [listener], self._limiter,
                shutdown_timeout=SHUTDOWN_S, lingering_time=0, keepalive_timeout=self._deadline_s,
            )  # fmt: skip

    @web.middleware
    async def _attend(self, request: web.Request, handler: RequestHandler) -> web.StreamResponse:
        with self._limiter.answering(request):
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


@contextlib.contextmanager
def listening(path: Path) -> Iterator[socket.socket]:
    """A listening socket of mode 0600 at `path`, not blocking; its file is gone afterwards.

    Raises:
        AlreadyRunning: another process answers on this path.
        GatewayError: the socket cannot be made there.
    """
    try:
        listener = _listener(path)
    except OSError as error:
        raise GatewayError(f"the socket {path} cannot be made: {error.strerror}") from error
    own = path.stat().st_ino
    try:
        yield listener
    finally:
        listener.close()
        _remove(path, own)


def _listener(path: Path) -> socket.socket:
    """A listening socket at `path`, never for a moment open to others: made in a private directory, then moved."""
    _refuse_if_answered(path)
    with tempfile.TemporaryDirectory(prefix=".control-", dir=path.parent) as private:
        draft = Path(private) / "s"
        with contextlib.ExitStack() as undo:
            listener = undo.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
            with short_name(draft) as short:
                listener.bind(short)
            draft.chmod(0o600)
            listener.listen(BACKLOG)
            listener.setblocking(False)
            draft.replace(path)
            undo.pop_all()
    return listener


def _refuse_if_answered(path: Path) -> None:
    """A socket that nobody listens on is a dead gateway's and may be replaced; nothing else may."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(mode):
        raise GatewayError(f"{path} is no socket; move it away, the gateway wants that name")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe, short_name(path) as short:
        probe.settimeout(1.0)
        try:
            probe.connect(short)
        except (ConnectionRefusedError, FileNotFoundError):
            return
        except TimeoutError:
            pass
    raise AlreadyRunning(f"another gateway answers on {path}; stop it, or set TENK_HOME to another directory")


def _remove(path: Path, inode: int) -> None:
    """Take the socket file away, unless another gateway has put its own there."""
    with contextlib.suppress(OSError):
        if path.stat().st_ino == inode:
            path.unlink()
