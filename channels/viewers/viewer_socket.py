"""The WebSocket of one view, until either side closes it.

The view's frames are committed in order, in batches of all that wait, and confirmed after that.
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
"""Frames of one view that may wait for the store; then reading pauses."""

OFFER_AGAIN_S = 2
"""Seconds after which a view sends again what the store did not take."""

WRITE_S = 10.0  # timeout of one frame
CLOSE_S = 1.0  # timeout of a view's closing handshake

COME_AGAIN, COME_LATER = 1012, 1013
"""Close codes for reconnecting at once or later (registry of RFC 6455: Service Restart, Try Again Later)."""

Take = Callable[[Sequence[PersonFrame]], Awaitable[object]]
"""Returns once the frames are committed, or raises NotPersisted."""

WaitingFrames = asyncio.Queue[PersonFrame | HelloFrame]


class ViewerSocket:
    """A view's WebSocket; `serve` returns when it is closed. A subclass may limit the views."""

    ping_s: float | None = None
    """Seconds between pings; None: the system detects a lost peer."""

    most_at_once = FRAMES_WAITING
    """Frames of one commit."""

    def __init__(self, hub: ViewerHub, chat: str, take: Take) -> None:
        self._hub = hub
        self._chat = chat
        self._take = take
        self._socket = web.WebSocketResponse(
            timeout=CLOSE_S, heartbeat=self.ping_s, max_msg_size=MAX_FRAME_BYTES, compress=False
        )

    def open(self) -> Viewer | None:
        """Open a view of the chat; return None if there are too many."""
        return self._hub.open(self._chat)

    def leave(self, viewer: Viewer) -> None:
        """Close the view."""
        self._hub.leave(viewer)

    def exceeds_limit(self, _size_bytes: int) -> bool:
        """Return True if the view must be closed for sending too much."""
        return False

    async def accepts(self, _viewer: Viewer, _frame: PersonFrame | HelloFrame) -> bool:
        """Return True if a frame may be committed; otherwise tell the view why not."""
        return True

    async def serve(self, request: web.Request) -> web.StreamResponse:
        """Serve the WebSocket until it is closed."""
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
            if not viewer.closed:  # else it still sends the reason
                writing.cancel()
            admitting.cancel()

    async def _read(self, viewer: Viewer, waiting: WaitingFrames) -> None:
        """Read frames until the view is gone or has sent too much."""
        async for message in self._socket:
            if message.type not in (WSMsgType.TEXT, WSMsgType.BINARY):
                break
            if self.exceeds_limit(len(message.data)):
                viewer.make_room()
                break
            try:
                frame = read_frame(message.data)
            except BadFrame as error:
                viewer.push({"type": "refused", "reason": str(error)})
                continue
            if await self.accepts(viewer, frame):
                await waiting.put(frame)
            if viewer.displaced:
                break

    async def _admit(self, viewer: Viewer, waiting: WaitingFrames) -> NoReturn:
        """Commit the waiting frames in batches and confirm them to the view.

        After a refusal the view sends all its frames again, in order: refuse those that it sent before it heard of it.
        """
        now_s = asyncio.get_running_loop().time
        first_refused, until_s = "", float("-inf")
        while True:
            batch = [await waiting.get()]
            while len(batch) < self.most_at_once and not waiting.empty():
                batch.append(waiting.get_nowait())
            said = [frame for frame in batch if not isinstance(frame, HelloFrame)]
            ids = [frame.id for frame in said]
            if now_s() < until_s:
                overtaking = ids.index(first_refused) if first_refused in ids else len(ids)
                if overtaking:
                    _refuse(viewer, ids[:overtaking])
                ids, said = ids[overtaking:], said[overtaking:]
                if not said:
                    continue
            try:
                await self._take(said)
            except NotPersisted:
                first_refused, until_s = ids[0] if ids else "", now_s() + OFFER_AGAIN_S
                _refuse(viewer, ids)
            else:
                until_s = float("-inf")
                viewer.push({"type": "taken", "ids": list(ids)})

    async def _write(self, viewer: Viewer) -> None:
        """Send frames until the view is closed; close one that does not read."""
        try:
            while (frame := await viewer.next()) is not None:
                async with asyncio.timeout(WRITE_S):
                    await self._socket.send_str(orjson.dumps(frame).decode())
        except (ConnectionError, TimeoutError):
            viewer.close()
        code, why = (COME_LATER, b"come later") if viewer.displaced else (COME_AGAIN, b"come again")
        await self._socket.close(code=code, message=why)


def _refuse(viewer: Viewer, ids: Sequence[str]) -> None:
    viewer.push({"type": "not_taken", "ids": list(ids), "again_after_s": OFFER_AGAIN_S})
