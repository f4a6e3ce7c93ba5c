"""Hands in what views say: everything of one view in its order, each batch committed before it is confirmed.

How frames travel, and what views are shown, is the channel's matter.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import NoReturn

from channels.base import NotPersisted, Sink
from channels.messages import InboundEvent
from channels.viewers.screens import Screen, Screens
from channels.viewers.views import Hello, Press, Say, Visitor, back_again, to_event

FRAMES_WAITING = 100
"""Frames of one view that may wait for the store; then it is not read on."""

OFFER_AGAIN_S = 2
"""When a view offers again what the store did not take."""

Waiting = asyncio.Queue[Say | Press | Hello]
Take = Callable[[Visitor, Sequence[Say | Press]], Awaitable[object]]


class Desk:
    """The way in for the views of one channel account."""

    def __init__(self, screens: Screens, clock: Callable[[], datetime]) -> None:
        """Closed: nobody is heard before `sink` is set."""
        self.sink: Sink | None = None  # set while the channel runs
        self.screens = screens
        self._clock = clock

    async def take(self, visitor: Visitor, frames: Sequence[Say | Press]) -> list[InboundEvent]:
        """Return once what a view said is committed; the events it was.

        Whatever waited for the person goes on with it, also when there are no frames.

        Raises:
            NotPersisted: nothing was taken; the view offers the same frames again.
        """
        if self.sink is None:
            raise NotPersisted("the channel does not run now")
        chat, now = visitor.address.chat, self._clock()
        owed = self.screens.is_owed(chat)
        events = [event for frame in frames if (event := to_event(frame, visitor, now)) is not None]
        if events or owed:
            await self.sink.receive([back_again(visitor, now), *events] if owed else events)
        if owed:
            self.screens.caught_up(chat)
        return events


async def admit(screen: Screen, waiting: Waiting, visitor: Visitor, take: Take) -> NoReturn:
    """Hand in what a view says for as long as it is open, all that waits at once; tell it what was taken."""
    while True:
        batch = [await waiting.get()]
        while not waiting.empty():
            batch.append(waiting.get_nowait())
        said = [frame for frame in batch if not isinstance(frame, Hello)]
        ids = [frame.id for frame in said]
        try:
            await take(visitor, said)
        except NotPersisted:
            screen.push({"type": "not_taken", "ids": list(ids), "again_after_s": OFFER_AGAIN_S})
        else:
            screen.push({"type": "taken", "ids": list(ids)})
