"""Types what passes between a platform and the gateway: addresses, people, inbound events, outbound parts.

Nothing here knows a platform, a table or a model. Everything is frozen and safe to share between tasks.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Literal

from pydantic import ConfigDict, TypeAdapter

from channels.tenant import DEFAULT_TENANT as DEFAULT_TENANT  # noqa: PLC0414  mypy knows by it that others have it from here

GOES_ON = " …"
"""Stands behind what is shown of an answer that is still being written."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where a message came from or goes to: one chat (and thread) of one account of one channel."""

    channel: str  # registry name: "telegram"
    account: str  # which bot account of that channel, the name in the configuration: "main"
    chat: str  # the platform's chat id, as text
    thread: str | None = None  # topic or thread id; None outside threads

    @property
    def lane(self) -> str:
        """The key of the ordered queue that carries everything said to this chat."""
        return f"{self.channel}:{self.account}:{self.chat}"

    @classmethod
    def of_lane(cls, lane: str) -> "Address":
        """The chat whose queue has this key."""
        return cls(*lane.split(":", 2))


@dataclass(frozen=True, slots=True)
class Sender:
    """Who wrote. `id` alone decides access; the display name is only ever shown."""

    id: str  # the platform's opaque id, with its team where ids are only unique inside one
    display_name: str
    is_bot: bool = False


class ChatKind(StrEnum):
    """Whether a chat is one person's or shared."""

    DIRECT = "direct"
    GROUP = "group"


@dataclass(frozen=True, slots=True)
class Route:
    """A way of its own to answer one event, for a while: a Discord interaction, a Slack response URL."""

    kind: str  # the adapter's word for it: "interaction", "response_url"
    token: str  # what the adapter needs; a secret: never logged
    expires_at: datetime  # aware UTC; afterwards the answer goes to the chat
    uses: int = 1_000_000  # how many calls it takes at most
    private: bool = False  # only the person who asked sees what goes this way


class AttachmentKind(StrEnum):
    """The broad class of a file; the exact type is its MIME type."""

    PHOTO = "photo"
    DOCUMENT = "document"
    VOICE = "voice"


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file somebody sent, by the platform's handle; nothing is downloaded yet."""

    kind: AttachmentKind
    handle: str  # what the adapter needs to fetch it
    name: str | None = None  # as the sender named it: untrusted, never used as a path
    mime: str | None = None
    size_bytes: int | None = None


class QuoteKind(StrEnum):
    """How words that were said before come into a message."""

    REPLY = "reply"  # the sender answers them
    FORWARD = "forward"  # the sender passes them on


MAX_QUOTED_CHARS = 4_000
MAX_QUOTES = 5


@dataclass(frozen=True, slots=True)
class Quoted:
    """What was said before, mostly by somebody else: data, never a wish of the sender's."""

    kind: QuoteKind
    text: str  # at most MAX_QUOTED_CHARS; never empty
    author: str | None = None  # as the platform shows them, untrusted; None: it does not say
    ours: bool = False  # the bot said it


