"""Open pages of the web chat, over any transport, each within its limits.

Frames to pages: `history`, `message`, `said`, `reaction`, `buttons`, `deleted`, `typing`, `busy`, `commands`, `taken`,
`not_taken`, `refused`; `channels.viewers.viewer_frames` has those from pages, `bounds` the limits.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from pydantic import JsonValue

from channels.base import Menus, NotPersisted, Reaction
from channels.bounded_dict import BoundedDict
from channels.messages import Address, Attachment, AttachmentKind, InboundMessage, OutboundPart, Sender
from channels.viewers.shown_frames import commands_frame, to_button_list
from channels.viewers.viewer_frames import PersonFrame, Visitor
from channels.viewers.viewer_hub import Frame, Viewer, ViewerHub, ViewerInbox
from channels.web.attached import names_of
from channels.web.bounds import Bounds
from channels.web.page_files import PageTexts
from channels.web.render import to_html

CHANNEL = "web"
ACCOUNT = "main"

MOST_WAITS = 10_000
"""Maximum chats with a known waiting time; the oldest are dropped."""


@dataclass(frozen=True, slots=True)
class Caller:
    """The person of a request and their network address."""

    visitor: Visitor
    address: str

    @property
    def chat(self) -> str:
        return self.visitor.address.chat


class PageSlots:
    """The open pages of one web chat, limited in total and by address; an idle stranger's page is closed to make room.

    A stranger is a person whom no one has let in. A closed page loses nothing: it reconnects, and messages wait
    meanwhile. Without this limit, one client with many made-up cookies could take every page.
    """

    def __init__(self, hub: ViewerHub, *, most: int, most_of_address: int, is_let_in: Callable[[str], bool]) -> None:
        """`is_let_in` is called with a chat, each time."""
        self._hub = hub
        self._most = most
        self._most_of_address = most_of_address
        self._is_let_in = is_let_in
        self._taken: dict[Viewer, str] = {}  # address of each page, longest idle first
        self._of_address: dict[str, int] = {}

    def __len__(self) -> int:
        """Return the number of open pages."""
        return len(self._taken)

    def open(self, chat: str, address: str) -> Viewer | None:
        """Open a view of a chat; return None if there are too many in total or of this chat."""
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
        """Close a page; a second call changes nothing."""
        self._hub.leave(viewer)
        address = self._taken.pop(viewer, None)
        if address is None:  # it was closed before to make room
            return
        self._of_address[address] -= 1
        if not self._of_address[address]:
            del self._of_address[address]

    def touch(self, chat: str) -> None:
        """Mark the pages of a chat as used now."""
        for viewer in self._hub.of(chat):
            address = self._taken.pop(viewer, None)
            if address is not None:
                self._taken[viewer] = address

    def _free_one(self, address: str | None) -> bool:
        """Close the longest idle page of a stranger, at this address or at that with most pages; return True if there
        was one.
        """
        strangers = [(viewer, at) for viewer, at in self._taken.items() if not self._is_let_in(viewer.chat)]
        if address is None and strangers:
            address = max((at for _, at in strangers), key=self._of_address.__getitem__)
        longest_idle = next((viewer for viewer, at in strangers if at == address), None)
        if longest_idle is None:
            return False
        longest_idle.make_room()
        self.leave(longest_idle)
        return True


class OpenPages:
    """The pages of one account: receiving, and the frames that they show."""

    def __init__(
        self, hub: ViewerHub, slots: PageSlots, bounds: Bounds, clock: Callable[[], datetime], texts: PageTexts
    ) -> None:
        """Receiving starts once `inbox.sink` is set."""
        self.inbox = ViewerInbox(hub, clock)
        self.hub = hub
        self.slots = slots
        self.bounds = bounds
        self._texts = texts
        self._clock = clock
        self._busy_until: BoundedDict[str, datetime] = BoundedDict(MOST_WAITS)  # by chat
        # Unfinished answers: their ids by (chat, the person's message), their frames by chat and id.
        self._unfinished_at: BoundedDict[tuple[str, str], Sequence[str]] = BoundedDict(MOST_WAITS)
        self._unfinished: BoundedDict[str, dict[str, Frame]] = BoundedDict(MOST_WAITS)
        self.menus: Menus = {}

    def welcome(self, viewer: Viewer, locale: str | None, messages: list[JsonValue]) -> None:
        """Send a new page the commands, the unfinished answers and the stored `messages`.

        The page was opened before these were read, so that it misses nothing; it shows each message once.
        """
        language = self._texts.text(locale, "page.language")
        viewer.push(commands_frame(self.menus.get(language) or self.menus.get("", ())))
        for frame in self._unfinished.get(viewer.chat, {}).values():
            viewer.push(frame)
        viewer.push({"type": "history", "messages": messages})
        until = self._busy_until.get(viewer.chat)
        if until is not None and (left := until - self._clock()) > timedelta():
            viewer.push(busy_frame(left / timedelta(seconds=1)))

    def show_wait(self, chat: str, for_s: float) -> None:
        """Tell the pages of a chat for how long the model is busy, and each that opens before then; 0 ends it."""
        if for_s > 0:
            self._busy_until[chat] = self._clock() + timedelta(seconds=for_s)
        elif self._busy_until.pop(chat, None) is None:
            return
        self.hub.tell(chat, busy_frame(for_s))

    def accept(self, caller: Caller, said: Sequence[PersonFrame]) -> tuple[Sequence[PersonFrame], int]:
        """Return the first frames that the limits accept, and the seconds that the others have to wait."""
        for count in range(len(said)):
            if wait_s := self.bounds.count_message(caller.chat, caller.address):
                return said[:count], wait_s
        return said, 0

    async def receive(self, caller: Caller, frames: Sequence[PersonFrame]) -> None:
        """Commit a page's frames, then show the messages on every page of the chat.

        Raises:
            NotPersisted: nothing was stored or counted; the page sends the same frames again.
        """
        chat = caller.chat
        try:
            events = await self.inbox.receive(caller.visitor, frames)
        except NotPersisted:
            self.bounds.give_back(chat, caller.address, len(frames))
            raise
        for event in events:
            if isinstance(event, InboundMessage):
                self._unfinished_at[chat, event.message_id] = list(self._unfinished.get(chat, ()))
                self.hub.tell(chat, said_frame(event))
        if frames:
            self.slots.touch(chat)

    def show_reaction(self, chat: str, message_id: str, reaction: Reaction | None) -> None:
        """Show a reaction on the person's message; unfinished answers that it steered move below it."""
        shown = None if reaction is None else reaction.value
        self.hub.tell(chat, {"type": "reaction", "message": message_id, "reaction": shown})
        if reaction is Reaction.STEERED:
            growing = self._unfinished.get(chat, {})
            for id_ in self._unfinished_at.pop((chat, message_id), ()):
                if id_ in growing:
                    growing[id_] = {**growing[id_], "below": message_id}
                    self.hub.tell(chat, growing[id_])

    def show(self, chat: str, frame: Frame) -> None:
        """Show a message on every page of a chat."""
        id_ = str(frame["id"])
        before = self._unfinished.get(chat, {}).get(id_, {})
        if "below" in before:
            frame = {**frame, "below": before["below"]}
        self.hub.tell(chat, frame)
        self._end_growth(chat, id_)
        if frame["live"] or frame["waiting"]:
            self._unfinished[chat] = {**self._unfinished.get(chat, {}), id_: frame}

    def delete(self, chat: str, message_id: str) -> None:
        """Take a message off every page of a chat."""
        self._end_growth(chat, message_id)
        self.hub.tell(chat, {"type": "deleted", "id": message_id})

    def _end_growth(self, chat: str, message_id: str) -> None:
        growing = self._unfinished.get(chat, {})
        growing.pop(message_id, None)
        if not growing:
            self._unfinished.pop(chat, None)


