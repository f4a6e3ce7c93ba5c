"""The simulated Telegram remembers bots, chats, people, messages and every call that came in.

Plain data; what may happen to it is in `methods` (the bot's side) and `people` (the person's side).
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import PurePosixPath
from typing import Literal

from pydantic import JsonValue

from channels.simulators.shared.history import BotWorld, Edit
from channels.simulators.telegram.checks import JsonObject, Refusal
from channels.simulators.telegram.params import Params
from channels.simulators.telegram.updates import UpdateQueue

ChatType = Literal["private", "group", "supergroup", "channel"]
FileKind = Literal["photo", "document", "voice"]
Keyboard = tuple[tuple[JsonObject, ...], ...]
FIRST_UPDATE_ID = 100_000_000


@dataclass(frozen=True, slots=True)
class ShownFile:
    """A file as people see it in a message."""

    kind: FileKind
    file_id: str
    name: str  # "" where Telegram shows none
    mime: str
    size_bytes: int  # as Telegram tells it
    album: str | None = None  # the same for files sent as one


@dataclass(frozen=True, slots=True)
class PersonFile:
    """A file as somebody sends it."""

    kind: FileKind
    content: bytes
    name: str = ""
    mime: str = ""
    album: str | None = None  # the same for files sent as one
    told_bytes: int | None = None  # the size Telegram tells of; None: the real one


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file as Telegram keeps it."""

    shown: ShownFile
    path: str  # what getFile answers
    content: bytes


@dataclass(frozen=True, slots=True)
class Draft:
    """An answer that is being written, as the person sees it for 30 s."""

    draft_id: int
    text: str  # "" shows "Thinking…"
    at_s: float
    rich: bool = False


@dataclass(slots=True)
class Webhook:
    """Where updates are brought, and how that goes."""

    url: str
    secret_token: str
    max_connections: int
    gone: asyncio.Event = field(default_factory=asyncio.Event)  # set when it was replaced or deleted
    last_error_at: int | None = None  # Unix seconds
    last_error: str = ""
    brought: int = 0  # updates answered 2xx
    attempts: int = 0


@dataclass(slots=True)
class ShownMessage:
    """A message as people see it now, with what it was before."""

    message_id: int
    chat_id: int
    sender_id: int
    by_bot: bool
    text: str
    date: int  # Unix seconds
    at_s: float  # time.monotonic() of the simulator when it appeared
    entities: tuple[JsonObject, ...] = ()
    reply_to: int | None = None
    thread: int | None = None
    silent: bool = False
    preview: bool = True  # whether a link preview would be shown
    keyboard: Keyboard = ()  # rows of InlineKeyboardButton
    file: ShownFile | None = None  # with one, `text` is its caption
    blocks: tuple[JsonObject, ...] = ()  # of a rich message; `text` is what it says
    edits: list[Edit] = field(default_factory=list)
    reactions: dict[int, str] = field(default_factory=dict)  # who reacted -> emoji
    deleted: bool = False

    @property
    def buttons(self) -> list[tuple[str, str]]:
        """The buttons under it: label and data."""
        return [(str(key["text"]), str(key.get("callback_data"))) for row in self.keyboard for key in row]


@dataclass(slots=True)
class Person:
    """Somebody with a Telegram account."""

    id: int
    first_name: str
    username: str | None = None
    language_code: str | None = None

    def as_user(self) -> JsonObject:
        """The Bot API's User."""
        user: JsonObject = {"id": self.id, "is_bot": False, "first_name": self.first_name}
        if self.username:
            user["username"] = self.username
        if self.language_code:
            user["language_code"] = self.language_code
        return user


