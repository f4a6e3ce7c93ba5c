"""A client of the running gateway's `/v1` on its Unix socket; it imports nothing heavy."""

import contextlib
import json
import os
import socket
from collections.abc import Iterator, Mapping
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from gateway.errors import GatewayError
from gateway.threads import run_in_thread

MAX_SUN_PATH_BYTES = 103
"""Longest socket path on every Unix: Linux allows 107 bytes (unix(7)), macOS 103."""

DEADLINE_S = 12.0
"""A little longer than the gateway's own limit."""

TENANT_HEADER = "X-Tenant-Id"


class NoGateway(GatewayError):
    """An error: no gateway listens, so a process that takes the home's lock can open the store."""


class _UnixConnection(HTTPConnection):
    def __init__(self, path: Path, timeout_s: float) -> None:
        super().__init__("localhost", timeout=timeout_s)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        with short_name(self._path) as short:
            self.sock.connect(short)


def path_of(*segments: str) -> str:
    """Return a path below `/v1` with each segment quoted."""
    return "/v1/" + "/".join(quote(segment, safe="") for segment in segments)


async def call(
    socket_path: Path,
    request: str,
    given: Mapping[str, Any] | None = None,
    *,
    tenant: str | None = None,
    timeout_s: float = DEADLINE_S,
) -> Any:
    """Ask the running gateway in a thread, as `ask` does."""
    return await run_in_thread(ask, socket_path, request, given, tenant=tenant, timeout_s=timeout_s)


def ask(
    socket_path: Path,
    request: str,
    given: Mapping[str, Any] | None = None,
    *,
    tenant: str | None = None,
    timeout_s: float = DEADLINE_S,
) -> Any:
    """Ask the running gateway and return the JSON of its answer.

    Args:
        socket_path: the gateway's socket.
        request: "GET /v1/users".
        given: the query of a GET or the body of a POST; None values are left out.
        tenant: the tenant to act on; None means all.
        timeout_s: how long to wait.

    Raises:
        NoGateway: no gateway listens on this socket.
        GatewayError: the gateway refused with this message, or did not answer in time and may still act.
    """
    method, path = request.split(" ", 1)
    said = {name: value for name, value in (given or {}).items() if value is not None}
    headers = {"Connection": "close"} | ({} if tenant is None else {TENANT_HEADER: tenant})
    body = None
    if method == "GET":
        path += f"?{urlencode(said)}" if said else ""
    elif given is not None:
        body, headers["Content-Type"] = json.dumps(said).encode(), "application/json"
    peer = _UnixConnection(socket_path, timeout_s)
    try:
        peer.connect()
    except (FileNotFoundError, ConnectionRefusedError, NotADirectoryError):
        peer.close()
        raise NoGateway(f"no gateway answers on {socket_path}") from None
    except OSError as error:
        peer.close()
        raise GatewayError(f"the control socket {socket_path} cannot be used: {error.strerror or error}") from error
    try:
        peer.request(method, path, body, headers)
        answer = peer.getresponse()
        value: Any = json.loads(answer.read())
    except TimeoutError:
        raise GatewayError(
            f"the gateway did not answer within {timeout_s:g} s; it may still carry out the request"
        ) from None
    except (OSError, HTTPException, ValueError):
        raise GatewayError("the gateway closed the connection without an answer; see its log") from None
    finally:
        peer.close()
    if answer.status >= 400:
        raise GatewayError(value["error"]["message"])
    return value


@contextlib.contextmanager
def short_name(path: Path) -> Iterator[str]:
    """Yield a path to the socket that fits into a socket address; it is valid inside the block.

    If the path is too long, it goes through a descriptor of the directory, which needs /proc.

    Raises:
        GatewayError: the path is too long and there is no /proc.
    """
    if len(os.fsencode(path)) <= MAX_SUN_PATH_BYTES:
        yield str(path)
        return
    directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        through = Path(f"/proc/self/fd/{directory}")
        if not through.exists():
            raise GatewayError(f"{path} is too long for a socket; set TENK_HOME to a path of at most 80 bytes")
        yield str(through / path.name)
    finally:
        os.close(directory)
