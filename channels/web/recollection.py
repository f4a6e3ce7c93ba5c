"""Tells pages what was said before: the last messages of their chat, and past conversations.

The store is not known here; the port says what is asked of it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from pydantic import JsonValue

from channels.base import Channel
from channels.messages import InboundMessage, OutboundMedia, OutboundPart
from channels.viewers.viewer_hub import Frame
from channels.web.open_pages import message_frame, said_frame

MOST_MESSAGES = 200
MOST_CHARS = 400_000  # of all of them; the newest is told in any case
CHARS_OF_FRAME = 200  # beside its words


@dataclass(frozen=True, slots=True)
class PastConversation:
    """A conversation as a list shows it."""

    id: str
    title: str  # "": it has none
    used_at: datetime  # aware UTC
    living: bool  # what is said next goes on with it
    place: str = ""  # the platform where it was; "": here


@dataclass(frozen=True, slots=True)
class SeenDevice:
    """A browser that reads and writes as somebody."""

    id: str
    browser: str  # what it calls itself
    seen_at: datetime  # aware UTC, within ten minutes


@dataclass(frozen=True, slots=True)
class KeptMessage:
    """One message as the store has it: the person's, or a part of ours."""

    at: datetime  # aware UTC
    message: InboundMessage | OutboundPart


class Records(Protocol):
    """Keeps what was said in each chat."""

    async def conversations(self, chat: str) -> Sequence[PastConversation]:
        """What may be gone on with here, the one used last first: the chat's own, and those of its person's others.

        Raises:
            NotPersisted: the store cannot be asked just now.
        """
        ...

    async def recent(self, chat: str) -> Sequence[KeptMessage]:
        """Return the last messages of a chat in their order, each as it stands; no answer that still grows.

        A part has the key that its message is known by. Its files have no content.

        Raises:
            NotPersisted: the store cannot be asked just now.
        """
        ...

    async def messages(self, channel: Channel, chat: str, conversation_id: str) -> Sequence[KeptMessage]:
        """The last messages of one of these conversations, in their order.

        Of any other there are none. A part has the key that it was sent with.

        Raises:
            NotPersisted: the store cannot be asked just now.
        """
        ...

    async def keep_file(self, handle: str, content: bytes) -> None:
        """Keep what a person handed over, under a handle that names their chat; the same again changes nothing.

        Raises:
            NotPersisted: it is not kept.
        """
        ...

    async def find_file(self, handle: str) -> bytes | None:
        """What was kept; None where it is gone, or never was.

        Raises:
            NotPersisted: the store cannot be asked just now.
        """
        ...

    async def find_sent_file(self, chat: str, message_id: str, number: int) -> OutboundMedia | None:
        """Return a file of a message of ours in this chat; None if it is not kept any more, or was never there.

        Raises:
            NotPersisted: the store cannot be asked just now.
        """
        ...

    async def note_device(self, chat: str, browser: str) -> None:
        """Keep for the audit that a person goes on in another browser, too, which calls itself so.

        Raises:
            NotPersisted: it is not kept, and so must not be.
        """
        ...

    async def see_device(self, chat: str, device: str, browser: str) -> None:
        """A person's browser is here.

        Raises:
            NotPersisted: it is not kept.
        """
        ...

    async def devices(self, chat: str) -> Sequence[SeenDevice]:
        """A person's browsers that may come, seen last first.

        Raises:
            NotPersisted: the store cannot be asked just now.
        """
        ...

    async def sign_out(self, chat: str, devices: Sequence[str]) -> Sequence[str]:
        """Let these come no more, nor what has no number of its own (""); which it were. Kept for the audit.

        Raises:
            NotPersisted: they may come still.
        """
        ...

    async def signed_out(self) -> Sequence[tuple[str, str]]:
        """Chat and device of each that may come no more.

        Raises:
            NotPersisted: the store cannot be asked just now.
        """
        ...


class Recollection:
    """The messages of a chat as its pages are told them."""

    def __init__(self, channel: Channel, records: Records) -> None:
        self._channel = channel
        self._records = records

    async def recent(self, chat: str) -> list[JsonValue]:
        """Return the last messages of a chat as frames, within what one page is told at most.

        Raises:
            NotPersisted: the store cannot be asked just now.
        """
        frames: list[JsonValue] = []
        chars = 0
        for frame in reversed(self._frames(await self._records.recent(chat))[-MOST_MESSAGES:]):
            chars += len(str(frame.get("html") or frame.get("text") or "")) + CHARS_OF_FRAME
            if frames and chars > MOST_CHARS:
                break
            frames.insert(0, dict(frame))
        return frames

    async def conversation(self, chat: str, conversation_id: str) -> Sequence[Frame]:
        """Return the messages of a past conversation as frames; none if it may not be gone on with here.

        Raises:
            NotPersisted: the store cannot be asked just now.
        """
        return self._frames(await self._records.messages(self._channel, chat, conversation_id))

    async def conversations(self, chat: str) -> list[JsonValue]:
        """Return what may be gone on with in this chat, as a page lists it.

        Raises:
            NotPersisted: the store cannot be asked just now.
        """
        return [
            {
                "id": past.id,
                "title": past.title,
                "at": past.used_at.isoformat(timespec="seconds"),
                "living": past.living,
                "place": past.place,
            }
            for past in await self._records.conversations(chat)
        ]

    def _frames(self, kept: Sequence[KeptMessage]) -> list[Frame]:
        return [self._frame(said.message, said.at) for said in kept]

    def _frame(self, message: InboundMessage | OutboundPart, at: datetime) -> Frame:
        if isinstance(message, InboundMessage):
            return said_frame(message)
        return message_frame(message, f"b-{message.idem_key}", at)
