"""Bot API calls through aiogram's session, with raw JSON in and out. What the answers mean is decided in `failures`.

aiogram's own methods build, dump and parse a model a call; here a call is one JSON body and an answer stays JSON.
"""

import json
from typing import ClassVar

import orjson
from aiohttp import ClientTimeout
from aiohttp.payload import BytesPayload
from pydantic import JsonValue

from channels.errors import ChannelError, Unknown
from channels.telegram.config import TelegramAccount
from channels.telegram.failures import ApiRefusal, unanswered
from channels.telegram.light_import import load_aiogram

load_aiogram()  # before the imports below, which would import it the slow way

from aiogram import Bot  # noqa: E402  see load_aiogram
from aiogram.client.session.aiohttp import AiohttpSession  # noqa: E402  see load_aiogram
from aiogram.client.telegram import TelegramAPIServer  # noqa: E402  see load_aiogram
from aiogram.exceptions import TelegramNetworkError  # noqa: E402  see load_aiogram
from aiogram.methods.base import Response, TelegramMethod, TelegramType  # noqa: E402  see load_aiogram

JsonObject = dict[str, JsonValue]


class Call(TelegramMethod[JsonValue]):
    """One method call: the subclass names the method, `body` holds its parameters as they go out."""

    __returning__ = object

    body: JsonObject


class GetMe(Call):
    """Who the token belongs to."""

    __api_method__ = "getMe"


class GetUpdates(Call):
    """The next updates; confirms all before `offset`."""

    __api_method__ = "getUpdates"


class SendMessage(Call):
    """A new message."""

    __api_method__ = "sendMessage"


class EditMessageText(Call):
    """Another text for our message."""

    __api_method__ = "editMessageText"


class DeleteMessage(Call):
    """Take a message away."""

    __api_method__ = "deleteMessage"


class SendChatAction(Call):
    """A busy sign for 5 s."""

    __api_method__ = "sendChatAction"


class SetMessageReaction(Call):
    """Our reaction on a message."""

    __api_method__ = "setMessageReaction"


class SetMyCommands(Call):
    """The menu of commands in one language."""

    __api_method__ = "setMyCommands"


class _RawSession(AiohttpSession):
    """aiogram's session, sending JSON bodies and leaving answers as they are."""

    def build_form_data(  # type: ignore[override]  # the Bot API takes JSON bodies as well as forms
        self, bot: Bot, method: TelegramMethod[TelegramType]
    ) -> BytesPayload:
        """The body of a call."""
        assert isinstance(method, Call), "only our own calls go through this session"
        return BytesPayload(_encoded(method.body), content_type="application/json")

    def check_response(
        self, bot: Bot, method: TelegramMethod[TelegramType], status_code: int, content: str
    ) -> Response[TelegramType]:
        """The answer's result, as JSON.

        Raises:
            ApiRefusal: the Bot API says no.
            Unknown: this is not an answer of the Bot API's.
        """
        answer = _decoded(content)
        if not isinstance(answer, dict) or not isinstance(answer.get("ok"), bool):
            raise Unknown(f"HTTP {status_code} and no Bot API answer")
        if answer["ok"] and status_code < 300:
            return Response.model_construct(ok=True, result=answer.get("result"))
        parameters = answer.get("parameters")
        wait_s = parameters.get("retry_after") if isinstance(parameters, dict) else None
        raise ApiRefusal(
            status_code,
            str(answer.get("description") or "no description"),
            float(wait_s) if isinstance(wait_s, (int, float)) else None,
        )


def _encoded(body: JsonObject) -> bytes:
    """JSON; what is no Unicode goes out escaped, so that the Bot API itself refuses it."""
    try:
        return orjson.dumps(body)
    except TypeError:
        return json.dumps(body).encode()


def _decoded(content: str) -> JsonValue:
    """JSON; None when it is none. Lone surrogates in it, which orjson refuses, survive."""
    try:
        decoded: JsonValue = orjson.loads(content)
    except orjson.JSONDecodeError:
        try:
            decoded = json.loads(content)
        except (ValueError, RecursionError):
            return None
    return decoded


class TelegramWire:
    """Makes calls for one bot, over one session with kept connections. Its errors never hold the token."""

    _shown: ClassVar[str] = "<token>"

    def __init__(self, config: TelegramAccount) -> None:
        """Nothing is connected yet."""
        self._config = config
        self._session = _RawSession(api=TelegramAPIServer.from_base(config.api_base))
        self._bot = Bot(config.token.get_secret_value(), session=self._session)

    def __repr__(self) -> str:
        return f"TelegramWire({self._config.api_base!r})"

    async def call(self, kind: type[Call], body: JsonObject, *, timeout_s: float) -> JsonValue:
        """One call and its result.

        Raises:
            ApiRefusal: it was answered, and not done.
            Retryable: no connection came about.
            Unknown: no answer, or none that can be read.
        """
        connect_s = min(self._config.connect_timeout_s, timeout_s)
        timeout = ClientTimeout(total=timeout_s, connect=connect_s)
        failure: ChannelError | ApiRefusal
        try:
            return await self._session.make_request(
                self._bot,
                kind(body=body),
                timeout,  # type: ignore[arg-type]  # handed to aiohttp as it is
            )
        except TelegramNetworkError as error:
            seen = f"{type(error.__cause__).__name__}: {error.__cause__}"
            failure = unanswered(error.__cause__, self._scrubbed(seen))
        except UnicodeDecodeError:
            failure = Unknown("an answer that is no text")
        except ApiRefusal as refusal:
            failure = ApiRefusal(refusal.status, self._scrubbed(refusal.description), refusal.retry_after_s)
        raise failure  # outside the handler: what was caught may hold the URL, and with it the token

    def _scrubbed(self, text: str) -> str:
        return text.replace(self._config.token.get_secret_value(), self._shown)

    async def aclose(self) -> None:
        """Close the connections."""
        session = await self._session.create_session()
        await session.close()  # aiogram's own close waits 250 ms for TLS goodbyes that nobody needs
