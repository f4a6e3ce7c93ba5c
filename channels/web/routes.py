"""The HTTP side of the web chat: the page, a WebSocket, and server-sent events with POST if that is blocked.

The HTTP server checks Host, Origin and the size of bodies.
"""

import asyncio
import contextlib
import re
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import NoReturn

import orjson
from aiohttp import web

from channels.base import HttpRoute, NotPersisted
from channels.viewers.viewer_frames import (
    MAX_SAID_CHARS,
    AnyFrame,
    BadFrame,
    HelloFrame,
    PersonFrame,
    read_frames,
)
from channels.viewers.viewer_hub import Frame, Viewer
from channels.viewers.viewer_socket import OFFER_AGAIN_S, WRITE_S, ViewerSocket
from channels.web.bounds import BODY_COST, address_of, frames_in
from channels.web.device_routes import DeviceRoutes
from channels.web.file_routes import FileRoutes
from channels.web.open_pages import Caller, OpenPages, visitor_of
from channels.web.page_files import PageFiles, PageTexts
from channels.web.past_messages import PastMessages
from channels.web.visitor import Identities, locale_of

MAX_BODY_BYTES = 1_000_000  # assumed size of a body of unknown length; the server accepts no more

PING_S = 30.0

TOO_MANY = "too many messages; they wait here and are sent by and by"

_ID = re.compile(r"[0-9a-f-]{36}\Z")


class PageRoutes:
    """The HTTP side of one web chat."""

    def __init__(
        self,
        pages: OpenPages,
        identities: Identities,
        texts: PageTexts,
        title: str,
        past_messages: PastMessages,
        file_routes: FileRoutes,
        devices: DeviceRoutes,
    ) -> None:
        self._file_routes = file_routes
        self._devices = devices
        self._past_messages = past_messages
        self._pages = pages
        self._identities = identities
        self._title = title
        self._files = PageFiles(texts, title)

    def table(self) -> Sequence[HttpRoute]:
        """Return all routes."""
        return (
            *[HttpRoute("GET", path, self._files.answer) for path in self._files.paths],
            HttpRoute("POST", "/web/session", self._session),
            HttpRoute("GET", "/web/file", self._file),
            HttpRoute("POST", "/web/upload", self._upload),
            HttpRoute("POST", "/web/device", self._devices.answer),
            HttpRoute("GET", "/web/conversations", self._conversations),
            HttpRoute("GET", "/web/conversation", self._conversation),
            HttpRoute("GET", "/web/ws", self._socket),
            HttpRoute("GET", "/web/events", self._events),
            HttpRoute("POST", "/web/messages", self._messages),
        )

    # ------------------------------------------------------------ identity

    async def _session(self, request: web.Request) -> web.Response:
        """Return the browser's identity; create one if it has none.

        A cookie of SameSite=Strict is not sent when a link elsewhere opens the page, but with the page's own requests:
        so identities are created here and not with the page.
        """
        self._must_run()
        identity = self._identities.of(request)
        body: Frame = {"title": self._title, "max_chars": MAX_SAID_CHARS}
        if identity is None:
            self._count(address_of(request.remote))
            if self._identities.was_signed_out(request):
                body = {**body, "signed_out": True}
            identity = self._identities.make()
        elif not identity.device and self._identities.is_known(identity.chat):
            self._count(address_of(request.remote))
            identity = self._identities.add_device(identity.secret)
        with contextlib.suppress(NotPersisted):  # recorded the next time
            await self._devices.note(identity, request)
        answer = _json({**body, "chat": identity.chat})
        if identity.fresh:
            self._identities.give(answer, identity, request)
        return answer

    def _must_run(self) -> None:
        if self._pages.inbox.sink is None:
            _not_now("the web chat does not run yet")

    def _count(self, address: str, cost: float = 1.0) -> None:
        """Count a request for its address."""
        if wait_s := self._pages.bounds.count_request(address, cost):
            _too_many("too many requests", wait_s)

    def _chat(self, request: web.Request) -> str:
        """Return the chat of the requesting browser."""
        self._must_run()
        identity = self._identities.of(request)
        if identity is None:
            raise web.HTTPUnauthorized(text="ask /web/session first\n")
        return identity.chat

    def _caller(self, request: web.Request) -> Caller:
        return Caller(visitor_of(self._chat(request), locale_of(request)), address_of(request.remote))

    async def _file(self, request: web.Request) -> web.Response:
        return await self._file_routes.give(self._chat(request), request, locale_of(request))

    async def _upload(self, request: web.Request) -> web.Response:
        return await self._file_routes.upload(self._caller(request), request)

    # ------------------------------------------------------------ earlier messages

    async def _welcome(self, viewer: Viewer, locale: str | None) -> None:
        """Send an open page its first frames, without earlier messages if the store does not answer."""
        try:
            messages = await self._past_messages.recent(viewer.chat)
        except NotPersisted:
            messages = []
        self._pages.welcome(viewer, locale, messages)

    async def _conversations(self, request: web.Request) -> web.Response:
        chat = self._asked_before(request)
        try:
            return _json({"conversations": await self._past_messages.conversations(chat)})
        except NotPersisted:
            _not_now("the store cannot be asked just now")

    async def _conversation(self, request: web.Request) -> web.Response:
        chat, id_ = self._asked_before(request), request.query.get("id", "")
        try:
            found = await self._past_messages.conversation(chat, id_) if _ID.match(id_) else ()
        except NotPersisted:
            _not_now("the store cannot be asked just now")
        return _json({"messages": [dict(frame) for frame in found]})

    def _asked_before(self, request: web.Request) -> str:
        """Return the requesting person's chat, and count the request."""
        caller = self._caller(request)
        self._count(caller.address)
        return caller.chat

    # ------------------------------------------------------------ WebSocket, or server-sent events and POST

    async def _socket(self, request: web.Request) -> web.StreamResponse:
        caller = self._caller(request)
        self._count(caller.address)
        return await PageSocket(self._pages, caller, self._welcome).serve(request)

    async def _events(self, request: web.Request) -> web.StreamResponse:
        caller, pages = self._caller(request), self._pages
        self._count(caller.address)
        viewer = pages.slots.open(caller.chat, caller.address)
        if viewer is None:
            _not_now("too many pages are open")
        try:
            answer = web.StreamResponse(
                headers={"Content-Type": "text/event-stream", "Cache-Control": "no-store", "X-Accel-Buffering": "no"}
            )
            await answer.prepare(request)
            await self._welcome(viewer, caller.visitor.locale)
            await _write_events(answer, viewer)
        finally:
            self._pages.slots.leave(viewer)
        return answer

    async def _messages(self, request: web.Request) -> web.Response:
        caller = self._caller(request)
        size_bytes = MAX_BODY_BYTES if request.content_length is None else request.content_length
        self._count(caller.address, BODY_COST * frames_in(size_bytes))
        frames = await _frames_of(request)
        said = [frame for frame in frames if isinstance(frame, PersonFrame)]
        taken, wait_s = self._pages.accept(caller, said)
        if said and not taken:
            _too_many(TOO_MANY, wait_s)
        if taken:
            try:
                await self._pages.receive(caller, taken)
            except NotPersisted:
                _not_now("the store takes no messages just now")
        body: Frame = {"taken": [frame.id for frame in taken]}
        if wait_s:
            rest = [frame.id for frame in said[len(taken) :]]
            body = {**body, "not_taken": list(rest), "again_after_s": wait_s, "reason": TOO_MANY}
        return _json(body)


