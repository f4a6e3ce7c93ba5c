"""Translation of one raw Telegram update to the gateway's events. Pure; never raises.

No access decisions: `Sender` alone tells people, bots and channels apart.
"""

import hashlib
import json
from datetime import UTC, datetime

from pydantic import ValidationError

from channels.foreign import MOST_ID, as_text, storable, whole_of, without_surrogates
from channels.messages import (
    Address,
    Attachment,
    AttachmentKind,
    ButtonPressed,
    ChatKind,
    ChatMigrated,
    InboundEvent,
    InboundMessage,
    Membership,
    MembershipChanged,
    Quoted,
    QuoteKind,
    Rejected,
    Sender,
    to_quoted,
)
from channels.telegram.identity import BotIdentity
from channels.telegram.raw import (
    RawChat,
    RawEntity,
    RawFile,
    RawMembership,
    RawMessage,
    RawOrigin,
    RawPress,
    RawReplied,
    RawUpdate,
    RawUser,
)

CHANNEL = "telegram"
MAX_RAW_CHARS = 16_384


def update_id_of(raw: object) -> int | None:
    """Return the id of a possibly malformed update, or None if it is missing or has no successor."""
    found = raw.get("update_id") if isinstance(raw, dict) else None
    return whole_of(found, most=MOST_ID - 1) if isinstance(found, int) else None


def translate(raw: object, bot: BotIdentity, now: datetime) -> InboundEvent | Rejected | None:
    """Return the event in one update, or None if it is well-formed but irrelevant. Never raises.

    `now` is used if Telegram gives no time (button presses).
    """
    try:
        update = _validate(raw)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(step) for step in first["loc"])
        return to_rejected(raw, f"{where}: {first['msg']}")
    if (message := update.message or update.edited_message or update.channel_post) is not None:
        return _message(message, bot, update_id=update.update_id, edited=update.edited_message is message)
    if update.callback_query is not None:
        return _to_press(update.callback_query, bot, now)
    if update.my_chat_member is not None:
        return _membership(update.my_chat_member, bot, update.update_id)
    return None


def _validate(raw: object) -> RawUpdate:
    """Validate an update; replace lone surrogates first, one unit by one, so that offsets stay right."""
    try:
        return RawUpdate.model_validate(raw)
    except ValidationError as error:
        if all(flaw["type"] != "string_unicode" for flaw in error.errors(include_url=False, include_input=False)):
            raise
    mended = without_surrogates(json.dumps(raw, ensure_ascii=False))
    return RawUpdate.model_validate(json.loads(mended))


def to_rejected(raw: object, reason: str) -> Rejected:
    """Return the record of a malformed update, for the operator."""
    text = as_text(raw)
    update_id = update_id_of(raw)
    name = hashlib.sha256(text.encode(errors="replace")).hexdigest()[:24] if update_id is None else str(update_id)
    return Rejected(event_id=f"update:{name}", raw=storable(text[:MAX_RAW_CHARS]), reason=storable(reason[:500]))


def _message(raw: RawMessage, bot: BotIdentity, *, update_id: int, edited: bool) -> InboundEvent | None:
    """Return a message or an edit; None for service messages, except that a group moved."""
    chat, number = raw.chat.id, raw.message_id
    address = _address(raw.chat, bot, raw.message_thread_id if raw.is_topic_message else None)
    said_at = datetime.fromtimestamp(raw.edit_date or raw.date if edited else raw.date, UTC)
    sender = _sender(raw)
    if raw.migrate_to_chat_id is not None or raw.migrate_from_chat_id is not None:
        return _to_migration(raw, bot, sender, said_at)
    attachments = _attachments(raw)
    text, entities = (raw.caption, raw.caption_entities) if raw.text is None else (raw.text, raw.entities)
    if not text and not attachments:
        return None
    forwarded = is_forwarded(raw)
    words = _AddressedText(text or "", [] if forwarded else entities, bot)
    if words.for_another_bot:
        return None
    replied = raw.reply_to_message if raw.reply_to_message and not raw.reply_to_message.forum_topic_created else None
    to_us = replied is not None and replied.from_ is not None and replied.from_.id == bot.bot_id
    return InboundMessage(
        event_id=f"edit:{chat}:{number}:{update_id}" if edited else f"msg:{chat}:{number}",
        address=address,
        sender=sender,
        received_at=said_at,
        message_id=str(number),
        kind=ChatKind.DIRECT if raw.chat.type == "private" else ChatKind.GROUP,
        text=storable(words.text),
        mentions_bot=to_us or words.mentions_us,
        reply_to=str(replied.message_id) if replied is not None else None,
        attachments=attachments,
        edited=edited,
        locale=raw.from_.language_code if raw.from_ is not None else None,
        album=storable(raw.media_group_id) if raw.media_group_id is not None else None,
        forwarded=forwarded,
        forwarded_from=forwarded_from(raw) if forwarded else None,
        quoted=replied_to(raw, replied, bot.bot_id),
    )


