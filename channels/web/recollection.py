"""What was said before this process comes from whoever keeps it: into the pages' memory, or as a past conversation.

The store is not known here; the port says what is asked of it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from pydantic import JsonValue

from channels.base import Channel, NotPersisted
from channels.messages import InboundMessage, OutboundPart
from channels.viewers.viewer_hub import Frame
from channels.web.history import History
from channels.web.open_pages import message_frame, said_frame


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

    async def messages(self, channel: Channel, chat: str, conversation_id: str | None) -> Sequence[KeptMessage]:
        """The last messages of one of these conversations (None: the living one of this chat), in their order.

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


class NoRecords:
    """For a chat that nobody keeps."""

    async def conversations(self, _chat: str) -> Sequence[PastConversation]:
        """None."""
        return ()

    async def messages(self, _channel: Channel, _chat: str, _conversation_id: str | None) -> Sequence[KeptMessage]:
        """None."""
        return ()

    async def keep_file(self, _handle: str, _content: bytes) -> None:
        """It is refused."""
        raise NotPersisted("no files are kept here")

    async def find_file(self, _handle: str) -> bytes | None:
        """None."""
        return None

    async def note_device(self, _chat: str, _browser: str) -> None:
        """Nobody looks."""

    async def see_device(self, _chat: str, _device: str, _browser: str) -> None:
        """Nobody looks."""

    async def devices(self, _chat: str) -> Sequence[SeenDevice]:
        """None."""
        return ()

    async def sign_out(self, _chat: str, devices: Sequence[str]) -> Sequence[str]:
        """For as long as the process lives."""
        return ["", *devices]

    async def signed_out(self) -> Sequence[tuple[str, str]]:
        """None."""
        return ()


class Recollection:
    """What is known of a chat beside what this process has seen of it."""

    def __init__(self, channel: Channel, records: Records, history: History) -> None:
        """What is recalled of the living conversation goes into `history`."""
        self._channel = channel
        self._records = records
        self._history = history

    async def recall(self, chat: str) -> None:
        """See to it that the pages' memory holds the living conversation; a second time it is there.

        Raises:
            NotPersisted: it cannot be known just now.
        """
        if not self._history.is_whole(chat):
            self._history.begin(chat, await self._frames(chat, None))

    async def conversation(self, chat: str, conversation_id: str) -> Sequence[Frame]:
        """The messages of a past conversation as frames; none where it may not be gone on with here.

        Raises:
            NotPersisted: it cannot be known just now.
        """
        return await self._frames(chat, conversation_id)

    async def conversations(self, chat: str) -> list[JsonValue]:
        """What may be gone on with in this chat, as a page lists it.

        Raises:
            NotPersisted: they cannot be known just now.
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

    async def _frames(self, chat: str, conversation_id: str | None) -> list[Frame]:
        return [to_frame(kept) for kept in await self._records.messages(self._channel, chat, conversation_id)]


def to_frame(kept: KeptMessage) -> Frame:
    """As a page is told it, but that a page which has it already knows it better."""
    message = kept.message
    if isinstance(message, InboundMessage):
        return {**said_frame(message), "kept": True}
    return {**message_frame(message, f"b-{message.idem_key}", (), kept.at), "kept": True}
