"""`TelegramSimulator`: a Telegram on the loopback interface, with people in it.

The real SDK talks to `base_url` unmodified. The person's side is called in process (`say`, `edit`, `shown` ...) or
from another process over /sim/ (see `control`). What is simulated, and how faithfully: `checks`, `updates`, `methods`.
"""

from aiohttp import web

from channels.simulators.shared.server import LOOPBACK, Served
from channels.simulators.telegram.botapi import BotApi
from channels.simulators.telegram.control import TelegramControl
from channels.simulators.telegram.hooks import HookMethods, Pusher
from channels.simulators.telegram.methods import Methods
from channels.simulators.telegram.simulated import SimulatedTelegram


class TelegramSimulator(Served[int], SimulatedTelegram):
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
        self._control = TelegramControl(self)
        self._host, self._port = host, port

    async def _work(self) -> None:
        await self._pusher.run()

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.raw_path.startswith("/sim/"):
            return await self._control.handle(request)
        return await self._bot_api.handle(request)
