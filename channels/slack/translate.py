"""Translation of one raw Slack payload to the gateway's events. Pure; never raises.

No access decisions: `Sender` alone tells people and bots apart. Interactions (commands, buttons) are in
`translate_interaction`.
"""

import hashlib
from collections.abc import Container
from dataclasses import dataclass
from datetime import datetime

from pydantic import ValidationError

from channels.foreign import EARLIEST, as_text, instant_of, storable
from channels.messages import (
    MAX_QUOTES,
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
from channels.slack.identity import BotIdentity
from channels.slack.mrkdwn import NameOf, mentions, no_names, to_text
from channels.slack.raw import RawEventCallback, RawFile, RawMember, RawMessage, RawMessageEvent

CHANNEL = "slack"
MAX_RAW_CHARS = 16_384

_SAID = frozenset({None, "file_share", "me_message", "thread_broadcast", "bot_message"})
"""Subtypes of `message` that people write; joins, topics, pins and the like are not."""

_TOMBSTONE = "tombstone"  # subtype of a deleted message with replies; the deletion comes as a change
_SLACKBOT = "USLACKBOT"  # Slack's own messages, without a bot id


@dataclass(frozen=True, slots=True)
class TranslationContext:
    """Context of an event: the threads we take part in (as `thread_key` names them), and people's names."""

    threads: Container[str] = frozenset()
    name_of: NameOf = no_names


NOTHING = TranslationContext()


def translate_event(
    body: object, bot: BotIdentity, context: TranslationContext = NOTHING
) -> InboundEvent | Rejected | None:
    """Return the event in one Events API body, or None if it is well-formed but irrelevant. Never raises."""
    try:
        callback = RawEventCallback.model_validate(body)
        event = body["event"] if isinstance(body, dict) else None
        kind = event.get("type") if isinstance(event, dict) else None
        if kind in ("message", "app_mention"):
            return _message_event(RawMessageEvent.model_validate(event), bot, context)
        if kind in ("member_joined_channel", "channel_left", "group_left"):
            return _member(RawMember.model_validate(event), callback, bot)
    except ValidationError as error:
        return to_rejected(body, explain_error(error))
    except KeyError:
        return to_rejected(body, "an event callback without an event")
    return None


def thread_key(chat: str, thread: str) -> str:
    """Return a thread's unique key."""
    return f"{chat}:{thread}"


def explain_error(error: ValidationError) -> str:
    """Return the first problem and its place."""
    first = error.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(str(step) for step in first['loc'])}: {first['msg']}"


def to_rejected(body: object, reason: str) -> Rejected:
    """Return the record of a malformed payload, for the operator."""
    text = as_text(body)
    found = body.get("event_id") if isinstance(body, dict) else None
    name = found if isinstance(found, str) else hashlib.sha256(text.encode(errors="replace")).hexdigest()[:24]
    return Rejected(
        event_id=f"ev:{storable(name)[:64]}", raw=storable(text[:MAX_RAW_CHARS]), reason=storable(reason[:500])
    )


def said_at(ts: str) -> datetime:
    """Return the instant of a ts; a nonsensical one becomes a very old one."""
    return instant_of(ts, EARLIEST)


def chat_kind(chat: str, channel_type: str | None = None) -> ChatKind:
    """Return the kind of a channel by its type, else by its id (D… is a direct message)."""
    direct = channel_type in ("im", "app_home") if channel_type is not None else chat.startswith("D")
    return ChatKind.DIRECT if direct else ChatKind.GROUP


def translate_message(
    raw: RawMessage, chat: str, bot: BotIdentity, context: TranslationContext, channel_type: str | None = None
) -> InboundMessage | None:
    """Return the message in an event or a history; None for our own and for system messages."""
    if raw.subtype not in _SAID or is_ours(raw, bot):
        return None
    attachments = tuple([_attachment(file) for file in raw.files if file.mode != "tombstone"])
    text = to_text(raw.text, bot.user, context.name_of)
    kind = chat_kind(chat, channel_type)
    mentioned = mentions(raw.text, bot.user)
    shared = _to_quotes(raw, bot, context.name_of)
    if not text and not attachments and not mentioned and not shared:
        return None
    thread = _thread_of(raw, kind, bot, mentioned=mentioned)
    ours = thread is not None and (thread_key(chat, thread) in context.threads or raw.parent_user_id == bot.user)
    return InboundMessage(
        event_id=f"msg:{bot.team}:{chat}:{raw.ts}",
        address=Address(CHANNEL, bot.account, chat, thread),
        sender=_sender(raw, bot, context.name_of),
        received_at=said_at(raw.ts),
        message_id=raw.ts,
        kind=kind,
        text=text,
        mentions_bot=mentioned or ours,
        reply_to=thread if kind is ChatKind.GROUP and not ours and thread != raw.ts else None,
        attachments=attachments,
        quoted=shared,
    )


