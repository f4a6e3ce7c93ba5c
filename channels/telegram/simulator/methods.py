"""The Bot API methods a bot calls, over the simulated world; getUpdates waits and lives in `server`.

Error texts are those of tdlib/telegram-bot-api (2026-09). Each method is `(bot, params) -> result` or a Refusal.
"""

import re
import time
from collections.abc import Callable

from pydantic import JsonValue

from channels.telegram.simulator.checks import JsonObject, Refusal, formatted
from channels.telegram.simulator.params import Params
from channels.telegram.simulator.people import as_message, living
from channels.telegram.simulator.state import Bot, Chat, Edit, ShownMessage, World

Method = Callable[[Bot, Params], JsonValue]

_COMMAND_NAME = re.compile(r"[a-z0-9_]{1,32}")
_NOT_MODIFIED = (
    "Bad Request: message is not modified: specified new message content and reply markup are exactly the same"
    " as a current content and reply markup of the message"
)
_EMOJI = """
❤ 👍 👎 🔥 🥰 👏 😁 🤔 🤯 😱 🤬 😢 🎉 🤩 🤮 💩 🙏 👌 🕊 🤡 🥱 🥴 😍 🐳 ❤‍🔥 🌚 🌭 💯 🤣 ⚡ 🍌 🏆 💔 🤨 😐 🍓 🍾 💋 🖕
😈 😴 😭 🤓 👻 👨‍💻 👀 🎃 🙈 😇 😨 🤝 ✍ 🤗 🫡 🎅 🎄 ☃ 💅 🤪 🗿 🆒 💘 🙉 🦄 😘 💊 🙊 😎 👾 🤷‍♂ 🤷 🤷‍♀ 😡
"""
REACTIONS = frozenset(_EMOJI.split())
"""What a bot may react with: the Bot API's ReactionTypeEmoji (10.0)."""


