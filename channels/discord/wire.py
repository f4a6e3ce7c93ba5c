"""REST calls through discord.py's HTTP client, raw JSON in and out; `error_mapping` explains refusals.

The library tracks rate limits (buckets, the global limit) and waits if the limit is below 30 s; `library` changes some
of its behaviour. The server at `api_base` also names its gateway.
"""

import asyncio
from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import TypedDict
from urllib.parse import urlsplit

import aiohttp
import orjson
import yarl
from discord.errors import HTTPException, LoginFailure, RateLimited
from discord.file import File
from discord.http import Route
from pydantic import JsonValue

from channels.chat.downloads import download
from channels.chat.http_answers import (
    MAX_ANSWER_BYTES,
    RedirectRefused,
    refuse_redirect,
    to_foreign_error,
    to_transport_error,
)
from channels.chat.refusals import ApiRefusal
from channels.discord.config import DiscordAccount
from channels.discord.identity import BotIdentity
from channels.discord.library import CALL_TRACE, BasedHttp, CallTrace, LimitUnusable, ServerTrouble
from channels.discord.payloads import id_of
from channels.discord.sharding import GatewayInfo, to_gateway_info
from channels.discord.socket import QUERY
from channels.errors import ChannelError, Permanent, Retryable, Unknown
from channels.foreign import JsonObject, whole_of, words_of
from channels.messages import OutboundMedia

MESSAGES = "/channels/{channel_id}/messages"
MESSAGE = MESSAGES + "/{message_id}"
NO_PARAMETERS: Mapping[str, str] = {}

OFFICIAL_GATEWAY = "wss://gateway.discord.gg/"
OFFICIAL_CDN = ("cdn.discordapp.com", "media.discordapp.net")


class _Options(TypedDict, total=False):
    """The library's parameters for a call's body, files and query."""

    json: JsonObject | list[JsonValue]
    params: dict[str, str]
    form: list[dict[str, object]]
    files: Sequence[File]


class DiscordWire:
    """Calls of one bot. Errors hold neither its token nor an interaction's."""

    def __init__(self, config: DiscordAccount) -> None:
        self.config = config
        self._identifying = asyncio.Lock()
        self._http: BasedHttp | None = None
        self._bot: BotIdentity | None = None
        self._session: aiohttp.ClientSession | None = None  # of the gateway and of files, which take no token
        self._opening = asyncio.Lock()
        self._closed = False

    def __repr__(self) -> str:
        return f"DiscordWire({self.config.api_base!r})"

    async def identify(self) -> BotIdentity:
        """Return the bot's identity, asked once.

        Raises:
            ApiRefusal: 401, the token is refused.
            Retryable, Unknown: Discord does not answer now.
        """
        async with self._identifying:
            if self._bot is None:
                application = await self.call("GET", "/oauth2/applications/@me")
                user_id = await self._user_id()
                app_id = application.get("id") if isinstance(application, dict) else None
                self._bot = BotIdentity(self.config.name, user_id, str(app_id or user_id))
            return self._bot

    async def _user_id(self) -> str:
        user_id = id_of(await self.call("GET", "/users/@me"))
        if user_id is None:
            raise Unknown("Discord's answer to who we are names no user")
        return user_id

    async def http(self) -> BasedHttp:
        """Return the library's client, logged in."""
        async with self._opening:
            if self._closed:
                raise Retryable("the channel is closed")
            if self._http is None:
                http = BasedHttp(self.config.api_base)
                try:
                    await http.static_login(self.config.token.get_secret_value())
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
        at: Mapping[str, str] = NO_PARAMETERS,
        media: Sequence[OutboundMedia] = (),
        query: Mapping[str, str] = NO_PARAMETERS,
        timeout_s: float | None = None,
    ) -> JsonValue:
        """Make one call and return its result; `at` fills the path's parameters.

        Raises:
            ApiRefusal: Discord refused the call.
            Permanent: the body cannot be written as JSON.
            Retryable: nothing was sent, or a rate limit is too long to wait for here.
            Unknown: no answer, or an unreadable one.
        """
        files = [File(BytesIO(file.content), filename=file.name) for file in media]
        options = _options(body, files, [file.mime for file in media], query)
        seen = CallTrace()
        before = CALL_TRACE.set(seen)
        failure: ChannelError | ApiRefusal
        try:
            async with asyncio.timeout(timeout_s or self.config.call_timeout_s):
                http = await self.http()
                return await http.request(Route(verb, path, **at), **options)
        except _ENDS as error:
            failure = _to_error(error, seen)
        finally:
            CALL_TRACE.reset(before)
            for file in files:
                file.close()
        raise failure  # outside the handler: the caught exception may hold the URL with an interaction's token

    async def gateway(self) -> GatewayInfo:
        """Return the gateway's address and connection limits.

        Raises:
            ApiRefusal: 401, the token is refused.
            Retryable, Unknown: Discord does not answer now.
        """
        try:
            found = await self.call("GET", "/gateway/bot")
        except ApiRefusal as refusal:
            if refusal.status == 401:
                raise
            found = None
        url = found.get("url") if isinstance(found, dict) else None
        if not (isinstance(url, str) and url.startswith(("ws://", "wss://"))):
            parts = urlsplit(self.config.api_base)
            own = f"{'wss' if parts.scheme == 'https' else 'ws'}://{parts.netloc}/gateway"
            url = OFFICIAL_GATEWAY if self.config.official else own
        return to_gateway_info(url, found)

    async def download(self, url: str, max_bytes: int) -> bytes:
        """Download a file from Discord's CDN; other hosts are refused, and the token is not sent.

        Raises:
            Permanent: it is larger than `max_bytes`, gone, or elsewhere.
            Retryable: the CDN does not deliver it now.
        """
        host = urlsplit(url).netloc
        if host not in OFFICIAL_CDN and (self.config.official or host != urlsplit(self.config.api_base).netloc):
            raise Permanent("the file is not on Discord's CDN")
        return await download(self._own_session(), url, max_bytes)

    async def connect(self, url: str) -> aiohttp.ClientWebSocketResponse:
        """Open a WebSocket to the gateway at this address."""
        address = yarl.URL(url).with_query(QUERY)
        return await self._own_session().ws_connect(address, max_msg_size=MAX_ANSWER_BYTES, autoclose=False)

    def _own_session(self) -> aiohttp.ClientSession:
        if self._closed:
            raise Retryable("the channel is closed")
        if self._session is None:
            timeout, traces = aiohttp.ClientTimeout(total=self.config.call_timeout_s), aiohttp.TraceConfig()
            traces.on_request_redirect.append(refuse_redirect)
            self._session = aiohttp.ClientSession(timeout=timeout, trace_configs=[traces])
        return self._session

    async def aclose(self) -> None:
        self._closed = True
        if self._http is not None:
            await self._http.close()
        if self._session is not None:
            await self._session.close()


