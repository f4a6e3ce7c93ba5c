"""The types that pass between a platform and the gateway: addresses, people, inbound events, outbound parts.

All are frozen and safe to share between tasks.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Literal

from pydantic import ConfigDict, TypeAdapter

from channels.tenant import DEFAULT_TENANT as DEFAULT_TENANT  # noqa: PLC0414  mypy knows by it that others have it from here

GOES_ON = " …"
"""End of the text of an unfinished answer."""


@dataclass(frozen=True, slots=True)
class Address:
    """The origin or destination of a message: one chat (and thread) of one account of one channel."""

    channel: str  # registry name: "telegram"
    account: str  # bot account of that channel, by its name in the configuration: "main"
    chat: str  # the platform's chat id, as text
    thread: str | None = None  # topic or thread id; None outside threads

    @property
    def lane(self) -> str:
        """Return the key of the ordered queue of all messages to this chat."""
        return f"{self.channel}:{self.account}:{self.chat}"

    @classmethod
    def of_lane(cls, lane: str) -> "Address":
        """Return the address of the chat whose queue has this key."""
        return cls(*lane.split(":", 2))


@dataclass(frozen=True, slots=True)
class Sender:
    """The author of an event. Only `id` decides access; the display name is only shown."""

    id: str  # the platform's opaque id, with its team if ids are only unique inside one
    display_name: str
    is_bot: bool = False


class ChatKind(StrEnum):
    """The kind of a chat: one person's, or shared."""

    DIRECT = "direct"
    GROUP = "group"


@dataclass(frozen=True, slots=True)
class Route:
    """A temporary way to answer one event: a Discord interaction, a Slack response URL."""

    kind: str  # the adapter's name of it: "interaction", "response_url"
    token: str  # a secret of the adapter: never logged
    expires_at: datetime  # aware UTC; afterwards the answer goes to the chat
    uses: int = 1_000_000  # maximum number of calls
    private: bool = False  # only the person who asked sees the answer


class AttachmentKind(StrEnum):
    """The broad class of a file; the exact type is its MIME type."""

    PHOTO = "photo"
    DOCUMENT = "document"
    VOICE = "voice"  # speech or other sound


@dataclass(frozen=True, slots=True)
class Attachment:
    """A person's file, by the platform's handle; its content is not downloaded yet."""

    kind: AttachmentKind
    handle: str  # for the adapter's download
    name: str | None = None  # as the sender named it: untrusted, never used as a path
    mime: str | None = None
    size_bytes: int | None = None
    duration_s: float | None = None  # of sound, if the platform tells it


class QuoteKind(StrEnum):
    """The kinds of quoted text."""

    REPLY = "reply"  # the sender answers it
    FORWARD = "forward"  # the sender forwards it


MAX_QUOTED_CHARS = 4_000
MAX_QUOTES = 5


@dataclass(frozen=True, slots=True)
class Quoted:
    """An earlier message, mostly of another person: data, never the sender's request."""

    kind: QuoteKind
    text: str  # at most MAX_QUOTED_CHARS; never empty
    author: str | None = None  # as the platform shows them, untrusted; None: unknown
    ours: bool = False  # the bot's own message


def to_quoted(kind: QuoteKind, text: str | None, author: str | None, *, ours: bool = False) -> tuple[Quoted, ...]:
    """Return the text as one quotation, cut to the limit; () if it is empty."""
    words = (text or "").strip()
    if len(words) > MAX_QUOTED_CHARS:
        words = words[: MAX_QUOTED_CHARS - 1] + "…"
    return (Quoted(kind, words, author or None, ours),) if words else ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Event:
    """The common fields of all inbound events."""

    event_id: str  # the platform's own id of this event: unique within an account, for deduplication
    address: Address
    sender: Sender
    received_at: datetime  # aware UTC, by the platform's clock if it sends one
    tenant: str = DEFAULT_TENANT

    @property
    def sender_key(self) -> str:
        """Return the canonical sender, `telegram:42`, by which access is decided."""
        return f"{self.address.channel}:{self.sender.id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class InboundMessage(_Event):
    """A person's message; with `edited`, an edit of it."""

    type: Literal["message"] = "message"
    message_id: str
    kind: ChatKind
    text: str  # clean Unicode: no NUL, no lone surrogates; "" for a bare attachment
    mentions_bot: bool = False  # a mention, a reply to the bot or a command meant for it; never by forwarded text
    reply_to: str | None = None  # message id in the same chat
    attachments: tuple[Attachment, ...] = ()
    edited: bool = False
    locale: str | None = None  # BCP 47 tag of the sender from the platform; a hint only
    timezone: str | None = None  # IANA name from the sender's device, unchecked; a hint only
    album: str | None = None  # common id of files that were sent as one album
    forwarded: bool = False  # text and files are another person's: data, not the sender's request
    forwarded_from: str | None = None  # the original author as the platform shows them, untrusted; None: unknown
    quoted: tuple[Quoted, ...] = ()  # what is replied to or forwarded, at most MAX_QUOTES
    only_reads: bool = False  # its answer may change nothing: no command, no tool that writes


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageDeleted(_Event):
    """A person deleted their message."""

    type: Literal["delete"] = "delete"
    message_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ButtonPressed(_Event):
    """A person pressed a button under one of our messages."""

    type: Literal["button"] = "button"
    message_id: str
    kind: ChatKind
    data: str  # the button's own data
    locale: str | None = None
    route: Route | None = None  # for answers to this press, if there is one


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandInvoked(_Event):
    """A person used a platform-native command (a slash command with its own payload)."""

    type: Literal["command"] = "command"
    name: str  # without the slash
    arguments: str
    kind: ChatKind
    locale: str | None = None
    route: Route | None = None  # for answers to this command, if there is one


