"""One Telegram bot account as a channel. `polling` and `webhook` receive, `wire` makes calls, `payloads` builds them,
`error_mapping` explains refusals.

No retry, no splitting and no pacing live here; a call is made once and ends in a receipt or one of three errors.
"""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from pydantic import JsonValue

from channels.base import ChannelConnection, HttpRoute, Menus, Reaction, Renderer
from channels.chat.refusals import ApiRefusal
from channels.clocks import Clock, Sleep, steady_now
from channels.errors import Unknown
from channels.foreign import JsonObject, whole_of
from channels.messages import Address, Attachment, OutboundPart, Receipt, Rendered
from channels.telegram.config import TelegramAccount
from channels.telegram.error_mapping import NOT_MODIFIED, REFUSALS
from channels.telegram.files import fetch_file
from channels.telegram.limits import DRAFT_LASTS_S, MAX_UPLOAD_BYTES, RICH_HINTS, TELEGRAM_LIMITS
from channels.telegram.payloads import ApiCall, to_draft_call, to_edit_call, to_send_call
from channels.telegram.polling import PollPace, UpdatePoller
from channels.telegram.render import TelegramRenderer
from channels.telegram.rich import RichTelegramRenderer
from channels.telegram.translate import CHANNEL
from channels.telegram.webhook import WebhookReceiver, WebhookWatch
from channels.telegram.wire import TelegramWire

REACTIONS: Mapping[Reaction, str] = {
    Reaction.WORKING: "✍",
    Reaction.QUEUED: "👀",
    Reaction.STEERED: "👌",
    Reaction.REFUSED: "🤷",
}
"""Emoji for our reactions, from those a bot may set (core.telegram.org/bots/api#reactiontypeemoji, read 2026-09)."""


