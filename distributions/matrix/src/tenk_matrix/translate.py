"""Translation of one event of a timeline to the gateway's events. Pure; never raises.

Source: spec.matrix.org/v1.15/client-server-api, "Instant messaging", "Event replacements", "User and room mentions",
"Threading" (read 2026-11).
"""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from pydantic import ValidationError

from channels.foreign import as_text, instant_of, storable, whole_of
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
    Rejected,
    Sender,
)
from tenk_matrix.raw import Content, RawEvent, part_of

CHANNEL = "matrix"
_FILES = {
    "m.image": AttachmentKind.PHOTO,
    "m.audio": AttachmentKind.VOICE,
    "m.video": AttachmentKind.DOCUMENT,
    "m.file": AttachmentKind.DOCUMENT,
}
_FALLBACK = re.compile(
    r"\A> (?:\* )?<@[^>\n]+>.*\n(?:>.*\n)*\n?"
)  # the quotation that older clients put before a reply
_COMMAND = re.compile(r"\A!(?=[A-Za-z])")


@dataclass(frozen=True, slots=True)
class MatrixIdentity:
    """The bot's user id and name, and the account's name in the configuration."""

    account: str
    user: str  # @bot:example.org
    name: str


@dataclass(frozen=True, slots=True)
class MatrixRoom:
    """A room with the names of its members by their ids, as far as they are known."""

    id: str
    members: Mapping[str, str]

    @property
    def kind(self) -> ChatKind:
        """Return DIRECT if we are alone with one person: what else is said there, others read."""
        return ChatKind.DIRECT if len(self.members) == 2 else ChatKind.GROUP

    def name_of(self, user: str) -> str:
        """Return a member's name, else the id."""
        return storable(self.members.get(user) or user)


def validate(raw: object) -> RawEvent | Rejected:
    """Return a timeline's event, or the record of a malformed one, for the operator."""
    try:
        return RawEvent.model_validate(raw)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        return to_rejected(raw, f"{'.'.join(map(str, first['loc']))}: {first['msg']}")


def to_rejected(raw: object, reason: str) -> Rejected:
    """Return the record of an event that cannot be read."""
    text = as_text(raw)
    found = raw.get("event_id") if isinstance(raw, dict) else None
    name = found if isinstance(found, str) else hashlib.sha256(text.encode(errors="replace")).hexdigest()[:24]
    return Rejected(storable(name)[:255], storable(text[:16_384]), storable(reason[:500]))


def translate(event: RawEvent, room: MatrixRoom, bot: MatrixIdentity, now: datetime) -> InboundEvent | None:
    """Return the gateway's event; None for our own and those that are none of a bot's business.

    `now` is used if the event has no valid time.
    """
    thread = thread_of(event.content)
    address = Address(CHANNEL, bot.account, room.id, thread)
    sent_at = instant_of(event.origin_server_ts / 1000, now)
    if (change := event.membership_of(bot.user)) is not None and change[0] != change[1]:
        became = {"join": Membership.ADDED, "leave": Membership.LEFT, "ban": Membership.LEFT}.get(change[1])
        us = Sender(bot.user, bot.name, is_bot=True)
        if became is None:
            return None
        return MembershipChanged(
            event_id=event.event_id, address=address, sender=us, received_at=sent_at, change=became
        )
    if event.sender == bot.user:
        return None
    sender = Sender(event.sender, room.name_of(event.sender), is_bot=event.content.get("msgtype") == "m.notice")
    gone = event.redacts or event.content.get("redacts")
    if event.type == "m.room.redaction" and isinstance(gone, str):
        return MessageDeleted(
            event_id=event.event_id, address=address, sender=sender, received_at=sent_at, message_id=gone
        )
    content, edits = content_of(event)
    if event.type != "m.room.message" or not isinstance(content.get("body"), str):
        return None
    mentioned = mentions(content, bot)
    return InboundMessage(
        event_id=event.event_id,
        address=address,
        sender=sender,
        received_at=sent_at,
        message_id=edits or event.event_id,
        kind=room.kind,
        text=_text_of(content, bot, room.name_of(event.sender), mentioned=mentioned),
        mentions_bot=mentioned,
        reply_to=reply_to_of(event.content),
        attachments=_attachments(content),
        edited=edits is not None,
    )


def content_of(event: RawEvent) -> tuple[Content, str | None]:
    """Return a message's content, and the id of the message that it edits, or None."""
    relation = part_of(event.content, "m.relates_to")
    edits = relation.get("event_id")
    if relation.get("rel_type") == "m.replace" and isinstance(edits, str):
        return part_of(event.content, "m.new_content"), edits
    return event.content, None


def thread_of(content: Content) -> str | None:
    """Return the first message of the thread that a message is in."""
    relation = part_of(content, "m.relates_to")
    root = relation.get("event_id")
    return root if relation.get("rel_type") == "m.thread" and isinstance(root, str) else None


def reply_to_of(content: Content) -> str | None:
    """Return the message replied to; a thread's messages name one for clients without threads, too."""
    relation = part_of(content, "m.relates_to")
    found = part_of(relation, "m.in_reply_to").get("event_id")
    is_meant = relation.get("rel_type") != "m.thread" or relation.get("is_falling_back") is False
    return found if is_meant and isinstance(found, str) else None


def mentions(content: Content, bot: MatrixIdentity) -> bool:
    """Return True if a message mentions us: by `m.mentions`, in older clients by a link or our whole id."""
    if isinstance(content.get("m.mentions"), dict):
        named = content["m.mentions"].get("user_ids")
        return isinstance(named, list) and bot.user in named
    html = str(content.get("formatted_body") or "").replace("%40", "@").replace("%3A", ":")
    return (
        f"matrix.to/#/{bot.user}" in html
        or re.search(rf"{re.escape(bot.user)}(?![\w-]|[.:]\w)", content["body"]) is not None
    )


def _text_of(content: Content, bot: MatrixIdentity, author: str, *, mentioned: bool) -> str:
    """Return the words of a message, or the caption of a file; `!log` stands for `/log`, which some clients keep."""
    text = storable(content["body"])
    kind = content.get("msgtype")
    if kind in _FILES and content.get("filename") in (None, content["body"]):
        return ""
    text = _FALLBACK.sub("", text).strip()
    if mentioned:
        names = "|".join(re.escape(name) for name in (bot.name, bot.user[1:].partition(":")[0]) if name)
        quoted = re.escape(bot.user).replace(":", "(?::|%3A)").replace("@", "(?:@|%40)")
        link = rf"\[[^\]]*\]\(https://matrix\.to/#/{quoted}\)"
        shown = rf"\A(?:{link}|{re.escape(bot.user)}|@?(?:{names})(?!\w))[:,]?\s*"
        text = re.sub(shown, "", text, count=1, flags=re.IGNORECASE)
    return f"* {author} {text}" if kind == "m.emote" else _COMMAND.sub("/", text)


def _attachments(content: Content) -> tuple[Attachment, ...]:
    kind, uri = _FILES.get(str(content.get("msgtype"))), content.get("url")
    if kind is None or not isinstance(uri, str) or not uri.startswith("mxc://"):
        return ()
    info = part_of(content, "info")
    name, mime = content.get("filename") or content["body"], info.get("mimetype")
    return (
        Attachment(
            kind,
            storable(uri),
            storable(name) if isinstance(name, str) else None,
            storable(mime) if isinstance(mime, str) else None,
            whole_of(info.get("size")),
        ),
    )
