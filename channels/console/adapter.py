"""`ConsoleChannel`: terminals on this machine as a channel, with the chat page's frames on the control socket.

Only the gateway's own user can open the socket: they are `console:local`, one person with one chat and any number of
terminals. `client` has the terminal's side.
"""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial

from aiohttp import web

from channels.base import HttpRoute, NotPersisted, Renderer
from channels.clocks import steady_now
from channels.console.limits import CONSOLE_LIMITS, MAX_TERMINALS, PATH
from channels.console.text import width_of
from channels.markdown.tree import Block, Heading, Paragraph, Span, text_of
from channels.messages import Address, OutboundPart, Receipt, Rendered, Sender
from channels.viewers.plain_renderer import PlainRenderer
from channels.viewers.viewer_frames import HelloFrame, PersonFrame, Visitor
from channels.viewers.viewer_hub import Frame, Viewer, ViewerChannel, ViewerHub, ViewerInbox
from channels.viewers.viewer_socket import Take, ViewerSocket

CHANNEL = "console"
ACCOUNT = "main"
CHAT = "local"
MOST_UNDERLINED = 70  # columns

Unread = Callable[[Address], Awaitable[Sequence[OutboundPart]]]
"""Returns the messages in a chat since its person's last one; raises NotPersisted."""

VISITOR = Visitor(Address(CHANNEL, ACCOUNT, CHAT), Sender("local", ""))


class TerminalRenderer(PlainRenderer):
    """A renderer of plain text with a line under each heading."""

    def render(self, blocks: Sequence[Block]) -> Rendered:
        return super().render([_underline(block) if isinstance(block, Heading) else block for block in blocks])


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
        self._hub = ViewerHub(most_of_chat=MAX_TERMINALS)
        super().__init__(ViewerInbox(self._hub, clock))

    def http_routes(self) -> Sequence[HttpRoute]:
        """Return the route of the terminals' WebSocket."""
        return (HttpRoute("GET", PATH, self._serve, private=True),)

    async def edit(self, part: OutboundPart, platform_id: str) -> Receipt:
        self._hub.tell(part.address.chat, _frame(part, platform_id))
        return Receipt(platform_id)

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        if self._inbox.sink is None:
            raise web.HTTPServiceUnavailable(text="terminals are not heard yet\n")
        socket = TerminalSocket(self._hub, CHAT, partial(self._inbox.receive, VISITOR), self._unread)
        return await socket.serve(request)


class TerminalSocket(ViewerSocket):
    """A terminal's WebSocket: its hello is answered with the messages since its person's last one."""

    most_at_once = 1  # of many lines, those within the limit are taken

    def __init__(self, hub: ViewerHub, chat: str, take: Take, unread: Unread) -> None:
        super().__init__(hub, chat, take)
        self._unread = unread

    async def accepts(self, viewer: Viewer, frame: PersonFrame | HelloFrame) -> bool:
        if isinstance(frame, HelloFrame) and frame.recall:
            with suppress(NotPersisted):  # shown to a later terminal
                for part in await self._unread(VISITOR.address):
                    viewer.push(_frame(part, f"b-{part.idem_key}"))
        return True


def _frame(part: OutboundPart, message_id: str) -> Frame:
    text = part.rendered.text
    return {
        "type": "message",
        "id": message_id,
        "text": text,
        "live": part.idem_key == "",  # unfinished
        "waiting": text.strip() == "…",
    }
