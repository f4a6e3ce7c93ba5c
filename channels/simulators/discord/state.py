"""The simulated Discord remembers bots, people, guilds, channels and messages; how each is written stands with it.

Plain data, and telling bots of what happened; what may happen is in `operations`, `interactions` and `server`.
"""

import re
import time
from collections import deque
from dataclasses import dataclass, field
from datetime import UTC, datetime

from channels.simulators.discord.checks import Refusal
from channels.simulators.discord.sessions import Sessions
from channels.simulators.shared.world import BotWorld, Chat, File, JsonObject, Message, objects_in

EPOCH_MS = 1_420_070_400_000  # snowflakes count from 2015

TEXT, DM, FORUM, PUBLIC_THREAD = 0, 1, 15, 11  # channel types
EPHEMERAL, LOADING, SUPPRESS_EMBEDS, SILENT = 1 << 6, 1 << 7, 1 << 2, 1 << 12  # message flags
VOICE = 1 << 13
GUILDS, GUILD_MESSAGES, DIRECT_MESSAGES, MESSAGE_CONTENT = 1 << 0, 1 << 9, 1 << 12, 1 << 15  # intents
SAID, REPLY, COMMAND_ANSWER = 0, 19, 20  # message types

_MENTION = re.compile(r"<@!?(\d+)>")

MEMBER: JsonObject = {
    "nick": None,
    "avatar": None,
    "roles": [],
    "joined_at": "1970-01-01T00:00:00.000000+00:00",
    "deaf": False,
    "mute": False,
    "flags": 0,
}
"""A plain member of a server, without who it is."""


def iso(at: float) -> str:
    """Return an instant (Unix seconds) as Discord writes it."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="microseconds")


@dataclass(frozen=True, slots=True)
class Asked:
    """An interaction, as the messages that answer it tell of it."""

    id: int
    kind: int  # 2 a command, 3 a press
    person_id: int


@dataclass(slots=True)
class ShownMessage(Message[int]):
    """A message as people see it now; its key is the nonce."""

    type: int = SAID
    flags: int = 0
    edited_at: float | None = None
    components: list[JsonObject] = field(default_factory=list)
    webhook_id: int | None = None
    answers: Asked | None = None  # the interaction it was said by
    forwarded: str | None = None  # the text of a forwarded message

    @property
    def buttons(self) -> list[tuple[str, str]]:
        """Return the label and the custom id of each button."""
        keys = [key for row in self.components for key in objects_in(row.get("components"))]
        return [(str(key.get("label")), str(key.get("custom_id"))) for key in keys]

    @property
    def loading(self) -> bool:
        """Return True while it is a deferred answer that shows "thinking"."""
        return bool(self.flags & LOADING)


@dataclass(slots=True)
class Person:
    """A person with an account."""

    id: int
    name: str
    locale: str = "en-US"
    is_bot: bool = False
    takes_dms: bool = True

    def as_user(self) -> JsonObject:
        """Return Discord's User."""
        user: JsonObject = {
            "id": str(self.id),
            "username": self.name.lower().replace(" ", "_"),
            "global_name": self.name,
            "discriminator": "0",
            "avatar": None,
        }
        return user | {"bot": True} if self.is_bot else user


@dataclass(slots=True)
class Channel(Chat[int, ShownMessage]):
    """A channel, thread or direct conversation."""

    type: int = TEXT
    name: str = ""
    guild_id: int | None = None
    parent_id: int | None = None
    bot_id: int | None = None  # of a direct conversation: with which bot
    person_id: int | None = None  # and with whom
    readable: bool = True
    writable: bool = True
    archived: bool = False
    bucket: deque[float] = field(default_factory=deque)  # when messages were made, with limits on

    def public(self) -> list[ShownMessage]:
        """Return the messages of its history; an ephemeral one is in none."""
        return [message for message in self.messages.values() if not message.deleted and message.only_for is None]

    def find(self, message_id: int, person: int | None = None) -> ShownMessage | None:
        """Return a message that `person` sees, None: that everybody does; or None."""
        message = self.messages.get(message_id)
        seen = message is not None and not message.deleted and message.only_for in (None, person)
        return message if seen else None

    def living(self, message_id: int, person: int | None = None) -> ShownMessage:
        """Return a message that `person` sees, None: that everybody does.

        Raises:
            Refusal: 10008.
        """
        message = self.find(message_id, person)
        if message is None:
            raise Refusal(404, 10008, "Unknown Message")
        return message

    def as_channel(self) -> JsonObject:
        """Return Discord's Channel."""
        last = next(reversed(self.messages), None)
        body: JsonObject = {
            "id": str(self.id),
            "type": self.type,
            "last_message_id": None if last is None else str(last),
            "flags": 0,
        }
        if self.type == DM:
            body["recipients"] = []
            return body
        body |= {"name": self.name, "guild_id": str(self.guild_id), "position": 0, "permission_overwrites": []}
        body["parent_id"] = None if self.parent_id is None else str(self.parent_id)
        if self.type == PUBLIC_THREAD:
            body["thread_metadata"] = {
                "archived": self.archived,
                "auto_archive_duration": 1440,
                "archive_timestamp": iso(0),
                "locked": False,
            }
            body |= {"owner_id": "1", "message_count": len(self.messages), "member_count": 1}
        return body


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
    sessions: Sessions = field(default_factory=Sessions)
    message_content: bool = True  # the privileged intent, as switched in the developer portal
    revoked: bool = False
    commands: list[JsonObject] = field(default_factory=list)
    puts: int = 0  # how often commands were written
    nonces: dict[tuple[int, str], tuple[int, float]] = field(default_factory=dict)  # (channel, nonce) -> (message, at)

    def as_user(self) -> JsonObject:
        """Return Discord's User."""
        return {
            "id": str(self.id),
            "username": self.name,
            "global_name": None,
            "discriminator": "1234",
            "avatar": None,
            "bot": True,
        }


