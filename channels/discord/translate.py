"""Translation of one raw Discord dispatch to the gateway's events. Pure; never raises.

No access decisions: `Sender` alone tells people, bots and webhooks apart. `translate_interaction` handles interactions.
"""

import hashlib
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from channels.bounded_dict import BoundedDict
from channels.discord.channel_cache import ChannelCache, Place
from channels.discord.config import DiscordAccount, Wake
from channels.discord.identity import BotIdentity
from channels.discord.raw import (
    RawAttachment,
    RawDeleted,
    RawDeletedMany,
    RawGuild,
    RawMember,
    RawMessage,
    RawUser,
)
from channels.discord.sharding import SOLE, Shard
from channels.foreign import as_text, whole_of
from channels.messages import (
    Address,
    Attachment,
    AttachmentKind,
    ChatKind,
    InboundEvent,
    InboundMessage,
    Membership,
    MembershipChanged,
    MessageDeleted,
    Quoted,
    QuoteKind,
    Rejected,
    Sender,
    to_quoted,
)

CHANNEL = "discord"
MAX_RAW_CHARS = 16_384
EPOCH_MS = 1_420_070_400_000  # snowflakes count from 2015
MOST_AUTHORS = 4_096
JUST_NOW_S = 3_600  # of joining: older servers are announced again after outages

_REPLY = 19
SAID_TYPES = frozenset({0, _REPLY})  # messages and replies; all others are system messages
_FORWARD = 1
_VOICE = 1 << 13  # message flag
_SURROGATE = re.compile("[\ud800-\udfff]")
_EMOJI = re.compile(r"<a?:(\w{2,32}):\d+>")
_MENTION = re.compile(r"<@!?(\d+)>")
_NAME_CHARS = 64
"""Length of a mentioned person's name; Discord's own limit is 32."""

_Model = TypeVar("_Model", bound=BaseModel)


@dataclass(slots=True)
class TranslationContext:
    """The data needed to read a dispatch."""

    bot: BotIdentity
    config: DiscordAccount
    shard: Shard = SOLE
    channels: ChannelCache = field(default_factory=ChannelCache)
    authors: BoundedDict[str, Sender] = field(default_factory=lambda: BoundedDict(MOST_AUTHORS))  # by message id
    is_shared: Callable[[str], bool] = lambda _command: False  # true if its answer is public in a server

    def remember_author(self, message_id: str, sender: Sender) -> None:
        """Remember a message's author, since a deletion does not name them."""
        self.authors[message_id] = sender


def instant_of(snowflake: str | int) -> datetime:
    """Return the time at which an id was created."""
    return datetime.fromtimestamp(((int(snowflake) >> 22) + EPOCH_MS) / 1000, UTC)


def snowflake_at(unix_ms: float) -> int:
    """Return the least id of an instant."""
    return max(0, int(unix_ms) - EPOCH_MS) << 22


def clean(text: str) -> str:
    """Remove NUL; replace lone surrogates."""
    return _SURROGATE.sub("\ufffd", text.replace("\x00", "") if "\x00" in text else text)


def channel_of(event: str, data: object) -> str | None:
    """Return the channel whose place has to be known before this dispatch is read, or None."""
    if not event.startswith("MESSAGE_") or not isinstance(data, dict):
        return None
    channel, guild = data.get("channel_id"), data.get("guild_id")
    known = isinstance(channel, str) and whole_of(channel) is not None and isinstance(guild, str)
    return channel if known else None


def validate(model: type[_Model], data: object) -> _Model:
    """Validate the fields we read; replace lone surrogates first.

    Raises:
        ValidationError: the data is malformed.
    """
    try:
        return model.model_validate(data)
    except ValidationError as error:
        if all(problem["type"] != "string_unicode" for problem in error.errors(include_url=False, include_input=False)):
            raise
    mended = _SURROGATE.sub("\ufffd", json.dumps(data, ensure_ascii=False))
    return model.model_validate(json.loads(mended))


def to_rejected(event: str, seq: int | None, data: object, reason: str) -> Rejected:
    """Return the record of a malformed dispatch, for the operator."""
    text = as_text({"t": event, "s": seq, "d": data})
    found = data.get("id") if isinstance(data, dict) else None
    name = found if isinstance(found, str) and whole_of(found) is not None else None
    if name is None:
        name = hashlib.sha256(text.encode(errors="replace")).hexdigest()[:24]
    event_id = clean(f"dispatch:{event[:40]}:{name[:24]}")
    return Rejected(event_id=event_id, raw=clean(text[:MAX_RAW_CHARS]), reason=clean(reason[:500]))


