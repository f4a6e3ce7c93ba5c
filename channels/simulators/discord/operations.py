"""Bots change the simulated world over REST: each operation is `(bot, call) -> result` or a Refusal.

Interactions live in `interactions`; reading HTTP and faults in `rest`.
"""

import re
import secrets
import time

from pydantic import JsonValue

from channels.simulators.discord.checks import (
    JsonObject,
    Refusal,
    Upload,
    check_files,
    check_nonce,
    checked_components,
    checked_content,
    find_pings,
    invalid,
)
from channels.simulators.discord.reading import Call, living
from channels.simulators.discord.state import (
    DM,
    FORUM,
    PUBLIC_THREAD,
    SILENT,
    SUPPRESS_EMBEDS,
    Bot,
    Channel,
    File,
    ShownMessage,
    World,
)
from channels.simulators.discord.written import as_channel, as_message, tell_channel, tell_deleted, tell_message
from channels.simulators.shared.history import Edit


class TooMany(Refusal):
    """A 429 of a channel's own bucket."""

    def __init__(self, retry_after_s: float) -> None:
        super().__init__(429, 0, "You are being rate limited.")
        self.retry_after_s = retry_after_s

    def body(self) -> JsonObject:
        """As Discord writes it."""
        return {"message": self.message, "retry_after": round(self.retry_after_s, 3), "global": False}


