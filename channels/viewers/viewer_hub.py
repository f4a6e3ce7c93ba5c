"""Open views of chats, browser pages and terminals: a message counts as sent when one of them confirmed it.

The channel decides what a frame says and how it travels. Nothing is kept here: a chat that nobody looks at is told
nothing, and who sends learns that.
"""

import asyncio
import itertools
import time
from abc import ABC, abstractmethod
from collections import OrderedDict, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from pydantic import JsonValue

from channels.base import ChannelConnection, ChannelState, NotPersisted, Sink
from channels.bounded_dict import BoundedDict
from channels.errors import Permanent, PermanentKind, Retryable, Unknown
from channels.messages import Address, InboundEvent, OutboundPart, Receipt
from channels.viewers.viewer_frames import PersonFrame, Visitor, to_event, to_unblocked

Frame = Mapping[str, JsonValue]
"""What a view is told, one JSON object."""

KEPT_FRAMES = 256
"""Frames that may wait for one view; one that is further behind is closed and comes back."""

CHATS_KNOWN = 10_000
"""Chats of which it is remembered that nothing waits for them."""


class Viewer:
    """One open view of a chat: frames wait here until they travel."""

    def __init__(self, chat: str) -> None:
        """Open, with nothing waiting."""
        self.chat = chat
        self.closed = False
        self.displaced = False  # closed because somebody else needed the room: it should not hurry back
        self._frames: deque[Frame] = deque()
        self._news = asyncio.Event()

    def push(self, frame: Frame) -> bool:
        """Whether the frame will travel; a view that does not keep up is closed."""
        if self.closed or len(self._frames) >= KEPT_FRAMES:
            self.close()
            return False
        self._frames.append(frame)
        self._news.set()
        return True

    def make_room(self) -> None:
        """Close it for somebody else."""
        self.displaced = True
        self.close()

    def close(self) -> None:
        """Let nothing more travel."""
        self.closed = True
        self._news.set()

    async def next(self) -> Frame | None:
        """The next frame, as soon as there is one; None once the view is closed."""
        while not self.closed:
            if self._frames:
                return self._frames.popleft()
            self._news.clear()
            await self._news.wait()
        return None


