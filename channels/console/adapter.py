"""`ConsoleChannel`: terminals on this machine as a channel, with the chat page's frames on the control socket.

Only the gateway's own user can open the socket: they are one person with one chat and any number of
terminals. `client` has the terminal's side.
"""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import asdict
from datetime import datetime
from functools import partial

import orjson
from aiohttp import web
from pydantic import JsonValue

from channels.base import HttpRoute, Menus, NotPersisted, Reaction, Renderer
from channels.clocks import steady_now
from channels.console.blocks import pack, unpack
from channels.console.limits import ACCOUNT, CHANNEL, CONSOLE_LIMITS, MAX_TERMINALS, PATH, PERSON
from channels.console.text import width_of
from channels.markdown.layout import plain_text
from channels.markdown.tree import Block, Heading, Paragraph, Span, text_of
from channels.messages import GOES_ON, Address, OutboundPart, Receipt, Rendered, Sender
from channels.turn_steps import TurnStep
from channels.viewers.plain_renderer import PlainRenderer
from channels.viewers.shown_frames import commands_frame, to_button_list
from channels.viewers.viewer_frames import HelloFrame, PersonFrame, Visitor
from channels.viewers.viewer_hub import Frame, Viewer, ViewerChannel, ViewerHub, ViewerInbox
from channels.viewers.viewer_socket import Take, ViewerSocket

MOST_UNDERLINED = 70  # columns

Unread = Callable[[Address], Awaitable[Sequence[OutboundPart]]]
"""Returns the messages in a chat since its person's last one; raises NotPersisted."""

Greet = Callable[[Viewer, HelloFrame], Awaitable[None]]
"""Answers the hello of a terminal."""

VISITOR = Visitor(Address(CHANNEL, ACCOUNT, PERSON), Sender(PERSON, ""))


class TerminalRenderer(PlainRenderer):
    """A renderer of plain text with a line under each heading, and of the tree."""

    def render(self, blocks: Sequence[Block]) -> Rendered:
        """Return the blocks as text; `markup` is their tree as JSON, which a terminal lays out in its own width."""
        return Rendered(_plain_text(blocks), orjson.dumps(pack(blocks)).decode())


def _plain_text(blocks: Sequence[Block]) -> str:
    return plain_text([_underline(block) if isinstance(block, Heading) else block for block in blocks])


def _underline(heading: Heading) -> Paragraph:
    row = ("═" if heading.level == 1 else "─") * min(width_of(text_of(heading.spans)), MOST_UNDERLINED)
    return Paragraph((*heading.spans, Span(f"\n{row}")))


class ConsoleChannel(ViewerChannel):
    """The terminals that run `tenk chat`."""

    name = CHANNEL
    account = ACCOUNT
    limits = CONSOLE_LIMITS

    def __init__(self, unread: Unread, *, clock: Callable[[], datetime] = steady_now) -> None:
        """`unread` queries the store; receiving starts with `run`; `clock` is for tests."""
        self.renderer: Renderer = TerminalRenderer()
        self._unread = unread
        self._menus: Menus = {}
        self._locale = ""  # of the terminal that was opened last
        self._hub = ViewerHub(most_of_chat=MAX_TERMINALS)
        super().__init__(ViewerInbox(self._hub, clock))

    def http_routes(self) -> Sequence[HttpRoute]:
        """Return the route of the terminals' WebSocket."""
        return (HttpRoute("GET", PATH, self._serve, private=True),)

    async def edit(self, part: OutboundPart, platform_id: str) -> Receipt:
        self._hub.tell(part.address.chat, _frame(part, platform_id))
        return Receipt(platform_id)

    async def react(self, address: Address, message_id: str, reaction: Reaction | None) -> None:
        shown = None if reaction is None else reaction.value
        self._hub.tell(address.chat, {"type": "reaction", "message": message_id, "reaction": shown})

    async def set_commands(self, menus: Menus) -> None:
        self._menus = menus
        self._hub.tell(PERSON, self._commands())

    def _commands(self) -> Frame:
        """Return the frame of the commands, in the language of the terminal that was opened last."""
        language = self._locale.partition("-")[0]
        return commands_frame(self._menus.get(language) or next(iter(self._menus.values()), ()))

    async def _greet(self, viewer: Viewer, hello: HelloFrame) -> None:
        """Send a new terminal the commands and, if it asks, the messages since its person's last one."""
        self._locale = hello.locale
        viewer.push(self._commands())
        if hello.recall:
            with suppress(NotPersisted):  # shown to a later terminal
                for part in await self._unread(VISITOR.address):
                    viewer.push(_frame(part, f"b-{part.idem_key}"))

    def is_followed(self, address: Address) -> bool:
        """Return True if a terminal is open."""
        return self.is_looked_at(address)

    def follow_step(self, address: Address, turn_id: str, step: TurnStep) -> None:
        """Tell the terminals a step of the turn."""
        self._hub.tell(address.chat, {"turn": turn_id, **asdict(step)})

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        if self._inbox.sink is None:
            raise web.HTTPServiceUnavailable(text="terminals are not heard yet\n")
        socket = TerminalSocket(self._hub, PERSON, partial(self._inbox.receive, VISITOR), self._greet)
        return await socket.serve(request)


class TerminalSocket(ViewerSocket):
    """A terminal's WebSocket, whose hello is answered."""

    most_at_once = 1  # of many lines, those within the limit are taken

    def __init__(self, hub: ViewerHub, chat: str, take: Take, greet: Greet) -> None:
        super().__init__(hub, chat, take)
        self._greet = greet

    async def accepts(self, viewer: Viewer, frame: PersonFrame | HelloFrame) -> bool:
        if isinstance(frame, HelloFrame):
            await self._greet(viewer, frame)
        return True


def _frame(part: OutboundPart, message_id: str) -> Frame:
    text = part.rendered.text
    return {
        "type": "message",
        "id": message_id,
        "text": text,
        "blocks": _tree_of(part.rendered),
        "live": part.idem_key == "",  # unfinished
        "waiting": text.strip() == "…",
        "status": part.is_status,
        "buttons": to_button_list(part.buttons),
    }


def _tree_of(rendered: Rendered) -> JsonValue:
    """Return the tree of a message as JSON; None if its text was changed since, as by a code that is filled in."""
    if rendered.markup is None:
        return None
    packed = orjson.loads(rendered.markup)
    return packed if _plain_text(unpack(packed)) == rendered.text.removesuffix(GOES_ON) else None