class DiscordWorld(BotWorld[Bot, Person]):
    """Everything the simulator knows."""

    def __init__(self, *, any_token: bool) -> None:
        """Take whether an unknown token becomes a bot when it is first used."""
        super().__init__(Person, look_s=0.05)  # what happens on sockets wakes nobody
        self.guilds: dict[int, Guild] = {}
        self.channels: dict[int, Channel] = {}
        self.files: dict[int, File] = {}
        self.cdn_base = ""
        self.pages_sorted = True  # False: a page of a history has its messages in any order, as an emulator's may
        self.nonce_window_s = 300.0
        self.resume_window_s = 60.0
        self._any_token = any_token
        self._last_id = 0

    def snowflake(self) -> int:
        """Return a new id: greater than all before, with the time in it."""
        self._last_id = max(self._last_id + 1, (int(time.time() * 1000) - EPOCH_MS) << 22)
        return self._last_id

    def add_bot(self, token: str, name: str = "TenK", bot_id: int | None = None) -> Bot:
        """Let this token be known."""
        bot = self.bots[token] = Bot(token, bot_id or 900_000 + len(self.bots), name)
        for guild in self.guilds.values():
            guild.bots.add(bot.id)
        return bot

    def bot_of(self, authorization: str) -> Bot:
        """Return the bot of an Authorization header.

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
        """Return the bot with this id, or None."""
        return next((bot for bot in self.bots.values() if bot.id == bot_id), None)

    def channel(self, bot: Bot, channel_id: int) -> Channel:
        """Return a channel this bot can see.

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
        """Return the direct conversation of a bot and a person; make it if it is new."""
        for channel in self.channels.values():
            if channel.type == DM and channel.bot_id == bot.id and channel.person_id == person_id:
                return channel
        channel = Channel(channel_id or self.snowflake(), type=DM, bot_id=bot.id, person_id=person_id)
        self.channels[channel.id] = channel
        return channel

    # ------------------------------------------------------------ as Discord writes it

    def as_user(self, user_id: int) -> JsonObject:
        """Return a person or a bot as User."""
        bot = self.bot_by_id(user_id)
        return bot.as_user() if bot is not None else self.person(user_id).as_user()

    def as_message(self, message: ShownMessage, *, depth: int = 0) -> JsonObject:
        """Return Discord's Message, with the message replied to one level deep; without a nonce, which is not kept."""
        channel = self.channels[message.chat_id]
        mentioned = sorted({int(number) for number in _MENTION.findall(message.text)}) if "<@" in message.text else []
        body: JsonObject = {
            "id": str(message.message_id),
            "channel_id": str(message.chat_id),
            "author": self.as_user(message.sender_id),
            "content": message.text,
            "timestamp": iso(message.at),
            "edited_timestamp": None if message.edited_at is None else iso(message.edited_at),
            "tts": False,
            "mention_everyone": "everyone" in message.pings,
            "mentions": [self.as_user(number) for number in mentioned],
            "mention_roles": [],
            "attachments": [_as_attachment(file) for file in message.files],
            "embeds": [],
            "components": list(message.components),
            "pinned": False,
            "type": message.type,
            "flags": message.flags,
            "reactions": [
                {"emoji": {"id": None, "name": emoji}, "count": len(who), "me": True}
                for emoji, who in message.reactions.items()
            ],
        }
        if message.webhook_id is not None:
            body["webhook_id"] = str(message.webhook_id)
        if message.answers is not None:
            body["interaction_metadata"] = {
                "id": str(message.answers.id),
                "type": message.answers.kind,
                "user": self.as_user(message.answers.person_id),
                "authorizing_integration_owners": {"0": str(channel.guild_id or 0)},
            }
        if message.forwarded is not None:
            body["message_reference"] = {"type": 1, "channel_id": "1", "message_id": "1"}
            snapshot: JsonObject = {"content": message.forwarded, "attachments": [], "timestamp": iso(message.at)}
            body["message_snapshots"] = [{"message": snapshot}]
        elif message.reply_to is not None and depth == 0:
            reference: JsonObject = {
                "type": 0,
                "message_id": str(message.reply_to),
                "channel_id": str(message.chat_id),
            }
            original = channel.find(message.reply_to)
            body["message_reference"] = reference
            body["referenced_message"] = None if original is None else self.as_message(original, depth=1)
        return body

    def as_guild(self, guild: Guild) -> JsonObject:
        """Return what GUILD_CREATE carries."""
        channels = [channel for channel in self.channels.values() if channel.guild_id == guild.id]
        threads = [channel for channel in channels if channel.type == PUBLIC_THREAD]
        return {
            "id": str(guild.id),
            "name": guild.name,
            "joined_at": iso(guild.joined_at),
            "unavailable": False,
            "large": False,
            "member_count": 2,
            "channels": [channel.as_channel() for channel in channels if channel.type != PUBLIC_THREAD],
            "threads": [thread.as_channel() for thread in threads if not thread.archived],
            "members": [],
            "roles": [],
            "emojis": [],
            "presences": [],
            "voice_states": [],
        }

    # ------------------------------------------------------------ telling bots

    def _listeners(self, channel: Channel) -> list[Bot]:
        """Return the bots that are told what happens in a channel."""
        if channel.type == DM:
            return [bot for bot in self.bots.values() if bot.id == channel.bot_id]
        guild = self.guilds[channel.guild_id or 0]
        return [bot for bot in self.bots.values() if bot.id in guild.bots and channel.readable]

    def tell_message(self, channel: Channel, event: str, message: ShownMessage) -> None:
        """Tell every bot that listens of a message that was said or changed.

        What is ephemeral is told to its bot alone, as if it were a direct message (discord-api-docs issue 4557).
        """
        body = self.as_message(message)
        if message.only_for is not None:
            for bot in self._listeners(channel):
                if bot.id == message.sender_id:
                    bot.sessions.emit(event, body, intent=DIRECT_MESSAGES)
            return
        if channel.type != DM:
            body |= {"guild_id": str(channel.guild_id), "member": MEMBER}
        if message.key is not None and event == "MESSAGE_CREATE":
            body["nonce"] = message.key
        intent = DIRECT_MESSAGES if channel.type == DM else GUILD_MESSAGES
        for bot in self._listeners(channel):
            concerns = channel.type == DM or message.sender_id == bot.id or f"<@{bot.id}>" in message.text
            blank: JsonObject = {"content": "", "attachments": [], "embeds": [], "components": []}
            told = body if concerns or bot.message_content else body | blank  # the privileged intent
            bot.sessions.emit(event, told, intent=intent, guild=channel.guild_id)

    def tell_deleted(self, channel: Channel, message: ShownMessage) -> None:
        """Tell every bot that listens that a message is gone."""
        body: JsonObject = {"id": str(message.message_id), "channel_id": str(channel.id)}
        if channel.guild_id is not None:
            body["guild_id"] = str(channel.guild_id)
        intent = DIRECT_MESSAGES if channel.type == DM else GUILD_MESSAGES
        for bot in self._listeners(channel):
            bot.sessions.emit("MESSAGE_DELETE", body, intent=intent, guild=channel.guild_id)

    def tell_channel(self, channel: Channel, event: str) -> None:
        """Tell bots that a channel or thread came."""
        body = channel.as_channel() | ({"newly_created": True} if event == "THREAD_CREATE" else {})
        for bot in self._listeners(channel):
            bot.sessions.emit(event, body, intent=GUILDS, guild=channel.guild_id)


def _as_attachment(file: File) -> JsonObject:
    sound: JsonObject = {} if file.seconds is None else {"duration_secs": file.seconds, "waveform": "AAAA"}
    return sound | {
        "id": file.id,
        "filename": file.name,
        "size": file.size,
        "url": file.path,
        "proxy_url": file.path,
        "content_type": file.mime,
    }
