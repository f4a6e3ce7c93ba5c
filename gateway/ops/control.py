"""The control socket: `/v1` for operators of this machine, and the private paths of channels, on a Unix socket.

It has mode 0600, serves processes of its own user and root alone, and refuses requests that a proxy or a page sends.
"""

import contextlib
import os
import socket
import stat
import struct
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from pathlib import Path

from aiohttp import web
from aiohttp.typedefs import Handler

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
    """Serves on a socket, from `run` until it is cancelled."""

    def __init__(self, path: Path, serve_api: ServeApi, mounts: Mounts, *, head_s: float = HEAD_S) -> None:
        """Nothing listens before `run`.

        Args:
            path: the socket's.
            serve_api: answers under `/v1`.
            mounts: finds what channels serve here.
            head_s: how long a connection may take to send the head of a request.
        """
        self._path = path
        self._serve_api = serve_api
        self._mounts = mounts
        self._head_s = head_s
        self._limiter = ConnectionLimiter(MAX_CONNECTIONS, MAX_CONNECTIONS, lambda _: None)

    async def run(self) -> None:
        """Listen until cancelled; then the socket file is gone.

        Raises:
            AlreadyRunning: another gateway answers on this path.
            GatewayError: the socket cannot be made there.
        """
        application = web.Application(middlewares=[self._guard], client_max_size=MAX_BODY_BYTES)
        application.router.add_route("*", "/v1/{path:[\\s\\S]*}", partial(self._serve_api, self._limiter))
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
                raise web.HTTPForbidden(text="this socket serves its own user alone\n")
            if passed_on := [name for name in request.headers if _is_of_proxy(name)]:
                raise web.HTTPForbidden(text=f"this socket takes nothing that is passed on ({passed_on[0]})\n")
            return await handler(request)


def _is_own_user(request: web.Request) -> bool:
    """Return whether the peer is a process of our user or root's; without SO_PEERCRED the file's mode has to do."""
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
