"""REST calls through discord.py's HTTP client, raw JSON in and out. What answers mean is decided in `failures`.

The library keeps rate limits (buckets, the global limit) and waits where they ask for less than 30 s. Two of
its habits are changed, for this client only: calls go to `api_base`, and a 5xx is not blindly sent again (it would
repeat what has no nonce); it ends the call. Wherever `api_base` points, it is asked for its gateway.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from io import BytesIO
from types import SimpleNamespace
from typing import TypedDict
from urllib.parse import urlsplit

import aiohttp
import orjson
from pydantic import JsonValue

from channels.discord.config import DiscordAccount
from channels.discord.failures import ApiRefusal, unanswered
from channels.discord.light_import import load_discord
from channels.discord.translate import Ourselves
from channels.errors import ChannelError, Permanent, Retryable, Unknown
from channels.messages import OutboundMedia

load_discord()  # before the imports below, which would import all of it

from discord.errors import HTTPException, LoginFailure, RateLimited  # noqa: E402  see load_discord
from discord.file import File  # noqa: E402  see load_discord
from discord.http import HTTPClient, Route  # noqa: E402  see load_discord

JsonObject = dict[str, JsonValue]

MESSAGES = "/channels/{channel_id}/messages"
MESSAGE = MESSAGES + "/{message_id}"
NOWHERE: Mapping[str, str] = {}

LONGEST_WAIT_S = 30.0  # the least that the library takes as its own limit
OFFICIAL_GATEWAY = "wss://gateway.discord.gg/"
OFFICIAL_CDN = ("cdn.discordapp.com", "media.discordapp.net")


@dataclass(slots=True)
class _Seen:
    """What was seen of one call on the network."""

    in_flight: bool = False  # a request went out and its answer, if any, does not say that nothing happened
    retry_after_s: float | None = None  # of the last 429


_SEEN: ContextVar[_Seen | None] = ContextVar("discord_call", default=None)


class _Options(TypedDict, total=False):
    """How the library takes a call's body, files and query."""

    json: JsonObject | list[JsonValue]
    params: dict[str, str]
    form: list[dict[str, object]]
    files: Sequence[File]


class _ServerTrouble(Exception):
    """A 5xx: ends the call before the library sends it again."""

    def __init__(self, status: int) -> None:
        super().__init__(f"HTTP {status}")


async def _request_sent(
    _session: aiohttp.ClientSession, _context: SimpleNamespace, _sent: aiohttp.TraceRequestHeadersSentParams
) -> None:
    seen = _SEEN.get()
    if seen is not None:
        seen.in_flight = True


async def _request_answered(
    _session: aiohttp.ClientSession, _context: SimpleNamespace, answered: aiohttp.TraceRequestEndParams
) -> None:
    seen, response = _SEEN.get(), answered.response
    if seen is not None and response.status == 429:
        seen.in_flight = False
        seen.retry_after_s = _seconds(response.headers.get("Retry-After"))
    if response.status >= 500:
        response.close()
        raise _ServerTrouble(response.status)


def _seconds(header: str | None) -> float | None:
    try:
        return float(header) if header else None
    except ValueError:
        return None


def _traces() -> aiohttp.TraceConfig:
    traces = aiohttp.TraceConfig()
    traces.on_request_headers_sent.append(_request_sent)
    traces.on_request_end.append(_request_answered)
    return traces


class BasedHttp(HTTPClient):
    """The library's client, on another base than its global one."""

    def __init__(self, api_base: str) -> None:
        """Must be made in a running loop."""
        super().__init__(
            asyncio.get_running_loop(), http_trace=_traces(), max_ratelimit_timeout=LONGEST_WAIT_S, unsync_clock=True
        )
        self._api_base = api_base

    async def request(
        self,
        route: Route,
        *,
        files: Sequence[File] | None = None,
        form: Iterable[dict[str, object]] | None = None,
        **options: object,
    ) -> JsonValue:
        """As the library's, on our base."""
        route.url = self._api_base + route.url.removeprefix(Route.BASE)
        answer: JsonValue = await super().request(route, files=files, form=form, **options)
        return answer


