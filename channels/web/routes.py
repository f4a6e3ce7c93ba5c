"""The web chat over HTTP: the page, a WebSocket, and server-sent events with POST for where that is blocked.

Who may be asked from where (Host, Origin, size of a body) is the server's matter; what a page's words mean is not here.
"""

import asyncio
import contextlib
import re
from collections.abc import Sequence
from functools import partial
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
    Visitor,
    read_frame,
    read_frames,
)
from channels.web.bounds import Bounds, address_of
from channels.web.files import PageFiles
from channels.web.frames import visitor_of
from channels.web.limits import PING_S, WRITE_S
from channels.web.pages import Pages
from channels.web.visitor import COOKIE, chat_of, locale_of, new_secret, set_cookie

TOO_MANY = "too many messages; they wait here and are sent by and by"

_NUMBER = re.compile(r"[0-9]{1,16}\Z")


class PageRoutes:
    """The HTTP side of one web chat."""

    def __init__(self, pages: Pages, title: str, bounds: Bounds) -> None:
        self._pages = pages
        self._title = title
        self._bounds = bounds
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
            self._let_in(request)
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

    def _let_in(self, request: web.Request) -> None:
        """Count a browser that this process does not know."""
        wait_s = self._bounds.come(address_of(request.remote))
        if wait_s:
            _too_many("too many new visitors", wait_s)

    def _chat(self, request: web.Request) -> str:
        """The chat of whoever asks."""
        self._must_run()
        chat = chat_of(request.cookies.get(COOKIE))
        if chat is None:
            raise web.HTTPUnauthorized(text="ask /web/session first\n")
        return chat

    def _visitor(self, request: web.Request) -> Visitor:
        """Whoever asks to talk; the first time in a process this writes a row, and so it counts."""
        chat = self._chat(request)
        if self._pages.screens.is_owed(chat):
            self._let_in(request)
        return visitor_of(chat, locale_of(request))

    async def _file(self, request: web.Request) -> web.Response:
        return self._pages.attached.answer(self._chat(request), request.query.get("id", ""))

    # ------------------------------------------------------------ WebSocket

    async def _socket(self, request: web.Request) -> web.StreamResponse:
        visitor, address = self._visitor(request), address_of(request.remote)
        socket = web.WebSocketResponse(heartbeat=PING_S, max_msg_size=MAX_FRAME_BYTES, compress=False)
        await socket.prepare(request)
        screen = self._pages.screens.open(visitor.address.chat)
        if screen is None:
            await socket.close(code=1013, message=b"too many pages are open")
            return socket
        waiting: Waiting = asyncio.Queue(FRAMES_WAITING)
        try:
            async with asyncio.TaskGroup() as tasks:
                writing = tasks.create_task(_write_socket(socket, screen))
                admitting = tasks.create_task(admit(screen, waiting, visitor, partial(self._take, address)))
                await self._read(socket, screen, waiting, visitor, address)
                writing.cancel()
                admitting.cancel()
        finally:
            self._pages.screens.leave(screen)
        return socket

    async def _read(
        self, socket: web.WebSocketResponse, screen: Screen, waiting: Waiting, visitor: Visitor, address: str
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
                self._pages.welcome(screen, visitor.locale, frame.epoch, frame.seen)
            elif wait_s := self._bounds.say(screen.chat, address):
                screen.push({"type": "not_taken", "ids": [frame.id], "again_after_s": wait_s, "reason": TOO_MANY})
                continue
            await waiting.put(frame)

    async def _take(self, address: str, visitor: Visitor, frames: Sequence[Say | Press]) -> None:
        """As `Pages.take`; what was not taken has cost nothing."""
        try:
            await self._pages.take(visitor, frames)
        except NotPersisted:
            self._bounds.unsay(visitor.address.chat, address, len(frames))
            raise

    # ------------------------------------------------------------ server-sent events and POST

    async def _events(self, request: web.Request) -> web.StreamResponse:
        visitor = self._visitor(request)
        screen = self._pages.screens.open(visitor.address.chat)
        if screen is None:
            _not_now("too many pages are open")
        try:
            answer = web.StreamResponse(
                headers={"Content-Type": "text/event-stream", "Cache-Control": "no-store", "X-Accel-Buffering": "no"}
            )
            await answer.prepare(request)
            seen = request.query.get("seen", "0")
            since = int(seen) if _NUMBER.match(seen) else 0
            self._pages.welcome(screen, visitor.locale, request.query.get("epoch", ""), since)
            with contextlib.suppress(NotPersisted):  # then the next thing the person says lets their lane go on
                await self._pages.take(visitor, [])
            await _write_events(answer, screen)
        finally:
            self._pages.screens.leave(screen)
        return answer

    async def _messages(self, request: web.Request) -> web.Response:
        visitor, address = self._visitor(request), address_of(request.remote)
        frames = await _frames_of(request)
        for frame in frames:
            if isinstance(frame, Shown):
                self._pages.screens.confirm(visitor.address.chat, frame.n)
        said = [frame for frame in frames if isinstance(frame, Say | Press)]
        taken, wait_s = self._let_through(said, visitor.address.chat, address)
        if said and not taken:
            _too_many(TOO_MANY, wait_s)
        if taken:
            try:
                await self._take(address, visitor, taken)
            except NotPersisted:
                _not_now("the store takes no messages just now")
        body: Frame = {"taken": [frame.id for frame in taken]}
        if wait_s:
            rest = [frame.id for frame in said[len(taken) :]]
            body = {**body, "not_taken": list(rest), "again_after_s": wait_s, "reason": TOO_MANY}
        return _json(body)

    def _let_through(self, said: Sequence[Say | Press], chat: str, address: str) -> tuple[Sequence[Say | Press], int]:
        """As many as the bounds let in, from the first on, and the seconds that the rest has to wait."""
        for count in range(len(said)):
            if wait_s := self._bounds.say(chat, address):
                return said[:count], wait_s
        return said, 0


async def _frames_of(request: web.Request) -> Sequence[Hello | Say | Press | Shown]:
    if request.content_type != "application/json":
        raise web.HTTPUnsupportedMediaType(text="JSON is taken here\n")
    try:
        return read_frames(await request.read())
    except BadFrame as error:
        raise web.HTTPBadRequest(text=f"{error}\n") from None


def _json(body: Frame) -> web.Response:
    return web.Response(body=orjson.dumps(body), content_type="application/json", headers={"Cache-Control": "no-store"})


def _not_now(why: str) -> NoReturn:
    raise web.HTTPServiceUnavailable(text=f"{why}\n", headers={"Retry-After": str(OFFER_AGAIN_S)})


def _too_many(why: str, wait_s: int) -> NoReturn:
    raise web.HTTPTooManyRequests(text=f"{why}; again in {wait_s} s\n", headers={"Retry-After": str(wait_s)})


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
