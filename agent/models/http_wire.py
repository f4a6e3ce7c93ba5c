"""One POST to a model server and its answer, whole or streamed as server-sent events, on aiohttp.

`openai_format` and `anthropic_format` convert requests and answers; `link` retries. A model has one connection
pool, opened by the first call or by `connect`.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import Any, NoReturn, Protocol

import aiohttp
from yarl import URL

from agent.config import LinkConfig
from agent.credentials import Credential
from agent.errors import FailureKind
from agent.models.credentials import Access, is_showable, settings_key
from agent.models.failures import failure, from_answer
from agent.models.json_bodies import decode
from agent.ports import ModelFailure
from agent.transcript import ModelResponded

MAX_EVENT_BYTES = 8 * 1024 * 1024
"""Maximum size of an event or a line."""

_BOM = b"\xef\xbb\xbf"


class EventTooLong(Exception):
    """The stream has an event beyond `MAX_EVENT_BYTES`."""


class EventParser:
    """An incremental parser of server-sent events: bytes in, (name, data as bytes) out.

    An event that the stream's end cuts off is dropped, as the standard says.
    """

    def __init__(self) -> None:
        self._pieces: list[bytes] = []  # of an incomplete line
        self._held = 0  # bytes in them
        self._name = ""
        self._data: list[bytes] = []
        self._data_bytes = 0
        self._begun = False

    def feed(self, chunk: bytes) -> list[tuple[str, bytes]]:
        """Return the events that these bytes complete.

        Raises:
            EventTooLong: an event is too long.
        """
        if b"\n" not in chunk and b"\r" not in chunk:
            self._hold(chunk)
            return []
        text, late = chunk, b""
        if self._pieces:
            text = b"".join((*self._pieces, chunk))
            self._pieces, self._held = [], 0
        if b"\r" in text:
            if text.endswith(b"\r"):  # its line feed may be in the next chunk
                text, late = text[:-1], b"\r"
            text = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        *lines, rest = text.split(b"\n")
        if rest or late:
            self._hold(rest + late)
        return self._take(lines)

    def _hold(self, piece: bytes) -> None:
        self._pieces.append(piece)
        self._held += len(piece)
        if self._held > MAX_EVENT_BYTES:
            raise EventTooLong

    def _take(self, lines: list[bytes]) -> list[tuple[str, bytes]]:
        if lines and not self._begun:
            lines[0] = lines[0].removeprefix(_BOM)
            self._begun = True
        events: list[tuple[str, bytes]] = []
        for line in lines:
            if not line:
                if self._data:
                    events.append((self._name, b"\n".join(self._data)))
                self._name, self._data, self._data_bytes = "", [], 0
                continue
            name, _, value = line.partition(b":")
            if name == b"data":
                self._data.append(value.removeprefix(b" "))
                self._data_bytes += len(value) + 1
                if self._data_bytes > MAX_EVENT_BYTES:
                    raise EventTooLong
            elif name == b"event":
                self._name = value.removeprefix(b" ").decode(errors="replace")
        return events


ALWAYS = {"Content-Type": "application/json", "Accept": "text/event-stream, application/json"}
"""Headers of every request."""

MAX_BODY_BYTES = 16 * 1024 * 1024
DRAIN_S = 0.25
"""Seconds to wait for the end of a stream, so that its connection can be reused."""

KEEPALIVE_S = 60.0

LOOK_S = 10.0
"""Timeout of a free check, for which a person waits."""

CONNECT_S = 10.0
"""Timeout of name lookup, connection and TLS."""


class Assembly(Protocol):
    """The parts of one response in a provider's format."""

    over_long: bool
    """The response exceeds the maximum length: stop reading."""

    @property
    def is_whole(self) -> bool:
        """Return True if the provider said how the response ended."""
        ...

    def note_ping(self) -> None:
        """Report bytes that contain no event."""
        ...

    def take_event(self, name: str, data: bytes) -> bool:
        """Add one event of a stream; return True if it was the last.

        Raises:
            ModelFailure: the event is an error, or has another format.
        """
        ...

    def take_whole(self, answer: Any) -> None:
        """Add an answer that was not streamed.

        Raises:
            ModelFailure: it is an error, or has another format.
        """
        ...

    def response(self) -> ModelResponded:
        """Return the whole response."""
        ...