class TelegramChannel:
    """One Telegram bot: receives by polling or webhook, sends and edits with buttons and files, fetches files, reacts,
    shows typing and drafts, deletes, sets menus.
    """

    name = CHANNEL
    max_media_bytes = MAX_UPLOAD_BYTES
    draft_lasts_s = DRAFT_LASTS_S

    def __init__(
        self,
        config: TelegramAccount,
        *,
        sleep: Sleep = asyncio.sleep,
        clock: Clock = steady_now,
        now_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self.account = config.name
        self.limits = replace(TELEGRAM_LIMITS, hints=RICH_HINTS) if config.rich else TELEGRAM_LIMITS
        self.renderer: Renderer = RichTelegramRenderer() if config.rich else TelegramRenderer()
        self._config = config
        self._wire = TelegramWire(config)
        self._sleep = sleep
        self._clock = clock
        self._now_s = now_s
        self._webhook = WebhookReceiver(config, self._wire, sleep=sleep, clock=clock)

    def __repr__(self) -> str:
        return f"TelegramChannel({self.account!r})"

    async def connections(self) -> Sequence[ChannelConnection]:
        """Return the poller, or the webhook receiver and the watch over the webhook."""
        if self._config.mode == "polling":
            pace = PollPace(self._config.poll_timeout_s, self._now_s)
            return (UpdatePoller(self._config, self._wire, pace, sleep=self._sleep, clock=self._clock),)
        watch = WebhookWatch(self._config, self._wire, self._webhook.opened, sleep=self._sleep, clock=self._clock)
        return self._webhook, watch

    async def aclose(self) -> None:
        """Close the connections after `run` has ended."""
        await self._wire.aclose()

    def http_routes(self) -> Sequence[HttpRoute]:
        """Return the route for Telegram's updates; none in polling mode."""
        if self._config.mode != "webhook":
            return ()
        return (HttpRoute("POST", self._config.webhook_path, self._webhook.handle),)

    async def send(self, part: OutboundPart) -> Receipt:
        """Send one part: one message, or one album, whose receipt is its first message.

        Raises:
            Retryable, Permanent, Unknown: see `channels.errors`. A cancelled send may have happened.
        """
        outgoing = to_send_call(part)
        sent = await self._make(outgoing)
        first = sent[0] if isinstance(sent, list) and sent else sent
        message_id = whole_of(first.get("message_id")) if isinstance(first, dict) else None
        if message_id is None:
            raise Unknown(f"{outgoing.method} was answered without a message")
        return Receipt(str(message_id))

    async def edit(self, part: OutboundPart, platform_id: str) -> Receipt:
        """Replace the text and buttons of our message; succeed if it already says this.

        Raises:
            Retryable, Permanent, Unknown: see `channels.errors`; TARGET_GONE if the message was deleted.
        """
        await self._make(to_edit_call(part, platform_id), unchanged_is_done=True)
        return Receipt(platform_id)

    async def close_buttons(self, address: Address, message_id: str) -> None:
        """Remove the buttons of our message."""
        body: JsonObject = {"chat_id": address.chat, "message_id": int(message_id)}
        await self._make(ApiCall("editMessageReplyMarkup", body), unchanged_is_done=True)

    def drafts_in(self, address: Address) -> bool:
        """Return True if live answers are drafts here: `live = "draft"`, and the chat is private."""
        return self._config.live == "draft" and not address.chat.startswith("-")

    async def draft(self, address: Address, draft_id: int, rendered: Rendered) -> None:
        """Show the answer so far for 30 s, until the next message replaces it."""
        await self._make(to_draft_call(address, draft_id, rendered))

    async def fetch(self, attachment: Attachment, max_bytes: int) -> bytes:
        """Return the content of an attachment.

        Raises:
            Permanent: it is too large, or gone.
            Retryable: Telegram does not deliver it now.
        """
        return await fetch_file(self._wire, self._config, attachment, max_bytes)

    async def show_typing(self, address: Address) -> None:
        """Show "typing" for 5 s."""
        body: JsonObject = {"chat_id": address.chat, "action": "typing"}
        if address.thread is not None:
            body["message_thread_id"] = int(address.thread)
        await self._make(ApiCall("sendChatAction", body))

    async def react(self, address: Address, message_id: str, reaction: Reaction | None) -> None:
        """Set our reaction, or clear it."""
        shown: list[JsonValue] = [] if reaction is None else [{"type": "emoji", "emoji": REACTIONS[reaction]}]
        body: JsonObject = {"chat_id": address.chat, "message_id": int(message_id), "reaction": shown}
        await self._make(ApiCall("setMessageReaction", body))

    async def delete(self, address: Address, message_id: str) -> None:
        """Delete a message; Telegram allows it for 48 h."""
        await self._make(ApiCall("deleteMessage", {"chat_id": address.chat, "message_id": int(message_id)}))

    async def set_commands(self, menus: Menus) -> None:
        """Set the command menu of each language; "" stands for all other languages."""
        for language, menu in menus.items():
            commands: list[JsonValue] = [
                {"command": spec.name, "description": spec.summary} for spec in menu if not spec.talks
            ]
            body: JsonObject = {"commands": commands}
            if language:
                body["language_code"] = language
            await self._make(ApiCall("setMyCommands", body))

    async def invite_link(self, code: str) -> str | None:
        """Return Telegram's deep link, which opens the chat and sends `/start CODE` when the person presses START.

        Raises:
            Retryable, Permanent, Unknown: see `channels.errors`.
        """
        me = await self._make(ApiCall("getMe", {}))
        name = me.get("username") if isinstance(me, dict) else None
        return f"https://t.me/{name}?start={code}" if isinstance(name, str) else None

    async def _make(self, call: ApiCall, *, unchanged_is_done: bool = False) -> JsonValue:
        """Make one call; raise a refusal as one of the three kinds of error."""
        timeout_s = self._config.file_timeout_s if call.files else self._config.call_timeout_s
        try:
            return await self._wire.call(call.method, call.body, timeout_s=timeout_s, files=call.files)
        except ApiRefusal as refusal:
            if unchanged_is_done and refusal.code == NOT_MODIFIED:
                return None
            raise REFUSALS.to_channel_error(refusal) from None
