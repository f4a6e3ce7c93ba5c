"""The simulated Telegram remembers bots, chats, people and messages; how each is written in the Bot API stands with it.

Plain data; what may happen to it is in `methods` (the bot's side) and `server` (the person's side).
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import PurePosixPath
from typing import Literal

from pydantic import JsonValue

from channels.simulators.shared.world import BotWorld, Chat, File, JsonObject, Message
from channels.simulators.telegram.checks import Refusal
from channels.simulators.telegram.params import Params
from channels.simulators.telegram.rich import as_rich_message
from channels.simulators.telegram.updates import UpdateQueue

ChatType = Literal["private", "group", "supergroup", "channel"]
FileKind = Literal["photo", "document", "voice", "audio"]
Keyboard = tuple[tuple[JsonObject, ...], ...]
FIRST_UPDATE_ID = 100_000_000


@dataclass(frozen=True, slots=True)
class Draft:
    """An answer that is being written, as the person sees it for 30 s."""

    draft_id: int
    text: str  # "" shows "Thinking…"
    rich: bool = False
    at_s: float = field(default_factory=time.monotonic)


@dataclass(slots=True)
class Webhook:
    """The webhook of a bot, and the state of its deliveries."""

    url: str
    secret_token: str
    max_connections: int
    gone: asyncio.Event = field(default_factory=asyncio.Event)  # set when it was replaced or deleted
    last_error_at: int | None = None  # Unix seconds
    last_error: str = ""
    brought: int = 0  # updates answered 2xx
    attempts: int = 0


@dataclass(slots=True)
class ShownMessage(Message[int]):
    """A message as people see it now; with a file its text is the caption, of a rich message what that says."""

    silent: bool = False
    preview: bool = True  # whether a link preview would be shown
    keyboard: Keyboard = ()  # rows of InlineKeyboardButton
    blocks: tuple[JsonObject, ...] = ()  # of a rich message

    @property
    def file(self) -> File | None:
        """Return its file."""
        return self.files[0] if self.files else None

    @property
    def buttons(self) -> list[tuple[str, str]]:
        """Return the label and the data of each button."""
        return [(str(key["text"]), str(key.get("callback_data"))) for row in self.keyboard for key in row]


@dataclass(slots=True)
class Person:
    """A person with a Telegram account."""

    id: int
    first_name: str
    username: str | None = None
    language_code: str | None = None

    def as_user(self) -> JsonObject:
        """Return the Bot API's User."""
        user: JsonObject = {"id": self.id, "is_bot": False, "first_name": self.first_name}
        if self.username:
            user["username"] = self.username
        if self.language_code:
            user["language_code"] = self.language_code
        return user


@dataclass(slots=True)
class TelegramChat(Chat[int, ShownMessage]):
    """One chat of one bot."""

    kind: ChatType = "private"
    title: str = ""
    username: str | None = None
    forum: bool = False
    threads: set[int] = field(default_factory=set)
    blocked: bool = False  # a person blocked the bot; in groups: the bot was removed
    moved_to: int | None = None  # the supergroup this group became
    drafts: dict[int | None, Draft] = field(default_factory=dict)  # by thread
    last_message_id: int = 0  # supergroups and channels count for themselves

    def as_chat(self) -> JsonObject:
        """Return the Bot API's Chat."""
        chat: JsonObject = {"id": self.id, "type": self.kind}
        chat["first_name" if self.kind == "private" else "title"] = self.title
        if self.username:
            chat["username"] = self.username
        if self.forum:
            chat["is_forum"] = True
        return chat

    def living(self, message_id: int | None, what: str) -> ShownMessage:
        """Return a message that is still there.

        Raises:
            Refusal: it is not; `what` is how the Bot API calls it ("message to edit").
        """
        message = self.messages.get(message_id) if message_id is not None else None
        if message is None or message.deleted:
            raise Refusal(400, f"Bad Request: {what} not found")
        return message


@dataclass(slots=True)
class Bot:
    """One bot account."""

    token: str
    id: int
    username: str
    name: str
    updates: UpdateQueue
    chats: dict[int, TelegramChat] = field(default_factory=dict)
    last_message_id: int = 0  # private chats and groups share one count
    commands: dict[str, Sequence[JsonObject]] = field(default_factory=dict)  # language code -> menu
    callbacks: dict[str, bool] = field(default_factory=dict)  # button presses: id -> answered
    webhook: Webhook | None = None
    files: dict[str, File] = field(default_factory=dict)  # by file_id
    revoked: bool = False

    def as_user(self) -> JsonObject:
        """Return the Bot API's User, as in a message."""
        return {"id": self.id, "is_bot": True, "first_name": self.name, "username": self.username}

    def chat(self, chat_id: int) -> TelegramChat:
        """Return a chat the bot can see.

        Raises:
            Refusal: there is none; no person wrote to the bot from it.
        """
        chat = self.chats.get(chat_id)
        if chat is None:
            raise Refusal(400, "Bad Request: chat not found")
        return chat

    def keep_file(self, file: File) -> File:
        """Keep a file. Return it with its id, under the name that Telegram shows."""
        number, name = len(self.files) + 1, file.name if file.kind in ("document", "audio") else ""
        suffix = {"photo": ".jpg", "voice": ".oga"}.get(file.kind) or PurePosixPath(name).suffix
        folder = {"photo": "photos", "voice": "voice", "audio": "music"}.get(file.kind, "documents")
        safe = suffix if suffix[1:].isascii() and suffix[1:].isalnum() else ""
        path = f"{folder}/file_{number}{safe}"
        kept = replace(file, id=f"file-{self.id}-{number}", name=name, path=path)
        self.files[kept.id] = kept
        return kept

    def next_message_id(self, chat: TelegramChat) -> int:
        """Return the id of the next message in this chat."""
        counts = chat if chat.kind in ("supergroup", "channel") else self
        counts.last_message_id += 1
        return counts.last_message_id