class Operations:
    """Carries out what bots ask for."""

    def __init__(self, world: World, *, bucket: tuple[int, float] | None) -> None:
        """`bucket`: so many messages in so many seconds a channel; None lets all pass."""
        self._world = world
        self._bucket = bucket
        self.cdn_base = ""

    # ------------------------------------------------------------ saying

    def create_message(self, bot: Bot, call: Call) -> JsonValue:
        """POST /channels/{channel}/messages."""
        channel = self.writable(bot, call.number("channel"))
        nonce = check_nonce(call.body)
        enforced = nonce is not None and call.body.get("enforce_nonce") is True
        if enforced and nonce is not None and (earlier := self._earlier(bot, channel, nonce)) is not None:
            return as_message(self._world, earlier) | {"nonce": nonce}
        self._pace(channel)
        message = self.to_message(bot, channel, call)
        channel.put(message)
        message.nonce = nonce
        if enforced and nonce is not None:
            bot.nonces[channel.id, nonce] = (message.message_id, time.monotonic())
        tell_message(self._world, channel, "MESSAGE_CREATE", message)
        body = as_message(self._world, message)
        return body if nonce is None else body | {"nonce": nonce}

    def _earlier(self, bot: Bot, channel: Channel, nonce: str) -> ShownMessage | None:
        """The message this nonce made "in the past few minutes"."""
        message_id, at_s = bot.nonces.get((channel.id, nonce), (0, 0.0))
        if not message_id or time.monotonic() - at_s > self._world.nonce_window_s:
            return None
        return channel.messages[message_id]

    def writable(self, bot: Bot, channel_id: int) -> Channel:
        """A channel this bot may write into.

        Raises:
            Refusal: 10003, 50001, 50007, 50008, 50013.
        """
        channel = self._world.channel(bot, channel_id)
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
        """The headers of a channel's bucket; none with limits off."""
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
            "X-RateLimit-Reset-After": f"{max(0.0, reset_s) + 0.001:.3f}",  # rounded down, who waits comes too early
            "X-RateLimit-Bucket": "80c17d2f203122d936070c88c8d10f33",
        }

    def to_message(self, bot: Bot, channel: Channel, call: Call) -> ShownMessage:
        """A message of the bot's out of a call's body; it is not shown yet."""
        text = checked_content(call.body)
        components = checked_components(call.body)
        check_files(call.uploads)
        if not text and not components and not call.uploads:
            raise Refusal(400, 50006, "Cannot send an empty message")
        flags = call.body.get("flags")
        message = ShownMessage(
            message_id=self._world.snowflake(),
            chat_id=channel.id,
            sender_id=bot.id,
            by_bot=True,
            text=text or "",
            at=time.time(),
            at_s=time.monotonic(),
            reply_to=self._reply_target(channel, call.body),
            flags=(flags if isinstance(flags, int) else 0) & (SUPPRESS_EMBEDS | SILENT),
            pings=find_pings(text or "", call.body.get("allowed_mentions")),
        )
        message.type = 0 if message.reply_to is None else 19
        message.components = [row for row in components if isinstance(row, dict)]
        message.files = [self.store(channel.id, upload) for upload in call.uploads]
        return message

    def _reply_target(self, channel: Channel, body: JsonObject) -> int | None:
        reference = body.get("message_reference")
        if not isinstance(reference, dict):
            return None
        target = int(str(reference.get("message_id") or 0))
        original = channel.messages.get(target)
        if original is not None and not original.deleted:
            return target
        if reference.get("fail_if_not_exists") is False:
            return None
        raise invalid("message_reference", "MESSAGE_REFERENCE_UNKNOWN_MESSAGE", "Unknown message")

    def store(self, channel_id: int, upload: Upload) -> File:
        """Put a file on the CDN, under a name that is safe in a path."""
        name = re.sub(r"[^\w.\-]+", "_", upload.name.replace("\\", "/").rsplit("/", 1)[-1]).lstrip(".") or "unknown"
        file_id = self._world.snowflake()
        url = f"{self.cdn_base}/attachments/{channel_id}/{file_id}/{name}?ex={secrets.token_hex(4)}"
        file = self._world.files[file_id] = File(file_id, name, upload.content, upload.mime, url)
        return file

    # ------------------------------------------------------------ changing

    def edit_message(self, bot: Bot, call: Call) -> JsonValue:
        """PATCH /channels/{channel}/messages/{message}."""
        channel = self._world.channel(bot, call.number("channel"))
        message = living(channel, call)
        if message.sender_id != bot.id:
            raise Refusal(403, 50005, "Cannot edit a message authored by another user")
        self.change(channel, message, call)
        return as_message(self._world, message)

    def change(self, channel: Channel, message: ShownMessage, call: Call) -> None:
        """Change a message of a bot's as a body says, and tell."""
        text = checked_content(call.body)
        if "components" in call.body:
            message.components = [row for row in checked_components(call.body) if isinstance(row, dict)]
        check_files(call.uploads)
        if text == "" and not (message.components or message.files or call.uploads):
            raise Refusal(400, 50006, "Cannot send an empty message")
        if text is not None:
            message.edits.append(Edit(text, time.monotonic()))
            message.text = text
            message.pings = tuple(dict.fromkeys(message.pings + find_pings(text, call.body.get("allowed_mentions"))))
        message.files += [self.store(channel.id, upload) for upload in call.uploads]
        flags = call.body.get("flags")
        if isinstance(flags, int):  # the only one of them that an edit can change
            message.flags = message.flags & ~SUPPRESS_EMBEDS | flags & SUPPRESS_EMBEDS
        message.edited_at = time.time()
        tell_message(self._world, channel, "MESSAGE_UPDATE", message)

    def delete_message(self, bot: Bot, call: Call) -> JsonValue:
        """DELETE /channels/{channel}/messages/{message}."""
        channel = self._world.channel(bot, call.number("channel"))
        message = living(channel, call)
        if channel.type == DM and message.sender_id != bot.id:
            raise Refusal(403, 50003, "Cannot execute action on a DM channel")
        message.deleted = True
        tell_deleted(self._world, channel, message)
        return None

    def react(self, bot: Bot, call: Call) -> JsonValue:
        """PUT .../reactions/{emoji}/@me."""
        message = living(self._world.channel(bot, call.number("channel")), call)
        if call.ids["emoji"].isascii():
            raise Refusal(400, 10014, "Unknown Emoji")
        message.reactions.setdefault(bot.id, set()).add(call.ids["emoji"])
        return None

    def unreact(self, bot: Bot, call: Call) -> JsonValue:
        """DELETE .../reactions/{emoji}/@me."""
        message = living(self._world.channel(bot, call.number("channel")), call)
        message.reactions.get(bot.id, set()).discard(call.ids["emoji"])
        return None

    def typing(self, bot: Bot, call: Call) -> JsonValue:
        """POST /channels/{channel}/typing."""
        self.writable(bot, call.number("channel")).typing.append(time.monotonic())
        return None

    # ------------------------------------------------------------ channels

    def open_dm(self, bot: Bot, call: Call) -> JsonValue:
        """POST /users/@me/channels."""
        recipient = str(call.body.get("recipient_id") or "")
        if not recipient.isdigit():
            raise invalid("recipient_id", "NUMBER_TYPE_COERCE", "Value is not snowflake.")
        return as_channel(self._world.dm(bot, int(recipient)))

    def start_thread(self, bot: Bot, call: Call) -> JsonValue:
        """POST /channels/{channel}/messages/{message}/threads."""
        parent = self._world.channel(bot, call.number("channel"))
        message = living(parent, call)
        name = str(call.body.get("name") or "thread")
        thread = Channel(message.message_id, PUBLIC_THREAD, name, parent.guild_id, parent.id)
        self._world.channels[thread.id] = thread
        tell_channel(self._world, thread, "THREAD_CREATE")
        return as_channel(thread)
