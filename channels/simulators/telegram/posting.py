"""Every call that puts a message into a chat obeys the same rules: where it may go, what hangs under it, how fast.

Error texts are those of tdlib/telegram-bot-api (2026-09).
"""

import time
from dataclasses import replace

from channels.simulators.telegram.checks import JsonObject, Refusal
from channels.simulators.telegram.params import Params
from channels.simulators.telegram.state import Bot, Chat, Keyboard, ShownMessage

MAX_CALLBACK_BYTES = 64


class Poster:
    """Lets a bot's messages appear."""

    def __init__(self, *, per_chat_per_s: float | None) -> None:
        """`per_chat_per_s` makes sends to one chat that come faster end in a 429; None lets all pass."""
        self._per_chat_per_s = per_chat_per_s

    def post(self, bot: Bot, params: Params, *says: ShownMessage) -> tuple[Chat, list[ShownMessage]]:
        """Let messages appear in the call's chat; `says` hold what they say, the rest is filled in here.

        Raises:
            Refusal: none appeared.
        """
        chat = writable(bot, params)
        thread = params.integer("message_thread_id")
        if thread is not None and thread not in chat.threads:
            raise Refusal(400, "Bad Request: message thread not found")
        reply_to, keyboard = reply_target(chat, params), keyboard_of(params)
        self._pace(chat)
        posted = [
            replace(
                message,
                message_id=bot.next_message_id(chat),
                chat_id=chat.id,
                sender_id=bot.id,
                reply_to=reply_to,
                thread=thread,
                silent=params.flag("disable_notification"),
                keyboard=keyboard,
            )
            for message in says
        ]
        chat.messages |= {message.message_id: message for message in posted}
        chat.drafts.clear()
        return chat, posted

    def _pace(self, chat: Chat) -> None:
        """With limits on: a burst of three passes, then the rate holds."""
        if self._per_chat_per_s is None:
            return
        gap_s = 1 / self._per_chat_per_s
        now_s = time.monotonic()
        wait_s = chat.next_send_s - now_s - 2 * gap_s
        if wait_s > 0:
            seconds = int(wait_s) + 1
            raise Refusal(429, f"Too Many Requests: retry after {seconds}", {"retry_after": seconds})
        chat.next_send_s = max(chat.next_send_s, now_s) + gap_s


def saying(text: str, entities: tuple[JsonObject, ...] = ()) -> ShownMessage:
    """A message that is not in a chat yet."""
    return ShownMessage(
        message_id=0, chat_id=0, sender_id=0, by_bot=True, text=text, date=int(time.time()), at_s=time.monotonic(),
        entities=entities,
    )  # fmt: skip


def writable(bot: Bot, params: Params) -> Chat:
    """The chat a call is for, where the bot may write.

    Raises:
        Refusal: there is none.
    """
    chat_id = params.integer("chat_id")
    if chat_id is None:
        raise Refusal(400, "Bad Request: chat_id is empty")
    chat = bot.chat(chat_id)
    if chat.moved_to is not None:
        raise Refusal(
            400,
            "Bad Request: group chat was upgraded to a supergroup chat",
            {"migrate_to_chat_id": chat.moved_to},
        )
    if chat.blocked:
        private = chat.kind == "private"
        who = "bot was blocked by the user" if private else "bot was kicked from the group chat"
        raise Refusal(403, f"Forbidden: {who}")
    return chat


def reply_target(chat: Chat, params: Params) -> int | None:
    """The message replied to; None when there is none and the caller can do without."""
    reply = params.mapping("reply_parameters")
    target = reply.get("message_id", params.integer("reply_to_message_id"))
    if not isinstance(target, int):
        return None
    message = chat.messages.get(target)
    if message is not None and not message.deleted:
        return target
    if reply.get("allow_sending_without_reply") is True or params.flag("allow_sending_without_reply"):
        return None
    raise Refusal(400, "Bad Request: message to be replied not found")


def keyboard_of(params: Params) -> Keyboard:
    """The inline keyboard of a call.

    Raises:
        Refusal: Telegram would not take it.
    """
    rows = params.mapping("reply_markup").get("inline_keyboard")
    if not isinstance(rows, list):
        return ()
    return tuple(tuple(_key(key) for key in row) for row in rows if isinstance(row, list) and row)


def _key(key: object) -> JsonObject:
    if not isinstance(key, dict) or not isinstance(key.get("text"), str):
        raise Refusal(400, "Bad Request: can't parse inline keyboard button: Can't find field \"text\"")
    data = key.get("callback_data")
    if not isinstance(data, str):
        raise Refusal(400, "Bad Request: can't parse inline keyboard button: Text buttons are unallowed in it")
    if not key["text"].strip():
        raise Refusal(400, "Bad Request: can't parse inline keyboard button: Text must be non-empty")
    if not 1 <= len(data.encode("utf-8", "surrogatepass")) <= MAX_CALLBACK_BYTES:
        raise Refusal(400, "Bad Request: BUTTON_DATA_INVALID")
    return key
