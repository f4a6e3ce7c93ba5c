"""Who may have a page open: so many over all, so many at one address, and an idle stranger's page makes room.

A stranger is who was not let in by anybody. Nothing is lost with a closed page: it comes again by itself, and what is
sent meanwhile waits. Without this, whoever makes up browsers has every view there is.
"""

from collections.abc import Callable

from channels.viewers.screens import Screen, Screens


class Seats:
    """The open pages of one web chat."""

    def __init__(self, screens: Screens, *, most: int, most_of_address: int, is_let_in: Callable[[str], bool]) -> None:
        """`is_let_in` is asked with a chat, each time anew."""
        self._screens = screens
        self._most = most
        self._most_of_address = most_of_address
        self._is_let_in = is_let_in
        self._taken: dict[Screen, str] = {}  # the address of each, longest idle first
        self._of_address: dict[str, int] = {}

    def __len__(self) -> int:
        """How many pages are open."""
        return len(self._taken)

    def open(self, chat: str, address: str) -> Screen | None:
        """A view of a chat; None where there is no room, or too many of this chat."""
        if not self._screens.has_room(chat):
            return None
        if self._of_address.get(address, 0) >= self._most_of_address and not self._free_one(address):
            return None
        if len(self._taken) >= self._most and not self._free_one(None):
            return None
        screen = self._screens.open(chat)
        if screen is not None:
            self._taken[screen] = address
            self._of_address[address] = self._of_address.get(address, 0) + 1
        return screen

    def leave(self, screen: Screen) -> None:
        """The page is gone, or has to go."""
        self._screens.leave(screen)
        address = self._taken.pop(screen, None)
        if address is None:  # it had to make room before
            return
        self._of_address[address] -= 1
        if not self._of_address[address]:
            del self._of_address[address]

    def touch(self, chat: str) -> None:
        """Its person did something."""
        for screen in self._screens.of(chat):
            address = self._taken.pop(screen, None)
            if address is not None:
                self._taken[screen] = address

    def _free_one(self, address: str | None) -> bool:
        """Close the longest idle page of a stranger, at this address or where most pages are; whether there was one."""
        strangers = [(screen, at) for screen, at in self._taken.items() if not self._is_let_in(screen.chat)]
        if address is None and strangers:
            address = max((at for _, at in strangers), key=self._of_address.__getitem__)
        longest_idle = next((screen for screen, at in strangers if at == address), None)
        if longest_idle is None:
            return False
        longest_idle.make_room()
        self.leave(longest_idle)
        return True
