"""`ConsoleChannel`: terminals on this machine as a channel, over a Unix socket with a line of JSON a frame.

Whoever can open the socket is the user that the gateway runs as: they are `console:local`, one person with one chat,
however many terminals are open. What a terminal draws is in `client` and `drawing`.
"""

import asyncio
import contextlib
import socket
import time
from collections.abc import Callable
from datetime import datetime

import orjson
import structlog

from channels.base import ChannelState, Renderer, Sink
from channels.clocks import steady_now
from channels.console.config import ConsolePlace
from channels.console.limits import CONSOLE_LIMITS, MAX_TERMINALS, WRITE_S
from channels.console.render import ConsoleRenderer
from channels.messages import Address, OutboundPart, Receipt, Sender
from channels.viewers.socket_accept import accept_peer, close_with
from channels.viewers.viewer_frames import MAX_FRAME_BYTES, BadFrame, ShownFrame, Visitor, read_frame
from channels.viewers.viewer_hub import Frame, Patience, Viewer, ViewerHub
from channels.viewers.viewer_inbox import FRAMES_WAITING, ViewerInbox, WaitingFrames, admit

CHANNEL = "console"
ACCOUNT = "main"
CHAT = "local"


log = structlog.get_logger()


class ConsoleChannel:
    """Hears and shows in every terminal that `tenk chat` runs in."""

    name = CHANNEL
    account = ACCOUNT
    limits = CONSOLE_LIMITS

    def __init__(
        self,
        place: ConsolePlace,
        *,
        patience: Patience | None = None,
        now_s: Callable[[], float] = time.monotonic,
        clock: Callable[[], datetime] = steady_now,
    ) -> None:
        """Nothing listens before `run`. `patience`, `now_s` and `clock` are for tests."""
        self.renderer: Renderer = ConsoleRenderer()
        self._place = place
        self._hub = ViewerHub(patience or Patience(most_of_chat=MAX_TERMINALS), now_s)
        self._inbox = ViewerInbox(self._hub, clock)

    async def run(self, sink: Sink) -> None:
        """Listen until cancelled; then no terminal is connected any more."""
        sink.report(ChannelState.STARTING)
        with self._place.listen() as listener:
            self._inbox.sink = sink
            sink.report(ChannelState.READY)
            try:
                async with asyncio.TaskGroup() as terminals:
                    while True:
                        peer = await accept_peer(listener)
                        close_with(terminals.create_task(self._serve(peer)), peer)
            finally:
                self._inbox.sink = None

    async def aclose(self) -> None:
        """Nothing is left to close; `run` has ended before."""
        self._hub.close_all()

    async def send(self, part: OutboundPart) -> Receipt:
        """Show a message in the terminals; the same key is the same message.

        Raises:
            Retryable, Permanent, Unknown: see `channels.errors`; BLOCKED when no terminal was open for a while.
        """
        return await self.edit(part, f"b-{part.idem_key}")

    async def edit(self, part: OutboundPart, platform_id: str) -> Receipt:
        """Show our message as it is now.

        Raises:
            Retryable, Permanent, Unknown: as `send`.
        """
        text = part.rendered.text
        frame: Frame = {
            "type": "message",
            "id": platform_id,
            "text": text,
            "live": part.idem_key == "" or text.strip() == "…",  # it grows still
        }
        await self._hub.show(part.address.chat, frame)
        return Receipt(platform_id)

    async def show_typing(self, address: Address) -> None:
        """Tell terminals that an answer is being worked on."""
        self._hub.tell(address.chat, {"type": "typing", "for_s": 6})

    # ------------------------------------------------------------ one terminal

    async def _serve(self, peer: socket.socket) -> None:
        try:
            reader, writer = await asyncio.open_connection(sock=peer, limit=MAX_FRAME_BYTES)
        except OSError:
            return  # the terminal is gone
        viewer = self._hub.open(CHAT)
        try:
            if viewer is not None:
                await self._converse(reader, writer, viewer)
        except* (OSError, TimeoutError):
            pass  # the terminal is gone
        except* Exception:  # noqa: BLE001  one terminal: recorded here; it is closed, the others stay
            log.exception("terminal_broken")
        finally:
            if viewer is not None:
                self._hub.leave(viewer)
            writer.transport.abort()

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, viewer: Viewer) -> None:
        visitor = Visitor(Address(CHANNEL, ACCOUNT, CHAT), Sender("local", "local terminal"))
        waiting: WaitingFrames = asyncio.Queue(FRAMES_WAITING)
        async with asyncio.TaskGroup() as tasks:
            writing = tasks.create_task(_write(writer, viewer))
            admitting = tasks.create_task(admit(viewer, waiting, visitor, self._inbox.take))
            await self._read(reader, viewer, waiting)
            writing.cancel()
            admitting.cancel()

    async def _read(self, reader: asyncio.StreamReader, viewer: Viewer, waiting: WaitingFrames) -> None:
        """Take frames until the terminal is gone, or says something longer than a frame may be."""
        while not viewer.closed:
            with contextlib.suppress(ValueError):
                line = await reader.readline()
                if not line:
                    return
                try:
                    frame = read_frame(line)
                except BadFrame as error:
                    viewer.push({"type": "refused", "reason": str(error)})
                    continue
                if isinstance(frame, ShownFrame):
                    self._hub.confirm(CHAT, frame.n)
                else:
                    await waiting.put(frame)


async def _write(writer: asyncio.StreamWriter, viewer: Viewer) -> None:
    """Send frames until the view is closed."""
    while (frame := await viewer.next()) is not None:
        writer.write(orjson.dumps(frame) + b"\n")
        async with asyncio.timeout(WRITE_S):
            await writer.drain()
    writer.close()