def _to_migration(raw: RawMessage, bot: BotIdentity, sender: Sender, said_at: datetime) -> ChatMigrated:
    """Return the event for a group that became a supergroup; Telegram sends one in the old chat and one in the new."""
    chat = raw.chat.id
    old = chat if raw.migrate_from_chat_id is None else raw.migrate_from_chat_id
    new = raw.migrate_to_chat_id if raw.migrate_to_chat_id is not None else chat
    return ChatMigrated(
        event_id=f"msg:{chat}:{raw.message_id}",
        address=Address(CHANNEL, bot.account, str(old)),
        sender=sender,
        received_at=said_at,
        new_chat=str(new),
    )


class _AddressedText:
    """A text with its entities, searched for mentions of us and for a command."""

    def __init__(self, text: str, entities: list[RawEntity], bot: BotIdentity) -> None:
        """Find mentions, and the command at the start; entities count UTF-16 units."""
        self.text = text
        self.mentions_us = False
        self.for_another_bot = False
        name = f"@{bot.username}".lower()
        units = text.encode("utf-16-le", "surrogatepass")
        for entity in entities:
            if entity.type == "text_mention":
                self.mentions_us |= entity.user is not None and entity.user.id == bot.bot_id
            elif entity.type == "mention" and entity.length == len(name):  # a bot's name is ASCII
                self.mentions_us |= _covered_text(units, entity).lower() == name
            elif entity.type == "bot_command" and entity.offset == 0:
                self._read_command(_covered_text(units, entity), name)

    def _read_command(self, command: str, name: str) -> None:
        """Strip our name from `/cmd@us`; note that `/cmd@other` is for another bot."""
        bare, at, target = command.partition("@")
        if at and f"@{target}".lower() != name:
            self.for_another_bot = True
            return
        self.mentions_us = True
        self.text = bare + self.text[len(command) :]


def _covered_text(units: bytes, entity: RawEntity) -> str:
    """Return the text that an entity covers."""
    return units[2 * entity.offset : 2 * (entity.offset + entity.length)].decode("utf-16-le", "replace")


def _address(chat: RawChat, bot: BotIdentity, thread: int | None) -> Address:
    return Address(CHANNEL, bot.account, str(chat.id), None if thread is None else str(thread))


def _sender(raw: RawMessage) -> Sender:
    """Return the sender; a channel, an anonymous admin or an inline bot counts as a bot."""
    if raw.sender_chat is not None:
        return Sender(str(raw.sender_chat.id), storable(raw.sender_chat.title or ""), is_bot=True)
    if raw.from_ is None:
        return Sender(str(raw.chat.id), storable(raw.chat.title or ""), is_bot=True)
    return _person(raw.from_, is_bot=raw.via_bot is not None)


def _person(user: RawUser, *, is_bot: bool = False) -> Sender:
    name = f"{user.first_name} {user.last_name or ''}".strip() or user.username or str(user.id)
    return Sender(str(user.id), storable(name), is_bot=user.is_bot or is_bot)


def _attachments(raw: RawMessage) -> tuple[Attachment, ...]:
    """Return the files; of a photo the last size, which is the largest."""
    found = []
    if raw.photo:
        found.append(_attachment(AttachmentKind.PHOTO, raw.photo[-1]))
    if raw.document is not None:
        found.append(_attachment(AttachmentKind.DOCUMENT, raw.document))
    sounds, others = (raw.voice, raw.audio), (raw.video, raw.video_note)
    found += [_attachment(AttachmentKind.VOICE, file) for file in sounds if file is not None]
    found += [_attachment(AttachmentKind.DOCUMENT, file) for file in others if file is not None]
    return tuple(found)


