"""Bots read and change the simulated world over REST: each operation is `(bot, call) -> result` or a Refusal.

Interactions live in `interactions`; HTTP and faults in `rest`.
"""

import hashlib
import re
import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from pydantic import JsonValue

from channels.simulators.discord.checks import (
    Refusal,
    check_commands,
    check_files,
    check_nonce,
    checked_components,
    checked_content,
    find_pings,
    invalid,
)
from channels.simulators.discord.state import (
    DM,
    FORUM,
    PUBLIC_THREAD,
    REPLY,
    SAID,
    SILENT,
    SUPPRESS_EMBEDS,
    Bot,
    Channel,
    DiscordWorld,
    ShownMessage,
)
from channels.simulators.shared.world import Edit, File, JsonObject, objects_in


@dataclass(frozen=True, slots=True)
class RestCall:
    """One REST call, read."""

    ids: dict[str, str]  # out of the path
    query: dict[str, str] = field(default_factory=dict)
    body: JsonObject = field(default_factory=dict)
    listing: JsonValue = None  # a body that is a list
    uploads: tuple[File, ...] = ()

    def number(self, name: str) -> int:
        """Return an id out of the path; 0 if it is none."""
        text = self.ids.get(name, "")
        return int(text) if text.isascii() and text.isdigit() else 0


class TooMany(Refusal):
    """A 429 of a channel's own bucket."""

    def __init__(self, retry_after_s: float) -> None:
        super().__init__(429, 0, "You are being rate limited.")
        self.retry_after_s = retry_after_s

    def body(self) -> JsonObject:
        return {"message": self.message, "retry_after": round(self.retry_after_s, 3), "global": False}


