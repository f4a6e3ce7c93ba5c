"""What pages may do and what becomes of it, whichever way they talk: views, hellos, messages, each within its bounds.

How frames travel is in `routes` and `sockets`; how much is too much in `bounds` and `seats`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from channels.base import NotPersisted
from channels.viewers.screens import Screen
from channels.viewers.views import Press, Say, Visitor
from channels.web.bounds import Bounds
from channels.web.history import size_of
from channels.web.pages import Pages
from channels.web.seats import Seats

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


class Reception:
    """The one counter for all pages of a web chat."""

    def __init__(self, pages: Pages, seats: Seats, bounds: Bounds) -> None:
        self.pages = pages
        self._seats = seats
        self._bounds = bounds

    @property
    def is_open(self) -> bool:
        """Whether anybody is heard."""
        return self.pages.desk.sink is not None

    def come(self, address: str) -> int:
        """The seconds that a browser has to wait which this process does not know; 0 lets it in."""
        return self._bounds.come(address)

    def meet(self, chat: str) -> None:
        """Somebody who was just made up has nothing that waits for them."""
        self.pages.screens.caught_up(chat)

    def knows(self, chat: str) -> bool:
        """Whether this process has heard of a chat; the first time in a process costs a row."""
        return not self.pages.screens.is_owed(chat)

    def seat(self, caller: Caller) -> Screen | None:
        """A view for a page; None where there is no room."""
        return self._seats.open(caller.chat, caller.address)

    def leave(self, screen: Screen) -> None:
        """The page is gone."""
        self._seats.leave(screen)

    def hear(self, caller: Caller, size_bytes: int) -> int:
        """The seconds before anything of this size is heard from somebody; 0 hears it."""
        return self._bounds.hear(caller.chat, caller.address, 1 + size_bytes // BYTES_OF_FRAME)

    def greet(self, caller: Caller, epoch: str, seen: int) -> int:
        """The seconds before a page may be told what it has missed; 0 when it may now."""
        missed = self.pages.history.since(caller.chat, epoch, seen)
        return self._bounds.replay(caller.chat, caller.address, size_of(missed))

    def let_through(self, caller: Caller, said: Sequence[Say | Press]) -> tuple[Sequence[Say | Press], int]:
        """As many as the bounds let in, from the first on, and the seconds that the rest has to wait."""
        for count in range(len(said)):
            if wait_s := self._bounds.say(caller.chat, caller.address):
                return said[:count], wait_s
        return said, 0

    async def take(self, caller: Caller, frames: Sequence[Say | Press]) -> None:
        """As `Pages.take`; what was not taken has cost nothing."""
        try:
            await self.pages.take(caller.visitor, frames)
        except NotPersisted:
            self._bounds.unsay(caller.chat, caller.address, len(frames))
            raise
        if frames:
            self._seats.touch(caller.chat)