async def _frames_of(request: web.Request) -> Sequence[AnyFrame]:
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


async def _write_events(answer: web.StreamResponse, viewer: Viewer) -> None:
    """Send frames until the view is closed or the page is gone; comments keep the connection alive."""
    try:
        while not viewer.closed:
            try:
                async with asyncio.timeout(PING_S):
                    frame = await viewer.next()
            except TimeoutError:
                piece = b": still here\n\n"
            else:
                piece = b"data: " + orjson.dumps(frame) + b"\n\n"
            async with asyncio.timeout(WRITE_S):
                await answer.write(piece)
    except (ConnectionError, TimeoutError):
        viewer.close()


class PageSocket(ViewerSocket):
    """A page's WebSocket within the limits on strangers."""

    ping_s = PING_S

    def __init__(
        self, pages: OpenPages, caller: Caller, welcome: Callable[[Viewer, str | None], Awaitable[None]]
    ) -> None:
        super().__init__(pages.hub, caller.chat, partial(pages.receive, caller))
        self._pages = pages
        self._caller = caller
        self._limit = pages.bounds.connection()
        self._welcome = welcome
        self._greeted = False

    def open(self) -> Viewer | None:
        return self._pages.slots.open(self._caller.chat, self._caller.address)

    def leave(self, viewer: Viewer) -> None:
        self._pages.slots.leave(viewer)

    def exceeds_limit(self, size_bytes: int) -> bool:
        return self._limit.acquire("", frames_in(size_bytes)) > 0

    async def accepts(self, viewer: Viewer, frame: PersonFrame | HelloFrame) -> bool:
        """Accept frames within the limits; answer the first hello with the earlier messages."""
        if isinstance(frame, HelloFrame):
            if self._greeted:
                return False
            self._greeted = True
            await self._welcome(viewer, self._caller.visitor.locale)
            return True
        _, wait_s = self._pages.accept(self._caller, [frame])
        if wait_s:
            viewer.push({"type": "not_taken", "ids": [frame.id], "again_after_s": wait_s, "reason": TOO_MANY})
        return not wait_s
