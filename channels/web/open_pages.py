"""Open pages of the web chat share the way in, what is shown, and the last messages. No HTTP lives here."""

from collections.abc import Callable, Sequence
from datetime import datetime

from channels.base import Menus
from channels.messages import InboundMessage
from channels.viewers.viewer_frames import PressFrame, SayFrame, Visitor
from channels.viewers.viewer_hub import Frame, Viewer, ViewerHub
from channels.viewers.viewer_inbox import ViewerInbox
from channels.web.attached import AttachedFiles
from channels.web.frames import commands_frame, said_frame
from channels.web.history import History
from channels.web.page_files import PageTexts


class OpenPages:
    """The pages of one account."""

    def __init__(self, hub: ViewerHub, clock: Callable[[], datetime], texts: PageTexts) -> None:
        """Nobody is heard before `inbox.sink` is set."""
        self.inbox = ViewerInbox(hub, clock)
        self.hub = hub
        self._texts = texts
        self.history = History()
        self.attached = AttachedFiles()
        self.menus: Menus = {}

    def welcome(self, viewer: Viewer, locale: str | None, epoch: str, seen: int) -> None:
        """Tell a page that has just come what there is, and what it has not seen."""
        language = self._texts.text(locale, "page.language")
        viewer.push(commands_frame(self.menus.get(language) or self.menus.get("", ())))
        viewer.push(self.history.since(viewer.chat, epoch, seen))

    async def take(self, visitor: Visitor, frames: Sequence[SayFrame | PressFrame]) -> None:
        """Return once what a page said is committed; then every page of the chat shows it.

        Raises:
            NotPersisted: nothing was taken; the page offers the same frames again.
        """
        chat = visitor.address.chat
        for event in await self.inbox.take(visitor, frames):
            if isinstance(event, InboundMessage):
                kept = self.history.get(chat, event.message_id)
                self.hub.tell(chat, kept if kept is not None else self.history.put(chat, said_frame(event)))

    async def show(self, chat: str, frame: Frame) -> None:
        """Show a message on every page of a chat, and keep it.

        Raises:
            Retryable, Permanent, Unknown: see `ViewerHub.show`.
        """
        await self.hub.show(chat, frame)
        self.history.put(chat, frame)