@dataclass(slots=True)
class _Chat:
    """Who looks at one chat."""

    viewers: list[Viewer] = field(default_factory=list)
    arrived: asyncio.Event = field(default_factory=asyncio.Event)  # set while somebody looks
    waiting: dict[int, "asyncio.Future[None]"] = field(default_factory=dict)  # frames not confirmed yet
    shows: int = 0  # calls of `show` under way
    left_at_s: float = float("-inf")  # when the last view went away


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long things may take, in seconds, and how many views there may be."""

    arrive_s: float = 5.0  # for somebody to look at a chat that nobody looks at
    confirm_s: float = 10.0  # for a view to confirm a frame
    gone_after_s: float = 60.0  # away this long, a person is not waited for: their lane is parked
    most: int = 1000  # views over all chats
    most_of_chat: int = 8


class ViewerHub:
    """Every open view of one channel account."""

    def __init__(self, patience: Patience | None = None, now_s: Callable[[], float] = time.monotonic) -> None:
        """Nobody looks at anything yet."""
        self._patience = patience or Patience()
        self._now_s = now_s
        self._chats: dict[str, _Chat] = {}
        self._absent: OrderedDict[str, None] = OrderedDict()  # chats that nobody looks at or sends to; longest first
        self._open = 0
        self._numbers = itertools.count(1)
        self._unparked: BoundedDict[str, None] = BoundedDict(CHATS_KNOWN)  # chats for which nothing is parked

    def has_room(self, chat: str) -> bool:
        """Whether one more view of a chat may be opened, as far as that chat is concerned."""
        held = self._chats.get(chat)
        return held is None or len(held.viewers) < self._patience.most_of_chat

    def of(self, chat: str) -> Sequence[Viewer]:
        """The views of a chat."""
        held = self._chats.get(chat)
        return () if held is None else tuple(held.viewers)

    def open(self, chat: str) -> Viewer | None:
        """A view of a chat; None where there are too many."""
        if self._open >= self._patience.most or not self.has_room(chat):
            return None
        held = self._chats.get(chat)
        if held is None:
            held = self._chats[chat] = _Chat()
        self._absent.pop(chat, None)
        viewer = Viewer(chat)
        held.viewers.append(viewer)
        held.arrived.set()
        self._open += 1
        return viewer

    def leave(self, viewer: Viewer) -> None:
        """A view went away; frames that only it could have confirmed are in doubt now. Twice is once."""
        viewer.close()
        held = self._chats.get(viewer.chat)
        if held is None or viewer not in held.viewers:
            return
        held.viewers.remove(viewer)
        self._open -= 1
        if held.viewers:
            return
        held.arrived.clear()
        held.left_at_s = self._now_s()
        for waiting in held.waiting.values():
            if not waiting.done():
                waiting.set_exception(Unknown("the view went away before it confirmed the message"))
        self._note_absence(viewer.chat, held)

    def _note_absence(self, chat: str, held: _Chat) -> None:
        """Put a chat that nobody looks at into its line, and drop those that have been there for long.

        They stand in front of it, so that a leave costs the same however many there are.
        """
        if not (held.viewers or held.shows):
            self._absent[chat] = None
        long_ago_s = self._now_s() - self._patience.gone_after_s
        while self._absent and self._chats[first := next(iter(self._absent))].left_at_s <= long_ago_s:
            del self._absent[first], self._chats[first]

    # ------------------------------------------------------------ what is shown

    async def show(self, chat: str, frame: Frame) -> None:
        """Return once a view has confirmed the frame, which carries a number `n` for that.

        Raises:
            Retryable: nobody looks right now.
            Permanent: BLOCKED, nobody has looked for a while; see `may_have_parked`.
            Unknown: it was not confirmed in time, or the view went away.
        """
        held = self._chats.get(chat)
        if held is None:
            held = self._chats[chat] = _Chat()
        held.shows += 1
        self._absent.pop(chat, None)
        try:
            await self._await_viewer(chat, held)
            await self._await_confirmation(held, frame)
        finally:
            held.shows -= 1
            self._note_absence(chat, held)

    async def _await_confirmation(self, held: _Chat, frame: Frame) -> None:
        number = next(self._numbers)
        confirmed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        held.waiting[number] = confirmed
        try:
            pushed = [viewer.push({**frame, "n": number}) for viewer in held.viewers]
            if not any(pushed):
                raise Retryable("no view keeps up", retry_after_s=1.0)
            async with asyncio.timeout(self._patience.confirm_s):
                await confirmed
        except TimeoutError:
            raise Unknown(f"no view confirmed it within {self._patience.confirm_s:g} s") from None
        finally:
            del held.waiting[number]
            confirmed.cancel()

    async def _await_viewer(self, chat: str, held: _Chat) -> None:
        try:
            async with asyncio.timeout(self._patience.arrive_s):
                await held.arrived.wait()
        except TimeoutError:
            if self._now_s() - held.left_at_s < self._patience.gone_after_s:
                raise Retryable("nobody looks at this chat just now", retry_after_s=2.0) from None
            self._unparked.pop(chat, None)
            raise Permanent("nobody has this chat open", PermanentKind.BLOCKED) from None

    def tell(self, chat: str, frame: Frame) -> None:
        """Push a frame that nobody needs to confirm to whoever looks."""
        held = self._chats.get(chat)
        for viewer in list(held.viewers) if held is not None else ():
            viewer.push(frame)

    def confirm(self, chat: str, number: int) -> None:
        """A view of this chat has shown the frame of this number."""
        held = self._chats.get(chat)
        waiting = held.waiting.get(number) if held is not None else None
        if waiting is not None and not waiting.done():
            waiting.set_result(None)

    def __len__(self) -> int:
        """How many chats are remembered."""
        return len(self._chats)

    def close_all(self) -> None:
        """Close every view."""
        for held in self._chats.values():
            for viewer in held.viewers:
                viewer.close()

    # ------------------------------------------------------------ what waits for the absent

    def may_have_parked(self, chat: str) -> bool:
        """Whether something may be parked for this chat, from this life of the process or an earlier one."""
        return chat not in self._unparked

    def mark_unparked(self, chat: str) -> None:
        """Nothing is parked for this chat: it is new, or its lane was told to go on."""
        self._unparked[chat] = None


class ViewerInbox:
    """The way in for the views of one channel account."""

    def __init__(self, hub: ViewerHub, clock: Callable[[], datetime]) -> None:
        """Closed: nobody is heard before `sink` is set."""
        self.sink: Sink | None = None  # set while the channel runs
        self.hub = hub
        self._clock = clock

    async def receive(self, visitor: Visitor, frames: Sequence[PersonFrame]) -> list[InboundEvent]:
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


class ViewerChannel(ABC):
    """What the channels of our own views have in common: everything but how a message looks."""

    def __init__(self, inbox: ViewerInbox) -> None:
        self._inbox = inbox

    async def connections(self) -> Sequence[ChannelConnection]:
        """Return this channel: it has one connection."""
        return (self,)

    async def run(self, sink: Sink) -> None:
        """Hear views until cancelled; then those that are open still see what is sent."""
        self._inbox.sink = sink
        sink.report(ChannelState.READY)
        try:
            await asyncio.Event().wait()  # until cancelled
        finally:
            self._inbox.sink = None

    async def aclose(self) -> None:
        """Close every view's connection; `run` has ended before."""
        self._inbox.hub.close_all()

    async def send(self, part: OutboundPart) -> Receipt:
        """Show a message in the views of its chat; the same key is the same message.

        Raises:
            Retryable, Permanent, Unknown: see `channels.errors`; BLOCKED when nobody has looked for a while.
        """
        return await self.edit(part, f"b-{part.idem_key}")

    @abstractmethod
    async def edit(self, part: OutboundPart, platform_id: str) -> Receipt:
        """Show our message as it is now; a view that has lost it gets it anew.

        Raises:
            Retryable, Permanent, Unknown: as `send`.
        """

    async def show_typing(self, address: Address) -> None:
        """Show "writing" for 6 s, or until the next message."""
        self._inbox.hub.tell(address.chat, {"type": "typing", "for_s": 6})