class HttpWire:
    """A URL to which requests are posted."""

    def __init__(
        self, url: str, config: LinkConfig, clock: Callable[[], datetime], key_name: str, own_secret: str
    ) -> None:
        """`key_name` says where the key is configured, `own_secret` is that key."""
        self._url = url
        self._config = config
        self._key_name = key_name
        self._own_secret = own_secret
        self._clock = clock
        self._session: aiohttp.ClientSession | None = None

    async def connect(self) -> None:
        """Open a connection for the first request, without sending; do nothing if the server is away."""
        session = self._open()
        assert session.connector is not None, "it is open"
        with suppress(TimeoutError, aiohttp.ClientError, OSError, ValueError):
            loop = asyncio.get_running_loop()
            request = aiohttp.ClientRequest("POST", URL(self._url), loop=loop, session=session)
            connection = await session.connector.connect(request, [], session.timeout)
            connection.release()

    async def ask(self, body: bytes, assembly: Assembly, access: Access) -> ModelResponded:
        """Return the response to this request.

        Raises:
            ModelFailure: there is no usable response; its message never contains the secret.
        """
        try:
            posting = self._open().post(
                self._url,
                data=body,
                allow_redirects=False,
                params=access.query,
                headers=access.headers,
                skip_auto_headers=access.unset or None,  # an empty set would cost aiohttp two copies of the headers
            )
            async with posting as answer:
                if answer.status >= 300:
                    await self._refuse(answer, access)
                if answer.content_type == "text/event-stream":
                    return await _read_stream(answer, assembly)
                return read_whole(await read_body(answer), assembly)
        except aiohttp.InvalidURL:
            raise failure(FailureKind.BAD_REQUEST, "the base URL is not a URL") from None
        except TimeoutError:
            raise replace(failure(FailureKind.NETWORK, "no connection in time"), unasked=True) from None
        except (aiohttp.ClientError, OSError) as problem:
            unasked = isinstance(problem, aiohttp.ClientConnectorError)
            raise replace(failure(FailureKind.NETWORK, trouble_words(problem)), unasked=unasked) from None

    async def check(self, url: str, access: Access) -> None:
        """Request something free and ignore the answer's body.

        Raises:
            ModelFailure: it is refused, or there is no usable answer; its message never contains the secret.
        """
        try:
            async with asyncio.timeout(LOOK_S):
                asking = self._open().get(url, allow_redirects=False, params=access.query, headers=access.headers)
                async with asking as answer:
                    if answer.status >= 300:
                        text = (await read_body(answer)).decode(errors="replace")
                        raise from_answer(answer.status, answer.headers, text, self._clock(), access.secret)
        except (TimeoutError, aiohttp.ClientError, OSError, ValueError) as problem:
            raise failure(FailureKind.NETWORK, f"no usable answer ({type(problem).__name__})") from None

    async def aclose(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=KEEPALIVE_S),  # turns are limited elsewhere
                timeout=aiohttp.ClientTimeout(total=None, connect=self._config.connect_s or CONNECT_S),
                cookie_jar=aiohttp.DummyCookieJar(),
            )
        return self._session

    async def _refuse(self, answer: aiohttp.ClientResponse, access: Access) -> NoReturn:
        if answer.status < 400:
            raise failure(
                FailureKind.BAD_REQUEST,
                "the server redirects; set the base URL to its target",
                status=answer.status,
            )
        text = (await read_body(answer)).decode(errors="replace")
        problem = from_answer(answer.status, answer.headers, text, self._clock(), access.secret)
        raise replace(problem, message=self._with_key_name(problem, access)) from None

    def _with_key_name(self, problem: ModelFailure, access: Access) -> str:
        """Return the message with the place of a refused key, unless the key is a person's own."""
        is_ours = access.place or access.secret == self._own_secret
        if problem.kind is not FailureKind.AUTH or not is_ours:
            return problem.message
        named = access.place or f"{self._key_name} (or api_key in secrets.toml)"
        there = f"look at {named}" if access.secret else f"set {self._key_name}"
        return f"{problem.message}; {there}"


