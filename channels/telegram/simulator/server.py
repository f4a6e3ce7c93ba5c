"""`TelegramSimulator`: a Telegram on the loopback interface, with people in it.

The real SDK talks to `base_url` unmodified. The person's side is called in process (`say`, `edit`, `shown` ...) or
from another process over /sim/ (see `control`). What is simulated, and how faithfully: `checks`, `updates`, `methods`.
"""

import asyncio
from types import TracebackType
from typing import Self

from aiohttp import StreamReader, web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.http import RawRequestMessage

from channels.telegram.simulator.botapi import BotApi
from channels.telegram.simulator.control import Control
from channels.telegram.simulator.hooks import HookMethods
from channels.telegram.simulator.methods import Methods
from channels.telegram.simulator.pushing import Pusher
from channels.telegram.simulator.simulated import SimulatedTelegram

LOOPBACK = "127.0.0.1"
MAX_REQUEST_BYTES = 60_000_000  # a file of 50 MB and what goes with it


class TelegramSimulator(SimulatedTelegram):
    """A simulated Telegram; `async with` starts and stops its server."""

    def __init__(
        self,
        *,
        host: str = LOOPBACK,
        port: int = 0,
        any_token: bool = False,
        throttled: bool = True,
        per_chat_per_s: float | None = None,
        webhook_time_scale: float = 1.0,
    ) -> None:
        """Nothing listens before `async with` (or `start`).

        Args:
            host: where to listen; keep it on loopback, the control endpoints ask for no password.
            port: 0 takes a free one.
            any_token: an unknown token becomes a bot on first use; otherwise it is answered 401.
            throttled: keep Telegram's brake on polls that repeat an offset within 3 s.
            per_chat_per_s: sends to one chat above this end in 429; None lets all pass.
            webhook_time_scale: shortens the waits between attempts at a webhook; 0.001 makes milliseconds of seconds.
        """
        super().__init__(any_token=any_token, throttled=throttled)
        self._pusher = Pusher(self.faults, self._notify, time_scale=webhook_time_scale)
        self.world.pushed = self._pusher.wake
        methods = Methods(self.world, HookMethods(self._pusher.hook_changed), per_chat_per_s=per_chat_per_s)
        self._bot_api = BotApi(self.world, methods, self.faults, self._notify)
        self._control = Control(self)
        self._host, self._port = host, port
        self._runner: web.ServerRunner | None = None
        self._pushing: asyncio.Task[None] | None = None

    @property
    def base_url(self) -> str:
        """What an adapter gets as `api_base`."""
        return f"http://{self._host}:{self._port}"

    async def start(self) -> None:
        """Listen.

        Raises:
            OSError: the port is taken.
        """
        # A poll that waits must not hold up the end, hence the short shutdown.
        server = web.Server(self._handle, access_log=None, request_factory=_request)
        self._runner = web.ServerRunner(server, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, self._host, self._port).start()
        self._port = self._runner.addresses[0][1]
        self._pushing = asyncio.create_task(self._pusher.run())  # noqa: TID251  it lives from start to aclose

    async def aclose(self) -> None:
        """Stop listening and cut what is open."""
        if self._pushing is not None:
            self._pushing.cancel()
            await asyncio.wait([self._pushing])
            if not self._pushing.cancelled():
                self._pushing.result()
            self._pushing = None
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
        if request.raw_path.startswith("/sim/"):
            return await self._control.handle(request)
        return await self._bot_api.handle(request)


def _request(
    message: RawRequestMessage,
    payload: StreamReader,
    protocol: web.RequestHandler,
    writer: AbstractStreamWriter,
    task: "asyncio.Task[None]",
) -> web.BaseRequest:
    """A request that may bring a file."""
    return web.BaseRequest(
        message, payload, protocol, writer, task, asyncio.get_running_loop(), client_max_size=MAX_REQUEST_BYTES
    )
