"""Streams what happens in a turn: told at once to those who only note it, kept for those who read when they can.

What an event means stands in `ports`; the watcher decides what is made of it.
"""

import asyncio
from collections import deque
from collections.abc import Callable

from agent.ports import TextDelta, TextDiscarded, ThinkingDelta, TurnEvent
from agent.turn_progress import ToolProgress

MOST_WAITING = 256
"""Events that one reader may be behind before the publisher waits for it."""

LONGEST_WAIT_S = 5.0
"""So long a turn waits for a reader; then it goes on, and the reader loses what it has not read but the text."""

_DELTAS = (TextDelta, ThinkingDelta)

Watcher = Callable[[TurnEvent], None]


class EventReader:
    """The unread events of one watcher: bounded, text joined, of a call's progress only the newest.

    Text is never lost: consecutive pieces become one event.
    """

    def __init__(self, most: int = MOST_WAITING) -> None:
        self._most = most
        self._waiting: deque[TurnEvent] = deque()
        self._text: list[str] = []  # of the last event, which is a delta; joined when it is taken
        self._room: asyncio.Event | None = None  # set once there is room; None: no publisher waits
        self._is_open = True

    def put(self, event: TurnEvent) -> None:
        """One more event; a reader that is closed hears nothing."""
        if not self._is_open:
            return
        last = self._waiting[-1] if self._waiting else None
        if isinstance(event, _DELTAS) and type(last) is type(event):
            self._text.append(event.text)
            return
        self._join()
        if isinstance(event, ToolProgress) and isinstance(last, ToolProgress) and last.call_key == event.call_key:
            self._waiting[-1] = event
            return
        self._waiting.append(event)

    def drain(self) -> list[TurnEvent]:
        """All that has not been read, in its order."""
        self._join()
        taken = list(self._waiting)
        self._make_room()
        return taken

    @property
    def has_room(self) -> bool:
        """Return whether it is not too far behind."""
        return len(self._waiting) < self._most

    async def wait_for_room(self) -> None:
        """Until it is not too far behind; one that does not read loses all but the text, which is one piece then."""
        if self.has_room:
            return
        self._room = self._room or asyncio.Event()
        try:
            async with asyncio.timeout(LONGEST_WAIT_S):
                await self._room.wait()
        except TimeoutError:
            for event in self.drain():
                if isinstance(event, TextDelta | TextDiscarded):
                    self.put(event)

    def close(self) -> None:
        """Stop reading."""
        self._is_open = False
        self._text.clear()
        self._make_room()

    def _make_room(self) -> None:
        self._waiting.clear()
        if self._room is not None:
            self._room.set()
            self._room = None

    def _join(self) -> None:
        if self._text and isinstance(last := self._waiting[-1], TextDelta | ThinkingDelta):
            self._waiting[-1] = type(last)(last.text + "".join(self._text))
        self._text.clear()


class TurnEvents:
    """The stream of one turn."""

    def __init__(self, *watchers: Watcher) -> None:
        """`watchers` are told of each event as it is published; they only note it."""
        self._watchers = watchers
        self._readers: list[EventReader] = []

    def reader(self, most: int = MOST_WAITING) -> EventReader:
        """Return a reader of all events published from now on."""
        made = EventReader(most)
        self._readers.append(made)
        return made

    def publish(self, event: TurnEvent) -> None:
        """Tell everybody; never waits."""
        for watch in self._watchers:
            watch(event)
        for reader in self._readers:
            reader.put(event)

    async def drain(self) -> None:
        """Wait until no reader is too far behind: back-pressure for the publisher."""
        for reader in self._readers:
            if not reader.has_room:
                await reader.wait_for_room()
