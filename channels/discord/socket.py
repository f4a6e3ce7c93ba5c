"""Makes discord.py's gateway socket give out raw dispatches. Which connection follows which is in `connection`.

The library speaks the protocol (HELLO, heartbeats, zombies, IDENTIFY, RESUME, op 7 and 9, close codes). Its parsing
into models, where a malformed dispatch ends the client, never runs: a dispatch is kept as it came.
"""

import asyncio
import time
import zlib
from collections.abc import Callable
from typing import Any

import aiohttp
import orjson
from discord import utils
from discord.flags import Intents
from discord.gateway import DiscordWebSocket, ReconnectWebSocket
from pydantic import JsonValue

from channels.discord.ingest import Dispatch
from channels.discord.library import BasedHttp
from channels.discord.translate import to_rejected
from channels.foreign import decode_json, number_of, whole_of
from channels.http_answers import MAX_ANSWER_BYTES
from channels.messages import Rejected

GUILDS, GUILD_MESSAGES, DIRECT_MESSAGES, MESSAGE_CONTENT = 1 << 0, 1 << 9, 1 << 12, 1 << 15

END_OF_FRAME = b"\x00\x00\xff\xff"  # how zlib's stream is flushed

HEARTBEAT_MS = 41_250.0  # what Discord asks for (seen 2026-09)
LEAST_HEARTBEAT_MS, MOST_HEARTBEAT_MS = 1_000.0, 60_000.0
HEARTBEAT_TIMEOUT_S = 60.0  # without any frame for so long the connection is given up, and resumed


class FrameTooLong(Exception):
    """A frame unpacks to more than Discord ever sends."""


class BoundedInflate:
    """Frames out of Discord's one zlib stream, unpacked up to a bound: the library's own unpacks whatever comes."""

    COMPRESSION_TYPE = "zlib-stream"  # what the library asks the gateway for

    def __init__(self) -> None:
        self._stream = zlib.decompressobj()
        self._packed = bytearray()

    def decompress(self, data: bytes, /) -> str | None:
        """The text of the frame that ends with `data`; None while it is not whole.

        Raises:
            zlib.error, UnicodeDecodeError: it is none.
            FrameTooLong: it is over `MAX_ANSWER_BYTES`, packed or not.
        """
        self._packed += data
        if len(self._packed) > MAX_ANSWER_BYTES:
            raise FrameTooLong
        if not data.endswith(END_OF_FRAME):
            return None
        text = self._stream.decompress(self._packed, MAX_ANSWER_BYTES)
        if self._stream.unconsumed_tail:
            raise FrameTooLong
        self._packed.clear()
        return text.decode()


utils._ActiveDecompressionContext = BoundedInflate  # noqa: SLF001  the only place it has for one


class LibraryState:
    """The part of discord.py's connection state that its socket reads."""

    def __init__(self, shard_count: int, *, message_content: bool, on_identify: Callable[[], None]) -> None:
        self.socket: GatewaySocket | None = None
        self.parsers: dict[str, object] = {}
        self.shard_count = shard_count
        self._on_identify = on_identify
        self.heartbeat_timeout = HEARTBEAT_TIMEOUT_S
        self._activity = None
        self._status = None
        wanted = GUILDS | GUILD_MESSAGES | DIRECT_MESSAGES
        self._intents = Intents._from_value(wanted | MESSAGE_CONTENT if message_content else wanted)  # noqa: SLF001  made from bits

    async def call_hooks(self, key: str, *arguments: object, **options: object) -> None:
        """The library would wait here before IDENTIFY; `connection` has waited, and is told."""
        self._on_identify()

    def _update_references(self, socket: "GatewaySocket") -> None:
        """A socket was opened; known even if it never gets as far as HELLO."""
        self.socket = socket


class LibraryClient:
    """The part of discord.py's client that its socket reads."""

    def __init__(self, http: BasedHttp, state: LibraryState) -> None:
        self.http = http
        self.loop = asyncio.get_running_loop()
        self._connection = state
        self._enable_debug_events = False

    def dispatch(self, event: str, *arguments: object) -> None:
        """The library's own events are nobody's matter here."""


