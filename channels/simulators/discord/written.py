"""Messages, channels and guilds as Discord writes them, and telling bots of what happened."""

import re

from pydantic import JsonValue

from channels.simulators.discord.checks import JsonObject
from channels.simulators.discord.state import (
    DM,
    PUBLIC_THREAD,
    Bot,
    Channel,
    Guild,
    ShownMessage,
    World,
    iso,
)

_MENTION = re.compile(r"<@!?(\d+)>")

GUILDS, GUILD_MESSAGES, DIRECT_MESSAGES, MESSAGE_CONTENT = 1 << 0, 1 << 9, 1 << 12, 1 << 15


def user_of(world: World, user_id: int) -> JsonObject:
    """A person or a bot as User."""
    bot = world.bot_by_id(user_id)
    return bot.as_user() if bot is not None else world.person(user_id).as_user()


def as_member() -> JsonObject:
    """Anybody as a plain member of a server, without who it is."""
    return {"nick": None, "avatar": None, "roles": [], "joined_at": iso(0), "deaf": False, "mute": False, "flags": 0}


def as_message(world: World, message: ShownMessage, *, depth: int = 0) -> JsonObject:
    """Discord's Message, with the message replied to one level deep. It holds no nonce: Discord does not keep it."""
    channel = world.channels[message.chat_id]
    body: JsonObject = {
        "id": str(message.message_id),
        "channel_id": str(message.chat_id),
        "author": user_of(world, message.sender_id),
        "content": message.text,
        "timestamp": iso(message.at),
        "edited_timestamp": None if message.edited_at is None else iso(message.edited_at),
        "tts": False,
        "mention_everyone": "everyone" in message.pings,
        "mentions": _mentions(world, message),
        "mention_roles": [],
        "attachments": [file.as_attachment() for file in message.files],
        "embeds": [],
        "components": list(message.components),
        "pinned": False,
        "type": message.type,
        "flags": message.flags,
        "reactions": _reactions(message),
    }
    if message.webhook_id is not None:
        body["webhook_id"] = str(message.webhook_id)
    if message.answers is not None:
        body["interaction_metadata"] = {
            "id": str(message.answers.id),
            "type": message.answers.kind,
            "user": user_of(world, message.answers.person_id),
            "authorizing_integration_owners": {"0": str(channel.guild_id or 0)},
        }
    if message.forwarded is not None:
        body["message_reference"] = {"type": 1, "channel_id": "1", "message_id": "1"}
        snapshot: JsonObject = {"content": message.forwarded, "attachments": [], "timestamp": iso(message.at)}
        body["message_snapshots"] = [{"message": snapshot}]
    elif message.reply_to is not None and depth == 0:
        body["message_reference"] = {
            "type": 0,
            "message_id": str(message.reply_to),
            "channel_id": str(message.chat_id),
        }
        original = channel.messages.get(message.reply_to)
        alive = original is not None and not original.deleted
        body["referenced_message"] = as_message(world, original, depth=1) if alive and original is not None else None
    return body


def _mentions(world: World, message: ShownMessage) -> list[JsonValue]:
    """The users a text names; of a reply also who is replied to."""
    named = {int(number) for number in _MENTION.findall(message.text)} if "<@" in message.text else set()
    return [user_of(world, number) for number in sorted(named)]


def _reactions(message: ShownMessage) -> list[JsonValue]:
    emoji = [reaction for per_person in message.reactions.values() for reaction in per_person]
    return [
        {"emoji": {"id": None, "name": reaction}, "count": emoji.count(reaction), "me": True}
        for reaction in dict.fromkeys(emoji)
    ]


def as_channel(channel: Channel) -> JsonObject:
    """Discord's Channel."""
    last = next(reversed(channel.messages), None)
    body: JsonObject = {
        "id": str(channel.id),
        "type": channel.type,
        "last_message_id": None if last is None else str(last),
        "flags": 0,
    }
    if channel.type == DM:
        body["recipients"] = []
        return body
    body |= {"name": channel.name, "guild_id": str(channel.guild_id), "position": 0, "permission_overwrites": []}
    body["parent_id"] = None if channel.parent_id is None else str(channel.parent_id)
    if channel.is_thread:
        body["thread_metadata"] = {
            "archived": channel.archived,
            "auto_archive_duration": 1440,
            "archive_timestamp": iso(0),
            "locked": False,
        }
        body |= {"owner_id": "1", "message_count": len(channel.messages), "member_count": 1}
    return body


def as_guild(world: World, guild: Guild) -> JsonObject:
    """What GUILD_CREATE carries."""
    channels = [channel for channel in world.channels.values() if channel.guild_id == guild.id]
    return {
        "id": str(guild.id),
        "name": guild.name,
        "joined_at": iso(guild.joined_at),
        "unavailable": False,
        "large": False,
        "member_count": 2,
        "channels": [as_channel(channel) for channel in channels if channel.type != PUBLIC_THREAD],
        "threads": [
            as_channel(channel) for channel in channels if channel.type == PUBLIC_THREAD and not channel.archived
        ],
        "members": [],
        "roles": [],
        "emojis": [],
        "presences": [],
        "voice_states": [],
    }


def tell_message(world: World, channel: Channel, event: str, message: ShownMessage) -> None:
    """Tell every bot that listens of a message that was said or changed.

    What is ephemeral is told to its bot alone, as if it were a direct message (discord-api-docs issue 4557).
    """
    body = as_message(world, message)
    if message.only_for is not None:
        for bot in world.listeners(channel):
            if bot.id == message.sender_id:
                bot.sessions.emit(event, body, intent=DIRECT_MESSAGES)
        return
    if channel.type != DM:
        body["guild_id"] = str(channel.guild_id)
        body["member"] = as_member()
    if message.nonce is not None and event == "MESSAGE_CREATE":
        body["nonce"] = message.nonce
    for bot in world.listeners(channel):
        _tell(bot, event, body, message, channel.guild_id)


def _tell(bot: Bot, event: str, body: JsonObject, message: ShownMessage, guild: int | None) -> None:
    """One bot; without the privileged intent, what was not said to it has no content."""
    intent = DIRECT_MESSAGES if guild is None else GUILD_MESSAGES
    concerns = guild is None or message.sender_id == bot.id or f"<@{bot.id}>" in message.text
    if concerns or bot.message_content:
        bot.sessions.emit(event, body, intent=intent, guild=guild)
    else:
        blank: JsonObject = {"content": "", "attachments": [], "embeds": [], "components": []}
        bot.sessions.emit(event, body | blank, intent=intent, guild=guild)


def tell_deleted(world: World, channel: Channel, message: ShownMessage) -> None:
    """Tell every bot that listens that a message is gone."""
    body: JsonObject = {"id": str(message.message_id), "channel_id": str(channel.id)}
    if channel.guild_id is not None:
        body["guild_id"] = str(channel.guild_id)
    intent = DIRECT_MESSAGES if channel.type == DM else GUILD_MESSAGES
    for bot in world.listeners(channel):
        bot.sessions.emit("MESSAGE_DELETE", body, intent=intent, guild=channel.guild_id)


def tell_channel(world: World, channel: Channel, event: str) -> None:
    """Tell bots that a channel or thread came or changed."""
    body = as_channel(channel) | ({"newly_created": True} if event == "THREAD_CREATE" else {})
    for bot in world.listeners(channel):
        bot.sessions.emit(event, body, intent=GUILDS, guild=channel.guild_id)