def explain_error(error: ValidationError) -> str:
    """Return the first problem, without the given value."""
    first = error.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(str(step) for step in first['loc'])}: {first['msg']}"


def translate(
    event: str, seq: int | None, data: object, context: TranslationContext, now: datetime
) -> list[InboundEvent | Rejected]:
    """Return the events in one dispatch; none if it is well-formed but irrelevant. Never raises.

    `now` is used if Discord gives no time. Places of guild channels are known (`channel_of`).
    """
    try:
        match event:
            case "MESSAGE_CREATE":
                return _as_list(to_message(validate(RawMessage, data), context))
            case "MESSAGE_UPDATE":
                return _as_list(_to_edit(validate(RawMessage, data), context))
            case "MESSAGE_DELETE":
                gone = validate(RawDeleted, data)
                return _as_list(_to_deletion(gone.id, gone.channel_id, gone.guild_id, context, now))
            case "MESSAGE_DELETE_BULK":
                many = validate(RawDeletedMany, data)
                all_gone = [_to_deletion(gone_id, many.channel_id, many.guild_id, context, now) for gone_id in many.ids]
                return [deletion for deletion in all_gone if deletion is not None]
            case "GUILD_CREATE" | "GUILD_DELETE":
                return _as_list(_membership(event, validate(RawGuild, data), context, now))
    except ValidationError as error:
        return [to_rejected(event, seq, data, explain_error(error))]
    return []


def _as_list(event: InboundEvent | None) -> list[InboundEvent | Rejected]:
    return [] if event is None else [event]


def address_of(place: Place, bot: BotIdentity) -> Address:
    """Return the address of a place."""
    return Address(CHANNEL, bot.account, place.chat, place.thread)


def _place(channel: str, guild: str | None, context: TranslationContext) -> Place:
    """Return the place; an unknown channel without a guild is a direct conversation."""
    place = context.channels.get(channel)
    if place is None:
        place = Place(channel, guild)
        if guild is None:
            context.channels.put(place)
    return place


def to_message(raw: RawMessage, context: TranslationContext) -> InboundMessage | None:
    """Return a message; None for system messages, our own, and channels that are off."""
    if raw.author is None or raw.type not in SAID_TYPES or raw.author.id == context.bot.user_id:
        return None
    sender = sender_of(raw.author, raw.member, webhook=raw.webhook_id is not None)
    context.remember_author(raw.id, sender)
    return _message(raw, sender, context, f"msg:{raw.id}", raw.timestamp or instant_of(raw.id), edited=False)


def _to_edit(raw: RawMessage, context: TranslationContext) -> InboundMessage | None:
    """Return an edit; None if Discord only added an embed."""
    if raw.author is None or raw.edited_timestamp is None or raw.author.id == context.bot.user_id:
        return None
    if raw.type not in SAID_TYPES:
        return None
    sender = sender_of(raw.author, raw.member, webhook=raw.webhook_id is not None)
    at_us = int(raw.edited_timestamp.timestamp() * 1_000_000)
    return _message(raw, sender, context, f"edit:{raw.id}:{at_us}", raw.edited_timestamp, edited=True)


def _message(
    raw: RawMessage, sender: Sender, context: TranslationContext, event_id: str, at: datetime, *, edited: bool
) -> InboundMessage | None:
    place = _place(raw.channel_id, raw.guild_id, context)
    wake = Wake.MENTION if place.kind is ChatKind.DIRECT else context.config.wake_in(place.id, place.parent)
    if wake is Wake.OFF:
        return None
    forwarded = raw.message_reference is not None and raw.message_reference.type == _FORWARD
    text, files = raw.content, raw.attachments
    if forwarded and raw.message_snapshots:
        text, files = raw.message_snapshots[0].message.content, raw.message_snapshots[0].message.attachments
    attachments = tuple(_attachment(file, raw) for file in files)
    if not text and not attachments:
        return None
    reply_to = raw.message_reference.message_id if raw.type == _REPLY and raw.message_reference is not None else None
    replied = raw.referenced_message.author if raw.referenced_message is not None else None
    return InboundMessage(
        event_id=event_id,
        address=address_of(place, context.bot),
        sender=sender,
        received_at=at if at.tzinfo is not None else at.replace(tzinfo=UTC),
        message_id=raw.id,
        kind=place.kind,
        text=_words(text, raw, context.bot),
        mentions_bot=(
            wake is Wake.ALWAYS
            or (not forwarded and any(user.id == context.bot.user_id for user in raw.mentions))
            or (replied is not None and replied.id == context.bot.user_id)
        ),
        reply_to=reply_to,
        attachments=attachments,
        edited=edited,
        forwarded=forwarded,
        quoted=() if forwarded else _replied_to(raw, context.bot),
    )