class Methods:
    """Carries out what bots ask for."""

    def __init__(self, world: World, *, per_chat_per_s: float | None) -> None:
        """`per_chat_per_s` makes sends to one chat that come faster end in a 429; None lets all pass."""
        self._world = world
        self._per_chat_per_s = per_chat_per_s
        self._table: dict[str, tuple[str, Method]] = {
            name.lower(): (name, method)
            for name, method in {
                "getMe": self._get_me,
                "sendMessage": self._send_message,
                "editMessageText": self._edit_message_text,
                "deleteMessage": self._delete_message,
                "sendChatAction": self._send_chat_action,
                "setMessageReaction": self._set_message_reaction,
                "setMyCommands": self._set_my_commands,
                "getMyCommands": self._get_my_commands,
                "answerCallbackQuery": self._answer_callback_query,
                "setWebhook": self._set_webhook,
                "deleteWebhook": self._delete_webhook,
                "getWebhookInfo": self._get_webhook_info,
            }.items()
        }

    def name_of(self, method: str) -> str:
        """The Bot API's spelling of a method given in any case.

        Raises:
            Refusal: 404, it is not simulated.
        """
        known = self._table.get(method)
        if known is None:
            raise Refusal(404, "Not Found: method not found")
        return known[0]

    def call(self, bot: Bot, method: str, params: Params) -> JsonValue:
        """Carry out one call; `method` is in lower case.

        Raises:
            Refusal: nothing changed.
        """
        return self._table[method][1](bot, params)

    def _get_me(self, bot: Bot, params: Params) -> JsonValue:
        return {
            **bot.as_user(),
            "can_join_groups": True,
            "can_read_all_group_messages": False,
            "supports_inline_queries": False,
        }

    def _send_message(self, bot: Bot, params: Params) -> JsonValue:
        chat = _writable(bot, params)
        text, entities = _formatted(params)
        reply_to = _reply_target(chat, params)
        thread = params.integer("message_thread_id")
        if thread is not None and thread not in chat.threads:
            raise Refusal(400, "Bad Request: message thread not found")
        self._pace(chat)
        message = ShownMessage(
            message_id=bot.next_message_id(chat),
            chat_id=chat.id,
            sender_id=bot.id,
            by_bot=True,
            text=text,
            date=int(time.time()),
            at_s=time.monotonic(),
            entities=entities,
            reply_to=reply_to,
            thread=thread,
            silent=params.flag("disable_notification"),
            preview=not params.mapping("link_preview_options").get("is_disabled", False),
        )
        chat.messages[message.message_id] = message
        return as_message(self._world, bot, chat, message)

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

    def _edit_message_text(self, bot: Bot, params: Params) -> JsonValue:
        chat = _writable(bot, params)
        message = living(chat, params.integer("message_id"), "message to edit")
        if not message.by_bot:
            raise Refusal(400, "Bad Request: message can't be edited")
        text, entities = _formatted(params)
        if (text, entities) == (message.text, message.entities):
            raise Refusal(400, _NOT_MODIFIED)
        message.edits.append(Edit(text, time.monotonic()))
        message.text, message.entities = text, entities
        return as_message(self._world, bot, chat, message)

    def _delete_message(self, bot: Bot, params: Params) -> JsonValue:
        chat = _writable(bot, params)
        message = living(chat, params.integer("message_id"), "message to delete")
        if not message.by_bot and chat.kind != "private":
            raise Refusal(400, "Bad Request: message can't be deleted")
        message.deleted = True
        return True

    def _send_chat_action(self, bot: Bot, params: Params) -> JsonValue:
        chat = _writable(bot, params)
        action = params.text("action")
        if not action:
            raise Refusal(400, "Bad Request: wrong parameter action in request")
        chat.actions.append((action, time.monotonic()))
        return True

    def _set_message_reaction(self, bot: Bot, params: Params) -> JsonValue:
        chat = _writable(bot, params)
        message = living(chat, params.integer("message_id"), "message to react")
        wanted = params.listing("reaction")
        if len(wanted) > 1:
            raise Refusal(400, "Bad Request: REACTIONS_TOO_MANY")
        message.reactions.pop(bot.id, None)
        for reaction in wanted:
            emoji = reaction.get("emoji") if isinstance(reaction, dict) else None
            if emoji not in REACTIONS:
                raise Refusal(400, "Bad Request: REACTION_INVALID")
            message.reactions[bot.id] = str(emoji)
        return True

    def _set_my_commands(self, bot: Bot, params: Params) -> JsonValue:
        menu = [command for command in params.listing("commands") if isinstance(command, dict)]
        for command in menu:
            if not _COMMAND_NAME.fullmatch(str(command.get("command", ""))):
                raise Refusal(400, "Bad Request: BOT_COMMAND_INVALID")
            if not 1 <= len(str(command.get("description", ""))) <= 256:
                raise Refusal(400, "Bad Request: BOT_COMMAND_DESCRIPTION_INVALID")
        if len(menu) > 100:
            raise Refusal(400, "Bad Request: BOT_COMMANDS_TOO_MUCH")
        bot.commands[params.text("language_code")] = menu
        return True

    def _get_my_commands(self, bot: Bot, params: Params) -> JsonValue:
        return list(bot.commands.get(params.text("language_code"), []))

    def _answer_callback_query(self, bot: Bot, params: Params) -> JsonValue:
        callback_id = params.text("callback_query_id")
        if callback_id not in bot.callbacks:
            raise Refusal(400, "Bad Request: query is too old and response timeout expired or query ID is invalid")
        bot.callbacks[callback_id] = True
        return True

    def _set_webhook(self, bot: Bot, params: Params) -> JsonValue:
        bot.webhook_url = params.text("url")
        return True

    def _delete_webhook(self, bot: Bot, params: Params) -> JsonValue:
        bot.webhook_url = ""
        if params.flag("drop_pending_updates"):
            bot.updates.expire_all()
        return True

    def _get_webhook_info(self, bot: Bot, params: Params) -> JsonValue:
        return {
            "url": bot.webhook_url,
            "has_custom_certificate": False,
            "pending_update_count": len(bot.updates),
        }


def _writable(bot: Bot, params: Params) -> Chat:
    """The chat a call is for, where the bot may write."""
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


def _formatted(params: Params) -> tuple[str, tuple[JsonObject, ...]]:
    """The call's text and entities, as Telegram would take them."""
    if params.text("parse_mode").lower() not in ("", "none"):
        raise Refusal(400, "Bad Request: unsupported parse_mode (the simulator takes entities only)")
    return formatted(params.text("text"), params.json("entities"))


def _reply_target(chat: Chat, params: Params) -> int | None:
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
