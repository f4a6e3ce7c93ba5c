"""Hands in what views say: everything of one view in its order, each batch committed before it is confirmed.

How frames travel, and what views are shown, is the channel's matter.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import NoReturn

from channels.base import NotPersisted, Sink
from channels.messages import InboundEvent
from channels.viewers.viewer_frames import HelloFrame, PressFrame, SayFrame, Visitor, to_event, to_unblocked
from channels.viewers.viewer_hub import Viewer, ViewerHub

FRAMES_WAITING = 100
"""Frames of one view that may wait for the store; then it is not read on."""

OFFER_AGAIN_S = 2
"""When a view offers again what the store did not take."""

WaitingFrames = asyncio.Queue[SayFrame | PressFrame | HelloFrame]
Take = Callable[[Visitor, Sequence[SayFrame | PressFrame]], Awaitable[object]]


class ViewerInbox:
    """The way in for the views of one channel account."""

    def __init__(self, hub: ViewerHub, clock: Callable[[], datetime]) -> None:
        """Closed: nobody is heard before `sink` is set."""
        self.sink: Sink | None = None  # set while the channel runs
        self.hub = hub
        self._clock = clock

    async def take(self, visitor: Visitor, frames: Sequence[SayFrame | PressFrame]) -> list[InboundEvent]:
        """Return once what a view said is committed; the events it was.

        Whatever waited for the person goes on with it, also when there are no frames.

        Raises:
            NotPersisted: nothing was taken; the view offers the same frames again.
        """
        if self.sink is None:
            raise NotPersisted("the channel does not run now")
        chat, now = visitor.address.chat, self._clock()
        owed = self.hub.may_have_parked(chat)
        events = [event for frame in frames if (event := to_event(frame, visitor, now)) is not None]
        if events or owed:
            await self.sink.receive([to_unblocked(visitor, now), *events] if owed else events)
        if owed:
            self.hub.mark_unparked(chat)
        return events


async def admit(viewer: Viewer, waiting: WaitingFrames, visitor: Visitor, take: Take) -> NoReturn:
    """Hand in what a view says for as long as it is open, all that waits at once; tell it what was taken."""
    while True:
        batch = [await waiting.get()]
        while not waiting.empty():
            batch.append(waiting.get_nowait())
        said = [frame for frame in batch if not isinstance(frame, HelloFrame)]
        ids = [frame.id for frame in said]
        try:
            await take(visitor, said)
        except NotPersisted:
            viewer.push({"type": "not_taken", "ids": list(ids), "again_after_s": OFFER_AGAIN_S})
        else:
            viewer.push({"type": "taken", "ids": list(ids)})
