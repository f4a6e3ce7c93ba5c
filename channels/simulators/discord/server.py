"""`DiscordSimulator`: a Discord on the loopback interface, with people in it.

The real library talks to `base_url` unmodified: REST under /api/v10, the gateway's WebSocket at /gateway, files under
/attachments. The person's side is called in process (`say`, `edit`, `shown` ...) or over /sim/ (see `control`).
"""

from aiohttp import web

from channels.simulators.discord.control import DiscordControl
from channels.simulators.discord.rest import Rest
from channels.simulators.discord.simulated import SimulatedDiscord
from channels.simulators.shared.server import LOOPBACK, Served


class DiscordSimulator(Served[int], SimulatedDiscord):
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
        self._control = DiscordControl(self)
        self._host, self._port = host, port

    async def start(self) -> None:
        """Listen, and tell where.

        Raises:
            OSError: the port is taken.
        """
        await super().start()
        self.gateway.url = self._rest.gateway_url = f"ws://{self._host}:{self._port}/gateway"
        self.operations.cdn_base = self.base_url

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
