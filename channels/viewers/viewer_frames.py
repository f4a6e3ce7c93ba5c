"""The parser of the frames that our own views, the chat page and the terminal, send to their channel; pure.

Frames are JSON objects: `hello`, `say`, `edit`, `do` and `press`. Each channel defines the frames that it sends.
"""

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from channels.markdown.tree import clean
from channels.messages import (
    Address,
    Attachment,
    AttachmentKind,
    ButtonPressed,
    ChatKind,
    CommandInvoked,
    InboundEvent,
    InboundMessage,
    Sender,
)

MAX_SAID_CHARS = 16_000  # of one message
MAX_FRAME_BYTES = 512 * 1024  # from a view

MAX_FILES = 10  # of one message
MOST_NUMBERS = 20  # file numbers of one message; a removed file keeps its number

MAX_REASON_CHARS = 200  # a reason may quote what the view sent

PICTURES = {"image/png", "image/jpeg", "image/gif", "image/webp"}
"""Types that a page shows inline; all others can only be saved."""

_TAG = re.compile(r"[A-Za-z]{2,3}(?:-[A-Za-z0-9]{1,8}){0,3}")

_ZONE = re.compile(r"[A-Za-z]{1,20}(?:/[A-Za-z0-9_+-]{1,30}){1,2}")
"""Time zones with a place; "UTC" has none and does not tell a person's days."""

OwnId = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{8,64}$")]
"""Id made by the view, by which a repeated frame is recognised."""


class _FromView(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", strict=True, defer_build=True)


class HelloFrame(_FromView):
    """The view is ready."""

    type: Literal["hello"]
    recall: bool = True  # send the earlier messages
    locale: str = Field(default="", max_length=35)  # BCP 47, from the device


class SaidFile(_FromView):
    """A file uploaded before, which belongs to this message."""

    number: int = Field(ge=0, lt=MOST_NUMBERS)
    name: str = Field(min_length=1, max_length=200)
    mime: str = Field(pattern=r"^[a-z]+/[a-z0-9.+-]{1,90}$")
    size: int = Field(ge=0, le=1_000_000_000)  # bytes, as the view says


class SayFrame(_FromView):
    """A message of the person."""

    type: Literal["say"]
    id: OwnId
    text: str = Field(max_length=MAX_SAID_CHARS)
    zone: str = Field(default="", max_length=64)  # IANA name, from the person's device
    locale: str = Field(default="", max_length=35)  # BCP 47, from the device
    files: tuple[SaidFile, ...] = Field(default=(), max_length=MAX_FILES, strict=False)


class EditFrame(_FromView):
    """An edit of the person's message."""

    type: Literal["edit"]
    id: OwnId
    message: OwnId  # id of the edited message
    text: str = Field(min_length=1, max_length=MAX_SAID_CHARS)
    again: bool = False  # it was already answered: ask anew, under the id of this frame


class DoFrame(_FromView):
    """A command by a control of the view."""

    type: Literal["do"]
    id: OwnId
    name: Literal["stop", "retry", "new", "sessions"]
    arguments: str = Field(default="", pattern=r"^[A-Za-z0-9-]{0,64}$")


class PressFrame(_FromView):
    """A press of a button under our message."""

    type: Literal["press"]
    id: OwnId
    message: str = Field(min_length=1, max_length=64)
    data: str = Field(pattern=r"^[\x20-\x7e]{1,64}$")


PersonFrame = SayFrame | EditFrame | DoFrame | PressFrame
"""Frames of a person's actions; each has an id, is committed and then confirmed."""

AnyFrame = HelloFrame | PersonFrame

FromView = Annotated[AnyFrame, Field(discriminator="type")]

_FRAME: TypeAdapter[AnyFrame] = TypeAdapter(FromView, config=ConfigDict(defer_build=True))
_FRAMES: TypeAdapter[list[AnyFrame]] = TypeAdapter(
    Annotated[list[FromView], Field(max_length=100)], config=ConfigDict(defer_build=True)
)


class BadFrame(ValueError):
    """The view sent an invalid frame; the message says why."""


def read_frame(raw: str | bytes) -> AnyFrame:
    """Parse one frame.

    Raises:
        BadFrame: it is invalid.
    """
    try:
        return _FRAME.validate_json(raw)
    except ValidationError as error:
        raise BadFrame(_why(error)) from None


def read_frames(raw: str | bytes) -> list[AnyFrame]:
    """Parse a JSON list of at most a hundred frames.

    Raises:
        BadFrame: it is invalid.
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
    """The person at a view, and their chat; always a direct chat."""

    address: Address
    sender: Sender
    locale: str | None = None  # BCP 47


def to_event(frame: PersonFrame, visitor: Visitor, now: datetime) -> InboundEvent | None:
    """Convert a frame to an event, or None if it is empty; the event's id is unique within the chat."""
    address, sender, locale = visitor.address, visitor.sender, visitor.locale
    match frame:
        case PressFrame():
            return ButtonPressed(
                event_id=f"press:{address.chat}:{frame.id}",
                address=address,
                sender=sender,
                received_at=now,
                message_id=frame.message,
                kind=ChatKind.DIRECT,
                data=frame.data,
                locale=locale,
            )
        case DoFrame():
            return CommandInvoked(
                event_id=f"do:{address.chat}:{frame.id}",
                address=address,
                sender=sender,
                received_at=now,
                name=frame.name,
                arguments=frame.arguments,
                kind=ChatKind.DIRECT,
                locale=locale,
            )
        case _:
            return _to_message(frame, visitor, now)


def _to_message(frame: SayFrame | EditFrame, visitor: Visitor, now: datetime) -> InboundMessage | None:
    text, files = clean(frame.text).strip(), () if isinstance(frame, EditFrame) else frame.files
    if not text and not files:
        return None
    chat, edits = visitor.address.chat, isinstance(frame, EditFrame)
    zone, locale = ("", "") if isinstance(frame, EditFrame) else (frame.zone, frame.locale)
    return InboundMessage(
        event_id=f"{'edit' if edits else 'msg'}:{chat}:{frame.id}",
        address=visitor.address,
        sender=visitor.sender,
        received_at=now,
        message_id=frame.message if isinstance(frame, EditFrame) and not frame.again else frame.id,
        kind=ChatKind.DIRECT,
        text=text,
        mentions_bot=True,
        edited=edits,
        attachments=tuple(_to_attachment(file, f"{chat}:{frame.id}") for file in files),
        locale=visitor.locale or (locale if _TAG.fullmatch(locale) else None),
        timezone=zone if _ZONE.fullmatch(zone) else None,
    )


def _to_attachment(file: SaidFile, message: str) -> Attachment:
    """Return the file with a handle that has the view's own chat, so that no frame can name another chat's file."""
    kind = AttachmentKind.PHOTO if file.mime in PICTURES else AttachmentKind.DOCUMENT
    kind = AttachmentKind.VOICE if file.mime.startswith("audio/") else kind
    name = clean(file.name).strip() or None
    return Attachment(kind, f"{message}:{file.number}", name, file.mime, file.size)
