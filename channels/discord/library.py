"""Everything private of discord.py that our promises need: its HTTP client and its gateway socket, tamed.

HTTP: another base than the library's global one; a 5xx is not blindly sent again (it would repeat what has no nonce);
no wait is believed that cannot be. The library waits for whatever it is told, in seconds it does not look at: a NaN
among the loop's timers upsets all of them, and a header that is no number ends a call whose message was sent.

Gateway: the library speaks the protocol (HELLO, heartbeats, zombies, IDENTIFY, RESUME, op 7 and 9, close codes). Its
parsing into models, where a malformed dispatch ends the client, never runs: a dispatch is kept as it came.

`wire` decides what a call means, `connection` which connection follows which. A test names every private name that is
used here, and fails if the library has it no more.
"""

import asyncio
import time
import zlib
from collections.abc import Callable, Iterable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import aiohttp
import orjson
from discord import utils
from discord.file import File
from discord.flags import Intents
from discord.gateway import DiscordWebSocket, ReconnectWebSocket
from discord.http import HTTPClient, Ratelimit, Route
from pydantic import JsonValue

from channels.chat.http_answers import MAX_ANSWER_BYTES, refuse_redirect, whole
from channels.discord.ingest import Dispatch
from channels.discord.translate import to_rejected
from channels.foreign import decode_json, number_of, seconds_of, wait_of, whole_of
from channels.messages import Rejected

SWITCHED = 101  # the answer that makes a WebSocket: nothing of it is a body
LONGEST_WAIT_S = 30.0  # the least that the library takes as its own limit; for longer waits the call ends


@dataclass(slots=True)
class CallTrace:
    """What was seen of one call on the network."""

    in_flight: bool = False  # a request went out and its answer, if any, does not say that nothing happened
    of_discord: bool = False  # the answer is JSON, so not a proxy's page
    retry_after_s: float | None = None  # of the last 429
    global_until_s: float | None = None  # by the loop's clock: the last 429 was for all calls, until then


CALL_TRACE: ContextVar[CallTrace | None] = ContextVar("discord_call", default=None)


class ServerTrouble(Exception):
    """A 5xx: ends the call before the library sends it again."""

    def __init__(self, status: int) -> None:
        super().__init__(f"HTTP {status}")


class LimitUnusable(Exception):
    """A 429 that the library would not understand, or wait for too long."""


async def _request_sent(
    _session: aiohttp.ClientSession, _context: SimpleNamespace, _sent: aiohttp.TraceRequestHeadersSentParams
) -> None:
    seen = CALL_TRACE.get()
    if seen is not None:
        seen.in_flight = True


async def _request_answered(
    _session: aiohttp.ClientSession, _context: SimpleNamespace, answered: aiohttp.TraceRequestEndParams
) -> None:
    seen, response = CALL_TRACE.get(), answered.response
    if seen is not None:
        seen.of_discord = response.content_type == "application/json"
    if response.status == 429:
        await _read_limit(seen or CallTrace(), response)
    if response.status >= 500:
        response.close()
        raise ServerTrouble(response.status)
    if response.status != SWITCHED:
        await _body_of(response)


async def _body_of(response: aiohttp.ClientResponse) -> bytes:
    """The body, bounded; the library finds it where it would read it, for it takes no class of answers of ours."""
    if response._body is None:  # noqa: SLF001  see above
        response._body = await whole(response)  # noqa: SLF001  see above
    return await response.read()


async def _read_limit(seen: CallTrace, response: aiohttp.ClientResponse) -> None:
    """Read how long a limit lasts; only what the library can wait for is left to it."""
    seen.in_flight = False
    answer = _object(await _body_of(response)) if seen.of_discord else {}
    told = answer.get("retry_after")
    seen.retry_after_s = seconds_of(told) or wait_of(response.headers.get("Retry-After"), datetime.now(UTC))
    if answer.get("global"):
        seen.global_until_s = asyncio.get_running_loop().time() + (seen.retry_after_s or 0.0)
    if seen.of_discord and (isinstance(told, str) or seen.retry_after_s is None or told != seen.retry_after_s):
        raise LimitUnusable
    if seen.retry_after_s is not None and seen.retry_after_s > LONGEST_WAIT_S:
        raise LimitUnusable


def _object(body: bytes) -> dict[str, JsonValue]:
    try:
        answer = orjson.loads(body)
    except orjson.JSONDecodeError:
        return {}
    return answer if isinstance(answer, dict) else {}


def _traces() -> aiohttp.TraceConfig:
    traces = aiohttp.TraceConfig()
    traces.on_request_headers_sent.append(_request_sent)
    traces.on_request_redirect.append(refuse_redirect)
    traces.on_request_end.append(_request_answered)
    return traces


class BoundedRatelimit(Ratelimit):
    """A bucket of the library's that takes only numbers from headers; where there are none it limits nothing."""

    def update(self, response: aiohttp.ClientResponse, *, use_clock: bool = False) -> None:
        """As the library's, by the seconds that are left."""
        headers = response.headers
        self.limit = whole_of(headers.get("X-Ratelimit-Limit"), 1) or 1
        remaining = whole_of(headers.get("X-Ratelimit-Remaining"))
        self.remaining = self.limit if remaining is None else remaining
        if self.dirty:
            self.remaining = min(self.remaining, self.limit - self.outgoing)
        self.dirty = True
        self.reset_after = seconds_of(headers.get("X-Ratelimit-Reset-After")) or 0.0
        self.expires = self._loop.time() + self.reset_after


class BasedHttp(HTTPClient):
    """The library's client, on another base than its global one."""

    def __init__(self, api_base: str) -> None:
        """Must be made in a running loop."""
        super().__init__(
            asyncio.get_running_loop(), http_trace=_traces(), max_ratelimit_timeout=LONGEST_WAIT_S, unsync_clock=True
        )
        self._api_base = api_base

    def get_ratelimit(self, key: str) -> Ratelimit:
        """As the library's, bounded."""
        if key not in self._buckets:
            self._buckets[key] = BoundedRatelimit(self.max_ratelimit_timeout)
            self._try_clear_expired_ratelimits()
        return self._buckets[key]

    async def ws_connect(self, url: str, *, compress: int = 0) -> aiohttp.ClientWebSocketResponse:
        """As the library's, but that a message has a bound."""
        session: aiohttp.ClientSession = self._HTTPClient__session  # type: ignore[attr-defined]  # private, and mangled
        return await session.ws_connect(
            url,
            max_msg_size=MAX_ANSWER_BYTES,
            autoclose=False,
            headers={"User-Agent": self.user_agent},
            compress=compress,
        )

    async def request(
        self,
        route: Route,
        *,
        files: Sequence[File] | None = None,
        form: Iterable[dict[str, object]] | None = None,
        **options: object,
    ) -> JsonValue:
        """As the library's, on our base. One that is given up while it waits for the global limit lets others go on."""
        route.url = self._api_base + route.url.removeprefix(Route.BASE)
        try:
            answer: JsonValue = await super().request(route, files=files, form=form, **options)
        except BaseException:
            seen = CALL_TRACE.get()
            if seen is not None and seen.global_until_s is not None:
                self.loop.call_at(seen.global_until_s, self._global_over.set)
            raise
        return answer


# ---------------------------------------------------------------- the gateway socket

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
        self._intents = Intents(guilds=True, guild_messages=True, dm_messages=True, message_content=message_content)

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
