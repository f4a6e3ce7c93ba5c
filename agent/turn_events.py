"""The stream of a turn's events: watchers are called at once, readers have bounded queues.

`ports` defines the events.
"""

import asyncio
from collections import deque
from collections.abc import Callable

from agent.ports import TextDelta, TextDiscarded, ThinkingDelta, TurnEvent
from agent.turn_progress import ToolProgress

MOST_WAITING = 256
"""Events that one reader may be behind before the publisher waits for it."""

LONGEST_WAIT_S = 5.0
"""Seconds that a turn waits for a slow reader; then the reader loses all unread events except text."""

_DELTAS = (TextDelta, ThinkingDelta)

Watcher = Callable[[TurnEvent], None]


class EventReader:
    """The unread events of one watcher: bounded, with joined text and only the newest progress of each call.

    Text is never lost: consecutive pieces become one event.
    """

    def __init__(self, most: int = MOST_WAITING) -> None:
        self._most = most
        self._waiting: deque[TurnEvent] = deque()
        self._text: list[str] = []  # further pieces of the last event, joined when it is read
        self._room: asyncio.Event | None = None  # set once there is room; None: no publisher waits
        self._is_open = True

    def put(self, event: TurnEvent) -> None:
        """Append an event; a closed reader ignores it."""
        if not self._is_open:
            return
        last = self._waiting[-1] if self._waiting else None
        if isinstance(event, _DELTAS) and type(last) is type(event):
            self._text.append(event.text)
            return
        self._join()
        if isinstance(event, ToolProgress) and isinstance(last, ToolProgress) and _overtakes(event, last):
            self._waiting[-1] = event
            return
        self._waiting.append(event)

    def drain(self) -> list[TurnEvent]:
        """Return and remove all unread events in order."""
        self._join()
        taken = list(self._waiting)
        self._make_room()
        return taken

    @property
    def has_room(self) -> bool:
        """Return True if the queue is not full."""
        return len(self._waiting) < self._most

    async def wait_for_room(self) -> None:
        """Wait until the queue has room; after a timeout, drop all unread events except text."""
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
    """The stream of events of one turn."""

    def __init__(self, *watchers: Watcher) -> None:
        """`watchers` are called with each event; they must return at once."""
        self._watchers = watchers
        self._readers: list[EventReader] = []

    def reader(self, most: int = MOST_WAITING) -> EventReader:
        """Return a reader of all events published from now on."""
        made = EventReader(most)
        self._readers.append(made)
        return made

    def publish(self, event: TurnEvent) -> None:
        """Pass an event to all watchers and readers without waiting."""
        for watch in self._watchers:
            watch(event)
        for reader in self._readers:
            reader.put(event)

    async def drain(self) -> None:
        """Wait until every reader has room: back-pressure for the publisher."""
        for reader in self._readers:
            if not reader.has_room:
                await reader.wait_for_room()


def _overtakes(event: ToolProgress, last: ToolProgress) -> bool:
    return (event.call_key, event.stays) == (last.call_key, last.stays)
