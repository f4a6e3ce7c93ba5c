"""One page's WebSocket: its frames in, ours out, until either side has enough. What frames mean is not here."""

import asyncio
from collections.abc import Sequence

import orjson
from aiohttp import WSMsgType, web

from channels.viewers.desk import FRAMES_WAITING, Waiting, admit
from channels.viewers.screens import Screen
from channels.viewers.views import MAX_FRAME_BYTES, BadFrame, Hello, Press, Say, Shown, Visitor, read_frame
from channels.web.limits import CLOSE_S, PING_S, WRITE_S
from channels.web.reception import Caller, Reception

TOO_MANY = "too many messages; they wait here and are sent by and by"
COME_AGAIN, COME_LATER = 1012, 1013
"""Close codes: at once, or after a while (registry of RFC 6455: Service Restart, Try Again Later)."""


class PageSocket:
    """A page that talks over a WebSocket; `serve` ends when it is gone."""

    def __init__(self, reception: Reception, caller: Caller) -> None:
        self._reception = reception
        self._caller = caller
        self._socket = web.WebSocketResponse(
            timeout=CLOSE_S, heartbeat=PING_S, max_msg_size=MAX_FRAME_BYTES, compress=False
        )

    async def serve(self, request: web.Request) -> web.StreamResponse:
        """Talk."""
        await self._socket.prepare(request)
        screen = self._reception.seat(self._caller)
        if screen is None:
            await self._socket.close(code=COME_LATER, message=b"too many pages are open")
            return self._socket
        try:
            await self._converse(screen)
        finally:
            self._reception.leave(screen)
        if screen.displaced:
            await self._socket.close(code=COME_LATER, message=b"come later")
        return self._socket

    async def _converse(self, screen: Screen) -> None:
        waiting: Waiting = asyncio.Queue(FRAMES_WAITING)
        async with asyncio.TaskGroup() as tasks:
            writing = tasks.create_task(self._write(screen))
            admitting = tasks.create_task(admit(screen, waiting, self._caller.visitor, self._take))
            await self._read(screen, waiting)
            if not screen.closed:  # else it is saying why
                writing.cancel()
            admitting.cancel()

    async def _take(self, _visitor: Visitor, frames: Sequence[Say | Press]) -> None:
        await self._reception.take(self._caller, frames)

    async def _read(self, screen: Screen, waiting: Waiting) -> None:
        """Take frames until the page is gone, or says more than anybody has to say."""
        async for message in self._socket:
            if message.type not in (WSMsgType.TEXT, WSMsgType.BINARY):
                break
            if self._reception.hear(self._caller, len(message.data)):
                screen.make_room()
                break
            try:
                frame = read_frame(message.data)
            except BadFrame as error:
                screen.push({"type": "refused", "reason": str(error)})
                continue
            if isinstance(frame, Shown):
                self._reception.pages.screens.confirm(screen.chat, frame.n)
            elif self._is_let_through(screen, frame):
                await waiting.put(frame)
            if screen.displaced:
                break

    def _is_let_through(self, screen: Screen, frame: Say | Press | Hello) -> bool:
        caller, pages = self._caller, self._reception.pages
        if isinstance(frame, Hello):
            if self._reception.greet(caller, frame.epoch, frame.seen):
                screen.make_room()
                return False
            pages.welcome(screen, caller.visitor.locale, frame.epoch, frame.seen)
            return True
        _, wait_s = self._reception.let_through(caller, [frame])
        if wait_s:
            screen.push({"type": "not_taken", "ids": [frame.id], "again_after_s": wait_s, "reason": TOO_MANY})
        return not wait_s

    async def _write(self, screen: Screen) -> None:
        """Send frames until the view is closed; a page that takes none for a while is let go."""
        try:
            while (frame := await screen.next()) is not None:
                async with asyncio.timeout(WRITE_S):
                    await self._socket.send_str(orjson.dumps(frame).decode())
        except (ConnectionError, TimeoutError):
            screen.close()
        code, why = (COME_LATER, b"come later") if screen.displaced else (COME_AGAIN, b"come again")
        await self._socket.close(code=code, message=why)
