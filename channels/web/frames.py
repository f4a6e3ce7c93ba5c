"""What travels between a page and the channel, both ways, and what a page's frames mean. Pure.

From a page: `hello`, `say`, `press`, `shown`. To a page: `history`, `message`, `said`, `reaction`, `buttons`,
`deleted`, `typing`, `commands`, `taken`, `not_taken`, `refused`.
"""

import secrets
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from channels.markdown import clean
from channels.messages import (
    Address,
    ButtonPressed,
    ChatKind,
    InboundEvent,
    InboundMessage,
    Membership,
    MembershipChanged,
    OutboundPart,
    Sender,
)
from channels.screens import Frame
from channels.web.html import to_html
from channels.web.limits import MAX_SAID_CHARS

CHANNEL = "web"
ACCOUNT = "main"

OwnId = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{8,64}$")]
"""An id that the page made: the key by which a repeated frame is known."""


class _FromPage(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)


class Hello(_FromPage):
    """The page is there, and has seen everything up to `seen` of the process `epoch`."""

    type: Literal["hello"]
    epoch: str = Field(default="", max_length=64)
    seen: int = Field(default=0, ge=0)


class Say(_FromPage):
    """The person said something."""

    type: Literal["say"]
    id: OwnId
    text: str = Field(max_length=MAX_SAID_CHARS)


class Press(_FromPage):
    """The person pressed a button under our message."""

    type: Literal["press"]
    id: OwnId
    message: str = Field(min_length=1, max_length=64)
    data: str = Field(pattern=r"^[\x20-\x7e]{1,64}$")


class Shown(_FromPage):
    """The page has shown the frame with this number."""

    type: Literal["shown"]
    n: int


FromPage = Hello | Say | Press | Shown

_FRAME: TypeAdapter[FromPage] = TypeAdapter(Annotated[FromPage, Field(discriminator="type")])
_FRAMES: TypeAdapter[list[FromPage]] = TypeAdapter(
    Annotated[list[Annotated[FromPage, Field(discriminator="type")]], Field(max_length=100)]
)


class BadFrame(ValueError):
    """What a page sent is none of its frames; the message says why."""


def read_frame(raw: str | bytes) -> FromPage:
    """One frame.

    Raises:
        BadFrame: it is none.
    """
    try:
        return _FRAME.validate_json(raw)
    except ValidationError as error:
        raise BadFrame(_why(error)) from None


def read_frames(raw: str | bytes) -> list[FromPage]:
    """A JSON list of frames, a hundred at most.

    Raises:
        BadFrame: it is none.
    """
    try:
        return _FRAMES.validate_json(raw)
    except ValidationError as error:
        raise BadFrame(_why(error)) from None


def _why(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"


# ---------------------------------------------------------------- to events


def address_of(chat: str) -> Address:
    """Where the page of a chat is reached."""
    return Address(CHANNEL, ACCOUNT, chat)


def _sender(chat: str) -> Sender:
    return Sender(id=chat, display_name=f"web visitor {chat[:6]}")


def to_event(frame: Say | Press, chat: str, locale: str | None, now: datetime) -> InboundEvent | None:
    """What a frame tells the gateway; None where it says nothing."""
    if isinstance(frame, Press):
        return ButtonPressed(
            event_id=f"press:{chat}:{frame.id}",
            address=address_of(chat),
            sender=_sender(chat),
            received_at=now,
            message_id=frame.message,
            kind=ChatKind.DIRECT,
            data=frame.data,
            locale=locale,
        )
    text = clean(frame.text).strip()
    if not text:
        return None
    return InboundMessage(
        event_id=f"msg:{chat}:{frame.id}",
        address=address_of(chat),
        sender=_sender(chat),
        received_at=now,
        message_id=frame.id,
        kind=ChatKind.DIRECT,
        text=text,
        mentions_bot=True,
        locale=locale,
    )


def back_again(chat: str, now: datetime) -> MembershipChanged:
    """The person has the page open again: what waits for them can go."""
    return MembershipChanged(
        event_id=f"back:{chat}:{secrets.token_hex(8)}",
        address=address_of(chat),
        sender=_sender(chat),
        received_at=now,
        change=Membership.UNBLOCKED,
    )


# ---------------------------------------------------------------- to a page


def message_frame(part: OutboundPart, message_id: str, now: datetime) -> Frame:
    """Our message as it stands now."""
    return {
        "type": "message",
        "id": message_id,
        "html": to_html(part.rendered),
        "waiting": part.rendered.text.strip() == "…",
        "buttons": [{"label": one.label, "data": one.data, "style": one.style.value} for one in part.buttons],
        "reply_to": part.reply_to,
        "at": now.isoformat(timespec="milliseconds"),
    }


def said_frame(event: InboundMessage) -> Frame:
    """What the person said, for every page of theirs."""
    return {
        "type": "said",
        "id": event.message_id,
        "text": event.text,
        "sign": None,
        "at": event.received_at.isoformat(timespec="milliseconds"),
    }


def commands_frame(menu: Sequence[tuple[str, str]]) -> Frame:
    """The commands there are."""
    return {"type": "commands", "commands": [[name, text] for name, text in menu]}
