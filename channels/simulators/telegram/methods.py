"""The Bot API methods a bot calls, over the simulated world; getUpdates waits and lives in `botapi`.

Webhooks are in `hooks`. Error texts are those of
tdlib/telegram-bot-api (2026-09). Each method is `(bot, params) -> result` or a Refusal.
"""

import re
import time
from dataclasses import replace
from uuid import uuid4

from pydantic import JsonValue

from channels.simulators.shared.history import Edit
from channels.simulators.telegram import rich
from channels.simulators.telegram.checks import JsonObject, Refusal, check_text, formatted_caption, formatted_draft
from channels.simulators.telegram.hooks import HookMethods
from channels.simulators.telegram.params import Params, UploadedFile
from channels.simulators.telegram.people import as_message, living
from channels.simulators.telegram.posting import Poster, keyboard_of, saying, writable
from channels.simulators.telegram.state import Bot, Draft, FileKind, Method, PersonFile, ShownFile, ShownMessage, World

MAX_UPLOAD_BYTES = 50_000_000
MAX_PHOTO_BYTES = 10_000_000
MAX_DOWNLOAD_BYTES = 20_000_000
_IMAGES = (b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n", b"RIFF", b"GIF8")


class MediaMethods:
    """Carries out what bots ask for with files."""

    def __init__(self, world: World, poster: Poster) -> None:
        self._world = world
        self._poster = poster

    def table(self) -> dict[str, Method]:
        """The methods by name."""
        return {
            "sendPhoto": lambda bot, params: self._send(bot, params, "photo"),
            "sendDocument": lambda bot, params: self._send(bot, params, "document"),
            "sendMediaGroup": self._send_group,
            "editMessageMedia": self._edit,
            "getFile": self._get_file,
        }

    def _send(self, bot: Bot, params: Params, kind: FileKind) -> JsonValue:
        writable(bot, params)
        params.refuse_parse_mode()
        says = saying(*formatted_caption(params.text("caption"), params.json("caption_entities")))
        says.file = _keep_file(bot, kind, params.own_file(kind))
        chat, (message,) = self._poster.post(bot, params, says)
        return as_message(self._world, bot, chat, message)

    def _send_group(self, bot: Bot, params: Params) -> JsonValue:
        writable(bot, params)
        items = [item for item in params.listing("media") if isinstance(item, dict)]
        kinds = {item.get("type") for item in items}
        if not 2 <= len(items) <= 10:
            raise Refusal(400, "Bad Request: wrong number of messages in an album: must be from 2 to 10")
        if len(kinds) != 1 or not kinds <= {"photo", "document"}:
            raise Refusal(400, "Bad Request: documents can't be mixed with other media types")
        if params.mapping("reply_markup"):
            raise Refusal(400, "Bad Request: reply markup can't be specified for an album")
        album = uuid4().hex
        chat, posted = self._poster.post(bot, params, *[_item(bot, params, item, album) for item in items])
        return [as_message(self._world, bot, chat, message) for message in posted]

    def _edit(self, bot: Bot, params: Params) -> JsonValue:
        chat = writable(bot, params)
        message = living(chat, params.integer("message_id"), "message to edit")
        if not message.by_bot:
            raise Refusal(400, "Bad Request: message can't be edited")
        keyboard = keyboard_of(params)
        says = _item(bot, params, params.mapping("media"), None)
        message.edits.append(Edit(says.text, time.monotonic()))
        message.file, message.text, message.entities, message.keyboard = says.file, says.text, says.entities, keyboard
        message.blocks = ()
        return as_message(self._world, bot, chat, message)

    def _get_file(self, bot: Bot, params: Params) -> JsonValue:
        stored = bot.files.get(params.text("file_id"))
        if stored is None:
            raise Refusal(400, "Bad Request: wrong file_id or the file is temporarily unavailable")
        if stored.shown.size_bytes > MAX_DOWNLOAD_BYTES:
            raise Refusal(400, "Bad Request: file is too big")
        return {
            "file_id": stored.shown.file_id,
            "file_unique_id": f"u{stored.shown.file_id}",
            "file_size": stored.shown.size_bytes,
            "file_path": stored.path,
        }


def _item(bot: Bot, params: Params, item: JsonObject, album: str | None) -> ShownMessage:
    """One file of an album, or the new one of a message."""
    kind: FileKind = "photo" if item.get("type") == "photo" else "document"
    caption = item.get("caption")
    says = saying(*formatted_caption(caption if isinstance(caption, str) else "", item.get("caption_entities")))
    says.file = replace(_keep_file(bot, kind, params.file(item.get("media"))), album=album)
    return says


def _keep_file(bot: Bot, kind: FileKind, file: UploadedFile | None) -> ShownFile:
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
    return bot.keep_file(PersonFile(kind, file.content, file.name, file.mime))


class LiveMethods:
    """Carries out what bots ask for with drafts and rich messages."""

    def __init__(self, world: World, poster: Poster) -> None:
        self._world = world
        self._poster = poster

    def table(self) -> dict[str, Method]:
        """The methods by name."""
        return {
            "sendRichMessage": self._send_rich,
            "sendMessageDraft": self._draft,
            "sendRichMessageDraft": self._draft_rich,
        }

    def _send_rich(self, bot: Bot, params: Params) -> JsonValue:
        writable(bot, params)
        text, blocks = rich.check_rich_message(params.mapping("rich_message"))
        says = saying(text)
        says.blocks, says.preview = blocks, False
        chat, (message,) = self._poster.post(bot, params, says)
        return as_message(self._world, bot, chat, message)

    def _draft(self, bot: Bot, params: Params) -> JsonValue:
        text, _ = formatted_draft(params.text("text"), params.json("entities"))
        return self._show_draft(bot, params, text, rich=False)

    def _draft_rich(self, bot: Bot, params: Params) -> JsonValue:
        text, _ = rich.check_rich_message(params.mapping("rich_message"), empty=True)
        return self._show_draft(bot, params, text, rich=True)

    def _show_draft(self, bot: Bot, params: Params, text: str, *, rich: bool) -> JsonValue:
        chat = writable(bot, params)
        draft_id = params.integer("draft_id")
        if chat.kind != "private":
            raise Refusal(400, "Bad Request: TEXTDRAFT_PEER_INVALID")
        if not draft_id:
            raise Refusal(400, "Bad Request: draft_id must be non-zero")
        thread = params.integer("message_thread_id")
        chat.drafts[thread] = Draft(draft_id, text, time.monotonic(), rich)
        return True


def rich_of(params: Params) -> tuple[str, tuple[JsonObject, ...]] | None:
    """What an edit to a rich message says, and its blocks; None for an edit to a text.

    Raises:
        Refusal: Telegram would not take it.
    """
    message = params.mapping("rich_message")
    return rich.check_rich_message(message) if message else None


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

    def __init__(self, world: World, hooks: HookMethods, *, per_chat_per_s: float | None) -> None:
        """`per_chat_per_s` makes sends to one chat that come faster end in a 429; None lets all pass."""
        self._world = world
        self._poster = Poster(per_chat_per_s=per_chat_per_s)
        own: dict[str, Method] = {
            "getMe": self._get_me,
            "sendMessage": self._send_message,
            "editMessageText": self._edit_message_text,
            "editMessageReplyMarkup": self._edit_message_reply_markup,
            "deleteMessage": self._delete_message,
            "sendChatAction": self._send_chat_action,
            "setMessageReaction": self._set_message_reaction,
            "setMyCommands": self._set_my_commands,
            "getMyCommands": self._get_my_commands,
            "answerCallbackQuery": self._answer_callback_query,
        }
        others = (hooks.table(), MediaMethods(world, self._poster).table(), LiveMethods(world, self._poster).table())
        for more in others:
            own |= more
        self._table = {name.lower(): (name, method) for name, method in own.items()}

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
        writable(bot, params)
        says = saying(*_formatted_text(params))
        says.preview = not params.mapping("link_preview_options").get("is_disabled", False)
        chat, (message,) = self._poster.post(bot, params, says)
        return as_message(self._world, bot, chat, message)

    def _edit_message_text(self, bot: Bot, params: Params) -> JsonValue:
        chat = writable(bot, params)
        message = living(chat, params.integer("message_id"), "message to edit")
        if not message.by_bot:
            raise Refusal(400, "Bad Request: message can't be edited")
        if message.file is not None:
            raise Refusal(400, "Bad Request: there is no text in the message to edit")
        rich, keyboard = rich_of(params), keyboard_of(params)
        text, entities = _formatted_text(params) if rich is None else (rich[0], ())
        blocks = () if rich is None else rich[1]
        if (text, entities, blocks, keyboard) == (message.text, message.entities, message.blocks, message.keyboard):
            raise Refusal(400, _NOT_MODIFIED)
        message.edits.append(Edit(text, time.monotonic()))
        message.text, message.entities, message.blocks, message.keyboard = text, entities, blocks, keyboard
        return as_message(self._world, bot, chat, message)

    def _edit_message_reply_markup(self, bot: Bot, params: Params) -> JsonValue:
        chat = writable(bot, params)
        message = living(chat, params.integer("message_id"), "message to edit")
        keyboard = keyboard_of(params)
        if not message.by_bot:
            raise Refusal(400, "Bad Request: message can't be edited")
        if keyboard == message.keyboard:
            raise Refusal(400, _NOT_MODIFIED)
        message.keyboard = keyboard
        return as_message(self._world, bot, chat, message)

    def _delete_message(self, bot: Bot, params: Params) -> JsonValue:
        chat = writable(bot, params)
        message = living(chat, params.integer("message_id"), "message to delete")
        if not message.by_bot and chat.kind != "private":
            raise Refusal(400, "Bad Request: message can't be deleted")
        message.deleted = True
        return True

    def _send_chat_action(self, bot: Bot, params: Params) -> JsonValue:
        chat = writable(bot, params)
        action = params.text("action")
        if not action:
            raise Refusal(400, "Bad Request: wrong parameter action in request")
        chat.actions.append((action, time.monotonic()))
        return True

    def _set_message_reaction(self, bot: Bot, params: Params) -> JsonValue:
        chat = writable(bot, params)
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


def _formatted_text(params: Params) -> tuple[str, tuple[dict[str, JsonValue], ...]]:
    """The call's text and entities, as Telegram would take them."""
    params.refuse_parse_mode()
    return check_text(params.text("text"), params.json("entities"))