def trouble_words(problem: Exception) -> str:
    """Return advice for the operator about a failed connection."""
    if isinstance(problem, aiohttp.ClientSSLError):
        return "no encrypted connection: the server speaks no TLS, or its certificate is not trusted"
    if isinstance(problem, aiohttp.ClientConnectorDNSError):
        return "the server's name is unknown"
    if isinstance(problem, aiohttp.ClientConnectorError):
        return "no connection: the server is down or cannot be reached"
    return f"no usable answer ({type(problem).__name__})"


def usable_key(config: LinkConfig, needed: str) -> Credential:
    """Return the configuration's key, or an empty one if the server needs none.

    Raises:
        ValueError: it is missing (`needed` says what to set) or not valid in a header; the message does not contain it.
    """
    key = settings_key(config).secret
    if not key and config.base_url is None and not config.has_other_keys:
        raise ValueError(f"no API key: set {needed}, or a base URL of a server that needs none")
    if not is_showable(key):
        raise ValueError("the API key holds characters that no HTTP header takes")
    return settings_key(config)


async def read_body(answer: aiohttp.ClientResponse) -> bytes:
    """Return the whole body.

    Raises:
        ModelFailure: it is too long.
    """
    parts, size = [], 0
    async for part in answer.content.iter_any():
        parts.append(part)
        size += len(part)
        if size > MAX_BODY_BYTES:
            raise failure(FailureKind.NETWORK, f"the answer is longer than {MAX_BODY_BYTES} bytes")
    return b"".join(parts)


def read_whole(body: bytes, assembly: Assembly) -> ModelResponded:
    """Parse a plain JSON answer, which a stream request may get too; detect a stream with the wrong content type."""
    if not body.strip():
        raise failure(FailureKind.NETWORK, "the answer is empty")
    if body.lstrip().startswith((b"data:", b"event:", b":")):
        if not _feed(EventParser(), body, assembly) and not assembly.is_whole:
            raise _incomplete()
        return assembly.response()
    if body.lstrip().startswith(b"<"):
        page = failure(FailureKind.NETWORK, "the answer is a web page: look at the base URL")
        raise replace(page, unasked=True)
    assembly.take_whole(decode(body))
    return assembly.response()


async def _read_stream(answer: aiohttp.ClientResponse, assembly: Assembly) -> ModelResponded:
    parser, content, done = EventParser(), answer.content, False
    try:
        while not (done or assembly.over_long) and (chunk := await content.readany()):
            done = _feed(parser, chunk, assembly)
    except (aiohttp.ClientError, OSError):
        if not assembly.is_whole:  # else only the closing event is missing
            raise
    if done:
        await _drain(answer)
    elif not assembly.is_whole and not assembly.over_long:
        raise _incomplete()
    return assembly.response()


def _feed(parser: EventParser, chunk: bytes, assembly: Assembly) -> bool:
    """Feed a chunk to the assembly; return True if the stream is done."""
    try:
        events = parser.feed(chunk)
    except EventTooLong:
        raise failure(FailureKind.NETWORK, "the stream has an event that is too long") from None
    if not events:
        assembly.note_ping()
    is_done = False
    for name, data in events:
        if is_done := assembly.take_event(name, data):
            break
    return is_done


async def _drain(answer: aiohttp.ClientResponse) -> None:
    if answer.content.at_eof():
        return
    closing = asyncio.get_running_loop().call_later(DRAIN_S, answer.close)
    try:
        while await answer.content.readany():
            pass
    except (aiohttp.ClientError, OSError):
        answer.close()
    finally:
        closing.cancel()


def _incomplete() -> ModelFailure:
    return failure(FailureKind.NETWORK, "the stream ended before the response did")