def _replied_to(raw: RawMessage, bot: BotIdentity) -> tuple[Quoted, ...]:
    """Return the message replied to; empty if Discord does not show it, for example after its deletion."""
    earlier = raw.referenced_message
    if raw.type != _REPLY or earlier is None:
        return ()
    passed_on = [snapshot.message.content for snapshot in earlier.message_snapshots or ()]
    text = _with_names(clean(earlier.content or "\n".join(passed_on)), earlier.mentions or ())
    author = earlier.author
    name = clean(author.global_name or author.username or author.id) if author is not None and not passed_on else None
    return to_quoted(QuoteKind.REPLY, text, name, ours=author is not None and author.id == bot.user_id)


def _words(text: str, raw: RawMessage, bot: BotIdentity) -> str:
    """Return the text as people read it: without our mention, other mentions as names, custom emoji as words."""
    text = clean(text)
    if "<" in text:
        ours = f"<@!?{bot.user_id}>"
        bare = re.sub(rf"\A(?:\s*+{ours}[\s,:]*+)+", "", text)
        bare = re.sub(rf"(?<!\s)\s*+{ours}\Z", "", bare)
        bare = re.sub(rf"{ours} ?", "", bare)
        text = bare if bare.strip() else text  # only a mention: keep it, as a name
        text = _with_names(text, raw.mentions)
    return text


def _with_names(text: str, mentions: Sequence[RawUser]) -> str:
    """Replace mentions by names, and custom emoji by their words."""
    names = {user.id: f"@{clean(user.global_name or user.username)[:_NAME_CHARS]}" for user in mentions}
    return _EMOJI.sub(r":\1:", _MENTION.sub(lambda found: names.get(found[1], found[0]), text))


def sender_of(user: RawUser, member: RawMember | None, *, webhook: bool = False) -> Sender:
    """Return the sender; a webhook counts as a bot, whatever name it shows."""
    nick = member.nick if member is not None else None
    name = nick or user.global_name or user.username or user.id
    return Sender(user.id, clean(name), is_bot=user.bot or user.system or webhook)


def _attachment(raw: RawAttachment, message: RawMessage) -> Attachment:
    mime = (raw.content_type or "").partition(";")[0] or None
    kind = AttachmentKind.DOCUMENT
    if message.flags & _VOICE or (mime or "").startswith("audio/"):
        kind = AttachmentKind.VOICE
    elif (mime or "").startswith("image/"):
        kind = AttachmentKind.PHOTO
    handle = f"{message.channel_id}/{message.id}/{raw.id}"
    name, mime = clean(raw.filename) or None, clean(mime) if mime else None
    return Attachment(kind, handle, name, mime, raw.size, raw.duration_secs)


def _to_deletion(
    message_id: str, channel: str, guild: str | None, context: TranslationContext, now: datetime
) -> MessageDeleted | None:
    """Return a deletion, or None if the author is unknown, since Discord does not name them."""
    sender = context.authors.pop(message_id, None)
    if sender is None:
        return None
    return MessageDeleted(
        event_id=f"del:{message_id}",
        address=address_of(_place(channel, guild, context), context.bot),
        sender=sender,
        received_at=now,
        message_id=message_id,
    )


def _membership(event: str, raw: RawGuild, context: TranslationContext, now: datetime) -> MembershipChanged | None:
    """Return that we joined or left; None for an outage."""
    if event == "GUILD_DELETE" and not raw.unavailable:
        change, at, key = Membership.LEFT, now, f"left:{raw.id}:{int(now.timestamp())}"
    elif event == "GUILD_CREATE" and raw.joined_at is not None and (now - raw.joined_at).total_seconds() < JUST_NOW_S:
        at = raw.joined_at
        change, key = Membership.ADDED, f"joined:{raw.id}:{int(at.timestamp() * 1000)}"
    else:
        return None
    return MembershipChanged(
        event_id=key,
        address=Address(CHANNEL, context.bot.account, raw.id),
        sender=Sender(raw.id, "", is_bot=True),  # Discord does not say who
        received_at=at,
        change=change,
    )
