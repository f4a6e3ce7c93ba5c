"""One WebSocket to Discord's gateway: HELLO, heartbeats, IDENTIFY or RESUME, and bounded decompression.

Dispatches stay raw. discord.py's own socket parses them into models, where a malformed one ends the client.
Source: docs.discord.com/developers/events/gateway and its "Opcodes and Status Codes" (2026-11).
"""

import asyncio
import sys
import zlib
from contextlib import suppress

import orjson
from aiohttp import ClientError, ClientWebSocketResponse, WSCloseCode, WSMsgType
from pydantic import JsonValue

from channels.chat.http_answers import MAX_ANSWER_BYTES
from channels.discord.cursor import GatewaySession
from channels.discord.ingest import Dispatch
from channels.discord.sharding import Shard
from channels.discord.translate import to_rejected
from channels.foreign import JsonObject, decode_json, number_of, whole_of
from channels.messages import Rejected

QUERY = {"v": "10", "encoding": "json", "compress": "zlib-stream"}  # of the gateway's address
CLOSE_KEEPING_SESSION = 4900  # any code but 1000 and 1001 keeps the session for a while

DISPATCH, HEARTBEAT, IDENTIFY, RESUME, RECONNECT, INVALID_SESSION, HELLO = 0, 1, 2, 6, 7, 9, 10
INTENTS = 1 << 0 | 1 << 9 | 1 << 12  # servers, their messages, direct messages
MESSAGE_CONTENT = 1 << 15

END_OF_FRAME = b"\x00\x00\xff\xff"  # how zlib's stream is flushed

HEARTBEAT_S = 41.25  # Discord's interval (seen 2026-09)
LEAST_HEARTBEAT_S, MOST_HEARTBEAT_S = 1.0, 60.0
ACKNOWLEDGED_S = 20.0  # a heartbeat is answered by then, or the connection is given up


class SocketEnded(Exception):
    """The end of a connection."""

    def __init__(self, *, code: int | None = None, resumable: bool = True, bad: Rejected | None = None) -> None:
        """`code` is Discord's close code, `bad` the frame that ended the connection."""
        super().__init__(f"the gateway closed with {code}" if code is not None else "the gateway's connection ended")
        self.code = code
        self.resumable = resumable
        self.bad = bad


class GatewaySocket:
    """An open WebSocket without a session: call `greet`, then `identify` or `resume`."""

    def __init__(self, ws: ClientWebSocketResponse) -> None:
        self._ws = ws
        self._stream = zlib.decompressobj()
        self._packed = bytearray()
        self._heartbeat_s = HEARTBEAT_S
        self._seq: int | None = None
        self.got_dispatch = False
        """True if a dispatch was received."""

    async def greet(self) -> None:
        """Wait for HELLO.

        Raises:
            SocketEnded: the socket closed before.
        """
        frame = decode_json(await self._frame())
        while not isinstance(frame, dict) or frame.get("op") != HELLO:
            frame = decode_json(await self._frame())
        self._heartbeat_s = _heartbeat_s(frame.get("d"))

    async def identify(self, token: str, shard: Shard, *, message_content: bool) -> None:
        """Ask for a new session."""
        device: JsonObject = {"os": sys.platform, "browser": "tenk", "device": "tenk"}
        intents = INTENTS | (MESSAGE_CONTENT if message_content else 0)
        numbers: list[JsonValue] = [shard.number, shard.count]
        await self._send(IDENTIFY, {"token": token, "properties": device, "intents": intents, "shard": numbers})

    async def resume(self, token: str, session: GatewaySession) -> None:
        """Ask for a session again, from the dispatch after `session.seq`."""
        self._seq = session.seq
        await self._send(RESUME, {"token": token, "session_id": session.id, "seq": session.seq})

    async def beat(self) -> None:
        """Send heartbeats, also while reading is paused, until the connection ends or this is cancelled."""
        with suppress(ClientError, OSError):  # `receive` tells of the end
            while True:
                await self._send(HEARTBEAT, self._seq)
                await asyncio.sleep(self._heartbeat_s)

    async def receive(self) -> Dispatch | Rejected | None:
        """Return the next dispatch, or a malformed frame; None for a frame of the protocol.

        Raises:
            SocketEnded: the connection ended.
        """
        text = await self._frame()
        frame = decode_json(text)
        if not isinstance(frame, dict):
            return to_rejected("frame", None, text, "no JSON object")
        op = frame.get("op")
        if op == DISPATCH:
            return self._to_dispatch(frame)
        if op == HEARTBEAT:
            await self._send(HEARTBEAT, self._seq)
        elif op == RECONNECT:
            raise SocketEnded
        elif op == INVALID_SESSION:
            raise SocketEnded(resumable=frame.get("d") is True)
        return None

    async def close(self) -> None:
        """Close the connection and keep the session."""
        await self._ws.close(code=CLOSE_KEEPING_SESSION)

    # ------------------------------------------------------------ frames

    async def _send(self, op: int, data: JsonValue) -> None:
        await self._ws.send_str(orjson.dumps({"op": op, "d": data}).decode())

    async def _frame(self) -> str:
        """Return the text of the next frame.

        Raises:
            SocketEnded: the connection ended.
        """
        while (text := await self._next_text()) is None:
            pass
        return text

    async def _next_text(self) -> str | None:
        """Return the text of a frame, or None if the rest of it follows."""
        try:
            message = await self._ws.receive(timeout=self._heartbeat_s + ACKNOWLEDGED_S)
        except TimeoutError:
            raise SocketEnded from None
        if message.type is WSMsgType.TEXT:
            return str(message.data)
        if message.type is WSMsgType.BINARY:
            return self._unpack(message.data)
        if self._ws.close_code == WSCloseCode.MESSAGE_TOO_BIG:
            raise _too_long()
        raise SocketEnded(code=self._ws.close_code)

    def _unpack(self, data: bytes) -> str | None:
        """Decompress Discord's zlib stream, up to a bound."""
        self._packed += data
        if len(self._packed) > MAX_ANSWER_BYTES:
            raise _too_long()
        if not data.endswith(END_OF_FRAME):
            return None
        try:
            text = self._stream.decompress(self._packed, MAX_ANSWER_BYTES).decode()
        except (zlib.error, UnicodeDecodeError):
            raise SocketEnded from None
        if self._stream.unconsumed_tail:
            raise _too_long()
        self._packed.clear()
        return text

    def _to_dispatch(self, frame: JsonObject) -> Dispatch | Rejected:
        event, seq = frame.get("t"), frame.get("s")
        number = whole_of(seq) if isinstance(seq, int) else None
        if number is not None:
            self._seq = number
        if not isinstance(event, str):
            return to_rejected("frame", None, frame, "a dispatch without a name")
        self.got_dispatch = True
        return Dispatch(event, number, frame.get("d"))


def _too_long() -> SocketEnded:
    """Return the error for an oversized frame. A replay would bring it again, so the session is not resumed."""
    bad = to_rejected("frame", None, "", f"a frame of more than {MAX_ANSWER_BYTES:,} bytes")
    return SocketEnded(resumable=False, bad=bad)


def _heartbeat_s(hello: JsonValue) -> float:
    """Return the heartbeat interval, clamped."""
    asked_ms = number_of(hello.get("heartbeat_interval")) if isinstance(hello, dict) else None
    asked_s = HEARTBEAT_S if asked_ms is None else asked_ms / 1000
    return min(max(asked_s, LEAST_HEARTBEAT_S), MOST_HEARTBEAT_S)
