"""The simulated Discord remembers bots, people, guilds, channels, messages and every call that came in.

Plain data and how it is written as JSON; what may happen to it is in `operations`, `interactions` and `people`.
"""

import time
from collections import deque
from dataclasses import dataclass, field
from datetime import UTC, datetime

from channels.simulators.discord.checks import JsonObject, Refusal, objects_in
from channels.simulators.discord.sessions import Sessions
from channels.simulators.shared.history import BotWorld, Edit

EPOCH_MS = 1_420_070_400_000  # snowflakes count from 2015

TEXT, DM, FORUM, PUBLIC_THREAD = 0, 1, 15, 11  # channel types
EPHEMERAL, LOADING, SUPPRESS_EMBEDS, SILENT = 1 << 6, 1 << 7, 1 << 2, 1 << 12  # message flags


def iso(at: float) -> str:
    """An instant (Unix seconds) as Discord writes it."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="microseconds")


@dataclass(frozen=True, slots=True)
class File:
    """A file on the CDN."""

    id: int
    name: str  # as the CDN calls it
    content: bytes
    mime: str
    url: str

    def as_attachment(self) -> JsonObject:
        """Discord's Attachment."""
        return {
            "id": str(self.id),
            "filename": self.name,
            "size": len(self.content),
            "url": self.url,
            "proxy_url": self.url,
            "content_type": self.mime,
        }


@dataclass(frozen=True, slots=True)
class Asked:
    """An interaction, as the messages that answer it tell of it."""

    id: int
    kind: int  # 2 a command, 3 a press
    person_id: int


@dataclass(slots=True)
class ShownMessage:
    """A message as people see it now, with what it was before."""

    message_id: int
    chat_id: int
    sender_id: int
    by_bot: bool
    text: str
    at: float  # Unix seconds
    at_s: float  # time.monotonic() of the simulator when it appeared
    type: int = 0  # 0 said, 19 a reply, 20 the answer to a command
    reply_to: int | None = None
    nonce: str | None = None
    flags: int = 0
    edited_at: float | None = None
    edits: list[Edit] = field(default_factory=list)
    reactions: dict[int, set[str]] = field(default_factory=dict)  # who reacted -> emoji
    components: list[JsonObject] = field(default_factory=list)
    files: list[File] = field(default_factory=list)
    pings: tuple[str, ...] = ()  # whom a bot's message notified
    webhook_id: int | None = None
    answers: Asked | None = None  # the interaction it was said by
    only_for: int | None = None  # the person who alone sees it; None: everybody in the channel
    forwarded: str | None = None  # the text of a forwarded message
    deleted: bool = False

    @property
    def labels(self) -> list[tuple[str, str]]:
        """The buttons under it: what each says, and its custom id."""
        keys = [key for row in self.components for key in objects_in(row.get("components"))]
        return [(str(key.get("label")), str(key.get("custom_id"))) for key in keys]

    @property
    def loading(self) -> bool:
        """Whether it is a deferred answer that still shows "thinking"."""
        return bool(self.flags & LOADING)


@dataclass(slots=True)
class Person:
    """Somebody with an account."""

    id: int
    name: str
    locale: str = "en-US"
    is_bot: bool = False
    takes_dms: bool = True

    def as_user(self) -> JsonObject:
        """Discord's User."""
        user: JsonObject = {
            "id": str(self.id),
            "username": self.name.lower().replace(" ", "_"),
            "global_name": self.name,
            "discriminator": "0",
            "avatar": None,
        }
        if self.is_bot:
            user["bot"] = True
        return user


@dataclass(slots=True)
class Channel:
    """A channel, thread or direct conversation."""

    id: int
    type: int
    name: str = ""
    guild_id: int | None = None
    parent_id: int | None = None
    bot_id: int | None = None  # of a direct conversation: with which bot
    person_id: int | None = None  # and with whom
    messages: dict[int, ShownMessage] = field(default_factory=dict)
    ephemeral: dict[int, ShownMessage] = field(default_factory=dict)  # they stand in no history: shown, no more
    typing: list[float] = field(default_factory=list)  # at_s
    readable: bool = True
    writable: bool = True
    archived: bool = False
    bucket: deque[float] = field(default_factory=deque)  # when messages were made, with limits on

    def put(self, message: ShownMessage) -> None:
        """Show a new message to whom it is for."""
        (self.messages if message.only_for is None else self.ephemeral)[message.message_id] = message

    @property
    def is_thread(self) -> bool:
        """Whether it hangs under another channel."""
        return self.type == PUBLIC_THREAD


