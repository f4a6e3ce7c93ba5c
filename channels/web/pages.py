"""What every open page of the web chat shares: the way in, what is shown, and the last messages. No HTTP lives here."""

from collections.abc import Callable, Sequence
from datetime import datetime

from channels.base import Menus
from channels.messages import InboundMessage
from channels.viewers.desk import Desk
from channels.viewers.screens import Frame, Screen, Screens
from channels.viewers.views import Press, Say, Visitor
from channels.web.attached import AttachedFiles
from channels.web.frames import commands_frame, said_frame
from channels.web.history import History


class Pages:
    """The pages of one account."""

    def __init__(self, screens: Screens, clock: Callable[[], datetime]) -> None:
        """Nobody is heard before `desk.sink` is set."""
        self.desk = Desk(screens, clock)
        self.screens = screens
        self.history = History()
        self.attached = AttachedFiles()
        self.menus: Menus = {}

    def welcome(self, screen: Screen, locale: str | None, epoch: str, seen: int) -> None:
        """Tell a page that has just come what there is, and what it has not seen."""
        language = (locale or "").lower().split("-")[0]
        screen.push(commands_frame(self.menus.get(language) or self.menus.get("", ())))
        screen.push(self.history.since(screen.chat, epoch, seen))

    async def take(self, visitor: Visitor, frames: Sequence[Say | Press]) -> None:
        """Return once what a page said is committed; then every page of the chat shows it.

        Raises:
            NotPersisted: nothing was taken; the page offers the same frames again.
        """
        chat = visitor.address.chat
        for event in await self.desk.take(visitor, frames):
            if isinstance(event, InboundMessage):
                kept = self.history.get(chat, event.message_id)
                self.screens.tell(chat, kept if kept is not None else self.history.put(chat, said_frame(event)))

    async def show(self, chat: str, frame: Frame) -> None:
        """Show a message on every page of a chat, and keep it.

        Raises:
            Retryable, Permanent, Unknown: see `Screens.show`.
        """
        await self.screens.show(chat, frame)
        self.history.put(chat, frame)
