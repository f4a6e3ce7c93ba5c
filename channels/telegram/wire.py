"""Bot API calls through aiogram's session, with raw JSON in and out. What the answers mean is decided in
`error_mapping`.

aiogram's own methods build, dump and parse a model a call; here a call is one JSON body and an answer stays JSON.
"""

import io
import json
from collections.abc import Callable, Mapping, Sequence
from typing import TypeGuard

import orjson
from aiohttp import ClientError, ClientResponse, ClientTimeout, FormData
from aiohttp.payload import BytesPayload
from pydantic import JsonValue

from channels.base import Sink
from channels.chat.downloads import download
from channels.chat.http_answers import to_foreign_error, to_transport_error, whole
from channels.chat.refusals import ApiRefusal
from channels.chat.retrying import Backoff, CallFailure, PersistentCaller
from channels.clocks import Sleep, wall_now
from channels.errors import ChannelError, ConfigRefused, Retryable
from channels.foreign import MOST_ID, JsonObject, decode_json, seconds_of, wait_of, whole_of, words_of
from channels.telegram.config import TelegramAccount
from channels.telegram.error_mapping import code_of
from channels.telegram.library import load_aiogram
from channels.telegram.payloads import Upload

load_aiogram()  # before the imports below, which would import it the slow way

from aiogram.client.session.aiohttp import AiohttpSession  # noqa: E402  see load_aiogram
from aiogram.client.telegram import TelegramAPIServer  # noqa: E402  see load_aiogram

_SHOWN = "<token>"

BACKOFF = Backoff((1.0, 2.0, 4.0, 5.0))  # between calls that went wrong


def _to_payload(body: JsonObject, files: Sequence[Upload]) -> BytesPayload | FormData:
    """The body of a call: the Bot API takes JSON as well as forms; a form where files go with it."""
    if not files:
        return BytesPayload(_encode(body), content_type="application/json")
    form = FormData(quote_fields=False)
    for name, value in body.items():
        form.add_field(name, value if isinstance(value, str) else _encode(value).decode())
    for file in files:
        # Written piece by piece: bytes at once would hold up the loop.
        form.add_field(file.field, io.BytesIO(file.content), filename=file.name, content_type=file.mime)
    return form


def _to_result(answer: ClientResponse, content: bytes, token: str) -> JsonValue:
    """What the Bot API says.

    Raises:
        ApiRefusal: it says no.
        Retryable, Unknown: this is not an answer of the Bot API's.
    """
    told = decode_json(content.decode(errors="replace"))  # JSON is UTF-8, whatever a header says
    if not is_answer(told):
        wait_s = wait_of(answer.headers.get("Retry-After"), wall_now()) if answer.status == 429 else None
        raise to_foreign_error("the Bot API", answer.status, wait_s)
    if told["ok"] and answer.status < 300:
        return told.get("result")
    raise _refusal(answer.status, told, token)


def is_answer(answer: JsonValue) -> TypeGuard[JsonObject]:
    """Whether this is the Bot API's own."""
    return isinstance(answer, dict) and isinstance(answer.get("ok"), bool)


def _refusal(status: int, answer: Mapping[str, JsonValue], token: str) -> ApiRefusal:
    parameters = answer.get("parameters")
    more = parameters if isinstance(parameters, dict) else {}
    moved_to = whole_of(more.get("migrate_to_chat_id"), -MOST_ID)
    description = words_of(answer.get("description") or "no description").replace(token, _SHOWN)
    return ApiRefusal(
        status,
        code_of(description),
        description,
        retry_after_s=seconds_of(more.get("retry_after")),
        moved_to=None if moved_to is None else str(moved_to),
    )


def _encode(value: JsonValue) -> bytes:
    """JSON; what is no Unicode goes out escaped, so that the Bot API itself refuses it."""
    try:
        return orjson.dumps(value)
    except TypeError:
        return json.dumps(value).encode()


