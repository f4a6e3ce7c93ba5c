"""`SlackSimulator`: a Slack on the loopback interface, with people in it.

The real SDK talks to `base_url` unmodified. The person's side is called in process (`say`, `edit`, `shown` ...) or
from another process over /sim/ (see `control`). What is simulated, and how faithfully: `checks`, `methods`, `sockets`.
"""

from aiohttp import web

from channels.simulators.shared.server import LOOPBACK, Served
from channels.simulators.slack.checks import JsonObject
from channels.simulators.slack.control import SlackControl
from channels.simulators.slack.methods import ChatMethods
from channels.simulators.slack.posting import RETRY_AFTER_S
from channels.simulators.slack.reading import ReadingMethods
from channels.simulators.slack.simulated import SimulatedSlack
from channels.simulators.slack.state import StoredFile
from channels.simulators.slack.streaming import StreamMethods
from channels.simulators.slack.webapi import WebApi


class SlackSimulator(Served[str], SimulatedSlack):
    """A simulated Slack; `async with` starts and stops its server."""

    def __init__(
        self,
        *,
        host: str = LOOPBACK,
        port: int = 0,
        any_token: bool = False,
        per_chat_per_s: float | None = None,
        keys_count: bool = True,
        redeliver_after_s: float = 3.0,
        hold_s: float = 60.0,
        retry_after_s: tuple[float, ...] = RETRY_AFTER_S,
    ) -> None:
        """Nothing listens before `async with` (or `start`).

        Args:
            host: where to listen; keep it on loopback, the control endpoints ask for no password.
            port: 0 takes a free one.
            any_token: the first bot token that calls becomes the app's; otherwise it is answered invalid_auth.
            per_chat_per_s: posts to one chat above this end in 429; None lets all pass.
            keys_count: a repeated `client_msg_id` is said once. What a real Slack does is told nowhere; without it
                only a look into the history keeps an answer from being said twice.
            redeliver_after_s: an envelope not acknowledged for so long is delivered again.
            hold_s: an envelope that finds no socket for so long is lost.
            retry_after_s: waits before each retry of an event posted over HTTP.
        """
        super().__init__(redeliver_after_s=redeliver_after_s, hold_s=hold_s, retry_after_s=retry_after_s)
        chats = ChatMethods(self.world, per_chat_per_s=per_chat_per_s, keys_count=keys_count)
        self._reading = ReadingMethods(self.world, chats, lambda: self.base_url)
        self._api = WebApi(
            self.world,
            self.faults,
            self._notify,
            chats=chats,
            streams=StreamMethods(self.world, chats),
            reading=self._reading,
            open_socket=lambda: f"ws://{self._host}:{self._port}/link/?ticket={self.sockets.ticket()}",
            any_token=any_token,
        )
        self._control = SlackControl(self)
        self._host, self._port = host, port

    def file_json(self, file: StoredFile) -> JsonObject:
        """A file as messages carry it."""
        return self._reading.as_file(file)

    async def _work(self) -> None:
        await self.poster.run()

    async def aclose(self) -> None:
        """Stop listening and cut what is open, the sockets first."""
        self.sockets.aclose()
        self.sockets.abort_all()
        await super().aclose()

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        first = request.path.split("/")[1]
        handler = {
            "api": self._api.handle,
            "link": self.sockets.handle,
            "hooks": self._api.respond,
            "upload": self._api.upload,
            "files-pri": self._api.download,
            "sim": self._control.handle,
        }.get(first)
        if handler is None:
            return web.Response(status=404)
        return await handler(request)
