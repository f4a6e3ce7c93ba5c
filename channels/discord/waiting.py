"""What came in and is not committed yet, in its order; pure but for the events that wake who waits.

Also the echoes of our own messages, which pass by here. What is done with it is `hearing`'s matter.
"""

import asyncio
from collections import OrderedDict, deque
from dataclasses import dataclass

from pydantic import JsonValue

from channels.discord.places import Places
from channels.discord.translate import channel_of
from channels.messages import Rejected

MOST_WAITING = 2_000  # dispatches; then the socket is not read until there is room
BATCH = 200
MOST_ECHOES = 2_000
INTERACTION = "INTERACTION_CREATE"
STATE_EVENTS = ("READY", "RESUMED")


@dataclass(frozen=True, slots=True)
class Dispatch:
    """One event of the gateway's, as it came."""

    event: str
    seq: int | None
    data: JsonValue


class Echoes:
    """Our own messages as Discord told of them, by the key they were sent with."""

    def __init__(self) -> None:
        self._by_key: OrderedDict[str, str] = OrderedDict()

    def note(self, data: JsonValue, us: str) -> None:
        """Look at a message of a dispatch."""
        author = data.get("author") if isinstance(data, dict) else None
        if not isinstance(data, dict) or not isinstance(author, dict) or author.get("id") != us:
            return
        nonce, message_id = data.get("nonce"), data.get("id")
        if isinstance(nonce, str) and isinstance(message_id, str):
            self._by_key[nonce] = message_id
            if len(self._by_key) > MOST_ECHOES:
                self._by_key.popitem(last=False)

    def get(self, key: str) -> str | None:
        """The message that was sent with this key, if Discord told of it."""
        return self._by_key.get(key)


class Waiting:
    """A queue that keeps its order; only interactions, which have three seconds, may overtake."""

    def __init__(self, places: Places) -> None:
        self._places = places
        self._queue: deque[Dispatch | Rejected] = deque()
        self._drained = asyncio.Event()
        self.news = asyncio.Event()  # set when something came, or may be taken again

    async def room(self) -> None:
        """Return when there is room for a dispatch."""
        while len(self._queue) >= MOST_WAITING:
            self._drained.clear()
            await self._drained.wait()

    def put(self, one: Dispatch | Rejected) -> None:
        """Queue it: this fixes its order."""
        self._queue.append(one)
        self.news.set()

    def take(self) -> list[Dispatch | Rejected]:
        """The next ones that can be committed together: none where the first of them needs `asked_first`."""
        taken: list[Dispatch | Rejected] = []
        while self._queue and len(taken) < BATCH:
            head = self._queue[0]
            if isinstance(head, Dispatch) and head.event in STATE_EVENTS:
                taken = taken or [self._queue.popleft()]
                break
            if self.asked_first() is not None:
                break
            taken.append(self._queue.popleft())
        self._drained.set()
        return taken

    def take_interactions(self) -> list[Dispatch | Rejected]:
        """Only those that cannot wait."""
        urgent = [one for one in self._queue if isinstance(one, Dispatch) and one.event == INTERACTION]
        if urgent:
            chosen = {id(one) for one in urgent}
            self._queue = deque(one for one in self._queue if id(one) not in chosen)
            self._drained.set()
        return list(urgent)

    def asked_first(self) -> str | None:
        """The channel that has to be asked for before the first one can be read."""
        head = self._queue[0] if self._queue else None
        channel = channel_of(head.event, head.data) if isinstance(head, Dispatch) else None
        return channel if channel is not None and self._places.get(channel) is None else None
