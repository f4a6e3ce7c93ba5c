"""discord.py's HTTP client with a custom base URL, validated rate limits and no blind repeats.

The library repeats a call after a 5xx, which would duplicate a message without a nonce. It also waits for any number
of seconds it is told: a NaN upsets the loop's timers, and a malformed header ends a call whose message was sent.

`wire` decides the meaning of a call, `socket` speaks to the gateway. A test names every private name used here, and
fails if the library drops one.
"""

import asyncio
from collections.abc import Iterable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from types import SimpleNamespace

import aiohttp
import orjson
from discord.file import File
from discord.http import HTTPClient, Ratelimit, Route
from pydantic import JsonValue

from channels.chat.http_answers import refuse_redirect, whole
from channels.foreign import seconds_of, wait_of, whole_of

LONGEST_WAIT_S = 30.0  # the least that the library takes as its own limit; for longer waits the call ends


@dataclass(slots=True)
class CallTrace:
    """Observations of one call on the network."""

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
    await _body_of(response)


async def _body_of(response: aiohttp.ClientResponse) -> bytes:
    """Read the bounded body and store it where the library looks for it, since it takes no response class of ours."""
    if response._body is None:  # noqa: SLF001  see above
        response._body = await whole(response)  # noqa: SLF001  see above
    return await response.read()


async def _read_limit(seen: CallTrace, response: aiohttp.ClientResponse) -> None:
    """Read the duration of a rate limit; raise `LimitUnusable` unless the library can wait for it."""
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
    """A rate-limit bucket that reads only numbers from headers; without them it limits nothing."""

    def update(self, response: aiohttp.ClientResponse, *, use_clock: bool = False) -> None:
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
    """The library's client with a base URL of our choice."""

    def __init__(self, api_base: str) -> None:
        """Create it in a running loop."""
        super().__init__(
            asyncio.get_running_loop(), http_trace=_traces(), max_ratelimit_timeout=LONGEST_WAIT_S, unsync_clock=True
        )
        self._api_base = api_base

    def get_ratelimit(self, key: str) -> Ratelimit:
        if key not in self._buckets:
            self._buckets[key] = BoundedRatelimit(self.max_ratelimit_timeout)
            self._try_clear_expired_ratelimits()
        return self._buckets[key]

    async def request(
        self,
        route: Route,
        *,
        files: Sequence[File] | None = None,
        form: Iterable[dict[str, object]] | None = None,
        **options: object,
    ) -> JsonValue:
        """Send a request to our base URL. If cancelled during a global limit, release the others when that ends."""
        route.url = self._api_base + route.url.removeprefix(Route.BASE)
        try:
            answer: JsonValue = await super().request(route, files=files, form=form, **options)
        except BaseException:
            seen = CALL_TRACE.get()
            if seen is not None and seen.global_until_s is not None:
                self.loop.call_at(seen.global_until_s, self._global_over.set)
            raise
        return answer
