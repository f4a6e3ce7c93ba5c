"""Open pages of the web chat: whichever way they talk, they come in here, each within its bounds. No HTTP lives here.

What pages are told: `history`, `message`, `said`, `reaction`, `buttons`, `deleted`, `typing`, `busy`, `commands`,
`taken`, `not_taken`, `refused`; what they say is in `channels.viewers.viewer_frames`. How much is too much is `bounds`'
matter.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from pydantic import JsonValue

from channels.base import CommandSpec, Menus, NotPersisted, Reaction
from channels.bounded_dict import BoundedDict
from channels.messages import Address, Attachment, AttachmentKind, InboundMessage, OutboundPart, Sender
from channels.viewers.viewer_frames import PersonFrame, Visitor
from channels.viewers.viewer_hub import Frame, Viewer, ViewerHub, ViewerInbox
from channels.web.attached import names_of
from channels.web.bounds import Bounds
from channels.web.page_files import PageTexts
from channels.web.render import to_html

CHANNEL = "web"
ACCOUNT = "main"

MOST_WAITS = 10_000
"""Chats of which it is known how long still they had better wait; the oldest are forgotten."""


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


class OpenPages:
    """The pages of one account share the way in, and what is shown."""

    def __init__(
        self, hub: ViewerHub, seats: Seats, bounds: Bounds, clock: Callable[[], datetime], texts: PageTexts
    ) -> None:
        """Nobody is heard before `inbox.sink` is set."""
        self.inbox = ViewerInbox(hub, clock)
        self.hub = hub
        self.seats = seats
        self.bounds = bounds
        self._texts = texts
        self._clock = clock
        self._busy_until: BoundedDict[str, datetime] = BoundedDict(MOST_WAITS)  # by chat
        self._under: BoundedDict[tuple[str, str], Sequence[str]] = BoundedDict(MOST_WAITS)  # what grew, by who was said
        self._growing: BoundedDict[str, dict[str, Frame]] = BoundedDict(MOST_WAITS)  # answers by chat and message
        self.menus: Menus = {}

    def welcome(self, viewer: Viewer, locale: str | None, messages: list[JsonValue]) -> None:
        """Tell a page that has just come what there is: commands, the answers that grow, the stored `messages`.

        The page was open before these were read, so that it misses nothing; it shows each message once.
        """
        language = self._texts.text(locale, "page.language")
        viewer.push(commands_frame(self.menus.get(language) or self.menus.get("", ())))
        for frame in self._growing.get(viewer.chat, {}).values():
            viewer.push(frame)
        viewer.push({"type": "history", "messages": messages})
        until = self._busy_until.get(viewer.chat)
        if until is not None and (left := until - self._clock()) > timedelta():
            viewer.push(busy_frame(left / timedelta(seconds=1)))

    def show_wait(self, chat: str, for_s: float) -> None:
        """Tell every page of a chat for how long the model is busy, and each that comes before then; 0: no longer."""
        if for_s > 0:
            self._busy_until[chat] = self._clock() + timedelta(seconds=for_s)
        elif self._busy_until.pop(chat, None) is None:
            return
        self.hub.tell(chat, busy_frame(for_s))

    def let_through(self, caller: Caller, said: Sequence[PersonFrame]) -> tuple[Sequence[PersonFrame], int]:
        """As many as the bounds let in, from the first on, and the seconds that the rest has to wait."""
        for count in range(len(said)):
            if wait_s := self.bounds.say(caller.chat, caller.address):
                return said[:count], wait_s
        return said, 0

    async def receive(self, caller: Caller, frames: Sequence[PersonFrame]) -> None:
        """Return once what a page said is committed; then every page of the chat shows it.

        Raises:
            NotPersisted: nothing was taken, and cost nothing; the page offers the same frames again.
        """
        chat = caller.chat
        try:
            events = await self.inbox.receive(caller.visitor, frames)
        except NotPersisted:
            self.bounds.unsay(chat, caller.address, len(frames))
            raise
        for event in events:
            if isinstance(event, InboundMessage):
                self._under[chat, event.message_id] = list(self._growing.get(chat, ()))
                self.hub.tell(chat, said_frame(event))
        if frames:
            self.seats.touch(chat)

    def show_reaction(self, chat: str, message_id: str, reaction: Reaction | None) -> None:
        """Show a sign beside what the person said. What was growing then and took it in stands below it from now on."""
        shown = None if reaction is None else reaction.value
        self.hub.tell(chat, {"type": "reaction", "message": message_id, "sign": shown})
        if reaction is Reaction.STEERED:
            growing = self._growing.get(chat, {})
            for id_ in self._under.pop((chat, message_id), ()):
                if id_ in growing:
                    growing[id_] = {**growing[id_], "below": message_id}
                    self.hub.tell(chat, growing[id_])

    def show(self, chat: str, frame: Frame) -> None:
        """Show a message on every page of a chat."""
        id_ = str(frame["id"])
        before = self._growing.get(chat, {}).get(id_, {})
        if "below" in before:
            frame = {**frame, "below": before["below"]}
        self.hub.tell(chat, frame)
        self._end_growth(chat, id_)
        if frame["live"] or frame["waiting"]:
            self._growing[chat] = {**self._growing.get(chat, {}), id_: frame}

    def delete(self, chat: str, message_id: str) -> None:
        """Take a message off every page of a chat."""
        self._end_growth(chat, message_id)
        self.hub.tell(chat, {"type": "deleted", "id": message_id})

    def _end_growth(self, chat: str, message_id: str) -> None:
        growing = self._growing.get(chat, {})
        growing.pop(message_id, None)
        if not growing:
            self._growing.pop(chat, None)


def visitor_of(chat: str, locale: str | None) -> Visitor:
    """The person behind a browser; the name tells an operator which browser it is, no more."""
    return Visitor(Address(CHANNEL, ACCOUNT, chat), Sender(chat, f"web visitor {chat[:6]}"), locale)


def message_frame(part: OutboundPart, message_id: str, now: datetime) -> Frame:
    """Return our message as it stands now."""
    return {
        "type": "message",
        "id": message_id,
        "html": to_html(part.rendered),
        "live": part.idem_key == "",  # it grows still
        "waiting": part.rendered.text.strip() == "…",
        "status": part.is_status,
        "buttons": [
            {"label": button.label, "data": button.data, "style": button.style.value} for button in part.buttons
        ],
        "files": names_of(message_id, part.media),
        "reply_to": part.reply_to,
        "at": now.isoformat(timespec="milliseconds"),
    }


def said_frame(event: InboundMessage) -> Frame:
    """What the person said, for every page of theirs."""
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
    """A file of theirs as a frame names it: told again to nobody else."""
    number = file.handle.rpartition(":")[2]
    return {
        "url": f"/web/file?of={event.message_id}&number={number}",
        "name": file.name or "",
        "bytes": file.size_bytes or 0,
        "picture": file.kind is AttachmentKind.PHOTO,
        "description": "",
    }


def busy_frame(for_s: float) -> Frame:
    """For how many seconds the model is busy; 0: it is not any more."""
    return {"type": "busy", "for_s": round(for_s, 1)}


def commands_frame(menu: Sequence[CommandSpec]) -> Frame:
    """The commands there are."""
    return {"type": "commands", "commands": [[spec.name, spec.summary] for spec in menu if not spec.talks]}