class TelegramWire:
    """Makes calls for one bot, over one session with kept connections. Its errors never hold the token."""

    def __init__(self, config: TelegramAccount) -> None:
        """Nothing is connected yet."""
        self._config = config
        self._token = config.token.get_secret_value()
        self._session = AiohttpSession(api=TelegramAPIServer.from_base(config.api_base))

    def __repr__(self) -> str:
        return f"TelegramWire({self._config.api_base!r})"

    async def call(self, method: str, body: JsonObject, *, timeout_s: float, files: Sequence[Upload] = ()) -> JsonValue:
        """One call and its result; `method` as the Bot API spells it.

        Raises:
            ApiRefusal: it was answered, and not done.
            Retryable: no connection came about, or something else than Telegram refused it.
            Unknown: no answer, or none that can be read.
        """
        try:
            session = await self._session.create_session()
            url = self._session.api.api_url(token=self._token, method=method)
            payload, timeout = _to_payload(body, files), self._timeout(timeout_s)
            # A redirect would carry what is said to wherever it points (A89).
            answer = await session.post(url, data=payload, timeout=timeout, allow_redirects=False)
            return _to_result(answer, await whole(answer), self._token)
        except (TimeoutError, ClientError) as error:
            failure = self._transport_error(error)
        raise failure  # outside the handler: what was caught may hold the URL, and with it the token

    async def download(self, path: str, max_bytes: int, *, timeout_s: float) -> bytes:
        """Fetch the content of a file that getFile gave the path of.

        Raises:
            Permanent, Retryable: see `channels.chat.downloads`.
        """
        session = await self._session.create_session()
        url = self._session.api.file_url(self._token, path)
        return await download(session, url, max_bytes, timeout=self._timeout(timeout_s))

    def _timeout(self, timeout_s: float) -> ClientTimeout:
        return ClientTimeout(total=timeout_s, connect=min(self._config.connect_timeout_s, timeout_s))

    def _transport_error(self, cause: BaseException | None) -> ChannelError:
        return to_transport_error(cause, self._without_token(f"{type(cause).__name__}: {cause}"))

    def _without_token(self, text: str) -> str:
        return text.replace(self._token, _SHOWN)

    async def aclose(self) -> None:
        """Close the connections."""
        session = await self._session.create_session()
        await session.close()  # aiogram's own close waits 250 ms for TLS goodbyes that nobody needs


class BotApiCaller:
    """Makes the calls that one way of receiving cannot do without, until Telegram answers them well."""

    def __init__(
        self,
        config: TelegramAccount,
        wire: TelegramWire,
        sink: Sink,
        sleep: Sleep,
        explain: Callable[[ApiRefusal], str],
    ) -> None:
        """`explain` says what a refusal means and what the operator can do."""
        self._account = config.name
        self._wire = wire
        self._explain = explain
        self._caller = PersistentCaller(config.name, sink, sleep, BACKOFF, "telegram_call_failed")
        self.report_and_wait = self._caller.report_and_wait

    async def call_until_ok(self, method: str, body: JsonObject, *, timeout_s: float, patience: int) -> JsonValue:
        """Call until it is answered well; `patience` is how many refusals of the token in a row are taken.

        Raises:
            ConfigRefused: Telegram refuses the token; health was told.
        """
        return await self._caller.call_until_ok(
            lambda: self._wire.call(method, body, timeout_s=timeout_s),
            self._to_failure,
            (ApiRefusal, ChannelError),
            patience=patience,
        )

    def _to_failure(self, error: Exception) -> CallFailure:
        if isinstance(error, ApiRefusal):
            fatal = self._token_refused(error) if error.status in (401, 404) else None
            return CallFailure(self._explain(error), error.retry_after_s, fatal)
        if isinstance(error, Retryable):
            return CallFailure(f"Telegram cannot be reached: {error}", error.retry_after_s)
        return CallFailure(f"Telegram does not answer: {error}")

    def _token_refused(self, refusal: ApiRefusal) -> ConfigRefused:
        return ConfigRefused(
            f"Telegram refuses the token of account {self._account!r} ({refusal.status} {refusal.words}):"
            " put the one @BotFather shows into the configuration, then restart"
        )
