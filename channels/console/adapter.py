"""`ConsoleChannel`: terminals on this machine as a channel, with the chat page's frames on the control socket.

Whoever can open the socket is the user that the gateway runs as: they are `console:local`, one person with one chat,
however many terminals are open. What a terminal draws is in `client` and `drawing`.
"""

import time
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial

from aiohttp import web

from channels.base import HttpRoute, Renderer
from channels.clocks import steady_now
from channels.console.limits import CONSOLE_LIMITS, MAX_TERMINALS, PATH
from channels.console.text import width_of
from channels.markdown.tree import Block, Heading, Paragraph, Span, text_of
from channels.messages import Address, OutboundPart, Receipt, Rendered, Sender
from channels.viewers.plain_renderer import PlainRenderer
from channels.viewers.viewer_frames import Visitor
from channels.viewers.viewer_hub import Frame, Patience, ViewerChannel, ViewerHub, ViewerInbox
from channels.viewers.viewer_socket import ViewerSocket

CHANNEL = "console"
ACCOUNT = "main"
CHAT = "local"
MOST_UNDERLINED = 70  # columns

VISITOR = Visitor(Address(CHANNEL, ACCOUNT, CHAT), Sender("local", ""))


class TerminalRenderer(PlainRenderer):
    """Plain text, with a line under each heading."""

    def render(self, blocks: Sequence[Block]) -> Rendered:
        """As plain text; what only a style would show of a heading is drawn."""
        return super().render([_underline(block) if isinstance(block, Heading) else block for block in blocks])


def _underline(heading: Heading) -> Paragraph:
    row = ("═" if heading.level == 1 else "─") * min(width_of(text_of(heading.spans)), MOST_UNDERLINED)
    return Paragraph((*heading.spans, Span(f"\n{row}")))


class ConsoleChannel(ViewerChannel):
    """Hears and shows in every terminal that `tenk chat` runs in."""

    name = CHANNEL
    account = ACCOUNT
    limits = CONSOLE_LIMITS

    def __init__(
        self,
        *,
        patience: Patience | None = None,
        now_s: Callable[[], float] = time.monotonic,
        clock: Callable[[], datetime] = steady_now,
    ) -> None:
        """Nobody is heard before `run`. `patience`, `now_s` and `clock` are for tests."""
        self.renderer: Renderer = TerminalRenderer()
        self._hub = ViewerHub(patience or Patience(most_of_chat=MAX_TERMINALS), now_s)
        super().__init__(ViewerInbox(self._hub, clock))

    def http_routes(self) -> Sequence[HttpRoute]:
        """Where terminals come in."""
        return (HttpRoute("GET", PATH, self._serve, private=True),)

    async def edit(self, part: OutboundPart, platform_id: str) -> Receipt:
        """Show our message as it is now; errors are those of `ViewerChannel.edit`."""
        text = part.rendered.text
        frame: Frame = {
            "type": "message",
            "id": platform_id,
            "text": text,
            "live": part.idem_key == "",  # it grows still
            "waiting": text.strip() == "…",
        }
        await self._hub.show(part.address.chat, frame)
        return Receipt(platform_id)

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        if self._inbox.sink is None:
            raise web.HTTPServiceUnavailable(text="terminals are not heard yet\n")
        return await ViewerSocket(self._hub, CHAT, partial(self._inbox.receive, VISITOR)).serve(request)
