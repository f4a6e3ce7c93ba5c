"""Open pages of the web chat share the way in, what is shown, and the last messages. No HTTP lives here.

What pages are told: `history`, `message`, `said`, `reaction`, `buttons`, `deleted`, `typing`, `commands`, `taken`,
`not_taken`, `refused`; what they say is in `channels.viewers.viewer_frames`.
"""

from collections.abc import Callable, Sequence
from datetime import datetime

from pydantic import JsonValue

from channels.base import CommandSpec, Menus
from channels.messages import Address, InboundMessage, OutboundPart, Sender
from channels.viewers.viewer_frames import PressFrame, SayFrame, Visitor
from channels.viewers.viewer_hub import Frame, Viewer, ViewerHub, ViewerInbox
from channels.web.attached import AttachedFiles
from channels.web.history import History
from channels.web.render import to_html

CHANNEL = "web"
ACCOUNT = "main"


class OpenPages:
    """The pages of one account."""

    def __init__(self, hub: ViewerHub, clock: Callable[[], datetime]) -> None:
        """Nobody is heard before `inbox.sink` is set."""
        self.inbox = ViewerInbox(hub, clock)
        self.hub = hub
        self.history = History()
        self.attached = AttachedFiles()
        self.menus: Menus = {}

    def welcome(self, viewer: Viewer, locale: str | None, epoch: str, seen: int) -> None:
        """Tell a page that has just come what there is, and what it has not seen."""
        language = (locale or "").lower().split("-")[0]
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


def visitor_of(chat: str, locale: str | None) -> Visitor:
    """The person behind a browser; the name tells an operator which browser it is, no more."""
    return Visitor(Address(CHANNEL, ACCOUNT, chat), Sender(chat, f"web visitor {chat[:6]}"), locale)


def message_frame(part: OutboundPart, message_id: str, files: Sequence[JsonValue], now: datetime) -> Frame:
    """Our message as it stands now; `files` as `AttachedFiles.keep` names them."""
    return {
        "type": "message",
        "id": message_id,
        "html": to_html(part.rendered),
        "live": part.idem_key == "",  # it grows still
        "waiting": part.rendered.text.strip() == "…",
        "buttons": [
            {"label": button.label, "data": button.data, "style": button.style.value} for button in part.buttons
        ],
        "files": list(files),
        "reply_to": part.reply_to,
        "at": now.isoformat(timespec="milliseconds"),
    }


def said_frame(event: InboundMessage) -> Frame:
    """What the person said, for every page of theirs."""
    return {
        "type": "said",
        "id": event.message_id,
        "text": event.text,
        "sign": None,
        "at": event.received_at.isoformat(timespec="milliseconds"),
    }


def commands_frame(menu: Sequence[CommandSpec]) -> Frame:
    """The commands there are."""
    return {"type": "commands", "commands": [[spec.name, spec.summary] for spec in menu if not spec.talks]}
