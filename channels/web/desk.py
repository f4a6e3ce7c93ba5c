"""Between pages and gateway: what pages say goes to the sink, what is to be shown goes to the pages that are open.

No socket and no HTTP live here.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from channels.base import NotPersisted, Sink
from channels.messages import InboundMessage
from channels.screens import Frame, Screen, Screens
from channels.web.frames import Press, Say, back_again, commands_frame, said_frame, to_event
from channels.web.history import History


class Desk:
    """Everything the pages of one account share."""

    def __init__(self, screens: Screens, clock: Callable[[], datetime]) -> None:
        """Closed: nobody is heard before `sink` is set."""
        self.sink: Sink | None = None  # set while the channel runs
        self.screens = screens
        self.history = History()
        self.menus: Mapping[str, Sequence[tuple[str, str]]] = {}
        self._clock = clock

    def welcome(self, screen: Screen, locale: str | None, epoch: str, seen: int) -> None:
        """Tell a page that has just come what there is, and what it has not seen."""
        language = (locale or "").lower().split("-")[0]
        screen.push(commands_frame(self.menus.get(language) or self.menus.get("", ())))
        screen.push(self.history.since(screen.chat, epoch, seen))

    async def take(self, chat: str, frames: Sequence[Say | Press], locale: str | None) -> None:
        """Return once what a page said is committed, in its order; then every page of the chat shows it.

        With no frames it only lets go on what waited for the person.

        Raises:
            NotPersisted: nothing was taken; the page offers the same frames again.
        """
        if self.sink is None:
            raise NotPersisted("the web chat does not run now")
        now = self._clock()
        awaited = self.screens.awaited(chat)
        events = [event for frame in frames if (event := to_event(frame, chat, locale, now)) is not None]
        if events or awaited:
            await self.sink.receive([back_again(chat, now), *events] if awaited else events)
        if awaited:
            self.screens.caught_up(chat)
        for event in events:
            if isinstance(event, InboundMessage):
                self._show_said(chat, event)

    def _show_said(self, chat: str, event: InboundMessage) -> None:
        kept = self.history.get(chat, event.message_id)
        self.screens.tell(chat, kept if kept is not None else self.history.put(chat, said_frame(event)))

    async def show(self, chat: str, frame: Frame) -> None:
        """Show a message on every page of a chat, and keep it once one of them has it.

        Raises:
            Retryable, Permanent, Unknown: see `Screens.show`.
        """
        await self.screens.show(chat, frame)
        self.history.put(chat, frame)

    def tell(self, chat: str, frame: Frame) -> None:
        """Tell a passing thing to whoever looks."""
        self.screens.tell(chat, frame)
