"""`TelegramChannel`: one bot account as a channel. Receiving is in `polling`, calls in `wire`, meaning in `failures`.

No retry, no splitting and no pacing live here; a call is made once and ends in a receipt or one of three errors.
"""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from pydantic import JsonValue

from channels.base import Renderer, Sign, Sink
from channels.errors import Unknown
from channels.messages import Address, OutboundPart, Receipt
from channels.telegram.config import TelegramAccount
from channels.telegram.failures import ApiRefusal, refused
from channels.telegram.limits import TELEGRAM_LIMITS
from channels.telegram.polling import Clock, Pause, UpdatePoller
from channels.telegram.render import TelegramRenderer
from channels.telegram.translate import CHANNEL
from channels.telegram.wire import (
    Call,
    DeleteMessage,
    EditMessageText,
    JsonObject,
    SendChatAction,
    SendMessage,
    SetMessageReaction,
    SetMyCommands,
    TelegramWire,
)

REACTIONS: Mapping[Sign, str] = {
    Sign.WORKING: "✍",
    Sign.QUEUED: "👀",
    Sign.STEERED: "👌",
    Sign.REFUSED: "🤷",
}
"""Our signs as reactions a bot may set (core.telegram.org/bots/api#reactiontypeemoji, read 2026-09)."""


def _utc_now() -> datetime:
    return datetime.now(UTC)


class TelegramChannel:
    """One Telegram bot: receives by long polling, sends, edits, reacts, shows typing, deletes, sets menus."""

    name = CHANNEL
    limits = TELEGRAM_LIMITS

    def __init__(self, config: TelegramAccount, *, pause: Pause = asyncio.sleep, clock: Clock = _utc_now) -> None:
        """Nothing is connected yet. `pause` and `clock` are for tests."""
        self.account = config.name
        self.renderer: Renderer = TelegramRenderer()
        self._config = config
        self._wire = TelegramWire(config)
        self._pause = pause
        self._clock = clock

    def __repr__(self) -> str:
        return f"TelegramChannel({self.account!r})"

    async def run(self, sink: Sink) -> None:
        """Receive until cancelled.

        Raises:
            ConfigRefused: Telegram refuses the token.
        """
        await UpdatePoller(self._config, self._wire, sink, pause=self._pause, clock=self._clock).run()

    async def aclose(self) -> None:
        """Close the connections; `run` has ended before."""
        await self._wire.aclose()

    async def send(self, part: OutboundPart) -> Receipt:
        """Send one message.

        Raises:
            Retryable, Permanent, Unknown: see `channels.errors`. A cancelled send may have happened.
        """
        body = _text_body(part)
        if part.address.thread is not None:
            body["message_thread_id"] = int(part.address.thread)
        if part.reply_to is not None:
            # An answer is worth more than its reference: when the question is deleted, it goes without.
            body["reply_parameters"] = {"message_id": int(part.reply_to), "allow_sending_without_reply": True}
        if part.silent:
            body["disable_notification"] = True
        sent = await self._call(SendMessage, body)
        message_id = sent.get("message_id") if isinstance(sent, dict) else None
        if message_id is None:
            raise Unknown("sendMessage was answered without a message")
        return Receipt(str(message_id))

    async def edit(self, part: OutboundPart, platform_id: str) -> Receipt:
        """Replace the text of our message; what already says this is a success.

        Raises:
            Retryable, Permanent, Unknown: see `channels.errors`; TARGET_GONE when the message is no more.
        """
        await self._call(EditMessageText, _text_body(part) | {"message_id": int(platform_id)}, unchanged_is_done=True)
        return Receipt(platform_id)

    async def show_typing(self, address: Address) -> None:
        """Show "typing" for 5 s."""
        body: JsonObject = {"chat_id": address.chat, "action": "typing"}
        if address.thread is not None:
            body["message_thread_id"] = int(address.thread)
        await self._call(SendChatAction, body)

    async def react(self, address: Address, message_id: str, sign: Sign | None) -> None:
        """Set our reaction, or clear it."""
        reaction: list[JsonValue] = [] if sign is None else [{"type": "emoji", "emoji": REACTIONS[sign]}]
        body: JsonObject = {"chat_id": address.chat, "message_id": int(message_id), "reaction": reaction}
        await self._call(SetMessageReaction, body)

    async def delete(self, address: Address, message_id: str) -> None:
        """Delete a message; Telegram allows it for 48 h."""
        await self._call(DeleteMessage, {"chat_id": address.chat, "message_id": int(message_id)})

    async def set_commands(self, menus: Mapping[str, Sequence[tuple[str, str]]]) -> None:
        """Set the menu of each language; "" is for all that have none of their own."""
        for language, menu in menus.items():
            commands: list[JsonValue] = [{"command": name, "description": text} for name, text in menu]
            body: JsonObject = {"commands": commands}
            if language:
                body["language_code"] = language
            await self._call(SetMyCommands, body)

    async def _call(self, kind: type[Call], body: JsonObject, *, unchanged_is_done: bool = False) -> JsonValue:
        """One call; a refusal becomes one of the three kinds of error."""
        try:
            return await self._wire.call(kind, body, timeout_s=self._config.call_timeout_s)
        except ApiRefusal as refusal:
            if unchanged_is_done and refusal.not_modified:
                return None
            raise refused(refusal) from None


def _text_body(part: OutboundPart) -> JsonObject:
    """What sending and editing share."""
    body: JsonObject = {
        "chat_id": part.address.chat,
        "text": part.rendered.text,
        "link_preview_options": {"is_disabled": True},  # a fetched preview could carry data out (A59)
    }
    if part.rendered.markup is not None:
        body["entities"] = part.rendered.markup  # JSON already; the Bot API takes it as text
    return body
