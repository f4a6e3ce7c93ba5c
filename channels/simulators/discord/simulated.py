"""`SimulatedDiscord`: the person's side of the simulator, without any network.

What people do is told to the bots' sessions when a call returns; what they see is read back here. A chat is a
channel; an unknown one becomes the direct conversation of the person with that number.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import JsonValue

from channels.simulators.discord.checks import JsonObject, Upload
from channels.simulators.discord.faults import Faults
from channels.simulators.discord.gateway import Gateway
from channels.simulators.discord.interactions import Interaction, Interactions
from channels.simulators.discord.operations import Operations
from channels.simulators.discord.sessions import Close
from channels.simulators.discord.state import (
    DM,
    FORUM,
    PUBLIC_THREAD,
    TEXT,
    Bot,
    Channel,
    Guild,
    Person,
    ShownMessage,
    World,
)
from channels.simulators.discord.written import GUILDS, as_guild, tell_channel, tell_deleted, tell_message
from channels.simulators.shared.history import Edit
from channels.simulators.shared.server import Watched

_RECONNECT = b'{"op":7,"d":null,"s":null,"t":null}'


@dataclass(frozen=True, slots=True)
class Special:
    """What is not usual about something said."""

    type: int | None = None  # None: 0, or 19 for a reply
    flags: int = 0
    forwarded: str | None = None  # the text of a message that is passed on
    webhook_id: int | None = None  # it is a webhook that speaks


class SimulatedDiscord(Watched[int]):
    """People, channels and bots, and the fault script in force. `bot` arguments are tokens; None is the first bot."""

    _look_s = 0.05  # what happens on sockets wakes nobody

    def __init__(self, *, any_token: bool, bucket: tuple[int, float] | None) -> None:
        """See `DiscordSimulator`."""
        self._world = World(any_token=any_token)
        super().__init__(self._world)
        self.faults = Faults()
        self.operations = Operations(self._world, bucket=bucket)
        self.interactions = Interactions(self._world, self.operations)
        self.gateway = Gateway(self._world)

    @property
    def world(self) -> World:
        """Everything remembered, for what the methods below do not offer."""
        return self._world

    # What a test or a demo does before anybody talks.

    def add_bot(self, token: str, *, name: str = "TenK", bot_id: int | None = None) -> Bot:
        """Make this token known to Discord."""
        return self._world.add_bot(token, name, bot_id)

    def add_person(self, person_id: int, name: str, *, locale: str = "en-US", is_bot: bool = False) -> Person:
        """Somebody with a name; people nobody added are called "Person" and their id."""
        person = self._world.people[person_id] = Person(person_id, name, locale, is_bot)
        return person

    def add_guild(self, guild_id: int, name: str = "Guild", *, joined_s_ago: float = 86_400.0) -> Guild:
        """A server all bots are in; those connected are told."""
        bots = {bot.id for bot in self._world.bots.values()}
        guild = self._world.guilds[guild_id] = Guild(guild_id, name, time.time() - joined_s_ago, bots)
        for bot in self._world.bots.values():
            bot.sessions.emit("GUILD_CREATE", as_guild(self._world, guild), intent=GUILDS, guild=guild_id)
        return guild

    def add_channel(self, channel_id: int, guild_id: int, *, name: str = "general", forum: bool = False) -> Channel:
        """A channel of a server (made when it is new)."""
        if guild_id not in self._world.guilds:
            self.add_guild(guild_id)
        channel = Channel(channel_id, FORUM if forum else TEXT, name, guild_id)
        self._world.channels[channel_id] = channel
        tell_channel(self._world, channel, "CHANNEL_CREATE")
        return channel

    def add_thread(self, thread_id: int, parent_id: int, *, name: str = "thread") -> Channel:
        """A thread under a channel, or a forum's post."""
        parent = self._world.channels[parent_id]
        thread = Channel(thread_id, PUBLIC_THREAD, name, parent.guild_id, parent_id)
        self._world.channels[thread_id] = thread
        tell_channel(self._world, thread, "THREAD_CREATE")
        return thread

    def leave(self, guild_id: int) -> None:
        """Somebody throws the bots out of a server."""
        for bot in self._world.bots.values():
            bot.sessions.emit("GUILD_DELETE", {"id": str(guild_id)}, intent=GUILDS, guild=guild_id)
        self._world.guilds[guild_id].bots.clear()

    def chat(self, chat_id: int, *, bot: str | None = None) -> Channel:
        """The channel; a direct conversation where none has this id."""
        if chat_id not in self._world.channels:
            return self._world.dm(self._world.bot(bot), chat_id, chat_id)
        return self._world.channels[chat_id]

    # The person's side.

    def say(
        self,
        chat_id: int,
        text: str,
        *,
        person: int | None = None,
        reply_to: int | None = None,
        files: Mapping[str, bytes] | None = None,
        special: Special = Special(),
        bot: str | None = None,
    ) -> int:
        """Somebody writes; returns the message id. `person` is who (None: the one of a direct conversation)."""
        channel = self.chat(chat_id, bot=bot)
        sender = person or channel.person_id or chat_id
        self._world.person(sender)
        message = ShownMessage(
            message_id=self._world.snowflake(),
            chat_id=channel.id,
            sender_id=sender,
            by_bot=False,
            text=text,
            at=time.time(),
            at_s=time.monotonic(),
            type=special.type if special.type is not None else 0 if reply_to is None else 19,
            reply_to=reply_to,
            flags=special.flags,
            forwarded=special.forwarded,
            webhook_id=special.webhook_id,
        )
        for name, content in (files or {}).items():
            mime = "image/png" if name.endswith(".png") else "text/plain"
            message.files.append(self.operations.store(channel.id, Upload(name, content, mime)))
        channel.messages[message.message_id] = message
        tell_message(self._world, channel, "MESSAGE_CREATE", message)
        self._notify()
        return message.message_id

    def edit(self, chat_id: int, message_id: int, text: str) -> None:
        """Somebody changes what they wrote."""
        channel = self._world.channels[chat_id]
        message = channel.messages[message_id]
        message.edits.append(Edit(text, time.monotonic()))
        message.text, message.edited_at = text, time.time()
        tell_message(self._world, channel, "MESSAGE_UPDATE", message)
        self._notify()

    def unfurl(self, chat_id: int, message_id: int) -> None:
        """Discord adds an embed to a message: an update that nobody wrote."""
        channel = self._world.channels[chat_id]
        tell_message(self._world, channel, "MESSAGE_UPDATE", channel.messages[message_id])

    def delete(self, chat_id: int, message_id: int) -> None:
        """Somebody takes back what they wrote, or what the bot wrote."""
        channel = self._world.channels[chat_id]
        channel.messages[message_id].deleted = True
        tell_deleted(self._world, channel, channel.messages[message_id])
        self._notify()

    def command(
        self,
        chat_id: int,
        name: str,
        options: Mapping[str, JsonValue] | None = None,
        *,
        person: int | None = None,
        bot: str | None = None,
    ) -> Interaction:
        """Somebody uses a slash command.

        Raises:
            LookupError: the bot registered commands, and this one is not among them.
        """
        account = self._world.bot(bot)
        if account.commands and name not in {command["name"] for command in account.commands}:
            raise LookupError(f"there is no command /{name}")
        channel = self.chat(chat_id, bot=bot)
        given: list[JsonValue] = [
            {"name": key, "type": 3 if isinstance(value, str) else 4, "value": value}
            for key, value in (options or {}).items()
        ]
        data: JsonObject = {"id": "1", "name": name, "type": 1}
        if given:
            data["options"] = given
        return self._invoke(account, channel, person, data, None)

    def press(
        self, chat_id: int, message_id: int, data: str, *, person: int | None = None, bot: str | None = None
    ) -> Interaction:
        """Somebody presses a button under a message."""
        pressed: JsonObject = {"custom_id": data, "component_type": 2}
        return self._invoke(self._world.bot(bot), self._world.channels[chat_id], person, pressed, message_id)

    def _invoke(
        self, bot: Bot, channel: Channel, person: int | None, data: JsonObject, message: int | None
    ) -> Interaction:
        who = person or channel.person_id or channel.id
        found = self.interactions.invoke(bot, channel, who, data, message)
        self._notify()
        return found

    def block(self, chat_id: int) -> None:
        """A person takes no direct messages from bots any more; in a server: the bot may not write there."""
        channel = self.chat(chat_id)
        if channel.type == DM:
            self._world.person(channel.person_id or chat_id).takes_dms = False
        else:
            channel.writable = False

    # What happens between bots and Discord, and Discord's own whims.

    def inject(self, event: str, data: bytes, *, bot: str | None = None) -> None:
        """Dispatch any bytes as an event's data, in sequence."""
        self._world.bot(bot).sessions.emit_raw(event, data)

    def frame(self, raw: bytes, *, bot: str | None = None) -> None:
        """Send any bytes as a frame, outside the sequence."""
        self._world.bot(bot).sessions.tell(raw)

    def ask_reconnect(self, *, bot: str | None = None, shard: int | None = None) -> None:
        """Op 7: come back, and resume; here and below to all connections, or to those of one shard."""
        self._world.bot(bot).sessions.tell(_RECONNECT, shard)

    def close_sockets(self, code: int | None, *, bot: str | None = None, shard: int | None = None) -> None:
        """Close connections with a code; None cuts them without a goodbye."""
        self._world.bot(bot).sessions.tell(Close(code), shard)

    def invalidate(self, *, resumable: bool = False, bot: str | None = None, shard: int | None = None) -> None:
        """Op 9. Without `resumable` no session can be taken up again."""
        sessions = self._world.bot(bot).sessions
        if not resumable:
            sessions.invalidate(shard)
        sessions.tell(b'{"op":9,"d":%s,"s":null,"t":null}' % (b"true" if resumable else b"false"), shard)

    def forget_sessions(self, *, bot: str | None = None, shard: int | None = None) -> None:
        """As after a long time away: nothing can be resumed; connections stay as they are."""
        self._world.bot(bot).sessions.invalidate(shard)

    # What people see, and what arrived.

    def messages_in(self, chat_id: int, by: int | None = None) -> list[ShownMessage]:
        """The chat as the person `by` sees it now, in order and without what was deleted; None: as everybody does."""
        channel = self._world.channels.get(chat_id)
        if channel is None:
            return []
        theirs = [message for message in channel.ephemeral.values() if message.only_for == by]
        seen = [message for message in (*channel.messages.values(), *theirs) if not message.deleted]
        return sorted(seen, key=lambda message: message.message_id) if theirs else seen

    def answers(self, chat_id: int, by: int | None = None) -> list[ShownMessage]:
        """Of `messages_in`, what the bot said; what still shows "thinking" is not among it."""
        return [message for message in self.messages_in(chat_id, by) if message.by_bot and not message.loading]
