"""Whichever way pages talk, their views, hellos and messages come in through one gate, each within its bounds.

How frames travel is in `routes`; how much is too much in `bounds`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from channels.base import NotPersisted
from channels.viewers.viewer_frames import PressFrame, SayFrame, Visitor
from channels.viewers.viewer_hub import Viewer, ViewerHub
from channels.web.bounds import Bounds
from channels.web.history import size_of
from channels.web.open_pages import OpenPages

BYTES_OF_FRAME = 2_000
"""What counts as one frame more: who sends much costs as much as who sends often."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Somebody at a door: who, and from where."""

    visitor: Visitor
    address: str

    @property
    def chat(self) -> str:
        """Their chat."""
        return self.visitor.address.chat


class Seats:
    """The open pages of one web chat: so many over all, so many at one address; an idle stranger's page makes room.

    A stranger is who was not let in by anybody. Nothing is lost with a closed page: it comes again by itself, and what
    is sent meanwhile waits. Without this, whoever makes up browsers has every view there is.
    """

    def __init__(self, hub: ViewerHub, *, most: int, most_of_address: int, is_let_in: Callable[[str], bool]) -> None:
        """`is_let_in` is asked with a chat, each time anew."""
        self._hub = hub
        self._most = most
        self._most_of_address = most_of_address
        self._is_let_in = is_let_in
        self._taken: dict[Viewer, str] = {}  # the address of each, longest idle first
        self._of_address: dict[str, int] = {}

    def __len__(self) -> int:
        """How many pages are open."""
        return len(self._taken)

    def open(self, chat: str, address: str) -> Viewer | None:
        """A view of a chat; None where there is no room, or too many of this chat."""
        if not self._hub.has_room(chat):
            return None
        if self._of_address.get(address, 0) >= self._most_of_address and not self._free_one(address):
            return None
        if len(self._taken) >= self._most and not self._free_one(None):
            return None
        viewer = self._hub.open(chat)
        if viewer is not None:
            self._taken[viewer] = address
            self._of_address[address] = self._of_address.get(address, 0) + 1
        return viewer

    def leave(self, viewer: Viewer) -> None:
        """The page is gone, or has to go."""
        self._hub.leave(viewer)
        address = self._taken.pop(viewer, None)
        if address is None:  # it had to make room before
            return
        self._of_address[address] -= 1
        if not self._of_address[address]:
            del self._of_address[address]

    def touch(self, chat: str) -> None:
        """Its person did something."""
        for viewer in self._hub.of(chat):
            address = self._taken.pop(viewer, None)
            if address is not None:
                self._taken[viewer] = address

    def _free_one(self, address: str | None) -> bool:
        """Close the longest idle page of a stranger, at this address or where most pages are; whether there was one."""
        strangers = [(viewer, at) for viewer, at in self._taken.items() if not self._is_let_in(viewer.chat)]
        if address is None and strangers:
            address = max((at for _, at in strangers), key=self._of_address.__getitem__)
        longest_idle = next((viewer for viewer, at in strangers if at == address), None)
        if longest_idle is None:
            return False
        longest_idle.make_room()
        self.leave(longest_idle)
        return True


class PageGate:
    """The one counter for all pages of a web chat."""

    def __init__(self, pages: OpenPages, seats: Seats, bounds: Bounds) -> None:
        self.pages = pages
        self._seats = seats
        self._bounds = bounds

    @property
    def is_open(self) -> bool:
        """Whether anybody is heard."""
        return self.pages.inbox.sink is not None

    def come(self, address: str) -> int:
        """The seconds that a browser has to wait which this process does not know; 0 lets it in."""
        return self._bounds.come(address)

    def meet(self, chat: str) -> None:
        """Somebody who was just made up has nothing that waits for them."""
        self.pages.hub.mark_unparked(chat)

    def knows(self, chat: str) -> bool:
        """Whether this process has heard of a chat; the first time in a process costs a row."""
        return not self.pages.hub.may_have_parked(chat)

    def seat(self, caller: Caller) -> Viewer | None:
        """A view for a page; None where there is no room."""
        return self._seats.open(caller.chat, caller.address)

    def leave(self, viewer: Viewer) -> None:
        """The page is gone."""
        self._seats.leave(viewer)

    def hear(self, caller: Caller, size_bytes: int) -> int:
        """The seconds before anything of this size is heard from somebody; 0 hears it."""
        return self._bounds.hear(caller.chat, caller.address, 1 + size_bytes // BYTES_OF_FRAME)

    def greet(self, caller: Caller, epoch: str, seen: int) -> int:
        """The seconds before a page may be told what it has missed; 0 when it may now."""
        missed = self.pages.history.since(caller.chat, epoch, seen)
        return self._bounds.replay(caller.chat, caller.address, size_of(missed))

    def let_through(
        self, caller: Caller, said: Sequence[SayFrame | PressFrame]
    ) -> tuple[Sequence[SayFrame | PressFrame], int]:
        """As many as the bounds let in, from the first on, and the seconds that the rest has to wait."""
        for count in range(len(said)):
            if wait_s := self._bounds.say(caller.chat, caller.address):
                return said[:count], wait_s
        return said, 0

    async def take(self, caller: Caller, frames: Sequence[SayFrame | PressFrame]) -> None:
        """As `OpenPages.take`; what was not taken has cost nothing."""
        try:
            await self.pages.take(caller.visitor, frames)
        except NotPersisted:
            self._bounds.unsay(caller.chat, caller.address, len(frames))
            raise
        if frames:
            self._seats.touch(caller.chat)
