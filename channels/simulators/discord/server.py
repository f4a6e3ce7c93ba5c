"""`DiscordSimulator`: a Discord on the loopback interface, with people in it.

The real library talks to `base_url` unmodified: REST under /api/v10, the gateway's WebSocket at /gateway, files under
/attachments. People act by the methods here, or over /sim/ (`shared.simulator`). A chat is a channel; an unknown one
becomes the direct conversation of the person with that number.

    POST   /sim/say         {"chat": 1, "text": "hi", "person"?, "under"?} -> the message's id
    POST   /sim/edit        {"chat": 1, "message_id": 7, "text": "ho"};   also /sim/delete
    POST   /sim/command     {"chat": 1, "name": "log", "text": "..."};   text may be an object of options
    POST   /sim/press       {"chat": 1, "message_id": 8, "value": "yes"}
    POST   /sim/add_guild   {"guild": 5, "name"?};   /sim/add_channel {"channel": 50, "guild": 5};
                            /sim/add_thread {"thread": 51, "parent": 50}
    POST   /sim/block       {"chat": 1}
    POST   /sim/add_person  {"person": 7, "name": "Ana", "locale"?: "es-ES"}
    POST   /sim/add_bot     {"token": "abc"}
    POST   /sim/network     {"do": "reconnect" | "cut" | "invalidate" | "forget", "code"?, "shard"?}
    POST   /sim/limit_starts {"shards": 4, "max_concurrency"?, "every_s"?}   what GET /gateway/bot says, and is kept to
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Self

from aiohttp import web
from pydantic import JsonValue

from channels.simulators.discord.gateway import Gateway
from channels.simulators.discord.interactions import Interaction, Interactions
from channels.simulators.discord.operations import Operations
from channels.simulators.discord.rest import Rest
from channels.simulators.discord.sessions import Close
from channels.simulators.discord.state import (
    DM,
    FORUM,
    GUILDS,
    PUBLIC_THREAD,
    REPLY,
    SAID,
    TEXT,
    VOICE,
    Bot,
    Channel,
    DiscordWorld,
    Guild,
    Person,
    ShownMessage,
)
from channels.simulators.shared.faults import FaultScript
from channels.simulators.shared.simulator import LOOPBACK, Simulator
from channels.simulators.shared.world import Chat, Edit, File, JsonObject, objects_in

TOKEN = "made-up.token.for-tests"  # noqa: S105  of a bot that only the simulator knows
GUILD = 5_000  # where rooms are

_RECONNECT = b'{"op":7,"d":null,"s":null,"t":null}'
_INVALID = b'{"op":9,"d":false,"s":null,"t":null}'


_TYPES = {"png": "image/png", "ogg": "audio/ogg", "mp3": "audio/mpeg"}
"""Content types by the end of a name."""


@dataclass(frozen=True, slots=True)
class Special:
    """Unusual properties of a message."""

    type: int | None = None  # None: said, or a reply
    forwarded: str | None = None  # the text of a message that is passed on
    webhook_id: int | None = None  # it is a webhook that speaks
    voice_s: float | None = None  # its file is a voice message of this length


class DiscordSimulator(Simulator[int, ShownMessage]):
    """Direct conversations, and channels of servers."""

    name = "discord"
    title = "Discord"
    orders = (
        "say",
        "edit",
        "delete",
        "command",
        "press",
        "add_guild",
        "add_channel",
        "add_thread",
        "block",
        "add_person",
        "add_bot",
        "network",
        "limit_starts",
    )

    def __init__(
        self,
        *,
        host: str = LOOPBACK,
        port: int = 0,
        any_token: bool = False,
        bucket: tuple[int, float] | None = None,
    ) -> None:
        """Nothing listens before `async with` (or `start`).

        Args:
            host: where to listen; keep it on loopback, /sim/ asks for no password.
            port: 0 takes a free one.
            any_token: an unknown token becomes a bot on first use; otherwise it is answered 401.
            bucket: so many messages in so many seconds pass in one channel, then 429; None lets all pass.
        """
        self.world = DiscordWorld(any_token=any_token)
        super().__init__(self.world, FaultScript(), host=host, port=port)
        operations = Operations(self.world, bucket=bucket)
        self.interactions = Interactions(self.world, operations)
        self.gateway = Gateway(self.world)
        self._operations = operations
        self._rest = Rest(self.world, operations, self.interactions, self.faults)

    @classmethod
    def with_bot(cls, token: str = TOKEN) -> Self:
        """Return a simulator that knows a bot."""
        simulator = cls()
        simulator.add_bot(token)
        return simulator

    async def start(self) -> None:
        """Listen, and tell where.

        Raises:
            OSError: the port is taken.
        """
        await super().start()
        self.gateway.url = self._rest.gateway_url = f"ws://{self._host}:{self._port}/gateway"
        self.world.cdn_base = self.base_url

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        path = request.path
        if path.rstrip("/") == "/gateway" and "upgrade" in request.headers.get("Connection", "").lower():
            return await self.gateway.handle(request)
        if path.startswith("/attachments/"):
            return self._download(path)
        return await self._rest.handle(request)

    def _download(self, path: str) -> web.StreamResponse:
        """Answer with a file of the CDN."""
        number = path.split("/")[3] if path.count("/") >= 3 else ""
        file = self.world.files.get(int(number)) if number.isdigit() else None
        if file is None:
            return web.Response(status=404, text="This content is no longer available.")
        return web.Response(body=file.content, content_type=file.mime)

    def environment(self) -> Mapping[str, str]:
        return {"DISCORD_BOT_TOKEN": self.bot.token, "DISCORD_API_BASE": self.base_url}

    def has_bot(self) -> bool:
        return bool(self.world.bots)

    def is_connected(self) -> bool:
        return self.bot.sessions.connected

    def arrivals(self) -> int:
        return self.bot.sessions.identifies + self.bot.sessions.resumes

    def count_unacknowledged(self) -> int:
        """Return 0: Discord is told how far a session is only when it is taken up again."""
        return 0

    def forget(self) -> None:
        """Let no session be resumed."""
        self.forget_sessions()

    # ------------------------------------------------------------ people and chats

    @property
    def bot(self) -> Bot:
        """Return the first bot."""
        return self.world.bot()

    def add_bot(self, token: str, *, name: str = "TenK", bot_id: int | None = None) -> Bot:
        """Make this token known to Discord."""
        return self.world.add_bot(token, name, bot_id)

    def add_person(self, person: int, name: str, *, locale: str = "en-US", is_bot: bool = False) -> None:
        """Give a person a name; others are called "Person" and their id."""
        self.world.people[person] = Person(person, name, locale, is_bot)

    def name_person(self, person: int, name: str) -> None:
        self.add_person(person, name)

    def add_guild(self, guild: int, name: str = "Guild", *, joined_s_ago: float = 86_400.0) -> Guild:
        """Make a server all bots are in; those connected are told."""
        bots = {bot.id for bot in self.world.bots.values()}
        made = self.world.guilds[guild] = Guild(guild, name, time.time() - joined_s_ago, bots)
        for bot in self.world.bots.values():
            bot.sessions.emit("GUILD_CREATE", self.world.as_guild(made), intent=GUILDS, guild=guild)
        return made

    def add_channel(self, channel: int, guild: int, *, name: str = "general", forum: bool = False) -> Channel:
        """Make a channel of a server."""
        if guild not in self.world.guilds:
            self.add_guild(guild)
        return self._add(Channel(channel, type=FORUM if forum else TEXT, name=name, guild_id=guild), "CHANNEL_CREATE")

    def add_thread(self, thread: int, parent: int, *, name: str = "thread") -> Channel:
        """Make a thread under a channel, or a forum's post."""
        guild = self.world.channels[parent].guild_id
        made = Channel(thread, type=PUBLIC_THREAD, name=name, guild_id=guild, parent_id=parent)
        return self._add(made, "THREAD_CREATE")

    def _add(self, channel: Channel, event: str) -> Channel:
        self.world.channels[channel.id] = channel
        self.world.tell_channel(channel, event)
        return channel

    def leave(self, guild: int) -> None:
        """Throw the bots out of a server."""
        for bot in self.world.bots.values():
            bot.sessions.emit("GUILD_DELETE", {"id": str(guild)}, intent=GUILDS, guild=guild)
        self.world.guilds[guild].bots.clear()

    def direct(self, person: int) -> int:
        return person

    def room(self, number: int) -> int:
        if number not in self.world.channels:
            self.add_channel(number, GUILD)
        return number

    def chats(self) -> Mapping[int, Channel]:
        return self.world.channels

    def find_chat(self, chat: int) -> Channel | None:
        """Return a channel, or the conversation that the bot began with the person of this number; or None."""
        begun = (channel for channel in self.world.channels.values() if channel.person_id == chat)
        return self.world.channels.get(chat) or next(begun, None)

    def chat(self, chat: int) -> Channel:
        """Return a channel; a direct conversation if none has this id."""
        return self.world.channels.get(chat) or self.world.dm(self.bot, chat, chat)

    @property
    def mention(self) -> str:
        return f"<@{self.bot.id}>"

    # ------------------------------------------------------------ what they do

    def say(
        self,
        chat: int,
        text: str,
        *,
        person: int | None = None,
        under: int | None = None,
        files: Mapping[str, bytes] | None = None,
        special: Special = Special(),
    ) -> int:
        """Write, with files by their names; return the message's id."""
        channel = self.chat(chat)
        sender = person or channel.person_id or chat
        self.world.person(sender)
        uploads = [
            File("document", content, name, _TYPES.get(name.rpartition(".")[2], "text/plain"), seconds=special.voice_s)
            for name, content in (files or {}).items()
        ]
        usual = SAID if under is None else REPLY
        message = ShownMessage(
            self.world.snowflake(),
            channel.id,
            sender,
            by_bot=False,
            text=text,
            type=usual if special.type is None else special.type,
            reply_to=under,
            forwarded=special.forwarded,
            webhook_id=special.webhook_id,
            flags=0 if special.voice_s is None else VOICE,
            files=self._operations.store(channel.id, uploads),
        )
        channel.messages[message.message_id] = message
        self.world.tell_message(channel, "MESSAGE_CREATE", message)
        self.world.notify()
        return message.message_id

    def send_voice(self, chat: int, content: bytes, seconds: float = 3.0, *, person: int | None = None) -> int:
        voice = Special(voice_s=seconds)
        return self.say(chat, "", person=person, files={"voice-message.ogg": content}, special=voice)

    def send_picture(self, chat: int, content: bytes, text: str = "", *, person: int | None = None) -> int:
        return self.say(chat, text, person=person, files={"picture.png": content})

    def change(self, chat: Chat[int, ShownMessage], message: ShownMessage, text: str) -> None:
        message.edits.append(Edit(text))
        message.text, message.edited_at = text, time.time()
        self.world.tell_message(self.world.channels[chat.id], "MESSAGE_UPDATE", message)

    def unfurl(self, chat: int, message_id: int) -> None:
        """Add an embed to a message, as Discord does: an update that no person made."""
        channel = self.world.channels[chat]
        self.world.tell_message(channel, "MESSAGE_UPDATE", channel.messages[message_id])

    def take_back(self, chat: Chat[int, ShownMessage], message: ShownMessage) -> None:
        message.deleted = True
        self.world.tell_deleted(self.world.channels[chat.id], message)

    def command(
        self,
        chat: int,
        name: str,
        text: str | Mapping[str, JsonValue] = "",
        *,
        person: int | None = None,
    ) -> Interaction:
        """Use a slash command; a text is its option of that name, an object its options.

        Raises:
            LookupError: the bot registered commands, and this one is not among them.
        """
        known = [command["name"] for command in self.bot.commands]
        if known and name not in known:
            raise LookupError(f"there is no command /{name}")
        options = ({"text": text} if text else {}) if isinstance(text, str) else text
        data: JsonObject = {"id": "1", "name": name, "type": 1}
        if options:
            data["options"] = [
                {"name": key, "type": 3 if isinstance(value, str) else 4, "value": value}
                for key, value in options.items()
            ]
        return self._invoke(self.chat(chat), person, data, None)

    def has_command(self, name: str, text: str) -> bool:
        """Return True if a command takes these words, as its option `text` or as none at all."""
        options = next((command.get("options") for command in self.bot.commands if command["name"] == name), None)
        return not text if not options else any(option.get("name") == "text" for option in objects_in(options))

    def press(self, chat: int, message_id: int, value: str, *, person: int | None = None) -> Interaction:
        """Press the button with this custom id under a message."""
        pressed: JsonObject = {"custom_id": value, "component_type": 2}
        return self._invoke(self.world.channels[chat], person, pressed, message_id)

    def _invoke(self, channel: Channel, person: int | None, data: JsonObject, message: int | None) -> Interaction:
        who = person or channel.person_id or channel.id
        interaction = self.interactions.invoke(self.bot, channel, who, data, message)
        self.world.notify()
        return interaction

    def block(self, chat: int) -> None:
        """Take no direct messages from bots any more; in a server: let the bot not write there."""
        channel = self.chat(chat)
        if channel.type == DM:
            self.world.person(channel.person_id or chat).takes_dms = False
        else:
            channel.writable = False

    # ------------------------------------------------------------ between bots and Discord

    def inject(self, event: str, data: bytes) -> None:
        """Dispatch any bytes as an event's data, in sequence."""
        self.bot.sessions.emit_raw(event, data)

    def frame(self, raw: bytes) -> None:
        """Send any bytes as a frame, outside the sequence."""
        self.bot.sessions.tell(raw)

    def ask_reconnect(self, *, shard: int | None = None) -> None:
        """Send op 7 (come back, and resume) to all connections or, here and below, to those of one shard."""
        self.bot.sessions.tell(_RECONNECT, shard)

    def close_sockets(self, code: int | None, *, shard: int | None = None) -> None:
        """Close connections with a code; None cuts them without a goodbye."""
        self.bot.sessions.tell(Close(code), shard)

    def invalidate(self, *, shard: int | None = None) -> None:
        """Send op 9: no session can be taken up again."""
        self.forget_sessions(shard=shard)
        self.bot.sessions.tell(_INVALID, shard)

    def forget_sessions(self, *, shard: int | None = None) -> None:
        """Let no session be resumed, as after a long time away; connections stay as they are."""
        self.bot.sessions.invalidate(shard)

    def network(
        self,
        do: Literal["reconnect", "cut", "invalidate", "forget"],
        *,
        code: int | None = None,
        shard: int | None = None,
    ) -> None:
        """Disturb connections, over /sim/."""
        match do:
            case "reconnect":
                self.ask_reconnect(shard=shard)
            case "cut":
                self.close_sockets(code, shard=shard)
            case "invalidate":
                self.invalidate(shard=shard)
            case "forget":
                self.forget_sessions(shard=shard)

    def limit_starts(self, shards: int, *, max_concurrency: int = 1, every_s: float = 5.0) -> None:
        """Set how sessions may be opened, and with how many shards."""
        limit = self.bot.sessions.limit
        limit.shards, limit.max_concurrency, limit.every_s = shards, max_concurrency, every_s

    def read_id(self, text: str) -> int:
        return int(text)

    def status(self) -> JsonValue:
        return {
            "bots": [
                {
                    "id": bot.id,
                    "username": bot.name,
                    "connected": bot.sessions.connected,
                    "commands": [command["name"] for command in bot.commands],
                    "identifies": bot.sessions.identifies,
                    "resumes": bot.sessions.resumes,
                    "too_quick": bot.sessions.too_quick,
                    "shards": [f"{number}/{count}" for number, count in bot.sessions.open_shards],
                }
                for bot in self.world.bots.values()
            ],
            "faults_hit": self.faults.hits(),
        }
