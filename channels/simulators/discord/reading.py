"""Bots read the simulated world over REST, and register their commands. What changes it is in `operations`."""

import hashlib
from dataclasses import dataclass, field

from pydantic import JsonValue

from channels.simulators.discord.checks import JsonObject, Refusal, Upload, check_commands
from channels.simulators.discord.state import PUBLIC_THREAD, Bot, Channel, ShownMessage, World
from channels.simulators.discord.written import as_channel, as_message


@dataclass(frozen=True, slots=True)
class Call:
    """One REST call, read."""

    ids: dict[str, str]  # out of the path
    query: dict[str, str] = field(default_factory=dict)
    body: JsonObject = field(default_factory=dict)
    listing: JsonValue = None  # a body that is a list
    uploads: tuple[Upload, ...] = ()

    def number(self, name: str) -> int:
        """An id out of the path; one that is none is of nothing known."""
        text = self.ids.get(name, "")
        return int(text) if text.isascii() and text.isdigit() else 0


def living(channel: Channel, call: Call) -> ShownMessage:
    """The message a path names.

    Raises:
        Refusal: 10008.
    """
    message = channel.messages.get(call.number("message"))
    if message is None or message.deleted:
        raise Refusal(404, 10008, "Unknown Message")
    return message


class Reading:
    """Answers what bots ask."""

    def __init__(self, world: World) -> None:
        self._world = world

    def me(self, bot: Bot, call: Call) -> JsonValue:
        """GET /users/@me."""
        return bot.as_user()

    def application(self, bot: Bot, call: Call) -> JsonValue:
        """GET /oauth2/applications/@me."""
        flags = (1 << 19) if bot.message_content else 0
        owner: JsonObject = {"id": "1", "username": "owner", "discriminator": "0", "avatar": None}
        return {
            "id": str(bot.id),
            "name": bot.name,
            "icon": None,
            "description": "",
            "owner": owner,
            "flags": flags,
            "bot_public": False,
            "bot_require_code_grant": False,
            "verify_key": hashlib.sha256(bot.token.encode()).hexdigest(),
        }

    def my_guilds(self, bot: Bot, call: Call) -> JsonValue:
        """GET /users/@me/guilds."""
        return [
            {"id": str(guild.id), "name": guild.name} for guild in self._world.guilds.values() if bot.id in guild.bots
        ]

    def guild_channels(self, bot: Bot, call: Call) -> JsonValue:
        """GET /guilds/{guild}/channels."""
        return [as_channel(channel) for channel in self._of_guild(bot, call) if channel.type != PUBLIC_THREAD]

    def active_threads(self, bot: Bot, call: Call) -> JsonValue:
        """GET /guilds/{guild}/threads/active."""
        threads = [
            channel for channel in self._of_guild(bot, call) if channel.type == PUBLIC_THREAD and not channel.archived
        ]
        return {"threads": [as_channel(channel) for channel in threads if channel.readable], "members": []}

    def archived_threads(self, bot: Bot, call: Call) -> JsonValue:
        """GET /channels/{channel}/threads/archived/public, all on one page."""
        parent = self._world.channel(bot, call.number("channel"))
        asleep = [
            channel for channel in self._world.channels.values() if channel.parent_id == parent.id and channel.archived
        ]
        threads: list[JsonValue] = [as_channel(channel) for channel in asleep]
        return {"threads": threads, "members": [], "has_more": False}

    def _of_guild(self, bot: Bot, call: Call) -> list[Channel]:
        guild = self._world.guilds.get(call.number("guild"))
        if guild is None or bot.id not in guild.bots:
            raise Refusal(404, 10004, "Unknown Guild")
        return [channel for channel in self._world.channels.values() if channel.guild_id == guild.id]

    def channel(self, bot: Bot, call: Call) -> JsonValue:
        """GET /channels/{channel}."""
        return as_channel(self._world.channel(bot, call.number("channel")))

    def messages(self, bot: Bot, call: Call) -> JsonValue:
        """GET /channels/{channel}/messages: newest first; with `after` the oldest ones after it."""
        channel = self._world.channel(bot, call.number("channel"))
        limit = min(max(int(call.query.get("limit", "50")), 1), 100)
        there = [message for message in channel.messages.values() if not message.deleted]
        if "after" in call.query:
            after = int(call.query["after"])
            page = [message for message in there if message.message_id > after][:limit]
        else:
            before = int(call.query.get("before", 2**63))
            page = [message for message in there if message.message_id < before][-limit:]
        newest_first = page[::-1]
        if not self._world.pages_sorted:
            newest_first = newest_first[1::2] + newest_first[::2]
        return [as_message(self._world, message) for message in newest_first]

    def message(self, bot: Bot, call: Call) -> JsonValue:
        """GET /channels/{channel}/messages/{message}."""
        return as_message(self._world, living(self._world.channel(bot, call.number("channel")), call))

    def commands(self, bot: Bot, call: Call) -> JsonValue:
        """GET /applications/{application}/commands."""
        self._own(bot, call)
        return list(bot.commands)

    def put_commands(self, bot: Bot, call: Call) -> JsonValue:
        """PUT /applications/{application}/commands."""
        self._own(bot, call)
        commands = check_commands(call.listing)
        bot.commands = [command | {"id": str(self._world.snowflake()), "type": 1} for command in commands]
        bot.puts += 1
        return list(bot.commands)

    def _own(self, bot: Bot, call: Call) -> None:
        if call.number("application") != bot.id:
            raise Refusal(403, 20012, "You are not authorized to perform this action on this application")
