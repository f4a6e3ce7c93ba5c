"""The web chat over HTTP: the page and its files, a WebSocket, and server-sent events with POST for where that is blocked.

Who may be asked from where (Host, Origin, size of a body) is the server's matter; what a page's words mean is not here.
"""

import asyncio
from collections.abc import Sequence
from typing import NoReturn

import orjson
from aiohttp import WSMsgType, web

from channels.base import HttpRoute, NotPersisted
from channels.screens import Frame, Screen
from channels.web.desk import Desk
from channels.web.files import PageFiles
from channels.web.frames import BadFrame, Hello, Press, Say, Shown, read_frame, read_frames
from channels.web.limits import MAX_FRAME_BYTES, MAX_SAID_CHARS, PING_S, WRITE_S
from channels.web.visitor import COOKIE, chat_of, locale_of, new_secret, set_cookie

FRAMES_WAITING = 100
"""Frames of one page that may wait for the store; then it is not read on."""

OFFER_AGAIN_S = 2
"""When a page offers again what the store did not take."""


class PageRoutes:
    """The HTTP side of one web chat."""

    def __init__(self, desk: Desk, title: str) -> None:
        self._desk = desk
        self._title = title
        self._files = PageFiles()

    def table(self) -> Sequence[HttpRoute]:
        """Every path."""
        return (
            *[HttpRoute("GET", path, self._files.answer) for path in self._files.paths],
            HttpRoute("POST", "/web/session", self._session),
            HttpRoute("GET", "/web/ws", self._socket),
            HttpRoute("GET", "/web/events", self._events),
            HttpRoute("POST", "/web/messages", self._messages),
        )

    # ------------------------------------------------------------ who is there

    async def _session(self, request: web.Request) -> web.Response:
        """Say who the browser is; one that is nobody yet becomes somebody.

        A cookie of SameSite=Strict is not sent when a link elsewhere leads to the page, but it is with the page's own
        request: so that identities are made here, and not with the page itself.
        """
        self._must_run()
        chat = chat_of(request.cookies.get(COOKIE))
        secret = None
        if chat is None:
            secret = new_secret()
            chat = chat_of(secret) or ""
            self._desk.screens.caught_up(chat)
        body = {"chat": chat, "title": self._title, "max_chars": MAX_SAID_CHARS}
        answer = _json(body)
        if secret is not None:
            set_cookie(answer, secret, secure=request.secure or request.headers.get("X-Forwarded-Proto") == "https")
        return answer

    def _must_run(self) -> None:
        if self._desk.sink is None:
            _not_now("the web chat does not run yet")

    def _visitor(self, request: web.Request) -> str:
        """The chat of whoever asks."""
        self._must_run()
        chat = chat_of(request.cookies.get(COOKIE))
        if chat is None:
            raise web.HTTPUnauthorized(text="ask /web/session first\n")
        return chat

    # ------------------------------------------------------------ WebSocket

    async def _socket(self, request: web.Request) -> web.StreamResponse:
        chat, locale = self._visitor(request), locale_of(request)
        socket = web.WebSocketResponse(heartbeat=PING_S, max_msg_size=MAX_FRAME_BYTES, compress=False)
        await socket.prepare(request)
        screen = self._desk.screens.open(chat)
        if screen is None:
            await socket.close(code=1013, message=b"too many pages are open")
            return socket
        waiting: asyncio.Queue[Say | Press | Hello] = asyncio.Queue(FRAMES_WAITING)
        try:
            async with asyncio.TaskGroup() as tasks:
                writing = tasks.create_task(_write_socket(socket, screen))
                admitting = tasks.create_task(self._admit(screen, waiting, locale))
                await self._read(socket, screen, waiting, locale)
                writing.cancel()
                admitting.cancel()
        finally:
            self._desk.screens.leave(screen)
        return socket

    async def _read(
        self,
        socket: web.WebSocketResponse,
        screen: Screen,
        waiting: asyncio.Queue[Say | Press | Hello],
        locale: str | None,
    ) -> None:
        """Take frames until the page is gone."""
        async for message in socket:
            if message.type not in (WSMsgType.TEXT, WSMsgType.BINARY):
                break
            try:
                frame = read_frame(message.data)
            except BadFrame as error:
                screen.push({"type": "refused", "reason": str(error)})
                continue
            if isinstance(frame, Shown):
                self._desk.screens.confirm(screen.chat, frame.n)
                continue
            if isinstance(frame, Hello):
                self._desk.welcome(screen, locale, frame.epoch, frame.seen)
            await waiting.put(frame)

    async def _admit(
        self, screen: Screen, waiting: asyncio.Queue[Say | Press | Hello], locale: str | None
    ) -> NoReturn:
        """Hand in what the page said, everything that waits at once, in its order."""
        while True:
            batch = [await waiting.get()]
            while not waiting.empty():
                batch.append(waiting.get_nowait())
            said = [frame for frame in batch if not isinstance(frame, Hello)]
            ids = [frame.id for frame in said]
            try:
                await self._desk.take(screen.chat, said, locale)
            except NotPersisted:
                screen.push({"type": "not_taken", "ids": list(ids), "again_after_s": OFFER_AGAIN_S})
            else:
                screen.push({"type": "taken", "ids": list(ids)})

    # ------------------------------------------------------------ server-sent events and POST

    async def _events(self, request: web.Request) -> web.StreamResponse:
        chat, locale = self._visitor(request), locale_of(request)
        screen = self._desk.screens.open(chat)
        if screen is None:
            _not_now("too many pages are open")
        try:
            answer = web.StreamResponse(
                headers={"Content-Type": "text/event-stream", "Cache-Control": "no-store", "X-Accel-Buffering": "no"}
            )
            await answer.prepare(request)
            seen = request.query.get("seen", "0")
            self._desk.welcome(screen, locale, request.query.get("epoch", ""), int(seen) if seen.isdecimal() else 0)
            try:
                await self._desk.take(chat, [], locale)
            except NotPersisted:
                pass  # the next thing the person says lets their lane go on
            await _write_events(answer, screen)
        finally:
            self._desk.screens.leave(screen)
        return answer

    async def _messages(self, request: web.Request) -> web.Response:
        chat = self._visitor(request)
        if request.content_type != "application/json":
            raise web.HTTPUnsupportedMediaType(text="JSON is taken here\n")
        try:
            frames = read_frames(await request.read())
        except BadFrame as error:
            raise web.HTTPBadRequest(text=f"{error}\n") from None
        said = [frame for frame in frames if isinstance(frame, Say | Press)]
        for frame in frames:
            if isinstance(frame, Shown):
                self._desk.screens.confirm(chat, frame.n)
        if said:
            try:
                await self._desk.take(chat, said, locale_of(request))
            except NotPersisted:
                _not_now("the store takes no messages just now")
        return _json({"taken": [frame.id for frame in said]})