def _attachment(kind: AttachmentKind, raw: RawFile) -> Attachment:
    name = storable(raw.file_name) if raw.file_name is not None else None
    mime = storable(raw.mime_type) if raw.mime_type is not None else None
    if kind is AttachmentKind.PHOTO:
        mime = "image/jpeg"  # Telegram's format for photos, which it does not send
    return Attachment(kind, storable(raw.file_id), name, mime, raw.file_size, raw.duration)


def _to_press(raw: RawPress, bot: BotIdentity, now: datetime) -> ButtonPressed | None:
    """Return a button press, or None if it is not under a message of ours in the chat (inline mode)."""
    if raw.message is None or raw.data is None:
        return None
    thread = raw.message.message_thread_id if raw.message.is_topic_message else None
    return ButtonPressed(
        event_id=f"cb:{raw.id}",
        address=_address(raw.message.chat, bot, thread),
        sender=_person(raw.from_),
        received_at=now,
        message_id=str(raw.message.message_id),
        kind=ChatKind.DIRECT if raw.message.chat.type == "private" else ChatKind.GROUP,
        data=storable(raw.data),
        locale=raw.from_.language_code,
    )


def _membership(raw: RawMembership, bot: BotIdentity, update_id: int) -> MembershipChanged | None:
    """Return that we joined or left; None for a mere change of rights."""
    before, after = raw.old_chat_member.is_inside, raw.new_chat_member.is_inside
    if before == after:
        return None
    if raw.chat.type == "private":
        change = Membership.UNBLOCKED if after else Membership.BLOCKED
    else:
        change = Membership.ADDED if after else Membership.LEFT
    return MembershipChanged(
        event_id=f"member:{raw.chat.id}:{raw.date}:{update_id}",
        address=_address(raw.chat, bot, None),
        sender=_person(raw.from_),
        received_at=datetime.fromtimestamp(raw.date, UTC),
        change=change,
    )


# ---------------------------------------------------------------- forwarded and quoted messages
# Forwarded and replied to (core.telegram.org/bots/api 10.0: MessageOrigin, TextQuote, ExternalReplyInfo).
# Never fails: a malformed quotation does not make a person's own message unreadable.


def is_forwarded(raw: RawMessage) -> bool:
    """Return True if any field, old or new, says that the message was forwarded."""
    fields = (raw.forward_origin, raw.forward_date, raw.forward_from, raw.forward_from_chat, raw.forward_sender_name)
    return any(field is not None for field in fields)


def forwarded_from(raw: RawMessage) -> str | None:
    """Return the original author, or None if Telegram does not tell."""
    try:
        origin = RawOrigin.model_validate(raw.forward_origin)
    except ValidationError:
        origin = RawOrigin()
    old = RawOrigin(
        sender_user=raw.forward_from, sender_chat=raw.forward_from_chat, sender_user_name=raw.forward_sender_name
    )
    return _storable_or_none(origin.author or old.author)


def replied_to(raw: RawMessage, replied: RawReplied | None, bot_id: int) -> tuple[Quoted, ...]:
    """Return the quoted part, else the whole message replied to, including one in another chat."""
    part = raw.quote.text if raw.quote is not None else None
    if replied is not None:
        ours = replied.from_ is not None and replied.from_.id == bot_id
        text = part or replied.text or replied.caption
        return to_quoted(QuoteKind.REPLY, _storable_or_none(text), _storable_or_none(_author(replied)), ours=ours)
    if raw.external_reply is not None:
        origin = raw.external_reply.origin
        return to_quoted(
            QuoteKind.REPLY, _storable_or_none(part), _storable_or_none(origin.author if origin is not None else None)
        )
    return ()


def _author(replied: RawReplied) -> str | None:
    if replied.forward_origin is not None and replied.forward_origin.author:
        return replied.forward_origin.author
    if replied.sender_chat is not None and replied.sender_chat.name:
        return replied.sender_chat.name
    if replied.from_ is None:
        return None
    return f"{replied.from_.first_name} {replied.from_.last_name or ''}".strip() or replied.from_.username


def _storable_or_none(text: str | None) -> str | None:
    return storable(text) if text else None
