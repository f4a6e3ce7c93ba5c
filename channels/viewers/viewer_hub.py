"""Open views of chats, browser pages and terminals, which show their chat's messages.

The hub stores nothing: a view that opens later reads the earlier messages from the store.
"""

import asyncio
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from pydantic import JsonValue

from channels.base import ChannelConnection, ChannelState, NotPersisted, Sink
from channels.messages import Address, InboundEvent, OutboundPart, Receipt
from channels.viewers.viewer_frames import PersonFrame, Visitor, to_event

Frame = Mapping[str, JsonValue]
"""A JSON object for a view."""

KEPT_FRAMES = 256
"""Frames that may wait for one view; a slower one is closed and reconnects."""

VIEWS_OF_CHAT = 8


class Viewer:
    """One open view of a chat with its queue of frames."""

    def __init__(self, chat: str) -> None:
        self.chat = chat
        self.closed = False
        self.displaced = False  # closed in favour of another view: it should reconnect later
        self._frames: deque[Frame] = deque()
        self._news = asyncio.Event()

    def push(self, frame: Frame) -> None:
        """Queue a frame; close a view that does not keep up."""
        if self.closed or len(self._frames) >= KEPT_FRAMES:
            self.close()
            return
        self._frames.append(frame)
        self._news.set()

    def make_room(self) -> None:
        """Close the view in favour of another one."""
        self.displaced = True
        self.close()

    def close(self) -> None:
        """Close the view; waiting frames are dropped."""
        self.closed = True
        self._news.set()

    async def next(self) -> Frame | None:
        """Wait for the next frame; return None once the view is closed."""
        while not self.closed:
            if self._frames:
                return self._frames.popleft()
            self._news.clear()
            await self._news.wait()
        return None


class ViewerHub:
    """Every open view of one channel account in this process."""

    def __init__(self, *, most: int = 1000, most_of_chat: int = VIEWS_OF_CHAT) -> None:
        self._most = most
        self._most_of_chat = most_of_chat
        self._viewers: dict[str, list[Viewer]] = {}  # by chat
        self._open = 0

    def has_room(self, chat: str) -> bool:
        """Return True if this chat may have one more view."""
        return len(self.of(chat)) < self._most_of_chat

    def of(self, chat: str) -> Sequence[Viewer]:
        """Return the views of a chat."""
        return tuple(self._viewers.get(chat, ()))

    def open(self, chat: str) -> Viewer | None:
        """Open a view of a chat; return None if there are too many."""
        if self._open >= self._most or not self.has_room(chat):
            return None
        viewer = Viewer(chat)
        self._viewers.setdefault(chat, []).append(viewer)
        self._open += 1
        return viewer

    def leave(self, viewer: Viewer) -> None:
        """Close a view and forget it; a second call changes nothing."""
        viewer.close()
        viewers = self._viewers.get(viewer.chat, [])
        if viewer not in viewers:
            return
        viewers.remove(viewer)
        self._open -= 1
        if not viewers:
            del self._viewers[viewer.chat]

    def tell(self, chat: str, frame: Frame) -> None:
        """Push a frame to every view of a chat."""
        for viewer in self.of(chat):
            viewer.push(frame)

    def __len__(self) -> int:
        """Return how many chats have an open view."""
        return len(self._viewers)

    def close_all(self) -> None:
        """Close every view."""
        for viewers in self._viewers.values():
            for viewer in viewers:
                viewer.close()


class ViewerInbox:
    """The receiving side of one channel account's views."""

    def __init__(self, hub: ViewerHub, clock: Callable[[], datetime]) -> None:
        self.sink: Sink | None = None  # set while the channel runs
        self.hub = hub
        self._clock = clock

    async def receive(self, visitor: Visitor, frames: Sequence[PersonFrame]) -> list[InboundEvent]:
        """Commit a view's frames and return their events.

        Raises:
            NotPersisted: nothing was committed; the view sends the same frames again.
        """
        if self.sink is None:
            raise NotPersisted("the channel does not run now")
        now = self._clock()
        events = [event for frame in frames if (event := to_event(frame, visitor, now)) is not None]
        if events:
            await self.sink.receive(events)
        return events


class ViewerChannel(ABC):
    """The common base of our own views' channels, without the form of messages."""

    def __init__(self, inbox: ViewerInbox) -> None:
        self._inbox = inbox

    async def connections(self) -> Sequence[ChannelConnection]:
        """Return this channel: it has one connection."""
        return (self,)

    async def run(self, sink: Sink) -> None:
        """Receive from views until cancelled; open views still show messages after that."""
        self._inbox.sink = sink
        sink.report(ChannelState.READY)
        try:
            await asyncio.Event().wait()  # until cancelled
        finally:
            self._inbox.sink = None

    async def aclose(self) -> None:
        """Close every view's connection; `run` has ended before."""
        self._inbox.hub.close_all()

    def is_looked_at(self, address: Address) -> bool:
        """Return True if a view of this chat is open in this process."""
        return bool(self._inbox.hub.of(address.chat))

    async def send(self, part: OutboundPart) -> Receipt:
        """Show a message in the views of its chat; the same key is the same message."""
        return await self.edit(part, f"b-{part.idem_key}")

    @abstractmethod
    async def edit(self, part: OutboundPart, platform_id: str) -> Receipt:
        """Show the current text of our message; a view that lacks it adds it."""

    async def close_buttons(self, address: Address, message_id: str) -> None:
        """Remove the buttons of our message in every view of its chat."""
        self._inbox.hub.tell(address.chat, {"type": "buttons", "message": message_id, "buttons": []})

    async def show_typing(self, address: Address) -> None:
        """Show "writing" for 6 s, or until the next message."""
        self._inbox.hub.tell(address.chat, {"type": "typing", "for_s": 6})
