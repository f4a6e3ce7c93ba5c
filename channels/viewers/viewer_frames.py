"""Reads the frames that our own views, the chat page and the terminal, say to their channel. Pure.

Frames are JSON objects: `hello`, `say`, `press` and `shown`. What a channel tells its views is its own.
"""

import re
import secrets
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from channels.markdown.tree import clean
from channels.messages import (
    Address,
    ButtonPressed,
    ChatKind,
    InboundEvent,
    InboundMessage,
    Membership,
    MembershipChanged,
    Sender,
)

MAX_SAID_CHARS = 16_000  # what a person may say at once
MAX_FRAME_BYTES = 512 * 1024  # from a view

MAX_REASON_CHARS = 200  # of a refusal, which may quote what the view sent

_TAG = re.compile(r"[A-Za-z]{2,3}(?:-[A-Za-z0-9]{1,8}){0,3}")

_ZONE = re.compile(r"[A-Za-z]{1,20}(?:/[A-Za-z0-9_+-]{1,30}){1,2}")
"""As devices name a place; what is no place ("UTC") tells of nobody's days."""

OwnId = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{8,64}$")]
"""An id that the view made: the key by which a repeated frame is known."""


class _FromView(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)


class HelloFrame(_FromView):
    """The view is there, and has seen everything up to `seen` of the process `epoch`."""

    type: Literal["hello"]
    epoch: str = Field(default="", max_length=64)
    seen: int = Field(default=0, ge=0)


class SayFrame(_FromView):
    """The person said something."""

    type: Literal["say"]
    id: OwnId
    text: str = Field(max_length=MAX_SAID_CHARS)
    zone: str = Field(default="", max_length=64)  # IANA name, as the person's device tells it
    locale: str = Field(default="", max_length=35)  # BCP 47, the same


class PressFrame(_FromView):
    """The person pressed a button under our message."""

    type: Literal["press"]
    id: OwnId
    message: str = Field(min_length=1, max_length=64)
    data: str = Field(pattern=r"^[\x20-\x7e]{1,64}$")


class ShownFrame(_FromView):
    """The view has shown the frame with this number."""

    type: Literal["shown"]
    n: int


FromView = Annotated[HelloFrame | SayFrame | PressFrame | ShownFrame, Field(discriminator="type")]

_FRAME: TypeAdapter[HelloFrame | SayFrame | PressFrame | ShownFrame] = TypeAdapter(FromView)
_FRAMES: TypeAdapter[list[HelloFrame | SayFrame | PressFrame | ShownFrame]] = TypeAdapter(
    Annotated[list[FromView], Field(max_length=100)]
)


class BadFrame(ValueError):
    """What a view sent is none of its frames; the message says why."""


def read_frame(raw: str | bytes) -> HelloFrame | SayFrame | PressFrame | ShownFrame:
    """One frame.

    Raises:
        BadFrame: it is none.
    """
    try:
        return _FRAME.validate_json(raw)
    except ValidationError as error:
        raise BadFrame(_why(error)) from None


def read_frames(raw: str | bytes) -> list[HelloFrame | SayFrame | PressFrame | ShownFrame]:
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
    return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"[:MAX_REASON_CHARS]


@dataclass(frozen=True, slots=True)
class Visitor:
    """Who looks, and at which chat. Always one person alone."""

    address: Address
    sender: Sender
    locale: str | None = None  # BCP 47


def to_event(frame: SayFrame | PressFrame, visitor: Visitor, now: datetime) -> InboundEvent | None:
    """What a frame tells the gateway; None where it says nothing. The id counts within the chat."""
    chat = visitor.address.chat
    if isinstance(frame, PressFrame):
        return ButtonPressed(
            event_id=f"press:{chat}:{frame.id}",
            address=visitor.address,
            sender=visitor.sender,
            received_at=now,
            message_id=frame.message,
            kind=ChatKind.DIRECT,
            data=frame.data,
            locale=visitor.locale,
        )
    text = clean(frame.text).strip()
    if not text:
        return None
    return InboundMessage(
        event_id=f"msg:{chat}:{frame.id}",
        address=visitor.address,
        sender=visitor.sender,
        received_at=now,
        message_id=frame.id,
        kind=ChatKind.DIRECT,
        text=text,
        mentions_bot=True,
        locale=visitor.locale or (frame.locale if _TAG.fullmatch(frame.locale) else None),
        timezone=frame.zone if _ZONE.fullmatch(frame.zone) else None,
    )


def to_unblocked(visitor: Visitor, now: datetime) -> MembershipChanged:
    """The person looks again: what waits for them can go."""
    return MembershipChanged(
        event_id=f"back:{visitor.address.chat}:{secrets.token_hex(8)}",
        address=visitor.address,
        sender=visitor.sender,
        received_at=now,
        change=Membership.UNBLOCKED,
    )