class Membership(StrEnum):
    """The changes of the bot's membership in a chat."""

    ADDED = "added"
    LEFT = "left"
    BLOCKED = "blocked"  # a person blocked the bot
    UNBLOCKED = "unblocked"


@dataclass(frozen=True, slots=True, kw_only=True)
class MembershipChanged(_Event):
    """The bot was added to, removed from or blocked in a chat."""

    type: Literal["membership"] = "membership"
    change: Membership


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatMigrated(_Event):
    """A chat continues under another id (a Telegram group became a supergroup)."""

    type: Literal["migration"] = "migration"
    new_chat: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemEvent(_Event):
    """The gateway itself acts for a person in their chat: a reminder is due, a task of theirs has ended.

    A command answers it, or with `turn` the agent does: it joins the turn that runs there, or starts one.
    """

    type: Literal["system"] = "system"
    name: str  # of the command that answers it, which people cannot type; with `turn` only for logs
    arguments: str  # of the command; with `turn` the person's own request, "" if there is none
    kind: ChatKind = ChatKind.DIRECT
    turn: str | None = None  # kind of the turn that it starts; None: the command answers it
    data: str = ""  # with `turn`: text that is no request; the model reads it in a frame
    data_head: str = ""  # description of `data` in the gateway's own words


InboundEvent = (
    InboundMessage | MessageDeleted | ButtonPressed | CommandInvoked | MembershipChanged | ChatMigrated | SystemEvent
)

INBOUND_EVENT: TypeAdapter[InboundEvent] = TypeAdapter(InboundEvent, config=ConfigDict(defer_build=True))
"""Converts an inbound event from and to JSON, the inbox's format."""


@dataclass(frozen=True, slots=True)
class Rejected:
    """An unreadable raw event; it is stored for the operator, never retried."""

    event_id: str  # best id found in it
    raw: str  # the event as received, cut at 16,384 characters
    reason: str


@dataclass(frozen=True, slots=True)
class Rendered:
    """One part in its platform's format. Its length is that of `text`, in the platform's unit.

    The gateway may append to `text`, and put a code in place of bullets of the same length; `markup` stays as it is, so
    it describes ranges of the text and does not repeat it.
    """

    text: str
    markup: str | None = None  # the platform's own JSON beside the text (Telegram: entities)


class ButtonStyle(StrEnum):
    """The style of a button, if the platform has styles."""

    PRIMARY = "primary"
    SECONDARY = "secondary"
    DANGER = "danger"


@dataclass(frozen=True, slots=True)
class Button:
    """A button under a message. It works as long as the message exists, also after a restart."""

    label: str  # ≤ 40 characters
    data: str  # ≤ 64 bytes of ASCII: returned in `ButtonPressed.data`
    style: ButtonStyle = ButtonStyle.SECONDARY
    words: str = ""  # the command that a press gives, kept beside the message; "": `data` says what a press does


@dataclass(frozen=True, slots=True)
class OutboundMedia:
    """A file to send with a part."""

    kind: AttachmentKind
    name: str
    mime: str
    content: bytes
    description: str = ""  # alternative text; at most 1,000 characters


@dataclass(frozen=True, slots=True, kw_only=True)
class OutboundPart:
    """One rendered part, small enough for one call."""

    address: Address
    rendered: Rendered
    idem_key: str  # ≤ 25 characters, the same for every attempt at this part; a new database may give it another part
    reply_to: str | None = None  # message id in the same chat
    route: Route | None = None  # answer this way; None: in the chat
    buttons: tuple[Button, ...] = ()
    media: tuple[OutboundMedia, ...] = ()
    unfinished: bool = False  # more will replace it: a placeholder, or an answer so far with GOES_ON behind it
    recipient: str | None = None  # `Sender.id` of a placeholder's person; None: unknown
    is_status: bool = False  # of an unfinished part: progress, not the beginning of the answer


@dataclass(frozen=True, slots=True)
class Receipt:
    """The platform accepted the message."""

    platform_id: str  # the platform's id of the message