class DiscordWire:
    """Makes calls for one bot. Its errors hold neither its token nor an interaction's."""

    def __init__(self, config: DiscordAccount) -> None:
        """Nothing is connected yet."""
        self._config = config
        self._http: BasedHttp | None = None
        self._us: Ourselves | None = None
        self._files: aiohttp.ClientSession | None = None
        self._opening = asyncio.Lock()
        self._closed = False

    def __repr__(self) -> str:
        return f"DiscordWire({self._config.api_base!r})"

    async def introduce(self) -> Ourselves:
        """Who we are; asked once.

        Raises:
            ApiRefusal: 401, the token is refused.
            Retryable, Unknown: not now.
        """
        if self._us is None:
            application = await self.call("GET", "/oauth2/applications/@me")
            user_id = await self._user_id()
            app_id = application.get("id") if isinstance(application, dict) else None
            self._us = Ourselves(self._config.name, user_id, str(app_id or user_id))
        return self._us

    async def _user_id(self) -> str:
        me = await self.call("GET", "/users/@me")
        user_id = me.get("id") if isinstance(me, dict) else None
        if not isinstance(user_id, str):
            raise Unknown("Discord's answer to who we are names no user")
        return user_id

    async def http(self) -> BasedHttp:
        """The library's client, logged in."""
        async with self._opening:
            if self._closed:
                raise Retryable("the channel is closed")
            if self._http is None:
                http = BasedHttp(self._config.api_base)
                try:
                    await http.static_login(self._config.token.get_secret_value())
                except BaseException:
                    await http.close()
                    raise
                self._http = http
            return self._http

    async def call(
        self,
        verb: str,
        path: str,
        body: JsonObject | list[JsonValue] | None = None,
        *,
        at: Mapping[str, str] = NOWHERE,
        media: Sequence[OutboundMedia] = (),
        query: Mapping[str, str] = NOWHERE,
        timeout_s: float | None = None,
    ) -> JsonValue:
        """One call and its result; `at` fills the path's places.

        Raises:
            ApiRefusal: it was answered, and not done.
            Permanent: it cannot be written as JSON.
            Retryable: nothing was sent, or a rate limit asks to wait longer than is waited here.
            Unknown: no answer, or none that can be read.
        """
        files = [File(BytesIO(one.content), filename=one.name) for one in media]
        options = _options(body, files, [one.mime for one in media], query)
        seen = _Seen()
        before = _SEEN.set(seen)
        failure: ChannelError | ApiRefusal
        try:
            async with asyncio.timeout(timeout_s or self._config.call_timeout_s):
                http = await self.http()
                return await http.request(Route(verb, path, **at), **options)
        except RateLimited as limited:
            failure = Retryable("a rate limit", retry_after_s=limited.retry_after)
        except LoginFailure:
            failure = ApiRefusal(401, 0, "401: Unauthorized")
        except HTTPException as error:
            failure = _refusal(error, seen)
        except _ServerTrouble as trouble:
            failure = Unknown(str(trouble))
        except TimeoutError:
            failure = _late(seen)
        except (aiohttp.ClientError, OSError, RuntimeError) as error:  # RuntimeError: closed while it waited
            failure = unanswered(error, f"{type(error).__name__}: {error}")
        finally:
            _SEEN.reset(before)
            for file in files:
                file.close()
        raise failure  # outside the handler: what was caught may hold the URL, and with it an interaction's token

    async def gateway_url(self) -> str:
        """Where the gateway's WebSocket is.

        Raises:
            ApiRefusal: 401, the token is refused.
            Retryable, Unknown: not now.
        """
        try:
            found = await self.call("GET", "/gateway/bot")
        except ApiRefusal as refusal:
            if refusal.status == 401:
                raise
            found = None
        url = found.get("url") if isinstance(found, dict) else None
        if isinstance(url, str) and url.startswith(("ws://", "wss://")):
            return url
        if self._config.official:
            return OFFICIAL_GATEWAY
        parts = urlsplit(self._config.api_base)
        return f"{'wss' if parts.scheme == 'https' else 'ws'}://{parts.netloc}/gateway"

    async def download(self, url: str, max_bytes: int) -> bytes:
        """A file of Discord's CDN; no other host is asked, and no token goes along (A89).

        Raises:
            Permanent: it is larger than `max_bytes`, gone, or elsewhere.
            Retryable: not now.
        """
        host = urlsplit(url).netloc
        if host not in OFFICIAL_CDN and (self._config.official or host != urlsplit(self._config.api_base).netloc):
            raise Permanent("the file is not on Discord's CDN")
        if self._files is None:
            self._files = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=self._config.call_timeout_s))
        try:
            async with self._files.get(url, allow_redirects=False) as response:
                return await _body_of(response, max_bytes)
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            raise Retryable(f"the file cannot be fetched now: {type(error).__name__}") from None

    async def aclose(self) -> None:
        """Close the connections."""
        self._closed = True
        if self._http is not None:
            await self._http.close()
        if self._files is not None:
            await self._files.close()


def _options(
    body: JsonObject | list[JsonValue] | None, files: Sequence[File], mimes: Sequence[str], query: Mapping[str, str]
) -> _Options:
    """A call's body, files and query."""
    try:
        encoded = orjson.dumps(body)
    except TypeError:
        raise Permanent("the text is no Unicode") from None
    options: _Options = {}
    if query:
        options["params"] = dict(query)
    if files:
        form: list[dict[str, object]] = [{"name": "payload_json", "value": encoded.decode()}]
        for number, (file, mime) in enumerate(zip(files, mimes, strict=True)):
            part = {"value": file.fp, "filename": file.filename, "content_type": mime}
            form.append({"name": f"files[{number}]", **part})
        options["form"], options["files"] = form, files  # `files`: the library rewinds them when it waits for a limit
    elif body is not None:
        options["json"] = body
    return options


def _refusal(error: HTTPException, seen: _Seen) -> ChannelError | ApiRefusal:
    """What the library raised about an answer. A 429 without Discord's own body is Cloudflare's."""
    if error.status == 429:
        return Retryable("429, a ban for too many requests", retry_after_s=seen.retry_after_s or 60.0)
    if error.status < 300:
        return Unknown(f"HTTP {error.status} and no answer of Discord's")
    return ApiRefusal(error.status, error.code, error.text[:300].replace("\n", " "))


def _late(seen: _Seen) -> ChannelError:
    """What a call that took too long means; one that waited for a rate limit was not made."""
    if seen.in_flight:
        return Unknown("no answer in time")
    return Retryable("it would have waited too long", retry_after_s=seen.retry_after_s)


async def _body_of(response: aiohttp.ClientResponse, max_bytes: int) -> bytes:
    if response.status in (403, 404, 410):
        raise Permanent("the file is gone")
    if response.status != 200:
        raise Retryable(f"the file cannot be fetched now: HTTP {response.status}")
    if (response.content_length or 0) > max_bytes:
        raise Permanent(f"the file is larger than {max_bytes} bytes")
    content = bytearray()
    async for piece in response.content.iter_chunked(65_536):
        content += piece
        if len(content) > max_bytes:
            raise Permanent(f"the file is larger than {max_bytes} bytes")
    return bytes(content)
