"""The control socket: a Unix socket that serves `/v1` to this machine's operators, and private paths of channels.

It has mode 0600, serves only processes of its own user and root, and refuses requests from proxies and web pages.
"""

import contextlib
import os
import socket
import stat
import struct
import tempfile
from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from aiohttp import web
from aiohttp.typedefs import Handler

from channels.base import HttpRoute
from gateway.errors import AlreadyRunning, GatewayError
from gateway.http.connections import ConnectionLimiter
from gateway.http.mounts import Mounts
from gateway.http.server import MAX_BODY_BYTES
from gateway.http.serving import serve
from gateway.operators.client import short_name

MAX_CONNECTIONS = 64
HEAD_S = 10.0
SHUTDOWN_S = 0.1
BACKLOG = 128

_CREDENTIALS = struct.Struct("3i")  # pid, uid, gid: unix(7)

ServeApi = Callable[[ConnectionLimiter, web.Request], Awaitable[web.StreamResponse]]
"""Answers a request under `/v1`."""


class ControlServer:
    """The server on the control socket."""

    def __init__(
        self,
        path: Path,
        serve_api: ServeApi,
        mounts: Mounts,
        *,
        routes: Sequence[HttpRoute] = (),
        head_s: float = HEAD_S,
    ) -> None:
        """Prepare the server; `run` starts it.

        Args:
            path: path of the socket.
            serve_api: answers requests under `/v1`.
            mounts: finds the paths that channels serve.
            routes: more paths, such as that of `tenk mcp serve`.
            head_s: longest time for the head of a request.
        """
        self._path = path
        self._serve_api = serve_api
        self._mounts = mounts
        self._routes = routes
        self._head_s = head_s
        self._limiter = ConnectionLimiter(MAX_CONNECTIONS, MAX_CONNECTIONS, lambda _: None)

    async def run(self) -> None:
        """Serve until cancelled, then remove the socket file.

        Raises:
            AlreadyRunning: another gateway answers on this path.
            GatewayError: the socket cannot be created.
        """
        application = web.Application(middlewares=[self._guard], client_max_size=MAX_BODY_BYTES)
        application.router.add_route("*", "/v1/{path:[\\s\\S]*}", partial(self._serve_api, self._limiter))
        for route in self._routes:
            application.router.add_route(route.method, route.path, route.handler)
        application.router.add_route("*", "/{path:.*}", partial(self._mounts.serve, self._limiter))
        with listening(self._path) as listener:
            await serve(
                application,
                [listener],
                self._limiter,
                shutdown_timeout=SHUTDOWN_S,
                lingering_time=0,
                keepalive_timeout=self._head_s,
                auto_decompress=False,
            )

    @web.middleware
    async def _guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        with self._limiter.answering(request):
            if not _is_own_user(request):
                raise web.HTTPForbidden(text="this socket serves only its own user\n")
            if passed_on := [name for name in request.headers if _is_of_proxy(name)]:
                raise web.HTTPForbidden(text=f"this socket refuses forwarded requests ({passed_on[0]})\n")
            return await handler(request)


def _is_own_user(request: web.Request) -> bool:
    """Return True if the peer is a process of our user or root. Without SO_PEERCRED, rely on the file's mode."""
    peer = request.get_extra_info("socket")
    option = getattr(socket, "SO_PEERCRED", None)  # Linux has it
    if peer is None or option is None:
        return peer is not None
    _pid, uid, _gid = _CREDENTIALS.unpack(peer.getsockopt(socket.SOL_SOCKET, option, _CREDENTIALS.size))
    return uid in (os.geteuid(), 0)


def _is_of_proxy(header: str) -> bool:
    name = header.lower()
    return name in ("forwarded", "via", "origin") or name.startswith("x-forwarded-")


@contextlib.contextmanager
def listening(path: Path) -> Iterator[socket.socket]:
    """Yield a listening, non-blocking socket of mode 0600 at `path`, and remove its file afterwards.

    Raises:
        AlreadyRunning: another process answers on this path.
        GatewayError: the socket cannot be created.
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
    """Return a listening socket at `path`. Create it in a private directory, so that others can never connect."""
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
    """Raise unless `path` is free or the leftover socket of a dead gateway."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(mode):
        raise GatewayError(f"{path} is not a socket; move it away, the gateway needs this name")
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
    """Remove the socket file, unless another gateway has replaced it."""
    with contextlib.suppress(OSError):
        if path.stat().st_ino == inode:
            path.unlink()
