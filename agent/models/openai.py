"""The OpenAI chat completions wire on aiohttp; also Ollama, llama.cpp, vLLM and OpenRouter by base URL.

One call, one answer or one `ModelFailure`: trying again is `resilience`'s work, the format is `openai_format`'s.
"""

import asyncio
import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import aiohttp
import orjson

from agent.config import ModelConfig
from agent.errors import FailureKind
from agent.models.failures import failure, from_answer
from agent.models.openai_format import Assembly, request_body
from agent.models.sse import EventParser, EventTooLong
from agent.ports import ModelFailure, ModelRequest, OnModelEvent
from agent.transcript import ModelResponded
from agent.wellformed import well_formed

OFFICIAL = "https://api.openai.com/v1"
MAX_BODY_BYTES = 16 * 1024 * 1024
DRAIN_S = 0.25
"""How long the end of a stream is waited for, so that its connection can be used again."""

KEEPALIVE_S = 60.0


def _utc_now() -> datetime:
    return datetime.now(UTC)


class OpenAIModel:
    """One model behind one chat completions server. One connection pool, opened with the first call."""

    def __init__(self, model: str, config: ModelConfig, *, clock: Callable[[], datetime] = _utc_now) -> None:
        """Raise ValueError where key or model can never work; the message does not hold the key."""
        self.name = f"openai:{model}"
        self._model = model
        self._config = config
        self._clock = clock
        self._url = (config.base_url or OFFICIAL).rstrip("/") + "/chat/completions"
        self._tokens_field = config.output_tokens_field or (
            "max_tokens" if config.base_url else "max_completion_tokens"
        )
        self._key = _usable_key(config)
        self._session: aiohttp.ClientSession | None = None

    async def respond(self, request: ModelRequest, on_event: OnModelEvent) -> ModelResponded:
        """One whole response; text and calls are told as they stream in.

        Raises:
            ModelFailure: there is no usable response. Its message never holds the key.
        """
        config = self._config
        body = _encode(
            request_body(
                request,
                self._model,
                self._tokens_field,
                usage_in_stream=config.usage_in_stream,
                temperature=config.temperature,
            )
        )
        try:
            async with self._open().post(self._url, data=body, allow_redirects=False) as answer:
                return await self._read(answer, Assembly(on_event, self.name, self._key))
        except aiohttp.InvalidURL:
            raise failure(FailureKind.BAD_REQUEST, "the base URL is no URL") from None
        except TimeoutError:
            raise failure(FailureKind.NETWORK, "no connection in time") from None
        except (aiohttp.ClientError, OSError) as problem:
            raise failure(FailureKind.NETWORK, f"no usable answer ({type(problem).__name__})") from None

    async def aclose(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            headers = {"Content-Type": "application/json", "Accept": "text/event-stream, application/json"}
            if self._key:
                headers["Authorization"] = f"Bearer {self._key}"
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=KEEPALIVE_S),  # turns are bounded above
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=self._config.connect_s),
                cookie_jar=aiohttp.DummyCookieJar(),
                headers=headers,
            )
        return self._session

    async def _read(self, answer: aiohttp.ClientResponse, assembly: Assembly) -> ModelResponded:
        if 300 <= answer.status < 400:
            raise failure(
                FailureKind.BAD_REQUEST, "the server redirects; set the base URL to where", status=answer.status
            )
        if answer.status >= 400:
            text = (await _whole_body(answer)).decode(errors="replace")
            raise from_answer(answer.status, answer.headers, text, self._clock(), self._key)
        if answer.content_type == "text/event-stream":
            return await _read_stream(answer, assembly)
        return _read_whole(await _whole_body(answer), assembly)


def _usable_key(config: ModelConfig) -> str:
    key = config.api_key.get_secret_value().strip() if config.api_key else ""
    if not key and config.base_url is None:
        raise ValueError("no API key: set OPENAI_API_KEY, or a base URL of a server that needs none")
    if not (key.isascii() and (not key or key.isprintable())):
        raise ValueError("the API key holds characters that no HTTP header takes")
    return key


def _encode(body: dict[str, Any]) -> bytes:
    try:
        return orjson.dumps(body)
    except TypeError:  # lone surrogates, integers beyond 64 bits (F40)
        return well_formed(json.dumps(body, ensure_ascii=False, separators=(",", ":"))).encode()


def _decode(data: bytes) -> Any:
    """JSON, also with lone surrogates and broken UTF-8, which become U+FFFD.

    Raises:
        ModelFailure: it is no JSON.
    """
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        pass
    try:
        lenient = json.loads(data.decode(errors="replace"))
        return orjson.loads(well_formed(json.dumps(lenient, ensure_ascii=False)))
    except (ValueError, RecursionError):
        raise failure(FailureKind.NETWORK, "the answer is no JSON") from None


async def _whole_body(answer: aiohttp.ClientResponse) -> bytes:
    parts, size = [], 0
    async for part in answer.content.iter_any():
        parts.append(part)
        size += len(part)
        if size > MAX_BODY_BYTES:
            raise failure(FailureKind.NETWORK, f"the answer is longer than {MAX_BODY_BYTES} bytes")
    return b"".join(parts)


def _read_whole(body: bytes, assembly: Assembly) -> ModelResponded:
    """A plain JSON answer, which a stream request may get too; a stream with the wrong label is read as one."""
    if not body.strip():
        raise failure(FailureKind.NETWORK, "the answer is empty")
    if body.lstrip().startswith((b"data:", b"event:", b":")):
        if not _feed(EventParser(), body, assembly) and assembly.finish is None:
            raise _incomplete()
        return assembly.response()
    assembly.take_whole(_decode(body))
    return assembly.response()


async def _read_stream(answer: aiohttp.ClientResponse, assembly: Assembly) -> ModelResponded:
    parser, done = EventParser(), False
    try:
        async for chunk in answer.content.iter_any():
            done = _feed(parser, chunk, assembly)
            if done or assembly.over_long:
                break
    except (aiohttp.ClientError, OSError):
        if assembly.finish is None:  # else all is there but the farewell
            raise
    if done:
        await _drain(answer)
    elif assembly.finish is None and not assembly.over_long:
        raise _incomplete()
    return assembly.response()


def _feed(parser: EventParser, chunk: bytes, assembly: Assembly) -> bool:
    """Whether the stream said that it is done."""
    try:
        events = parser.feed(chunk)
        if not events:
            assembly.note_ping()
        for name, data in events:
            if data == b"[DONE]":
                return True
            decoded = _decode(data)
            assembly.take({"error": decoded} if name == "error" and "error" not in decoded else decoded)
    except EventTooLong:
        raise failure(FailureKind.NETWORK, "the stream holds an event beyond measure") from None
    return False


async def _drain(answer: aiohttp.ClientResponse) -> None:
    try:
        async with asyncio.timeout(DRAIN_S):
            async for _ in answer.content.iter_any():
                pass
    except (TimeoutError, aiohttp.ClientError, OSError):
        answer.close()


def _incomplete() -> ModelFailure:
    return failure(FailureKind.NETWORK, "the stream ended before the response did")
