"""Every simulator is something that changes and can be waited for, behind an HTTP server on this machine.

Also what a fault makes of an answer: late, cut off, or a proxy's page. Which paths there are, and what is answered, is
each platform's.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from types import TracebackType
from typing import Generic, Self, TypeVar

from aiohttp import StreamReader, web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.http import RawRequestMessage

from channels.simulators.shared.faults import ScriptedFault
from channels.simulators.shared.history import Arrived, CallLog

Id = TypeVar("Id")  # int or str

LOOPBACK = "127.0.0.1"
MAX_REQUEST_BYTES = 64 << 20  # larger ones are cut off; what a platform takes of it is decided by its own checks


class Watched(Generic[Id]):
    """What happened is read back here, and can be waited for."""

    _look_s: float | None = None  # so often `until` looks without having been woken; None: never

    def __init__(self, log: CallLog[Id]) -> None:
        """`log` holds the calls that arrive."""
        self._log = log
        self._changed = asyncio.Event()

    def _notify(self) -> None:
        """Wake who waits for a change."""
        self._changed.set()
        self._changed = asyncio.Event()

    def history(self, chat_id: Id | None = None, *, after: int = 0) -> list[Arrived[Id]]:
        """Every call that arrived (but plain reads), refused ones too; `after` is a `seq`."""
        return self._log.history(chat_id, after=after)

    @property
    def newest_seq(self) -> int:
        """The `seq` of the newest call; 0 before the first."""
        return self._log.newest_seq

    async def until(self, condition: Callable[[], bool], *, timeout_s: float = 30.0) -> None:
        """Wait until `condition()` holds; it is looked at after every change.

        Raises:
            TimeoutError: it never held.
        """
        async with asyncio.timeout(timeout_s):
            while not condition():
                await self._change()

    async def _change(self) -> None:
        """Wait for the next change, or until it is time to look anyway."""
        try:
            async with asyncio.timeout(self._look_s):
                await self._changed.wait()
        except TimeoutError:
            return


class Served(Watched[Id], ABC):
    """A simulator with its server; `async with` starts and stops it."""

    _host = LOOPBACK
    _port = 0  # 0 takes a free one
    _runner: web.ServerRunner | None = None
    _server: web.Server | None = None
    _is_cut = False
    _at_work: asyncio.Task[None] | None = None

    @property
    def base_url(self) -> str:
        """What an adapter gets as `api_base`."""
        return f"http://{self._host}:{self._port}"

    @abstractmethod
    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request."""

    async def _work(self) -> None:
        """What goes on beside the answering, from `start` to `aclose`."""

    @property
    def is_cut(self) -> bool:
        """Whether nobody reaches it over the network just now."""
        return self._is_cut

    def cut_wire(self, *, mended: bool = False) -> None:
        """Cut every connection, and each that is tried, until the same is called with `mended`; people go on here."""
        self._is_cut = not mended
        for connection in self._server.connections if self._server is not None and self._is_cut else ():
            if connection.transport is not None:
                connection.transport.abort()
        self._notify()

    async def _reach(self, request: web.BaseRequest) -> web.StreamResponse:
        """An answer, where there is a wire."""
        if self._is_cut:
            if request.transport is not None:
                request.transport.abort()
            return web.Response(status=503)
        return await self._handle(request)

    async def start(self) -> None:
        """Listen.

        Raises:
            OSError: the port is taken.
        """
        # A call that waits must not hold up the end, hence the short shutdown.
        self._server = web.Server(self._reach, access_log=None, request_factory=_request)
        self._runner = web.ServerRunner(self._server, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, self._host, self._port).start()
        self._port = self._runner.addresses[0][1]
        self._at_work = asyncio.create_task(self._work())  # noqa: TID251  it lives from start to aclose

    async def aclose(self) -> None:
        """Stop listening and cut what is open."""
        if self._at_work is not None:
            self._at_work.cancel()
            await asyncio.wait([self._at_work])
            if not self._at_work.cancelled():
                self._at_work.result()
            self._at_work = None
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


def _request(
    message: RawRequestMessage,
    payload: StreamReader,
    protocol: web.RequestHandler,
    writer: AbstractStreamWriter,
    task: "asyncio.Task[None]",
) -> web.BaseRequest:
    """A request that may bring a file, or one too large to be taken."""
    loop = asyncio.get_running_loop()
    return web.BaseRequest(message, payload, protocol, writer, task, loop, client_max_size=MAX_REQUEST_BYTES)


_PAGE = b"<html><head><title>502 Bad Gateway</title></head><body><h1>502 Bad Gateway</h1></body></html>"


@dataclass(frozen=True, slots=True)
class Answer:
    """What goes back: an HTTP status and a body; `cut` means nothing does."""

    status: int  # 0 when it is cut
    body: bytes
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)
    cut: bool = False
    why: str = ""  # of a refusal, for the history

    def to(self, request: web.BaseRequest) -> web.Response:
        """Answer a request; one that is cut loses its connection."""
        if self.cut:
            if request.transport is not None:
                request.transport.abort()
            return web.Response()
        if self.status == 204:
            return web.Response(status=204, headers=self.headers)
        headers = {"Content-Type": self.content_type, **self.headers}  # exactly this: no charset behind it
        return web.Response(status=self.status, body=self.body, headers=headers)


def of_network(fault: ScriptedFault) -> Answer | None:
    """What a client sees of a fault that lies between it and the platform; None when the platform answers."""
    if fault.kind == "cut":
        return Answer(0, b"", cut=True, why="cut")
    if fault.kind == "html":
        return Answer(502 if fault.status == 500 else fault.status, _PAGE, "text/html", why="html")
    if fault.kind == "raw":
        return Answer(fault.status, fault.body.encode(), headers=fault.headers, why="raw")
    return None


@asynccontextmanager
async def held_up(fault: ScriptedFault | None) -> AsyncIterator[None]:
    """Carry out what is inside late, or at once and end late when the fault is `applied`."""
    delay_s = fault.delay_s if fault is not None and fault.kind == "delay" else 0.0
    late_end = fault is not None and fault.applied
    if delay_s and not late_end:
        await asyncio.sleep(delay_s)
    yield
    if delay_s and late_end:
        await asyncio.sleep(delay_s)