class GatewaySocket(DiscordWebSocket):
    """The library's socket; made by `from_client`."""

    got_dispatch = False  # whether anything was received on it

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._received: list[Dispatch | Rejected] = []

    def take_received(self) -> list[Dispatch | Rejected]:
        """Return the dispatches, and the frames that are none, since the last call."""
        received, self._received = self._received, []
        return received

    async def poll_event(self) -> None:
        """Take one frame.

        Raises:
            ReconnectWebSocket: the connection is no use any more.
        """
        try:
            await super().poll_event()
        except ReconnectWebSocket:
            if self.socket.close_code == aiohttp.WSCloseCode.MESSAGE_TOO_BIG:
                raise self._too_long() from None
            raise

    async def send_heartbeat(self, data: object) -> None:
        """Send one, noting when: the library notes it afterwards, and takes a quicker answer for one 41 s late."""
        if self._keep_alive:
            self._keep_alive._last_send = time.perf_counter()  # noqa: SLF001  what its latency is counted from
        await super().send_heartbeat(data)

    async def received_message(self, msg: str | bytes, /) -> None:
        """Take a frame: a dispatch is kept for `take_received`, the library takes the rest.

        Raises:
            ReconnectWebSocket: the connection is no use any more.
        """
        text = await self._text(msg)
        if text is None:
            return
        frame = decode_json(text)
        if not isinstance(frame, dict):
            self._keep_bad(text, "no JSON object")
        elif frame.get("op") == self.DISPATCH:
            self._keep(frame, text)
        elif frame.get("op") == self.HELLO:
            if not self._keep_alive:  # a second one would begin a second pulse
                await self._control(_greeting(frame))
        else:
            await self._control(text)

    async def _text(self, msg: str | bytes) -> str | None:
        """A frame's text; None while it is not whole."""
        if isinstance(msg, str):
            return msg
        try:
            return self._decompressor.decompress(msg)
        except (zlib.error, UnicodeDecodeError):
            await self.close()
            raise ReconnectWebSocket(self.shard_id) from None
        except FrameTooLong:
            await self.close()
            raise self._too_long() from None

    def _too_long(self) -> ReconnectWebSocket:
        """Keep a note of a frame beyond measure; what opens another session, for a replay would send it again."""
        self._keep_bad("", f"a frame of more than {MAX_ANSWER_BYTES:,} bytes")
        return ReconnectWebSocket(self.shard_id, resume=False)

    def _keep_bad(self, raw: str, reason: str) -> None:
        self._received.append(to_rejected("frame", None, raw, reason))

    def _keep(self, frame: dict[str, JsonValue], text: str) -> None:
        event, seq, data = frame.get("t"), frame.get("s"), frame.get("d")
        number = whole_of(seq) if isinstance(seq, int) else None
        if number is not None:
            self.sequence = number
        if self._keep_alive:
            self._keep_alive.tick()
        if not isinstance(event, str):
            self._keep_bad(text, "a dispatch without a name")
            return
        self._received.append(Dispatch(event, number, data))
        self.got_dispatch = True

    async def _control(self, text: str) -> None:
        """HELLO, acknowledgements, op 7 and 9."""
        try:
            await super().received_message(text)
        except (KeyError, TypeError, AttributeError, ValueError, RecursionError):
            self._keep_bad(text, "a frame of the protocol that is malformed")
            await self.close()
            raise ReconnectWebSocket(self.shard_id) from None


def _greeting(frame: dict[str, JsonValue]) -> str:
    """A HELLO whose heartbeats neither flood Discord nor leave the connection without a pulse, whatever it asks for."""
    data = frame.get("d")
    interval_ms = number_of(data.get("heartbeat_interval")) if isinstance(data, dict) else None
    if interval_ms is None:
        interval_ms = HEARTBEAT_MS
    interval_ms = min(max(interval_ms, LEAST_HEARTBEAT_MS), MOST_HEARTBEAT_MS)
    return orjson.dumps({"op": frame["op"], "d": {"heartbeat_interval": interval_ms}}).decode()