def _to_quotes(raw: RawMessage, bot: BotIdentity, name_of: NameOf) -> tuple[Quoted, ...]:
    """Return the messages that a message shares or links to."""
    found: list[Quoted] = []
    for attachment in raw.attachments[:MAX_QUOTES]:
        author = attachment.author_name or attachment.author_subname
        said = to_text(attachment.text or attachment.fallback or "", "", name_of)
        found += to_quoted(
            QuoteKind.FORWARD, said, storable(author) if author else None, ours=attachment.author_id == bot.user
        )
    return tuple(found)


def translate_edit(
    raw: RawMessage, chat: str, bot: BotIdentity, context: TranslationContext, channel_type: str | None = None
) -> InboundMessage | None:
    """Return an edit; None if the author changed nothing (a preview was added)."""
    said = translate_message(raw, chat, bot, context, channel_type)
    if said is None or raw.edited is None:
        return None
    return InboundMessage(
        event_id=f"edit:{bot.team}:{chat}:{raw.ts}:{raw.edited.ts}",
        address=said.address,
        sender=said.sender,
        received_at=said_at(raw.edited.ts),
        message_id=raw.ts,
        kind=said.kind,
        text=said.text,
        mentions_bot=said.mentions_bot,
        reply_to=said.reply_to,
        attachments=said.attachments,
        quoted=said.quoted,
        edited=True,
    )


def is_ours(raw: RawMessage, bot: BotIdentity) -> bool:
    """Return True for our own message."""
    return raw.user == bot.user or (raw.bot_id is not None and raw.bot_id == bot.bot_id)


def _thread_of(raw: RawMessage, kind: ChatKind, bot: BotIdentity, *, mentioned: bool) -> str | None:
    """Return the message's thread, or the one its answer opens: a mention in a channel is answered in a thread."""
    if raw.thread_ts is not None:
        return raw.thread_ts
    return raw.ts if mentioned and kind is ChatKind.GROUP and bot.answer_in_threads else None


def _message_event(raw: RawMessageEvent, bot: BotIdentity, context: TranslationContext) -> InboundEvent | None:
    if raw.subtype == "message_changed":
        before, after = raw.previous_message, raw.message
        if after is not None and after.subtype == _TOMBSTONE:
            return _to_deletion(raw, after.ts, bot, context.name_of)
        if after is None or (before is not None and before.edited == after.edited):
            return None
        return translate_edit(after, raw.channel, bot, context, raw.channel_type)
    if raw.subtype == "message_deleted":
        return _to_deletion(raw, raw.deleted_ts, bot, context.name_of)
    return translate_message(raw, raw.channel, bot, context, raw.channel_type)


def _to_deletion(raw: RawMessageEvent, ts: str | None, bot: BotIdentity, name_of: NameOf) -> MessageDeleted | None:
    before = raw.previous_message
    if ts is None or before is None or is_ours(before, bot):
        return None
    return MessageDeleted(
        event_id=f"del:{bot.team}:{raw.channel}:{ts}",
        address=Address(CHANNEL, bot.account, raw.channel, before.thread_ts),
        sender=_sender(before, bot, name_of),
        received_at=said_at(raw.event_ts or raw.ts),
        message_id=ts,
    )


def _member(raw: RawMember, callback: RawEventCallback, bot: BotIdentity) -> MembershipChanged | None:
    """Return that we joined or left a channel; only the member who left gets `*_left`."""
    joined = raw.type == "member_joined_channel"
    if joined and raw.user != bot.user:
        return None
    return MembershipChanged(
        event_id=f"ev:{bot.team}:{callback.event_id}",
        address=Address(CHANNEL, bot.account, raw.channel),
        sender=Sender(f"{bot.team}:{bot.user}", "", is_bot=True),
        received_at=instant_of(callback.event_time, EARLIEST),
        change=Membership.ADDED if joined else Membership.LEFT,
    )


def _sender(raw: RawMessage, bot: BotIdentity, name_of: NameOf) -> Sender:
    """Return the sender: a user id is only unique inside its team; apps and webhooks are bots."""
    team = raw.user_team or raw.source_team or raw.team or bot.team
    if raw.user in (None, _SLACKBOT) or raw.bot_id is not None or raw.subtype == "bot_message":
        who = raw.bot_id or raw.user or "unknown"
        return Sender(f"{team}:{who}", storable(raw.username or who), is_bot=True)
    return Sender(f"{team}:{raw.user}", name_of(raw.user, team) or storable(raw.username or raw.user))


def _attachment(raw: RawFile) -> Attachment:
    """Return a file by its URL, or by its id if the URL has to be asked for (shared channels)."""
    mime = raw.mimetype or ""
    if raw.subtype == "slack_audio" or mime.startswith("audio/"):
        kind = AttachmentKind.VOICE
    else:
        kind = AttachmentKind.PHOTO if mime.startswith("image/") else AttachmentKind.DOCUMENT
    name = storable(raw.name) if raw.name is not None else None
    handle = raw.url_private_download or raw.url_private or raw.id
    duration_s = None if raw.duration_ms is None else raw.duration_ms / 1000
    return Attachment(kind, storable(handle), name, raw.mimetype, raw.size, duration_s)
