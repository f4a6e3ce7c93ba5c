"""The web chat over HTTP: the page, a WebSocket, and server-sent events with POST for where that is blocked.

Who may be asked from where (Host, Origin, size of a body) is the server's matter; what a page's words mean is not here.
"""

import asyncio
import contextlib
import re
from collections.abc import Sequence
from typing import NoReturn

import orjson
from aiohttp import WSMsgType, web

from channels.base import HttpRoute, NotPersisted
from channels.desk import FRAMES_WAITING, OFFER_AGAIN_S, Waiting, admit
from channels.screens import Frame, Screen
from channels.views import (
    MAX_FRAME_BYTES,
    MAX_SAID_CHARS,
    BadFrame,
    Hello,
    Press,
    Say,
    Shown,
    read_frame,
    read_frames,
)
from channels.web.files import PageFiles
from channels.web.frames import visitor_of
from channels.web.limits import PING_S, WRITE_S
from channels.web.pages import Pages
from channels.web.visitor import COOKIE, chat_of, locale_of, new_secret, set_cookie

_NUMBER = re.compile(r"[0-9]{1,16}\Z")


class PageRoutes:
    """The HTTP side of one web chat."""

    def __init__(self, pages: Pages, title: str) -> None:
        self._pages = pages
        self._title = title
        self._files = PageFiles()

    def table(self) -> Sequence[HttpRoute]:
        """Every path."""
        return (
            *[HttpRoute("GET", path, self._files.answer) for path in self._files.paths],
            HttpRoute("POST", "/web/session", self._session),
            HttpRoute("GET", "/web/file", self._file),
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
            self._pages.screens.caught_up(chat)
        body: Frame = {"chat": chat, "title": self._title, "max_chars": MAX_SAID_CHARS}
        answer = _json(body)
        if secret is not None:
            set_cookie(answer, secret, secure=request.secure or request.headers.get("X-Forwarded-Proto") == "https")
        return answer

    def _must_run(self) -> None:
        if self._pages.desk.sink is None:
            _not_now("the web chat does not run yet")

    def _visitor(self, request: web.Request) -> str:
        """The chat of whoever asks."""
        self._must_run()
        chat = chat_of(request.cookies.get(COOKIE))
        if chat is None:
            raise web.HTTPUnauthorized(text="ask /web/session first\n")
        return chat

    async def _file(self, request: web.Request) -> web.Response:
        return self._pages.attached.answer(self._visitor(request), request.query.get("id", ""))

    # ------------------------------------------------------------ WebSocket

    async def _socket(self, request: web.Request) -> web.StreamResponse:
        chat, locale = self._visitor(request), locale_of(request)
        socket = web.WebSocketResponse(heartbeat=PING_S, max_msg_size=MAX_FRAME_BYTES, compress=False)
        await socket.prepare(request)
        screen = self._pages.screens.open(chat)
        if screen is None:
            await socket.close(code=1013, message=b"too many pages are open")
            return socket
        waiting: Waiting = asyncio.Queue(FRAMES_WAITING)
        try:
            async with asyncio.TaskGroup() as tasks:
                writing = tasks.create_task(_write_socket(socket, screen))
                admitting = tasks.create_task(admit(screen, waiting, visitor_of(chat, locale), self._pages.take))
                await self._read(socket, screen, waiting, locale)
                writing.cancel()
                admitting.cancel()
        finally:
            self._pages.screens.leave(screen)
        return socket

    async def _read(
        self,
        socket: web.WebSocketResponse,
        screen: Screen,
        waiting: Waiting,
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
                self._pages.screens.confirm(screen.chat, frame.n)
                continue
            if isinstance(frame, Hello):
                self._pages.welcome(screen, locale, frame.epoch, frame.seen)
            await waiting.put(frame)

    # ------------------------------------------------------------ server-sent events and POST

    async def _events(self, request: web.Request) -> web.StreamResponse:
        chat, locale = self._visitor(request), locale_of(request)
        screen = self._pages.screens.open(chat)
        if screen is None:
            _not_now("too many pages are open")
        try:
            answer = web.StreamResponse(
                headers={"Content-Type": "text/event-stream", "Cache-Control": "no-store", "X-Accel-Buffering": "no"}
            )
            await answer.prepare(request)
            seen = request.query.get("seen", "0")
            self._pages.welcome(screen, locale, request.query.get("epoch", ""), int(seen) if _NUMBER.match(seen) else 0)
            with contextlib.suppress(NotPersisted):  # then the next thing the person says lets their lane go on
                await self._pages.take(visitor_of(chat, locale), [])
            await _write_events(answer, screen)
        finally:
            self._pages.screens.leave(screen)
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
                self._pages.screens.confirm(chat, frame.n)
        if said:
            try:
                await self._pages.take(visitor_of(chat, locale_of(request)), said)
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