@dataclass(slots=True)
class Chat:
    """One chat of one bot."""

    id: int
    kind: ChatType
    title: str
    username: str | None = None
    forum: bool = False
    messages: dict[int, ShownMessage] = field(default_factory=dict)
    threads: set[int] = field(default_factory=set)
    actions: list[tuple[str, float]] = field(default_factory=list)  # (chat action, at_s)
    blocked: bool = False  # a person blocked the bot; in groups: the bot was removed
    moved_to: int | None = None  # the supergroup this group became
    drafts: dict[int | None, Draft] = field(default_factory=dict)  # by thread
    last_message_id: int = 0  # supergroups and channels count for themselves
    next_send_s: float = 0.0  # with limits on: when the bucket lets the next one pass

    def as_chat(self) -> JsonObject:
        """The Bot API's Chat."""
        chat: JsonObject = {"id": self.id, "type": self.kind}
        chat["first_name" if self.kind == "private" else "title"] = self.title
        if self.username:
            chat["username"] = self.username
        if self.forum:
            chat["is_forum"] = True
        return chat


@dataclass(slots=True)
class Bot:
    """One bot account."""

    token: str
    id: int
    username: str
    name: str
    updates: UpdateQueue
    chats: dict[int, Chat] = field(default_factory=dict)
    last_message_id: int = 0  # private chats and groups share one count
    commands: dict[str, list[JsonObject]] = field(default_factory=dict)  # language code -> menu
    callbacks: dict[str, bool] = field(default_factory=dict)  # button presses: id -> answered
    webhook: Webhook | None = None
    files: dict[str, StoredFile] = field(default_factory=dict)  # by file_id
    revoked: bool = False

    def as_user(self) -> JsonObject:
        """The Bot API's User, as in a message."""
        return {"id": self.id, "is_bot": True, "first_name": self.name, "username": self.username}

    def chat(self, chat_id: int) -> Chat:
        """A chat the bot can see.

        Raises:
            Refusal: there is none; nobody wrote to the bot from it.
        """
        chat = self.chats.get(chat_id)
        if chat is None:
            raise Refusal(400, "Bad Request: chat not found")
        return chat

    def keep_file(self, file: PersonFile) -> ShownFile:
        """Keep a file."""
        number, kind = len(self.files) + 1, file.kind
        size = len(file.content) if file.told_bytes is None else file.told_bytes
        name = file.name if kind == "document" else ""
        shown = ShownFile(kind, f"file-{self.id}-{number}", name, file.mime, size, file.album)
        suffix = {"photo": ".jpg", "voice": ".oga"}.get(kind) or PurePosixPath(name).suffix
        folder = {"photo": "photos", "voice": "voice"}.get(kind, "documents")
        safe = suffix if suffix[1:].isascii() and suffix[1:].isalnum() else ""
        self.files[shown.file_id] = StoredFile(shown, f"{folder}/file_{number}{safe}", file.content)
        return shown

    def next_message_id(self, chat: Chat) -> int:
        """The id of the next message in this chat."""
        if chat.kind in ("supergroup", "channel"):
            chat.last_message_id += 1
            return chat.last_message_id
        self.last_message_id += 1
        return self.last_message_id


Method = Callable[[Bot, Params], JsonValue]
"""A method of the Bot API: its result, or a Refusal."""


class World(BotWorld[Bot, Person]):
    """Everything the simulator knows."""

    def __init__(self, *, any_token: bool, throttled: bool) -> None:
        """With `any_token` an unknown token of the right shape becomes a bot when it is first used."""
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
        """The bot of a token.

        Raises:
            Refusal: 404 for what is no token, 401 for one that is unknown or revoked.
        """
        bot = self.bots.get(token)
        if bot is None and self._any_token and _token_like(token):
            bot = self.add_bot(token)
        if bot is None and not _token_like(token):
            raise Refusal(404, "Not Found")
        if bot is None or bot.revoked:
            raise Refusal(401, "Unauthorized")
        return bot


def _token_like(token: str) -> bool:
    """Whether this has the shape of a bot token."""
    number, colon, secret = token.partition(":")
    return bool(colon) and number.isascii() and number.isdigit() and len(secret) >= 3
