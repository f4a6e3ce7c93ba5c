"""A client of the running gateway's control socket; nothing else of the gateway is imported here."""

import contextlib
import json
import os
import socket
from collections.abc import Awaitable, Callable, Iterator
from http.client import HTTPConnection, HTTPException
from pathlib import Path

from pydantic import JsonValue

from gateway.errors import GatewayError
from gateway.threads import run_in_thread

Handler = Callable[[dict[str, JsonValue]], Awaitable[JsonValue]]
"""What answers a call of one name; it takes the call's arguments."""

MAX_REQUEST_BYTES = 64 * 1024
MAX_SUN_PATH_BYTES = 103
"""What every Unix takes: Linux has room for 107 bytes (unix(7)), macOS for 103."""

DEADLINE_S = 12.0
"""A little more than the gateway gives itself."""


class NobodyAnswers(GatewayError):
    """No gateway listens there; the store can be opened by whoever takes the home's lock."""


class _UnixConnection(HTTPConnection):
    def __init__(self, path: Path, timeout_s: float) -> None:
        super().__init__("localhost", timeout=timeout_s)
        self._path = path

    def connect(self) -> None:
        """Connect to the socket file."""
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        with short_name(self._path) as short:
            self.sock.connect(short)


async def call(path: Path, name: str, arguments: dict[str, JsonValue], timeout_s: float = DEADLINE_S) -> JsonValue:
    """As `ask`, beside the event loop."""
    return await run_in_thread(ask, path, name, arguments, timeout_s)


def ask(path: Path, name: str, arguments: dict[str, JsonValue], timeout_s: float = DEADLINE_S) -> JsonValue:
    """Ask the running gateway and return what it answers.

    Raises:
        NobodyAnswers: no gateway listens on this socket.
        GatewayError: the gateway refused, with its own message; or it did not answer in time, and may still do it.
    """
    body = json.dumps(arguments).encode()
    if len(body) > MAX_REQUEST_BYTES:
        raise GatewayError(f"the request is longer than {MAX_REQUEST_BYTES} bytes")
    peer = _UnixConnection(path, timeout_s)
    try:
        peer.connect()
    except (FileNotFoundError, ConnectionRefusedError, NotADirectoryError):
        peer.close()
        raise NobodyAnswers(f"no gateway answers on {path}") from None
    except OSError as error:
        peer.close()
        raise GatewayError(f"the control socket {path} cannot be used: {error.strerror or error}") from error
    try:
        peer.request("POST", f"/control/{name}", body, {"Content-Type": "application/json", "Connection": "close"})
        answer = json.loads(peer.getresponse().read())
    except TimeoutError:
        raise GatewayError(f"the gateway did not answer within {timeout_s:g} s; it may still do it") from None
    except (OSError, HTTPException, ValueError):
        raise GatewayError("the gateway broke off without an answer; its log may have more") from None
    finally:
        peer.close()
    if "error" in answer:
        raise GatewayError(answer["error"])
    value: JsonValue = answer["value"]
    return value


@contextlib.contextmanager
def short_name(path: Path) -> Iterator[str]:
    """A name for the socket that fits into a socket address, good while this is held.

    A home too deep for that is reached through a descriptor of the directory, where the system has /proc.

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
