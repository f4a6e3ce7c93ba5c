"""One page's WebSocket: its frames in, ours out, until either side has enough. What frames mean is not here."""

import asyncio
from collections.abc import Sequence

import orjson
from aiohttp import WSMsgType, web

from channels.viewers.viewer_frames import (
    MAX_FRAME_BYTES,
    BadFrame,
    HelloFrame,
    PressFrame,
    SayFrame,
    ShownFrame,
    Visitor,
    read_frame,
)
from channels.viewers.viewer_hub import Viewer
from channels.viewers.viewer_inbox import FRAMES_WAITING, WaitingFrames, admit
from channels.web.limits import CLOSE_S, PING_S, WRITE_S
from channels.web.page_gate import Caller, PageGate

TOO_MANY = "too many messages; they wait here and are sent by and by"
COME_AGAIN, COME_LATER = 1012, 1013
"""Close codes: at once, or after a while (registry of RFC 6455: Service Restart, Try Again Later)."""


class PageSocket:
    """A page that talks over a WebSocket; `serve` ends when it is gone."""

    def __init__(self, gate: PageGate, caller: Caller) -> None:
        self._gate = gate
        self._caller = caller
        self._socket = web.WebSocketResponse(
            timeout=CLOSE_S, heartbeat=PING_S, max_msg_size=MAX_FRAME_BYTES, compress=False
        )

    async def serve(self, request: web.Request) -> web.StreamResponse:
        """Talk."""
        await self._socket.prepare(request)
        viewer = self._gate.seat(self._caller)
        if viewer is None:
            await self._socket.close(code=COME_LATER, message=b"too many pages are open")
            return self._socket
        try:
            await self._converse(viewer)
        finally:
            self._gate.leave(viewer)
        if viewer.displaced:
            await self._socket.close(code=COME_LATER, message=b"come later")
        return self._socket

    async def _converse(self, viewer: Viewer) -> None:
        waiting: WaitingFrames = asyncio.Queue(FRAMES_WAITING)
        async with asyncio.TaskGroup() as tasks:
            writing = tasks.create_task(self._write(viewer))
            admitting = tasks.create_task(admit(viewer, waiting, self._caller.visitor, self._take))
            await self._read(viewer, waiting)
            if not viewer.closed:  # else it is saying why
                writing.cancel()
            admitting.cancel()

    async def _take(self, _visitor: Visitor, frames: Sequence[SayFrame | PressFrame]) -> None:
        await self._gate.take(self._caller, frames)

    async def _read(self, viewer: Viewer, waiting: WaitingFrames) -> None:
        """Take frames until the page is gone, or says more than anybody has to say."""
        async for message in self._socket:
            if message.type not in (WSMsgType.TEXT, WSMsgType.BINARY):
                break
            if self._gate.hear(self._caller, len(message.data)):
                viewer.make_room()
                break
            try:
                frame = read_frame(message.data)
            except BadFrame as error:
                viewer.push({"type": "refused", "reason": str(error)})
                continue
            if isinstance(frame, ShownFrame):
                self._gate.pages.hub.confirm(viewer.chat, frame.n)
            elif self._is_let_through(viewer, frame):
                await waiting.put(frame)
            if viewer.displaced:
                break

    def _is_let_through(self, viewer: Viewer, frame: SayFrame | PressFrame | HelloFrame) -> bool:
        caller, pages = self._caller, self._gate.pages
        if isinstance(frame, HelloFrame):
            if self._gate.greet(caller, frame.epoch, frame.seen):
                viewer.make_room()
                return False
            pages.welcome(viewer, caller.visitor.locale, frame.epoch, frame.seen)
            return True
        _, wait_s = self._gate.let_through(caller, [frame])
        if wait_s:
            viewer.push({"type": "not_taken", "ids": [frame.id], "again_after_s": wait_s, "reason": TOO_MANY})
        return not wait_s

    async def _write(self, viewer: Viewer) -> None:
        """Send frames until the view is closed; a page that takes none for a while is let go."""
        try:
            while (frame := await viewer.next()) is not None:
                async with asyncio.timeout(WRITE_S):
                    await self._socket.send_str(orjson.dumps(frame).decode())
        except (ConnectionError, TimeoutError):
            viewer.close()
        code, why = (COME_LATER, b"come later") if viewer.displaced else (COME_AGAIN, b"come again")
        await self._socket.close(code=code, message=why)