class Operations:
    """Carries out what bots ask for."""

    def __init__(self, world: DiscordWorld, *, bucket: tuple[int, float] | None) -> None:
        """Take the world, and how many messages pass in how many seconds a channel; None lets all pass."""
        self._world = world
        self._bucket = bucket

    def _channel(self, bot: Bot, call: RestCall) -> Channel:
        return self._world.channel(bot, call.number("channel"))

    def _message(self, bot: Bot, call: RestCall) -> ShownMessage:
        return self._channel(bot, call).living(call.number("message"))

    # ------------------------------------------------------------ the bot itself

    def me(self, bot: Bot, call: RestCall) -> JsonValue:
        """GET /users/@me."""
        return bot.as_user()

    def application(self, bot: Bot, call: RestCall) -> JsonValue:
        """GET /oauth2/applications/@me."""
        owner: JsonObject = {"id": "1", "username": "owner", "discriminator": "0", "avatar": None}
        return {
            "id": str(bot.id),
            "name": bot.name,
            "icon": None,
            "description": "",
            "owner": owner,
            "flags": (1 << 19) if bot.message_content else 0,
            "bot_public": False,
            "bot_require_code_grant": False,
            "verify_key": hashlib.sha256(bot.token.encode()).hexdigest(),
        }

    def commands(self, bot: Bot, call: RestCall) -> JsonValue:
        """GET /applications/{application}/commands."""
        self._check_own(bot, call)
        return list(bot.commands)

    def put_commands(self, bot: Bot, call: RestCall) -> JsonValue:
        """PUT /applications/{application}/commands."""
        self._check_own(bot, call)
        commands = check_commands(call.listing)
        bot.commands = [command | {"id": str(self._world.snowflake()), "type": 1} for command in commands]
        bot.puts += 1
        return list(bot.commands)

    def _check_own(self, bot: Bot, call: RestCall) -> None:
        if call.number("application") != bot.id:
            raise Refusal(403, 20012, "You are not authorized to perform this action on this application")

    # ------------------------------------------------------------ channels

    def my_guilds(self, bot: Bot, call: RestCall) -> JsonValue:
        """GET /users/@me/guilds."""
        return [
            {"id": str(guild.id), "name": guild.name} for guild in self._world.guilds.values() if bot.id in guild.bots
        ]

    def guild_channels(self, bot: Bot, call: RestCall) -> JsonValue:
        """GET /guilds/{guild}/channels."""
        return [channel.as_channel() for channel in self._of_guild(bot, call) if channel.type != PUBLIC_THREAD]

    def active_threads(self, bot: Bot, call: RestCall) -> JsonValue:
        """GET /guilds/{guild}/threads/active."""
        threads = [
            channel for channel in self._of_guild(bot, call) if channel.type == PUBLIC_THREAD and not channel.archived
        ]
        return {"threads": [thread.as_channel() for thread in threads if thread.readable], "members": []}

    def archived_threads(self, bot: Bot, call: RestCall) -> JsonValue:
        """GET /channels/{channel}/threads/archived/public, all on one page."""
        parent = self._channel(bot, call)
        threads = [
            channel for channel in self._world.channels.values() if channel.parent_id == parent.id and channel.archived
        ]
        return {"threads": [thread.as_channel() for thread in threads], "members": [], "has_more": False}

    def _of_guild(self, bot: Bot, call: RestCall) -> list[Channel]:
        guild = self._world.guilds.get(call.number("guild"))
        if guild is None or bot.id not in guild.bots:
            raise Refusal(404, 10004, "Unknown Guild")
        return [channel for channel in self._world.channels.values() if channel.guild_id == guild.id]

    def channel(self, bot: Bot, call: RestCall) -> JsonValue:
        """GET /channels/{channel}."""
        return self._channel(bot, call).as_channel()

    def messages(self, bot: Bot, call: RestCall) -> JsonValue:
        """GET /channels/{channel}/messages: newest first; with `after` the oldest ones after it."""
        there = self._channel(bot, call).public()
        limit = min(max(int(call.query.get("limit", "50")), 1), 100)
        if "after" in call.query:
            after = int(call.query["after"])
            page = [message for message in there if message.message_id > after][:limit]
        else:
            before = int(call.query.get("before", 2**63))
            page = [message for message in there if message.message_id < before][-limit:]
        newest_first = page[::-1]
        if not self._world.pages_sorted:
            newest_first = newest_first[1::2] + newest_first[::2]
        return [self._world.as_message(message) for message in newest_first]

    def message(self, bot: Bot, call: RestCall) -> JsonValue:
        """GET /channels/{channel}/messages/{message}."""
        return self._world.as_message(self._message(bot, call))

    def open_dm(self, bot: Bot, call: RestCall) -> JsonValue:
        """POST /users/@me/channels."""
        recipient = str(call.body.get("recipient_id") or "")
        if not recipient.isdigit():
            raise invalid("recipient_id", "NUMBER_TYPE_COERCE", "Value is not snowflake.")
        return self._world.dm(bot, int(recipient)).as_channel()

    # ------------------------------------------------------------ saying

    def create_message(self, bot: Bot, call: RestCall) -> JsonValue:
        """POST /channels/{channel}/messages."""
        channel = self._writable(bot, call)
        nonce = check_nonce(call.body)
        enforced = nonce if call.body.get("enforce_nonce") is True else None
        if enforced is not None and (earlier := self._earlier(bot, channel, enforced)) is not None:
            return self._world.as_message(earlier) | {"nonce": nonce}
        self._pace(channel)
        message = self.to_message(bot, channel, call)
        channel.messages[message.message_id] = message
        message.key = nonce
        if enforced is not None:
            bot.nonces[channel.id, enforced] = (message.message_id, time.monotonic())
        self._world.tell_message(channel, "MESSAGE_CREATE", message)
        body = self._world.as_message(message)
        return body if nonce is None else body | {"nonce": nonce}

    def _earlier(self, bot: Bot, channel: Channel, nonce: str) -> ShownMessage | None:
        """Return the message this nonce made "in the past few minutes"."""
        message_id, at_s = bot.nonces.get((channel.id, nonce), (0, 0.0))
        if not message_id or time.monotonic() - at_s > self._world.nonce_window_s:
            return None
        return channel.messages[message_id]

    def _writable(self, bot: Bot, call: RestCall) -> Channel:
        """Return a channel this bot may write into.

        Raises:
            Refusal: 10003, 50001, 50007, 50008, 50013.
        """
        channel = self._channel(bot, call)
        if channel.type == DM and not self._world.person(channel.person_id or 0).takes_dms:
            raise Refusal(403, 50007, "Cannot send messages to this user")
        if not channel.writable:
            raise Refusal(403, 50013, "Missing Permissions")
        if channel.type == FORUM:
            raise Refusal(400, 50008, "Cannot send messages in a non-text channel")
        return channel

    def _pace(self, channel: Channel) -> None:
        if self._bucket is None:
            return
        most, window_s = self._bucket
        now_s = time.monotonic()
        while channel.bucket and now_s - channel.bucket[0] >= window_s:
            channel.bucket.popleft()
        if len(channel.bucket) >= most:
            raise TooMany(window_s - (now_s - channel.bucket[0]))
        channel.bucket.append(now_s)

    def rate_headers(self, channel_id: int | None) -> dict[str, str]:
        """Return the headers of a channel's bucket; none with limits off."""
        channel = self._world.channels.get(channel_id or 0)
        if self._bucket is None or channel is None:
            return {}
        most, window_s = self._bucket
        left = most - len(channel.bucket)
        reset_s = window_s - (time.monotonic() - channel.bucket[0]) if channel.bucket else window_s
        return {
            "X-RateLimit-Limit": str(most),
            "X-RateLimit-Remaining": str(max(0, left)),
            "X-RateLimit-Reset": f"{time.time() + reset_s:.3f}",
            "X-RateLimit-Reset-After": f"{max(0.0, reset_s) + 0.001:.3f}",  # rounded down, a waiter comes too early
            "X-RateLimit-Bucket": "80c17d2f203122d936070c88c8d10f33",
        }

    def to_message(self, bot: Bot, channel: Channel, call: RestCall) -> ShownMessage:
        """Return a message of the bot's out of a call's body; it is not shown yet."""
        text = checked_content(call.body)
        components = checked_components(call.body)
        check_files(call.uploads)
        if not text and not components and not call.uploads:
            raise Refusal(400, 50006, "Cannot send an empty message")
        flags, reply_to = call.body.get("flags"), self._reply_target(channel, call.body)
        return ShownMessage(
            self._world.snowflake(),
            channel.id,
            bot.id,
            by_bot=True,
            text=text or "",
            type=SAID if reply_to is None else REPLY,
            reply_to=reply_to,
            flags=(flags if isinstance(flags, int) else 0) & (SUPPRESS_EMBEDS | SILENT),
            pings=find_pings(text or "", call.body.get("allowed_mentions")),
            components=objects_in(components),
            files=self.store(channel.id, call.uploads),
        )

    def _reply_target(self, channel: Channel, body: JsonObject) -> int | None:
        reference = body.get("message_reference")
        if not isinstance(reference, dict):
            return None
        target = int(str(reference.get("message_id") or 0))
        if channel.find(target) is not None:
            return target
        if reference.get("fail_if_not_exists") is False:
            return None
        raise invalid("message_reference", "MESSAGE_REFERENCE_UNKNOWN_MESSAGE", "Unknown message")

    def store(self, channel: int, uploads: Sequence[File]) -> list[File]:
        """Put files on the CDN, under names that are safe in a path."""
        stored: list[File] = []
        for upload in uploads:
            last = upload.name.replace("\\", "/").rsplit("/", 1)[-1]
            name = re.sub(r"[^\w.\-]+", "_", last).lstrip(".") or "unknown"
            file_id = self._world.snowflake()
            url = f"{self._world.cdn_base}/attachments/{channel}/{file_id}/{name}?ex={secrets.token_hex(4)}"
            file = self._world.files[file_id] = replace(upload, name=name, id=str(file_id), path=url)
            stored.append(file)
        return stored

    def typing(self, bot: Bot, call: RestCall) -> JsonValue:
        """POST /channels/{channel}/typing."""
        self._writable(bot, call).typing.append(time.monotonic())
        return None

    # ------------------------------------------------------------ changing

    def edit_message(self, bot: Bot, call: RestCall) -> JsonValue:
        """PATCH /channels/{channel}/messages/{message}."""
        message = self._message(bot, call)
        if message.sender_id != bot.id:
            raise Refusal(403, 50005, "Cannot edit a message authored by another user")
        self.change(message, call)
        return self._world.as_message(message)

    def change(self, message: ShownMessage, call: RestCall) -> None:
        """Change a message of a bot's as a body says, and tell."""
        text = checked_content(call.body)
        if "components" in call.body:
            message.components = objects_in(checked_components(call.body))
        check_files(call.uploads)
        if text == "" and not (message.components or message.files or call.uploads):
            raise Refusal(400, 50006, "Cannot send an empty message")
        if text is not None:
            message.edits.append(Edit(text))
            message.text = text
            message.pings = tuple(dict.fromkeys(message.pings + find_pings(text, call.body.get("allowed_mentions"))))
        message.files += self.store(message.chat_id, call.uploads)
        flags = call.body.get("flags")
        if isinstance(flags, int):  # the only one of them that an edit can change
            message.flags = message.flags & ~SUPPRESS_EMBEDS | flags & SUPPRESS_EMBEDS
        message.edited_at = time.time()
        self._world.tell_message(self._world.channels[message.chat_id], "MESSAGE_UPDATE", message)

    def delete_message(self, bot: Bot, call: RestCall) -> JsonValue:
        """DELETE /channels/{channel}/messages/{message}."""
        channel, message = self._channel(bot, call), self._message(bot, call)
        if channel.type == DM and message.sender_id != bot.id:
            raise Refusal(403, 50003, "Cannot execute action on a DM channel")
        message.deleted = True
        self._world.tell_deleted(channel, message)
        return None

    def react(self, bot: Bot, call: RestCall) -> JsonValue:
        """PUT .../reactions/{emoji}/@me."""
        message, emoji = self._message(bot, call), call.ids["emoji"]
        if emoji.isascii():
            raise Refusal(400, 10014, "Unknown Emoji")
        message.reactions.setdefault(emoji, set()).add(bot.id)
        return None

    def unreact(self, bot: Bot, call: RestCall) -> JsonValue:
        """DELETE .../reactions/{emoji}/@me."""
        self._message(bot, call).unreact(bot.id, call.ids["emoji"])
        return None
