"""Bot API calls through aiogram's session, with raw JSON in and out; `error_mapping` explains refusals.

aiogram's own methods build, dump and parse a model for each call. Here a call is one JSON body, its answer JSON.
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

_REDACTED = "<token>"

BACKOFF = Backoff((1.0, 2.0, 4.0, 5.0))  # between failed calls


def _to_payload(body: JsonObject, files: Sequence[Upload]) -> BytesPayload | FormData:
    """Return the body of a call: JSON, or a form if it carries files."""
    if not files:
        return BytesPayload(_encode(body), content_type="application/json")
    form = FormData(quote_fields=False)
    for name, value in body.items():
        form.add_field(name, value if isinstance(value, str) else _encode(value).decode())
    for file in files:
        # Written in pieces: one large write would block the loop.
        form.add_field(file.field, io.BytesIO(file.content), filename=file.name, content_type=file.mime)
    return form


def _to_result(answer: ClientResponse, content: bytes, token: str) -> JsonValue:
    """Return the result in an answer of the Bot API.

    Raises:
        ApiRefusal: the call was refused.
        Retryable, Unknown: the answer is not the Bot API's.
    """
    parsed = decode_json(content.decode(errors="replace"))  # JSON is UTF-8, whatever a header says
    if not is_answer(parsed):
        wait_s = wait_of(answer.headers.get("Retry-After"), wall_now()) if answer.status == 429 else None
        raise to_foreign_error("the Bot API", answer.status, wait_s)
    if parsed["ok"] and answer.status < 300:
        return parsed.get("result")
    raise _refusal(answer.status, parsed, token)


def is_answer(answer: JsonValue) -> TypeGuard[JsonObject]:
    """Return True if the answer has the Bot API's shape."""
    return isinstance(answer, dict) and isinstance(answer.get("ok"), bool)


def _refusal(status: int, answer: Mapping[str, JsonValue], token: str) -> ApiRefusal:
    parameters = answer.get("parameters")
    more = parameters if isinstance(parameters, dict) else {}
    moved_to = whole_of(more.get("migrate_to_chat_id"), -MOST_ID)
    description = words_of(answer.get("description") or "no description").replace(token, _REDACTED)
    return ApiRefusal(
        status,
        code_of(description),
        description,
        retry_after_s=seconds_of(more.get("retry_after")),
        moved_to=None if moved_to is None else str(moved_to),
    )


def _encode(value: JsonValue) -> bytes:
    """Encode as JSON; lone surrogates go out escaped, so that the Bot API itself refuses them."""
    try:
        return orjson.dumps(value)
    except TypeError:
        return json.dumps(value).encode()


class TelegramWire:
    """Calls of one bot, over one session with persistent connections. Errors never hold the token."""

    def __init__(self, config: TelegramAccount) -> None:
        self._config = config
        self._token = config.token.get_secret_value()
        self._session = AiohttpSession(api=TelegramAPIServer.from_base(config.api_base))

    def __repr__(self) -> str:
        return f"TelegramWire({self._config.api_base!r})"

    async def call(self, method: str, body: JsonObject, *, timeout_s: float, files: Sequence[Upload] = ()) -> JsonValue:
        """Make one call and return its result; `method` as the Bot API spells it.

        Raises:
            ApiRefusal: Telegram refused the call.
            Retryable: no connection, or a proxy refused the call.
            Unknown: no answer, or an unreadable one.
        """
        try:
            session = await self._session.create_session()
            url = self._session.api.api_url(token=self._token, method=method)
            payload, timeout = _to_payload(body, files), self._timeout(timeout_s)
            # A redirect would send the message to another host.
            answer = await session.post(url, data=payload, timeout=timeout, allow_redirects=False)
            return _to_result(answer, await whole(answer), self._token)
        except (TimeoutError, ClientError) as error:
            failure = self._transport_error(error)
        raise failure  # outside the handler: the caught exception may hold the URL with the token

    async def download(self, path: str, max_bytes: int, *, timeout_s: float) -> bytes:
        """Download a file by its path from getFile.

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
        return text.replace(self._token, _REDACTED)

    async def aclose(self) -> None:
        session = await self._session.create_session()
        await session.close()  # aiogram's own close waits 250 ms for TLS shutdowns, which are not needed


class BotApiCaller:
    """Retries the calls that receiving needs until Telegram answers them."""

    def __init__(
        self,
        config: TelegramAccount,
        wire: TelegramWire,
        sink: Sink,
        sleep: Sleep,
        explain: Callable[[ApiRefusal], str],
    ) -> None:
        """`explain` returns the meaning of a refusal and what the operator can do."""
        self._account = config.name
        self._wire = wire
        self._explain = explain
        self._caller = PersistentCaller(config.name, sink, sleep, BACKOFF, "telegram_call_failed")
        self.report_and_wait = self._caller.report_and_wait

    async def call_until_ok(self, method: str, body: JsonObject, *, timeout_s: float, patience: int) -> JsonValue:
        """Call until it succeeds; `patience` is the number of consecutive refusals of the token that end it.

        Raises:
            ConfigRefused: Telegram refuses the token; health is already FAILED.
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
