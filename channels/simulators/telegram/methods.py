"""The Bot API methods a bot calls, over the simulated world; getUpdates is in `botapi`, webhooks are in `hooks`.

Error texts are those of tdlib/telegram-bot-api (2026-09). Each method is `(bot, params) -> result` or a Refusal.
"""

import re
import time
from collections.abc import Mapping
from dataclasses import replace
from uuid import uuid4

from pydantic import JsonValue

from channels.simulators.shared.world import Edit, File, JsonObject, objects_in
from channels.simulators.telegram.checks import Formatted, Refusal, check_caption, check_text
from channels.simulators.telegram.hooks import HookMethods
from channels.simulators.telegram.params import Params
from channels.simulators.telegram.rich import check_rich_message
from channels.simulators.telegram.state import (
    Bot,
    Draft,
    Keyboard,
    Method,
    ShownMessage,
    TelegramChat,
    TelegramWorld,
)

MAX_CALLBACK_BYTES = 64
MAX_UPLOAD_BYTES = 50_000_000
MAX_PHOTO_BYTES = 10_000_000
MAX_DOWNLOAD_BYTES = 20_000_000

_VOICES = (b"OggS", b"ID3", b"\xff\xfb")
_IMAGES = (b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n", b"RIFF", b"GIF8")
_COMMAND_NAME = re.compile(r"[a-z0-9_]{1,32}")
_NAMED = re.compile(r"(?<![\w`])@[A-Za-z]\w{3,31}")
"""Text that Telegram itself turns into a mention."""
_NOT_MODIFIED = (
    "Bad Request: message is not modified: specified new message content and reply markup are exactly the same"
    " as a current content and reply markup of the message"
)
_EMOJI = """
❤ 👍 👎 🔥 🥰 👏 😁 🤔 🤯 😱 🤬 😢 🎉 🤩 🤮 💩 🙏 👌 🕊 🤡 🥱 🥴 😍 🐳 ❤‍🔥 🌚 🌭 💯 🤣 ⚡ 🍌 🏆 💔 🤨 😐 🍓 🍾 💋 🖕
😈 😴 😭 🤓 👻 👨‍💻 👀 🎃 🙈 😇 😨 🤝 ✍ 🤗 🫡 🎅 🎄 ☃ 💅 🤪 🗿 🆒 💘 🙉 🦄 😘 💊 🙊 😎 👾 🤷‍♂ 🤷 🤷‍♀ 😡
"""
REACTIONS = frozenset(_EMOJI.split())
"""Emoji that a bot may react with: the Bot API's ReactionTypeEmoji (10.0)."""


class Methods:
    """Carries out what bots ask for."""

    def __init__(self, world: TelegramWorld, hooks: HookMethods, *, per_chat_per_s: float | None) -> None:
        """Take the world, the webhooks and a setting of `TelegramSimulator`."""
        self._world = world
        self._per_chat_per_s = per_chat_per_s
        table: Mapping[str, Method] = {
            "getMe": self._get_me,
            "sendMessage": self._send_message,
            "sendRichMessage": self._send_rich_message,
            "sendPhoto": lambda bot, params: self._send_file(bot, params, "photo"),
            "sendVoice": lambda bot, params: self._send_file(bot, params, "voice"),
            "sendDocument": lambda bot, params: self._send_file(bot, params, "document"),
            "sendMediaGroup": self._send_media_group,
            "sendMessageDraft": self._send_draft,
            "sendRichMessageDraft": self._send_rich_draft,
            "editMessageText": self._edit_message_text,
            "editMessageMedia": self._edit_message_media,
            "editMessageReplyMarkup": self._edit_message_reply_markup,
            "deleteMessage": self._delete_message,
            "sendChatAction": self._send_chat_action,
            "setMessageReaction": self._set_message_reaction,
            "setMyCommands": self._set_my_commands,
            "getMyCommands": self._get_my_commands,
            "answerCallbackQuery": self._answer_callback_query,
            "getFile": self._get_file,
            **hooks.table,
        }
        self._table = {name.lower(): (name, method) for name, method in table.items()}

    def find(self, method: str) -> tuple[str, Method]:
        """Return the Bot API's spelling of a method given in lower case, and what carries it out.

        Raises:
            Refusal: 404, it is not simulated.
        """
        if method not in self._table:
            raise Refusal(404, "Not Found: method not found")
        return self._table[method]

    # ------------------------------------------------------------ sending

    def _post(self, bot: Bot, params: Params, *says: ShownMessage) -> list[JsonValue]:
        """Let messages appear in the call's chat; `says` hold what they say, the rest is filled in here.

        Raises:
            Refusal: none appeared.
        """
        chat = _writable(bot, params)
        thread = params.integer("message_thread_id")
        if thread is not None and thread not in chat.threads:
            raise Refusal(400, "Bad Request: message thread not found")
        reply_to, keyboard = _reply_target(chat, params), _keyboard_of(params)
        wait_s = chat.pace(self._per_chat_per_s)
        if wait_s:
            raise Refusal(429, f"Too Many Requests: retry after {wait_s}", {"retry_after": wait_s})
        for message in says:
            message.message_id, message.chat_id = bot.next_message_id(chat), chat.id
            message.reply_to, message.thread, message.keyboard = reply_to, thread, keyboard
            message.silent = params.flag("disable_notification")
            chat.messages[message.message_id] = message
        chat.drafts.clear()
        return [self._world.as_message(bot, chat, message) for message in says]

    def _send_message(self, bot: Bot, params: Params) -> JsonValue:
        _writable(bot, params)
        says = _saying(bot, *_check_text(params))
        says.preview = not params.mapping("link_preview_options").get("is_disabled", False)
        return self._post(bot, params, says)[0]

    def _send_rich_message(self, bot: Bot, params: Params) -> JsonValue:
        _writable(bot, params)
        text, blocks = check_rich_message(params.mapping("rich_message"))
        says = _saying(bot, text)
        says.blocks, says.preview = blocks, False
        return self._post(bot, params, says)[0]

    def _send_file(self, bot: Bot, params: Params, kind: str) -> JsonValue:
        _writable(bot, params)
        _refuse_parse_mode(params)
        says = _saying(bot, *check_caption(params.text("caption"), params.json("caption_entities")))
        says.files = [_keep_file(bot, kind, params.own_file(kind))]
        return self._post(bot, params, says)[0]

    def _send_media_group(self, bot: Bot, params: Params) -> JsonValue:
        _writable(bot, params)
        items = objects_in(params.json("media"))
        kinds = {item.get("type") for item in items}
        if not 2 <= len(items) <= 10:
            raise Refusal(400, "Bad Request: wrong number of messages in an album: must be from 2 to 10")
        if len(kinds) != 1 or not kinds <= {"photo", "document"}:
            raise Refusal(400, "Bad Request: documents can't be mixed with other media types")
        if params.mapping("reply_markup"):
            raise Refusal(400, "Bad Request: reply markup can't be specified for an album")
        album = uuid4().hex
        return self._post(bot, params, *[_item(bot, params, item, album) for item in items])

    def _send_draft(self, bot: Bot, params: Params) -> JsonValue:
        text = params.text("text")
        shown = check_text(text, params.json("entities"))[0] if text else ""
        return self._show_draft(bot, params, shown, rich=False)

    def _send_rich_draft(self, bot: Bot, params: Params) -> JsonValue:
        text, _ = check_rich_message(params.mapping("rich_message"), empty=True)
        return self._show_draft(bot, params, text, rich=True)

    def _show_draft(self, bot: Bot, params: Params, text: str, *, rich: bool) -> JsonValue:
        chat, draft_id = _writable(bot, params), params.integer("draft_id")
        if chat.kind != "private":
            raise Refusal(400, "Bad Request: TEXTDRAFT_PEER_INVALID")
        if not draft_id:
            raise Refusal(400, "Bad Request: draft_id must be non-zero")
        chat.drafts[params.integer("message_thread_id")] = Draft(draft_id, text, rich)
        return True

    def _send_chat_action(self, bot: Bot, params: Params) -> JsonValue:
        chat = _writable(bot, params)
        if not params.text("action"):
            raise Refusal(400, "Bad Request: wrong parameter action in request")
        chat.typing.append(time.monotonic())
        return True

    # ------------------------------------------------------------ changing

    def _own(self, bot: Bot, params: Params) -> tuple[TelegramChat, ShownMessage]:
        """Return the bot's message that is to be edited, and its chat."""
        chat = _writable(bot, params)
        message = chat.living(params.integer("message_id"), "message to edit")
        if not message.by_bot:
            raise Refusal(400, "Bad Request: message can't be edited")
        return chat, message

    def _edit_message_text(self, bot: Bot, params: Params) -> JsonValue:
        chat, message = self._own(bot, params)
        if message.files:
            raise Refusal(400, "Bad Request: there is no text in the message to edit")
        rich, keyboard = params.mapping("rich_message"), _keyboard_of(params)
        blocks: tuple[JsonObject, ...] = ()
        entities: tuple[JsonObject, ...] = ()
        if rich:
            text, blocks = check_rich_message(rich)
        else:
            text, entities = _check_text(params)
        if (text, entities, blocks, keyboard) == (message.text, message.entities, message.blocks, message.keyboard):
            raise Refusal(400, _NOT_MODIFIED)
        message.blocks, message.keyboard = blocks, keyboard
        _rewrite(message, text, entities)
        return self._world.as_message(bot, chat, message)

    def _edit_message_media(self, bot: Bot, params: Params) -> JsonValue:
        chat, message = self._own(bot, params)
        keyboard = _keyboard_of(params)
        says = _item(bot, params, params.mapping("media"), None)
        message.files, message.keyboard, message.blocks = says.files, keyboard, ()
        _rewrite(message, says.text, says.entities or ())
        return self._world.as_message(bot, chat, message)

    def _edit_message_reply_markup(self, bot: Bot, params: Params) -> JsonValue:
        chat, message = self._own(bot, params)
        keyboard = _keyboard_of(params)
        if keyboard == message.keyboard:
            raise Refusal(400, _NOT_MODIFIED)
        message.keyboard = keyboard
        return self._world.as_message(bot, chat, message)

    def _delete_message(self, bot: Bot, params: Params) -> JsonValue:
        chat = _writable(bot, params)
        message = chat.living(params.integer("message_id"), "message to delete")
        if not message.by_bot and chat.kind != "private":
            raise Refusal(400, "Bad Request: message can't be deleted")
        message.deleted = True
        return True

    def _set_message_reaction(self, bot: Bot, params: Params) -> JsonValue:
        message = _writable(bot, params).living(params.integer("message_id"), "message to react")
        wanted = params.listing("reaction")
        if len(wanted) > 1:
            raise Refusal(400, "Bad Request: REACTIONS_TOO_MANY")
        emoji = [str(reaction.get("emoji")) if isinstance(reaction, dict) else "" for reaction in wanted]
        if not REACTIONS.issuperset(emoji):
            raise Refusal(400, "Bad Request: REACTION_INVALID")
        message.react(bot.id, *emoji)
        return True

    # ------------------------------------------------------------ the bot itself

    def _get_me(self, bot: Bot, params: Params) -> JsonValue:
        return {
            **bot.as_user(),
            "can_join_groups": True,
            "can_read_all_group_messages": False,
            "supports_inline_queries": False,
        }

    def _set_my_commands(self, bot: Bot, params: Params) -> JsonValue:
        menu = objects_in(params.json("commands"))
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

    def _get_file(self, bot: Bot, params: Params) -> JsonValue:
        file = bot.files.get(params.text("file_id"))
        if file is None:
            raise Refusal(400, "Bad Request: wrong file_id or the file is temporarily unavailable")
        if file.size > MAX_DOWNLOAD_BYTES:
            raise Refusal(400, "Bad Request: file is too big")
        return {
            "file_id": file.id,
            "file_unique_id": f"u{file.id}",
            "file_size": file.size,
            "file_path": file.path,
        }


def _saying(bot: Bot, text: str, entities: tuple[JsonObject, ...] = ()) -> ShownMessage:
    """Return a message that is not in a chat yet."""
    message = ShownMessage(0, 0, bot.id, by_bot=True, text=text, entities=entities)
    message.pings = _find_pings(text, entities)
    return message


def _rewrite(message: ShownMessage, text: str, entities: tuple[JsonObject, ...]) -> None:
    message.edits.append(Edit(text))
    message.text, message.entities, message.pings = text, entities, _find_pings(text, entities)


def _find_pings(text: str, entities: tuple[JsonObject, ...]) -> tuple[str, ...]:
    named = [str(entity["type"]) for entity in entities if entity["type"] in ("mention", "text_mention")]
    return (*named, *_NAMED.findall(text))


def _check_text(params: Params) -> Formatted:
    """Return the call's text and entities, as Telegram would take them."""
    _refuse_parse_mode(params)
    return check_text(params.text("text"), params.json("entities"))


def _refuse_parse_mode(params: Params) -> None:
    """Refuse a text that Telegram would parse; here only entities are known."""
    if params.text("parse_mode").lower() not in ("", "none"):
        raise Refusal(400, "Bad Request: unsupported parse_mode (the simulator takes entities only)")


def _item(bot: Bot, params: Params, item: JsonObject, album: str | None) -> ShownMessage:
    """Return a message with one file of an album, or with the new file of a message."""
    kind, caption = "photo" if item.get("type") == "photo" else "document", item.get("caption")
    checked = check_caption(caption if isinstance(caption, str) else "", item.get("caption_entities"))
    says = _saying(bot, *checked)
    says.files = [replace(_keep_file(bot, kind, params.file(item.get("media"))), album=album)]
    return says


def _keep_file(bot: Bot, kind: str, file: File | None) -> File:
    """Keep an uploaded file.

    Raises:
        Refusal: Telegram would not take it.
    """
    if file is None or not file.content:
        raise Refusal(400, f"Bad Request: there is no {kind} in the request")
    if len(file.content) > MAX_UPLOAD_BYTES:
        raise Refusal(413, "Request Entity Too Large")
    if kind == "photo" and len(file.content) > MAX_PHOTO_BYTES:
        raise Refusal(400, "Bad Request: file is too big for a photo; the maximum size is 10485760 bytes")
    if kind == "photo" and not file.content.startswith(_IMAGES):
        raise Refusal(400, "Bad Request: IMAGE_PROCESS_FAILED")
    if kind == "voice" and not file.content.startswith(_VOICES):
        kind = "document"  # as Telegram shows what is no Opus, MP3 or M4A
    return bot.keep_file(replace(file, kind=kind))


def _writable(bot: Bot, params: Params) -> TelegramChat:
    """Return the chat a call is for, if the bot may write there.

    Raises:
        Refusal: it may not, or there is none.
    """
    chat_id = params.integer("chat_id")
    if chat_id is None:
        raise Refusal(400, "Bad Request: chat_id is empty")
    chat = bot.chat(chat_id)
    if chat.moved_to is not None:
        moved: JsonObject = {"migrate_to_chat_id": chat.moved_to}
        raise Refusal(400, "Bad Request: group chat was upgraded to a supergroup chat", moved)
    if chat.blocked:
        private = chat.kind == "private"
        who = "bot was blocked by the user" if private else "bot was kicked from the group chat"
        raise Refusal(403, f"Forbidden: {who}")
    return chat


def _reply_target(chat: TelegramChat, params: Params) -> int | None:
    """Return the message replied to; None if there is none and the caller can do without."""
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


def _keyboard_of(params: Params) -> Keyboard:
    """Return the inline keyboard of a call.

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
