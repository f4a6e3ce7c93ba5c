"""`DiscordSimulator`: a Discord on the loopback interface, with people in it.

The real library talks to `base_url` unmodified: REST under /api/v10, the gateway's WebSocket at /gateway, files under
/attachments. The person's side is called in process (`say`, `edit`, `shown` ...) or over /sim/ (see `control`).
"""

import asyncio
from types import TracebackType
from typing import Self

from aiohttp import StreamReader, web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.http import RawRequestMessage

from channels.discord.simulator.control import Control
from channels.discord.simulator.rest import Rest
from channels.discord.simulator.simulated import SimulatedDiscord

LOOPBACK = "127.0.0.1"
MAX_REQUEST_BYTES = 64 << 20  # larger ones are cut off; what Discord takes is decided in `checks`


class DiscordSimulator(SimulatedDiscord):
    """A simulated Discord; `async with` starts and stops its server."""

    def __init__(
        self,
        *,
        host: str = LOOPBACK,
        port: int = 0,
        any_token: bool = False,
        bucket: tuple[int, float] | None = None,
    ) -> None:
        """Nothing listens before `async with` (or `start`).

        Args:
            host: where to listen; keep it on loopback, the control endpoints ask for no password.
            port: 0 takes a free one.
            any_token: an unknown token becomes a bot on first use; otherwise it is answered 401.
            bucket: so many messages in so many seconds pass in one channel, then 429; None lets all pass.
        """
        super().__init__(any_token=any_token, bucket=bucket)
        self._rest = Rest(self.world, self.operations, self.interactions, self.faults, self._notify)
        self._control = Control(self)
        self._host, self._port = host, port
        self._runner: web.ServerRunner | None = None

    @property
    def base_url(self) -> str:
        """What an adapter gets as `api_base`."""
        return f"http://{self._host}:{self._port}"

    async def start(self) -> None:
        """Listen.

        Raises:
            OSError: the port is taken.
        """
        # A connection that stands must not hold up the end, hence the short shutdown.
        server = web.Server(self._handle, access_log=None, request_factory=_request)
        self._runner = web.ServerRunner(server, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, self._host, self._port).start()
        self._port = self._runner.addresses[0][1]
        self.gateway.url = self._rest.gateway_url = f"ws://{self._host}:{self._port}/gateway"
        self.operations.cdn_base = self.base_url

    async def aclose(self) -> None:
        """Stop listening and cut what is open."""
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

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        path = request.path
        if path.startswith("/sim/"):
            return await self._control.handle(request)
        if path.rstrip("/") == "/gateway" and "upgrade" in request.headers.get("Connection", "").lower():
            return await self.gateway.handle(request)
        if path.startswith("/attachments/"):
            return self._file(path)
        return await self._rest.handle(request)

    def _file(self, path: str) -> web.StreamResponse:
        """A file of the CDN."""
        number = path.split("/")[3] if path.count("/") >= 3 else ""
        file = self.world.files.get(int(number)) if number.isdigit() else None
        if file is None:
            return web.Response(status=404, text="This content is no longer available.")
        return web.Response(body=file.content, content_type=file.mime)


def _request(
    message: RawRequestMessage,
    payload: StreamReader,
    protocol: web.RequestHandler,
    writer: AbstractStreamWriter,
    task: "asyncio.Task[None]",
) -> web.BaseRequest:
    """A request that may be as large as a file that is refused."""
    loop = asyncio.get_running_loop()
    return web.BaseRequest(message, payload, protocol, writer, task, loop, client_max_size=MAX_REQUEST_BYTES)
