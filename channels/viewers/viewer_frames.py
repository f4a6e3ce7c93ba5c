"""Reads the frames that our own views, the chat page and the terminal, say to their channel. Pure.

Frames are JSON objects: `hello`, `say`, `edit`, `do` and `press`. What a channel tells its views is its own.
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

MAX_SAID_CHARS = 16_000  # what a person may say at once
MAX_FRAME_BYTES = 512 * 1024  # from a view

MAX_FILES = 10  # with one message
MOST_NUMBERS = 20  # of files of one message: one that was taken away again keeps its own

MAX_REASON_CHARS = 200  # of a refusal, which may quote what the view sent

PICTURES = {"image/png", "image/jpeg", "image/gif", "image/webp"}
"""Types that a page shows; everything else is only ever saved."""

_TAG = re.compile(r"[A-Za-z]{2,3}(?:-[A-Za-z0-9]{1,8}){0,3}")

_ZONE = re.compile(r"[A-Za-z]{1,20}(?:/[A-Za-z0-9_+-]{1,30}){1,2}")
"""As devices name a place; what is no place ("UTC") tells of nobody's days."""

OwnId = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{8,64}$")]
"""An id that the view made: the key by which a repeated frame is known."""


class _FromView(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", strict=True, defer_build=True)


class HelloFrame(_FromView):
    """The view is there."""

    type: Literal["hello"]
    recall: bool = True  # tell it what was said before


class SaidFile(_FromView):
    """A file that the view handed over before, and that goes with this message."""

    number: int = Field(ge=0, lt=MOST_NUMBERS)
    name: str = Field(min_length=1, max_length=200)
    mime: str = Field(pattern=r"^[a-z]+/[a-z0-9.+-]{1,90}$")
    size: int = Field(ge=0, le=1_000_000_000)  # bytes, as the view tells


class SayFrame(_FromView):
    """The person said something."""

    type: Literal["say"]
    id: OwnId
    text: str = Field(max_length=MAX_SAID_CHARS)
    zone: str = Field(default="", max_length=64)  # IANA name, as the person's device tells it
    locale: str = Field(default="", max_length=35)  # BCP 47, the same
    files: tuple[SaidFile, ...] = Field(default=(), max_length=MAX_FILES, strict=False)


class EditFrame(_FromView):
    """The person changed what they had said."""

    type: Literal["edit"]
    id: OwnId
    message: OwnId  # as they said it
    text: str = Field(min_length=1, max_length=MAX_SAID_CHARS)
    again: bool = False  # it was answered already: the new words are asked anew, under the id of this frame


class DoFrame(_FromView):
    """The person used a control of the view that stands for a command."""

    type: Literal["do"]
    id: OwnId
    name: Literal["stop", "retry", "new", "sessions"]
    arguments: str = Field(default="", pattern=r"^[A-Za-z0-9-]{0,64}$")


class PressFrame(_FromView):
    """The person pressed a button under our message."""

    type: Literal["press"]
    id: OwnId
    message: str = Field(min_length=1, max_length=64)
    data: str = Field(pattern=r"^[\x20-\x7e]{1,64}$")


PersonFrame = SayFrame | EditFrame | DoFrame | PressFrame
"""What a person does; each has an id, is committed, and is then told to be taken."""

AnyFrame = HelloFrame | PersonFrame

FromView = Annotated[AnyFrame, Field(discriminator="type")]

_FRAME: TypeAdapter[AnyFrame] = TypeAdapter(FromView, config=ConfigDict(defer_build=True))
_FRAMES: TypeAdapter[list[AnyFrame]] = TypeAdapter(
    Annotated[list[FromView], Field(max_length=100)], config=ConfigDict(defer_build=True)
)


class BadFrame(ValueError):
    """What a view sent is none of its frames; the message says why."""


def read_frame(raw: str | bytes) -> AnyFrame:
    """One frame.

    Raises:
        BadFrame: it is none.
    """
    try:
        return _FRAME.validate_json(raw)
    except ValidationError as error:
        raise BadFrame(_why(error)) from None


def read_frames(raw: str | bytes) -> list[AnyFrame]:
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


def to_event(frame: PersonFrame, visitor: Visitor, now: datetime) -> InboundEvent | None:
    """What a frame tells the gateway; None where it says nothing. The id counts within the chat."""
    address, sender, locale = visitor.address, visitor.sender, visitor.locale
    match frame:
        case PressFrame():
            return ButtonPressed(
                event_id=f"press:{address.chat}:{frame.id}", address=address, sender=sender, received_at=now,
                message_id=frame.message, kind=ChatKind.DIRECT, data=frame.data, locale=locale,
            )  # fmt: skip
        case DoFrame():
            return CommandInvoked(
                event_id=f"do:{address.chat}:{frame.id}", address=address, sender=sender, received_at=now,
                name=frame.name, arguments=frame.arguments, kind=ChatKind.DIRECT, locale=locale,
            )  # fmt: skip
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
    """The file by whose and which it is: no frame names another chat's."""
    kind = AttachmentKind.PHOTO if file.mime in PICTURES else AttachmentKind.DOCUMENT
    name = clean(file.name).strip() or None
    return Attachment(kind, f"{message}:{file.number}", name, file.mime, file.size)