def visitor_of(chat: str, locale: str | None) -> Visitor:
    """Return the visitor of a browser; the name only helps an operator to tell browsers apart."""
    return Visitor(Address(CHANNEL, ACCOUNT, chat), Sender(chat, f"web visitor {chat[:6]}"), locale)


def message_frame(part: OutboundPart, message_id: str, now: datetime) -> Frame:
    """Return the frame of our message in its current state."""
    return {
        "type": "message",
        "id": message_id,
        "html": to_html(part.rendered),
        "live": part.idem_key == "",  # unfinished
        "waiting": part.rendered.text.strip() == "…",
        "status": part.is_status,
        "buttons": to_button_list(part.buttons),
        "files": names_of(message_id, part.media),
        "reply_to": part.reply_to,
        "at": now.isoformat(timespec="milliseconds"),
    }


def said_frame(event: InboundMessage) -> Frame:
    """Return the frame of the person's message for all their pages."""
    files: list[JsonValue] = [_own_file(event, file) for file in event.attachments]
    return {
        "type": "said",
        "id": event.message_id,
        "text": event.text,
        "edited": event.edited,
        **({"files": files} if files else {}),
        "at": event.received_at.isoformat(timespec="milliseconds"),
    }


def _own_file(event: InboundMessage, file: Attachment) -> JsonValue:
    """Return the entry of a person's own file; only their pages get it."""
    number = file.handle.rpartition(":")[2]
    return {
        "url": f"/web/file?of={event.message_id}&number={number}",
        "name": file.name or "",
        "bytes": file.size_bytes or 0,
        "picture": file.kind is AttachmentKind.PHOTO,
        "description": "",
    }


def busy_frame(for_s: float) -> Frame:
    """Return the frame of the seconds for which the model is busy; 0: it is free."""
    return {"type": "busy", "for_s": round(for_s, 1)}
