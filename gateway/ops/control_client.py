"""Asks the running gateway over its control socket, by the standard library alone: commands have to start quickly."""

import asyncio
import json
import socket
from http.client import HTTPConnection, HTTPException
from pathlib import Path

from pydantic import JsonValue

from gateway.errors import GatewayError
from gateway.ops.unix_socket import short_name

MAX_REQUEST_BYTES = 64 * 1024
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
    """Ask the running gateway and return what it answers.

    Raises:
        NobodyAnswers: no gateway listens on this socket.
        GatewayError: the gateway refused, with its own message; or it did not answer in time, and may still do it.
    """
    body = json.dumps(arguments).encode()
    if len(body) > MAX_REQUEST_BYTES:
        raise GatewayError(f"the request is longer than {MAX_REQUEST_BYTES} bytes")
    return await asyncio.to_thread(_exchange, path, name, body, timeout_s)


def _exchange(path: Path, name: str, body: bytes, timeout_s: float) -> JsonValue:
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
