"""Socket Mode, Slack's side: tickets, hello, envelopes until they are acknowledged, disconnects.

An envelope that is not acknowledged in time, or whose socket goes, is delivered again, three times at most; without a
socket it waits, `hold_s` at most, and is then lost to events (not to a chat's history).
"""

import asyncio
import secrets
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

import orjson
from aiohttp import WSMsgType, web

from channels.simulators.shared.faults import FaultScript
from channels.simulators.shared.world import JsonObject
from channels.simulators.slack.checks import as_json

RETRIES = 3
MOST_SOCKETS = 10  # of one app at once (docs.slack.dev/apis/events-api/using-socket-mode, read 2026-11)
TICK_S = 0.05  # least time between two looks for what is due again


@dataclass(slots=True)
class Envelope:
    """One delivery."""

    id: str
    kind: str  # events_api | slash_commands | interactive
    payload: JsonObject
    made_s: float
    attempt: int = 0
    sent_s: float | None = None  # None: waits for a socket
    acked: bool = False
    response: JsonObject | None = None  # what came with the acknowledgement
    acked_s: float | None = None

    def frame(self) -> bytes:
        """Return the envelope on the wire."""
        body: JsonObject = {
            "envelope_id": self.id,
            "type": self.kind,
            "accepts_response_payload": self.kind != "events_api",
            "payload": self.payload,
        }
        if self.kind == "events_api":
            body |= {"retry_attempt": self.attempt, "retry_reason": "timeout" if self.attempt else ""}
        return as_json(body)


@dataclass(slots=True)
class _Socket:
    """One connected socket."""

    response: web.WebSocketResponse
    queue: "asyncio.Queue[str | None]" = field(default_factory=asyncio.Queue)
    retiring: bool = False
    envelopes: set[str] = field(default_factory=set)  # sent by it, and not acknowledged

    def abort(self) -> None:
        """Cut the connection without a word."""
        connection = self.response._req  # noqa: SLF001  aiohttp offers no other way to its transport
        if connection is not None and connection.transport is not None:
            connection.transport.abort()