@dataclass(slots=True)
class Guild:
    """A server."""

    id: int
    name: str
    joined_at: float
    bots: set[int] = field(default_factory=set)


@dataclass(slots=True)
class Bot:
    """One application and its bot user."""

    token: str
    id: int
    name: str
    sessions: Sessions
    message_content: bool = True  # the privileged intent, as switched in the developer portal
    revoked: bool = False
    commands: list[JsonObject] = field(default_factory=list)
    puts: int = 0  # how often commands were written
    nonces: dict[tuple[int, str], tuple[int, float]] = field(default_factory=dict)  # (channel, nonce) -> (message, at)

    def as_user(self) -> JsonObject:
        """Discord's User."""
        return {
            "id": str(self.id),
            "username": self.name,
            "global_name": None,
            "discriminator": "1234",
            "avatar": None,
            "bot": True,
        }


class World(BotWorld[Bot, Person]):
    """Everything the simulator knows."""

    def __init__(self, *, any_token: bool) -> None:
        """With `any_token` an unknown token becomes a bot when it is first used."""
        super().__init__(Person)
        self.guilds: dict[int, Guild] = {}
        self.channels: dict[int, Channel] = {}
        self.files: dict[int, File] = {}
        self.pages_sorted = True  # False: a page of a history has its messages in any order, as an emulator's may
        self.nonce_window_s = 300.0
        self.resume_window_s = 60.0
        self._any_token = any_token
        self._last_id = 0

    def snowflake(self) -> int:
        """A new id: greater than all before, with the time in it."""
        self._last_id = max(self._last_id + 1, (int(time.time() * 1000) - EPOCH_MS) << 22)
        return self._last_id

    def add_bot(self, token: str, name: str = "TenK", bot_id: int | None = None) -> Bot:
        """Let this token be known."""
        bot = Bot(token, bot_id or 900_000 + len(self.bots), name, Sessions())
        self.bots[token] = bot
        for guild in self.guilds.values():
            guild.bots.add(bot.id)
        return bot

    def bot_of(self, authorization: str) -> Bot:
        """The bot of an Authorization header.

        Raises:
            Refusal: 401.
        """
        kind, _, token = authorization.partition(" ")
        bot = self.bots.get(token)
        if bot is None and self._any_token and kind == "Bot" and len(token) >= 3:
            bot = self.add_bot(token)
        if bot is None or bot.revoked or kind != "Bot":
            raise Refusal(401, 0, "401: Unauthorized")
        return bot

    def bot_by_id(self, bot_id: int) -> Bot | None:
        """The bot with this id."""
        return next((bot for bot in self.bots.values() if bot.id == bot_id), None)

    def channel(self, bot: Bot, channel_id: int) -> Channel:
        """A channel this bot can see.

        Raises:
            Refusal: 10003 or 50001.
        """
        channel = self.channels.get(channel_id)
        if channel is None or (channel.type == DM and channel.bot_id != bot.id):
            raise Refusal(404, 10003, "Unknown Channel")
        guild = self.guilds.get(channel.guild_id or 0)
        if not channel.readable or (guild is not None and bot.id not in guild.bots):
            raise Refusal(403, 50001, "Missing Access")
        return channel

    def dm(self, bot: Bot, person_id: int, channel_id: int | None = None) -> Channel:
        """The direct conversation of a bot and a person, made when it is new."""
        for channel in self.channels.values():
            if channel.type == DM and channel.bot_id == bot.id and channel.person_id == person_id:
                return channel
        channel = Channel(channel_id or self.snowflake(), DM, bot_id=bot.id, person_id=person_id)
        self.channels[channel.id] = channel
        return channel

    def listeners(self, channel: Channel) -> list[Bot]:
        """The bots that are told what happens in a channel."""
        if channel.type == DM:
            return [bot for bot in self.bots.values() if bot.id == channel.bot_id]
        guild = self.guilds[channel.guild_id or 0]
        return [bot for bot in self.bots.values() if bot.id in guild.bots and channel.readable]
