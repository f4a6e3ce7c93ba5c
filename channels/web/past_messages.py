"""Earlier messages and past conversations for pages.

`Records` is the port to the store.
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
MOST_CHARS = 400_000  # of all of them; the newest is always shown
CHARS_OF_FRAME = 200  # overhead of a frame


@dataclass(frozen=True, slots=True)
class PastConversation:
    """A past conversation in a list."""

    id: str
    title: str  # "": none
    used_at: datetime  # aware UTC
    living: bool  # the next message continues it
    place: str = ""  # its platform; "": this page


@dataclass(frozen=True, slots=True)
class SeenDevice:
    """A browser of a person."""

    id: str
    browser: str  # as it calls itself
    seen_at: datetime  # aware UTC, accurate to ten minutes


@dataclass(frozen=True, slots=True)
class KeptMessage:
    """One stored message: the person's, or a part of ours."""

    at: datetime  # aware UTC
    message: InboundMessage | OutboundPart


class Records(Protocol):
    """The store of a chat's messages, files and browsers."""

    async def conversations(self, chat: str) -> Sequence[PastConversation]:
        """Return the conversations that can be continued here, of this chat and the person's others, newest first.

        Raises:
            NotPersisted: the store does not answer.
        """
        ...

    async def recent(self, chat: str) -> Sequence[KeptMessage]:
        """Return the last messages of a chat in order, without unfinished answers.

        A part has the key of its message; its files have no content.

        Raises:
            NotPersisted: the store does not answer.
        """
        ...

    async def messages(self, channel: Channel, chat: str, conversation_id: str) -> Sequence[KeptMessage]:
        """Return the last messages of one of these conversations in order; none for any other id.

        A part has the key with which it was sent.

        Raises:
            NotPersisted: the store does not answer.
        """
        ...

    async def keep_file(self, handle: str, content: bytes) -> None:
        """Store a person's file under a handle that contains their chat; a repetition changes nothing.

        Raises:
            NotPersisted: it was not stored.
        """
        ...

    async def find_file(self, handle: str) -> bytes | None:
        """Return the content of a stored file, or None.

        Raises:
            NotPersisted: the store does not answer.
        """
        ...

    async def find_sent_file(self, chat: str, message_id: str, number: int) -> OutboundMedia | None:
        """Return a file of a message of ours in this chat; None if it is no longer stored, or never was.

        Raises:
            NotPersisted: the store does not answer.
        """
        ...

    async def note_device(self, chat: str, browser: str) -> None:
        """Record in the audit log that a person uses another browser with this name.

        Raises:
            NotPersisted: it was not stored, so the browser must not be linked.
        """
        ...

    async def see_device(self, chat: str, device: str, browser: str) -> None:
        """Record that a person's browser was seen now.

        Raises:
            NotPersisted: it was not stored.
        """
        ...

    async def devices(self, chat: str) -> Sequence[SeenDevice]:
        """Return a person's signed-in browsers, the last seen first.

        Raises:
            NotPersisted: the store does not answer.
        """
        ...

    async def sign_out(self, chat: str, devices: Sequence[str]) -> Sequence[str]:
        """Sign out these browsers and all without an id (""), and return the ids; the audit log records it.

        Raises:
            NotPersisted: they are still signed in.
        """
        ...

    async def signed_out(self) -> Sequence[tuple[str, str]]:
        """Return (chat, device) of each signed-out browser.

        Raises:
            NotPersisted: the store does not answer.
        """
        ...


class PastMessages:
    """The earlier messages of a chat as frames for its pages."""

    def __init__(self, channel: Channel, records: Records) -> None:
        self._channel = channel
        self._records = records

    async def recent(self, chat: str) -> list[JsonValue]:
        """Return the last messages of a chat as frames, within the limits of one page.

        Raises:
            NotPersisted: the store does not answer.
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
        """Return the messages of a past conversation as frames; none if it cannot be continued here.

        Raises:
            NotPersisted: the store does not answer.
        """
        return self._frames(await self._records.messages(self._channel, chat, conversation_id))

    async def conversations(self, chat: str) -> list[JsonValue]:
        """Return the conversations that can be continued in this chat, as a page lists them.

        Raises:
            NotPersisted: the store does not answer.
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