def _options(
    body: JsonObject | list[JsonValue] | None, files: Sequence[File], mimes: Sequence[str], query: Mapping[str, str]
) -> _Options:
    """Return a call's body, files and query."""
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


_ENDS = (
    RateLimited,
    LimitUnusable,
    LoginFailure,
    HTTPException,
    RedirectRefused,
    ServerTrouble,
    TimeoutError,
    aiohttp.ClientError,
    OSError,
    RuntimeError,  # RuntimeError: closed while waiting
    ValueError,
    TypeError,
    LookupError,
    AttributeError,  # the library's errors for malformed answers
)
"""Exceptions that end a call without a result."""


def _to_error(error: Exception, seen: CallTrace) -> ChannelError | ApiRefusal:
    """Return the error for an exception that ended a call."""
    match error:
        case RateLimited() | LimitUnusable():
            return Retryable("a rate limit", retry_after_s=getattr(error, "retry_after", seen.retry_after_s))
        case LoginFailure() if seen.of_discord:
            return ApiRefusal(401, "", "the token is refused")
        case LoginFailure() | RedirectRefused():
            return to_foreign_error("Discord", 401 if isinstance(error, LoginFailure) else 302)
        case HTTPException():
            return _refusal(error, seen)
        case ServerTrouble():
            return Unknown(str(error))
        case TimeoutError():
            return _late(seen)
        case aiohttp.ClientError() | OSError() | RuntimeError():
            return to_transport_error(error, f"{type(error).__name__}: {error}")
    return Unknown(f"an answer that cannot be read ({type(error).__name__})")


def _refusal(error: HTTPException, seen: CallTrace) -> ChannelError | ApiRefusal:
    """Return the error for a refused call. A 429 without Discord's own body is Cloudflare's."""
    if error.status == 429:
        return Retryable("429, a ban for too many requests", retry_after_s=seen.retry_after_s or 60.0)
    if error.status < 300 or not seen.of_discord:
        return to_foreign_error("Discord", error.status)
    code, words = str(whole_of(error.code) or ""), words_of(error.text, 300)
    # The library begins the words of an answer without a code with its status.
    return ApiRefusal(error.status, code, f"{words} ({code})" if code else words.partition(": ")[2] or words)


def _late(seen: CallTrace) -> ChannelError:
    """Return the error for a timeout; a call that waited for a rate limit was not made."""
    if seen.in_flight:
        return Unknown("no answer in time")
    return Retryable("it would have waited too long", retry_after_s=seen.retry_after_s)
