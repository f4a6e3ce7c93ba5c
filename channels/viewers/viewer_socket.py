"""One view's WebSocket: its frames in, ours out, until either side has enough. What frames mean is not here.

What a view says is handed in in its order, all that waits at once; each batch is committed before it is confirmed.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import NoReturn

import orjson
from aiohttp import WSMsgType, web

from channels.base import NotPersisted
from channels.viewers.viewer_frames import (
    MAX_FRAME_BYTES,
    BadFrame,
    HelloFrame,
    PersonFrame,
    read_frame,
)
from channels.viewers.viewer_hub import Viewer, ViewerHub

FRAMES_WAITING = 100
"""Frames of one view that may wait for the store; then it is not read on."""

OFFER_AGAIN_S = 2
"""When a view offers again what the store did not take."""

WRITE_S = 10.0  # for one frame to travel
CLOSE_S = 1.0  # for a view to take leave too

COME_AGAIN, COME_LATER = 1012, 1013
"""Close codes: at once, or after a while (registry of RFC 6455: Service Restart, Try Again Later)."""

Take = Callable[[Sequence[PersonFrame]], Awaitable[object]]
"""Return once the frames are committed, or raise NotPersisted."""

WaitingFrames = asyncio.Queue[PersonFrame | HelloFrame]


class ViewerSocket:
    """A view that talks over a WebSocket; `serve` ends when it is gone. Who bounds its views does so in a subclass."""

    ping_s: float | None = None
    """So often it is looked whether the view is there still; None where the system tells."""

    def __init__(self, hub: ViewerHub, chat: str, take: Take) -> None:
        self._hub = hub
        self._chat = chat
        self._take = take
        self._socket = web.WebSocketResponse(
            timeout=CLOSE_S, heartbeat=self.ping_s, max_msg_size=MAX_FRAME_BYTES, compress=False
        )

    def open(self) -> Viewer | None:
        """A view of the chat; None where there is no room."""
        return self._hub.open(self._chat)

    def leave(self, viewer: Viewer) -> None:
        """The view is gone."""
        self._hub.leave(viewer)

    def has_said_too_much(self, _size_bytes: int) -> bool:
        """Whether the view has to go, now that it has sent so much more."""
        return False

    async def lets_through(self, _viewer: Viewer, _frame: PersonFrame | HelloFrame) -> bool:
        """Whether a frame is to be handed in; else the view was told why not."""
        return True

    async def serve(self, request: web.Request) -> web.StreamResponse:
        """Talk."""
        await self._socket.prepare(request)
        viewer = self.open()
        if viewer is None:
            await self._socket.close(code=COME_LATER, message=b"too many views are open")
            return self._socket
        try:
            await self._converse(viewer)
        finally:
            self.leave(viewer)
        if viewer.displaced:
            await self._socket.close(code=COME_LATER, message=b"come later")
        return self._socket

    async def _converse(self, viewer: Viewer) -> None:
        waiting: WaitingFrames = asyncio.Queue(FRAMES_WAITING)
        async with asyncio.TaskGroup() as tasks:
            writing = tasks.create_task(self._write(viewer))
            admitting = tasks.create_task(self._admit(viewer, waiting))
            await self._read(viewer, waiting)
            if not viewer.closed:  # else it is saying why
                writing.cancel()
            admitting.cancel()

    async def _read(self, viewer: Viewer, waiting: WaitingFrames) -> None:
        """Take frames until the view is gone, or says more than anybody has to say."""
        async for message in self._socket:
            if message.type not in (WSMsgType.TEXT, WSMsgType.BINARY):
                break
            if self.has_said_too_much(len(message.data)):
                viewer.make_room()
                break
            try:
                frame = read_frame(message.data)
            except BadFrame as error:
                viewer.push({"type": "refused", "reason": str(error)})
                continue
            if await self.lets_through(viewer, frame):
                await waiting.put(frame)
            if viewer.displaced:
                break

    async def _admit(self, viewer: Viewer, waiting: WaitingFrames) -> NoReturn:
        """Hand in what the view says for as long as it is open; tell it what was taken."""
        while True:
            batch = [await waiting.get()]
            while not waiting.empty():
                batch.append(waiting.get_nowait())
            said = [frame for frame in batch if not isinstance(frame, HelloFrame)]
            ids = [frame.id for frame in said]
            try:
                await self._take(said)
            except NotPersisted:
                viewer.push({"type": "not_taken", "ids": list(ids), "again_after_s": OFFER_AGAIN_S})
            else:
                viewer.push({"type": "taken", "ids": list(ids)})

    async def _write(self, viewer: Viewer) -> None:
        """Send frames until the view is closed; one that takes none for a while is let go."""
        try:
            while (frame := await viewer.next()) is not None:
                async with asyncio.timeout(WRITE_S):
                    await self._socket.send_str(orjson.dumps(frame).decode())
        except (ConnectionError, TimeoutError):
            viewer.close()
        code, why = (COME_LATER, b"come later") if viewer.displaced else (COME_AGAIN, b"come again")
        await self._socket.close(code=code, message=why)