class SocketHub:
    """Every socket of the app, and what waits for an acknowledgement."""

    def __init__(
        self, faults: FaultScript, changed: Callable[[], None], *, redeliver_after_s: float, hold_s: float
    ) -> None:
        """Take the script in force, what is called on a change, and two settings of `SlackSimulator`."""
        self.open: deque[Envelope] = deque()  # not acknowledged, oldest first
        self.connections = 0  # sockets there ever were
        self.most_at_once = 0
        self.lost: list[Envelope] = []
        self.strayed: list[str] = []  # envelopes that were acknowledged on another socket than they came by
        self._faults = faults
        self._changed = changed
        self._redeliver_after_s = redeliver_after_s
        self._hold_s = hold_s
        self._tickets: set[str] = set()
        self._sockets: list[_Socket] = []
        self._turn = 0
        self._timer: asyncio.TimerHandle | None = None

    @property
    def connected(self) -> int:
        """Return how many sockets are open."""
        return len(self._sockets)

    def ticket(self) -> str:
        """Return what a socket's URL carries; good once."""
        ticket = secrets.token_hex(16)
        self._tickets.add(ticket)
        return ticket

    def push(self, kind: str, payload: JsonObject) -> Envelope:
        """Deliver something."""
        envelope = Envelope(secrets.token_hex(16), kind, payload, _now_s())
        self.open.append(envelope)
        self._send(envelope)
        self._watch()
        return envelope

    def push_raw(self, frame: str) -> None:
        """Send any text on a socket."""
        for socket in self._sockets[-1:]:
            socket.queue.put_nowait(frame)

    def refresh(self, reason: str = "refresh_requested", which: slice = slice(None)) -> None:
        """Ask for new sockets, as Slack does every so often; the old ones stay until they are closed."""
        for socket in self._sockets[which]:
            socket.retiring = True
            socket.queue.put_nowait(orjson.dumps({"type": "disconnect", "reason": reason}).decode())

    def close_all(self) -> None:
        """Close every socket with 1001."""
        for socket in self._sockets:
            socket.queue.put_nowait(None)

    def abort_all(self, which: slice = slice(None)) -> None:
        """Cut connections, the oldest first, without a word."""
        for socket in self._sockets[which]:
            socket.abort()

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Serve one socket to its end."""
        ticket = request.query.get("ticket", "")
        if ticket not in self._tickets:
            return web.Response(status=401)
        self._tickets.discard(ticket)
        response = web.WebSocketResponse(autoping=True, max_msg_size=1_000_000)
        await response.prepare(request)
        if len(self._sockets) >= MOST_SOCKETS:
            await response.send_str('{"type":"disconnect","reason":"too_many_websockets"}')
            await response.close()
            return response
        socket = _Socket(response)
        hello = {"type": "hello", "num_connections": len(self._sockets) + 1, "debug_info": {"host": "simulated"}}
        await response.send_str(orjson.dumps(hello).decode())
        self._sockets.append(socket)
        self.connections += 1
        self.most_at_once = max(self.most_at_once, len(self._sockets))
        for envelope in list(self.open):
            if envelope.sent_s is None:
                self._send(envelope)
        self._changed()
        try:
            async with asyncio.TaskGroup() as tasks:
                writing = tasks.create_task(self._write(socket))
                async for message in response:
                    if message.type is WSMsgType.TEXT:
                        self._take_acknowledgement(socket, message.data)
                writing.cancel()
        finally:
            self._sockets.remove(socket)
            for envelope in self.open:  # what this socket did not acknowledge goes by the next
                envelope.sent_s = None if not self._sockets else envelope.sent_s
            self._changed()
        return response

    async def _write(self, socket: _Socket) -> None:
        while (frame := await socket.queue.get()) is not None:
            try:
                await socket.response.send_str(frame)
            except ConnectionError:
                return
        await socket.response.close(code=1001)

    def _take_acknowledgement(self, socket: _Socket, data: str) -> None:
        """Take one if the envelope came by this very socket."""
        try:
            frame = orjson.loads(data)
        except orjson.JSONDecodeError:
            return
        if frame.get("envelope_id") not in socket.envelopes:
            self.strayed.append(str(frame.get("envelope_id")))
            return
        found = next((connection for connection in self.open if connection.id == frame.get("envelope_id")), None)
        if found is None or self._faults.due("socket.ack", None) is not None:
            return
        socket.envelopes.discard(found.id)
        found.acked, found.acked_s = True, _now_s()
        found.response = frame.get("payload")
        self.open.remove(found)
        self._changed()

    def _send(self, envelope: Envelope) -> None:
        """Send by any socket that is not on its way out, in turn."""
        fresh = [socket for socket in self._sockets if not socket.retiring] or self._sockets
        if not fresh:
            envelope.sent_s = None
            return
        self._turn += 1
        envelope.sent_s = _now_s()
        socket = fresh[self._turn % len(fresh)]
        socket.envelopes.add(envelope.id)
        socket.queue.put_nowait(envelope.frame().decode())

    def _watch(self) -> None:
        if self._timer is None and self.open:
            wait_s = max(TICK_S, self._redeliver_after_s / 4)
            self._timer = asyncio.get_running_loop().call_later(wait_s, self._look)

    def _look(self) -> None:
        """Deliver again what is due, give up what is too old."""
        self._timer = None
        now_s = _now_s()
        for envelope in list(self.open):
            if envelope.sent_s is None:
                over = now_s - envelope.made_s > self._hold_s
            else:
                due = now_s - envelope.sent_s > self._redeliver_after_s
                over = due and (envelope.attempt >= RETRIES or envelope.kind != "events_api")
                if due and not over:
                    envelope.attempt += 1
                    self._send(envelope)
            if over:
                self.open.remove(envelope)
                self.lost.append(envelope)
                self._changed()
        self._watch()

    def aclose(self) -> None:
        """Forget what waits."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def _now_s() -> float:
    return asyncio.get_running_loop().time()