def _json(body: Frame) -> web.Response:
    return web.Response(body=orjson.dumps(body), content_type="application/json", headers={"Cache-Control": "no-store"})


def _not_now(why: str) -> NoReturn:
    raise web.HTTPServiceUnavailable(text=f"{why}\n", headers={"Retry-After": str(OFFER_AGAIN_S)})


async def _write_socket(socket: web.WebSocketResponse, screen: Screen) -> None:
    """Send frames until the view is closed; a page that takes none for a while is let go."""
    try:
        while (frame := await screen.next()) is not None:
            async with asyncio.timeout(WRITE_S):
                await socket.send_str(orjson.dumps(frame).decode())
    except (ConnectionError, TimeoutError):
        screen.close()
    await socket.close(code=1012, message=b"come again")


async def _write_events(answer: web.StreamResponse, screen: Screen) -> None:
    """Send frames until the view is closed or the page is gone; a comment now and then finds that out."""
    try:
        while not screen.closed:
            try:
                async with asyncio.timeout(PING_S):
                    frame = await screen.next()
            except TimeoutError:
                piece = b": still here\n\n"
            else:
                piece = b"data: " + orjson.dumps(frame) + b"\n\n"
            async with asyncio.timeout(WRITE_S):
                await answer.write(piece)
    except (ConnectionError, TimeoutError):
        screen.close()