def to_quoted(kind: QuoteKind, text: str | None, author: str | None, *, ours: bool = False) -> tuple[Quoted, ...]:
    """The words as one quotation, cut to the bound; none where there are no words."""
    words = (text or "").strip()
    if len(words) > MAX_QUOTED_CHARS:
        words = words[: MAX_QUOTED_CHARS - 1] + "…"
    return (Quoted(kind, words, author or None, ours),) if words else ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Event:
    """What every inbound event carries."""

    event_id: str  # the platform's own identity of this event: the dedupe key within an account
    address: Address
    sender: Sender
    received_at: datetime  # aware UTC, the platform's clock where it gives one
    tenant: str = DEFAULT_TENANT

    @property
    def sender_key(self) -> str:
        """The canonical sender, `telegram:42`; the only name access is decided by."""
        return f"{self.address.channel}:{self.sender.id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class InboundMessage(_Event):
    """Somebody said something; with `edited`, they changed what they had said."""

    type: Literal["message"] = "message"
    message_id: str
    kind: ChatKind
    text: str  # clean Unicode: no NUL, no lone surrogates; "" for a bare attachment
    mentions_bot: bool = False  # a mention, a reply to the bot or a command meant for it; never by forwarded words
    reply_to: str | None = None  # message id in the same chat
    attachments: tuple[Attachment, ...] = ()
    edited: bool = False
    locale: str | None = None  # BCP 47 tag the platform told of the sender; a hint only
    timezone: str | None = None  # IANA name as the sender's device told it, unchecked; a hint only
    album: str | None = None  # the same for files that were sent as one
    forwarded: bool = False  # text and files are somebody else's: data, not a wish of the sender's
    forwarded_from: str | None = None  # whose, as the platform shows them, untrusted; None: it does not say
    quoted: tuple[Quoted, ...] = ()  # beside the text: what is replied to or passed on, at most MAX_QUOTES
    only_reads: bool = False  # its answer may change nothing: no command, no tool that writes


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageDeleted(_Event):
    """Somebody took back what they had said."""

    type: Literal["delete"] = "delete"
    message_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ButtonPressed(_Event):
    """Somebody pressed a button under one of our messages."""

    type: Literal["button"] = "button"
    message_id: str
    kind: ChatKind
    data: str  # what we put into the button
    locale: str | None = None
    route: Route | None = None  # how this press is answered, where it has a way of its own


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandInvoked(_Event):
    """Somebody used a platform-native command (a slash command with its own payload)."""

    type: Literal["command"] = "command"
    name: str  # without the slash
    arguments: str
    kind: ChatKind
    locale: str | None = None
    route: Route | None = None  # how this command is answered, where it has a way of its own


class Membership(StrEnum):
    """What became of the bot in a chat."""

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
    """A chat goes on under another id (a Telegram group became a supergroup)."""

    type: Literal["migration"] = "migration"
    new_chat: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemEvent(_Event):
    """The gateway itself has something to do for a person in a chat of theirs: a reminder is due."""

    type: Literal["system"] = "system"
    name: str  # of the command that answers it; people cannot type it
    arguments: str
    kind: ChatKind = ChatKind.DIRECT


InboundEvent = (
    InboundMessage | MessageDeleted | ButtonPressed | CommandInvoked | MembershipChanged | ChatMigrated | SystemEvent
)

INBOUND_EVENT: TypeAdapter[InboundEvent] = TypeAdapter(InboundEvent, config=ConfigDict(defer_build=True))
"""Reads and writes an inbound event as JSON; what the inbox keeps."""


@dataclass(frozen=True, slots=True)
class Rejected:
    """A raw event that could not be understood; it is kept for the operator, never retried."""

    event_id: str  # the best identity that could be found in it
    raw: str  # the event as received, cut at 16,384 characters
    reason: str


@dataclass(frozen=True, slots=True)
class Rendered:
    """One part as its platform wants it. Its length is that of `text`, in the platform's unit."""

    text: str
    markup: str | None = None  # the platform's own JSON beside the text (Telegram: entities)


class ButtonStyle(StrEnum):
    """How a button looks, where a platform can."""

    PRIMARY = "primary"
    SECONDARY = "secondary"
    DANGER = "danger"


@dataclass(frozen=True, slots=True)
class Button:
    """Something to press under a message. It works as long as the message stands, also after a restart."""

    label: str  # ≤ 40 characters
    data: str  # ≤ 64 bytes of ASCII: what comes back in `ButtonPressed.data`
    style: ButtonStyle = ButtonStyle.SECONDARY


@dataclass(frozen=True, slots=True)
class OutboundMedia:
    """A file to send with a part."""

    kind: AttachmentKind
    name: str
    mime: str
    content: bytes
    description: str = ""  # the same in words, for who does not see it; at most 1,000 characters


@dataclass(frozen=True, slots=True, kw_only=True)
class OutboundPart:
    """One thing to send: small enough for one call, already rendered."""

    address: Address
    rendered: Rendered
    idem_key: str  # ≤ 25 characters, the same for every attempt at this part
    reply_to: str | None = None  # message id in the same chat
    route: Route | None = None  # answer this way; None: say it in the chat
    buttons: tuple[Button, ...] = ()
    media: tuple[OutboundMedia, ...] = ()
    unfinished: bool = False  # more will replace it: a placeholder, or an answer so far with GOES_ON behind it
    recipient: str | None = None  # `Sender.id` of the person a placeholder is for; None: not known
    is_status: bool = False  # of an unfinished part: what is being done, no beginning of the answer


@dataclass(frozen=True, slots=True)
class Receipt:
    """The platform took it."""

    platform_id: str  # the platform's id of the message