Method = Callable[[Bot, Params], JsonValue]
"""A method of the Bot API: its result, or a Refusal."""


class TelegramWorld(BotWorld[Bot, Person]):
    """Everything the simulator knows."""

    def __init__(self, *, any_token: bool, throttled: bool) -> None:
        """Take whether an unknown token of the right shape becomes a bot, and whether polls have Telegram's brake."""
        super().__init__(Person)
        self.pushed: Callable[[Bot, str], None] | None = None  # told of each update that was queued, and its chat
        self._any_token = any_token
        self._throttled = throttled

    def add_bot(self, token: str, username: str = "tenk_bot", name: str = "TenK") -> Bot:
        """Let this token be known; the number before its colon is the bot's id."""
        bot_id = int(token.partition(":")[0])
        queue = UpdateQueue(first_id=FIRST_UPDATE_ID, throttled=self._throttled)
        bot = self.bots[token] = Bot(token, bot_id, username, name, queue)
        if self.pushed is not None:
            queue.pushed = partial(self.pushed, bot)
        return bot

    def bot_of(self, token: str) -> Bot:
        """Return the bot of a token.

        Raises:
            Refusal: 404 for what is no token, 401 for one that is unknown or revoked.
        """
        bot = self.bots.get(token)
        if bot is None and self._any_token and _is_like_a_token(token):
            bot = self.add_bot(token)
        if bot is None and not _is_like_a_token(token):
            raise Refusal(404, "Not Found")
        if bot is None or bot.revoked:
            raise Refusal(401, "Unauthorized")
        return bot

    def as_message(self, bot: Bot, chat: TelegramChat, message: ShownMessage, *, depth: int = 0) -> JsonObject:
        """Return the Bot API's Message, with the message replied to one level deep."""
        sender = bot.as_user() if message.by_bot else self.person(message.sender_id).as_user()
        body: JsonObject = {
            "message_id": message.message_id,
            "from": sender,
            "chat": chat.as_chat(),
            "date": int(message.at),
        }
        body |= _content(message)
        if message.keyboard:
            body["reply_markup"] = {"inline_keyboard": [list(row) for row in message.keyboard]}
        if message.edits:
            body["edit_date"] = int(time.time())
        if message.thread is not None:
            body |= {"message_thread_id": message.thread, "is_topic_message": True}
        if message.reply_to is not None and depth == 0 and message.reply_to in chat.messages:
            body["reply_to_message"] = self.as_message(bot, chat, chat.messages[message.reply_to], depth=1)
        return body


def _is_like_a_token(token: str) -> bool:
    number, colon, secret = token.partition(":")
    return bool(colon) and number.isascii() and number.isdigit() and len(secret) >= 3


def _content(message: ShownMessage) -> JsonObject:
    """Return the content of a message in the fields of its kind."""
    if message.blocks:
        return {"rich_message": as_rich_message(message.blocks)}
    file = message.file
    text, entities = ("text", "entities") if file is None else ("caption", "caption_entities")
    body: JsonObject = {} if file is None else _as_file(file)
    if message.text:
        body[text] = message.text
    if message.entities:
        body[entities] = list(message.entities)
    if file is not None and file.album is not None:
        body["media_group_id"] = file.album
    return body


def _as_file(file: File) -> JsonObject:
    """Return the Bot API's PhotoSizes, Document, Voice or Audio."""
    body: JsonObject = {"file_id": file.id, "file_unique_id": f"u{file.id}", "file_size": file.size}
    if file.kind == "photo":
        small: JsonObject = {"file_id": f"{file.id}-small", "file_unique_id": f"s{file.id}", "file_size": 1_000}
        return {"photo": [small | {"width": 90, "height": 60}, body | {"width": 900, "height": 600}]}
    if file.mime:
        body["mime_type"] = file.mime
    if file.kind in ("voice", "audio"):
        body["duration"] = int(file.seconds or 0)
    if file.name:
        body["file_name"] = file.name
    return {file.kind: body}
