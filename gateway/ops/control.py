"""The control socket: how another process of the same user talks to the running gateway.

A Unix socket of mode 0600 in the home; one request a connection, a line of JSON each way:
`{"name": "pairing.list", "arguments": {}}` and `{"ok": true, "value": ...}` or `{"ok": false, "error": "..."}`. What
the names do is given as handlers; nothing of it lives here.
"""

import asyncio
import contextlib
import json
import socket
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

import structlog
from pydantic import JsonValue

from channels.viewers.socket_accept import accept_peer, close_with
from gateway.errors import GatewayError
from gateway.ops.unix_socket import listening, short_name
from gateway.telemetry import FAULTS, series

SOCKET_NAME = "control.sock"
MAX_REQUEST_BYTES = 64 * 1024
MAX_ANSWER_BYTES = 8 * 1024 * 1024
DEADLINE_S = 10.0
MAX_CONNECTIONS = 16
Handler = Callable[[dict[str, JsonValue]], Awaitable[JsonValue]]

log = structlog.get_logger()


class NobodyAnswers(GatewayError):
    """No gateway listens there; the store can be opened by whoever takes the home's lock."""


class ControlServer:
    """Serves handlers by name on a socket, from `run` until it is cancelled."""

    def __init__(self, path: Path, handlers: Mapping[str, Handler], *, deadline_s: float = DEADLINE_S) -> None:
        """`path` is the socket's; `handlers` take the arguments and answer JSON. What they may raise: GatewayError."""
        self._path = path
        self._handlers = handlers
        self._deadline_s = deadline_s
        self._slots = asyncio.Semaphore(MAX_CONNECTIONS)

    async def run(self) -> None:
        """Listen until cancelled; then the socket file is gone.

        Raises:
            AlreadyRunning: another gateway answers on this path.
            GatewayError: the socket cannot be made there.
        """
        with listening(self._path) as listener:
            async with asyncio.TaskGroup() as connections:
                await self._accept(listener, connections)

    async def _accept(self, listener: socket.socket, connections: asyncio.TaskGroup) -> None:
        while True:
            await self._slots.acquire()
            peer = await accept_peer(listener)
            close_with(connections.create_task(self._serve(peer)), peer)

    async def _serve(self, peer: socket.socket) -> None:
        try:
            with peer, contextlib.suppress(OSError, TimeoutError):  # whoever asked is gone, or asks too slowly
                async with asyncio.timeout(self._deadline_s):
                    request = await _read_line(peer, MAX_REQUEST_BYTES)
                await _send(peer, await self._answer(request))
        except Exception as error:  # noqa: BLE001  one control connection: it is closed, the others are answered
            _failed(error)
        finally:
            self._slots.release()

    async def _answer(self, request: bytes | None) -> bytes:
        try:
            async with asyncio.timeout(self._deadline_s):
                answer: dict[str, JsonValue] = {"ok": True, "value": await self._call(request)}
        except GatewayError as error:
            answer = {"ok": False, "error": str(error)}
        except TimeoutError:
            problem = f"the gateway has not done it within {self._deadline_s:g} s; it may still happen, so look first"
            answer = {"ok": False, "error": problem}
        except Exception as error:  # noqa: BLE001  one control request; the gateway goes on, the operator is told
            answer = _failed(error)
        encoded = _line(answer)
        if len(encoded) > MAX_ANSWER_BYTES:
            encoded = _line({"ok": False, "error": "the answer is too long for the control socket"})
        return encoded

    async def _call(self, request: bytes | None) -> JsonValue:
        if request is None:
            raise GatewayError(f"a request is one line of at most {MAX_REQUEST_BYTES} bytes")
        try:
            asked = json.loads(request)
        except (ValueError, RecursionError):
            raise GatewayError("a request is one line of JSON") from None
        if not isinstance(asked, dict) or not isinstance(asked.get("arguments", {}), dict):
            raise GatewayError('a request is {"name": ..., "arguments": {...}}')
        name = asked.get("name")
        handler = self._handlers.get(name) if isinstance(name, str) else None
        if handler is None:
            raise GatewayError(f"this gateway knows no {name!r}; it knows: {', '.join(sorted(self._handlers))}")
        return await handler(asked.get("arguments", {}))


async def call(path: Path, name: str, arguments: dict[str, JsonValue], timeout_s: float = DEADLINE_S + 2) -> JsonValue:
    """Ask the running gateway and return what it answers.

    Raises:
        NobodyAnswers: no gateway listens on this socket.
        GatewayError: the gateway refused, with its own message; or it did not answer in time, and may still do it.
    """
    request = json.dumps({"name": name, "arguments": arguments}).encode() + b"\n"
    if len(request) > MAX_REQUEST_BYTES:
        raise GatewayError(f"the request is longer than {MAX_REQUEST_BYTES} bytes")
    try:
        async with asyncio.timeout(timeout_s):
            answered = await _exchange(path, request)
    except TimeoutError:
        raise GatewayError(f"the gateway did not answer within {timeout_s:g} s; it may still do it") from None
    if answered is None:
        raise GatewayError("the gateway broke off without an answer; its log may have more")
    answer = json.loads(answered)
    if not answer["ok"]:
        raise GatewayError(answer["error"])
    value: JsonValue = answer["value"]
    return value


async def _exchange(path: Path, request: bytes) -> bytes | None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as peer:
        peer.setblocking(False)
        try:
            with short_name(path) as short:
                await asyncio.get_running_loop().sock_connect(peer, short)
            peer.getpeername()  # on a full backlog Linux answers EAGAIN, which asyncio takes for a connection
        except (FileNotFoundError, ConnectionRefusedError, NotADirectoryError):
            raise NobodyAnswers(f"no gateway answers on {path}") from None
        except OSError as error:
            raise GatewayError(f"the control socket {path} cannot be used: {error.strerror}") from error
        try:
            await _send(peer, request)
            return await _read_line(peer, MAX_ANSWER_BYTES)
        except OSError:
            return None


async def _read_line(peer: socket.socket, limit_bytes: int) -> bytes | None:
    """The line without its end; None where the other side broke off or sent more than the limit."""
    loop = asyncio.get_running_loop()
    received = bytearray()
    while len(received) <= limit_bytes:
        chunk = await loop.sock_recv(peer, 65536)
        if not chunk:
            return None
        received += chunk
        end = received.find(b"\n")
        if end >= 0:
            return bytes(received[:end]) if end <= limit_bytes else None
    return None


async def _send(peer: socket.socket, line: bytes) -> None:
    async with asyncio.timeout(DEADLINE_S):
        await asyncio.get_running_loop().sock_sendall(peer, line)


def _line(answer: dict[str, JsonValue]) -> bytes:
    """An answer as it travels; one that is no JSON is a failure of the gateway's."""
    try:
        return json.dumps(answer).encode() + b"\n"
    except (TypeError, ValueError, RecursionError) as error:
        return json.dumps(_failed(error)).encode() + b"\n"


def _failed(error: Exception) -> dict[str, JsonValue]:
    series(FAULTS, "control").inc()
    log.error("control_request_failed", error=repr(error), exc_info=error)
    return {"ok": False, "error": f"the gateway failed at this ({type(error).__name__}); its log has more"}
