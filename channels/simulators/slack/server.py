"""`SlackSimulator`: a Slack on the loopback interface, with people in it.

The real SDK talks to `base_url` unmodified. The person's side is called in process (`say`, `edit`, `shown` ...) or
from another process over /sim/. What is simulated, and how faithfully: `checks`, `methods`, `sockets`.

    POST   /sim/say      {"chat": "D1", "text": "hi", "person"?, "thread"?} -> {"message_id": "1700000000.000001"}
                         or a list of such objects -> a list of such answers
    POST   /sim/edit     {"chat": "D1", "message_id": "…", "text": "ho"}     also /sim/delete
    POST   /sim/command  {"chat": "D1", "text": "/log 45m guitar", "person"?}
    POST   /sim/press    {"chat": "D1", "message_id": "…", "data": "yes"}
    POST   /sim/person   {"person": "U1", "text": "Ann", "locale"?: "es-ES"}   what somebody is called, their language
    POST   /sim/app      {"bot_token"?, "app_token"?, "signing_secret"?, "webhook_url"?,
                          "scopes"?: "chat:write,…"}
    POST   /sim/socket   {"data": "refresh" | "close" | "abort"}
    GET    /sim/shown?chat=D1                  the chat as people see it
    GET    /sim/history?chat=D1&after=0&wait_s=5   calls that arrived; waits for one when there is none yet
    POST   /sim/faults   [{"kind": "cut", "method": "chat.postMessage", "applied": true, "times": 2}, ...]
    GET    /sim/faults   {"hits": 3};   DELETE /sim/faults ends the script
    GET    /sim/status   sockets, what waits for an acknowledgement, pings

Errors are answered 400 with {"error": "..."}.
"""

from collections.abc import Callable
from dataclasses import asdict

from aiohttp import web
from pydantic import JsonValue

from channels.simulators.shared.control import Control, ControlOrder, Endpoints, Query
from channels.simulators.shared.server import LOOPBACK, Served
from channels.simulators.slack.checks import JsonObject
from channels.simulators.slack.faults import Fault
from channels.simulators.slack.methods import ChatMethods
from channels.simulators.slack.posting import RETRY_AFTER_S
from channels.simulators.slack.reading import ReadingMethods
from channels.simulators.slack.simulated import SimulatedSlack
from channels.simulators.slack.state import APP_TOKEN, BOT_TOKEN, SCOPES, SIGNING_SECRET, StoredFile
from channels.simulators.slack.streaming import StreamMethods
from channels.simulators.slack.webapi import WebApi


class _Order(ControlOrder):
    """What a control call may carry; each endpoint takes what it needs."""

    chat: str = ""
    text: str = ""
    person: str | None = None
    thread: str | None = None
    message_id: str = ""
    data: str = ""
    bot_token: str = BOT_TOKEN
    app_token: str = APP_TOKEN
    signing_secret: str = SIGNING_SECRET
    webhook_url: str = ""
    scopes: str = SCOPES
    locale: str = ""


class SlackControl(Control[_Order, Fault, str]):
    """Answers /sim/..."""

    def __init__(self, simulator: SimulatedSlack) -> None:
        self._simulator = simulator
        orders: dict[str, Callable[[_Order], JsonValue]] = {
            "say": self._say,
            "edit": lambda order: simulator.edit(order.chat, order.message_id, order.text),
            "delete": lambda order: simulator.delete(order.chat, order.message_id),
            "command": self._command,
            "press": self._press,
            "person": lambda order: simulator.add_person(order.person or "U1", order.text, locale=order.locale),
            "app": self._app,
            "socket": self._socket,
        }
        views: dict[str, Callable[[Query], object]] = {"shown": self._messages, "status": lambda _: self._status()}
        super().__init__(simulator, simulator.faults, Endpoints(_Order, orders, views, str))

    def _say(self, order: _Order) -> JsonValue:
        ts = self._simulator.say(order.chat, order.text, person=order.person, thread=order.thread)
        return {"message_id": ts}

    def _command(self, order: _Order) -> JsonValue:
        command, _, text = order.text.partition(" ")
        self._simulator.command(order.chat, command, text, person=order.person)
        return None

    def _press(self, order: _Order) -> JsonValue:
        self._simulator.press(order.chat, order.message_id, order.data, person=order.person)
        return None

    def _app(self, order: _Order) -> JsonValue:
        app = self._simulator.add_app(order.bot_token, order.app_token, order.signing_secret)
        app.webhook_url = order.webhook_url
        app.scopes = order.scopes
        return {"team": app.team, "user": app.user}

    def _socket(self, order: _Order) -> JsonValue:
        sockets = self._simulator.sockets
        {"refresh": sockets.refresh, "close": sockets.close_all, "abort": sockets.abort_all}[order.data]()
        return None

    def _messages(self, query: Query) -> object:
        return [
            _as_shown_json(asdict(message)) | {"streaming": message.streaming}
            for message in self._simulator.messages_in(query["chat"])
        ]

    def _status(self) -> JsonObject:
        sockets = self._simulator.sockets
        pings: list[JsonValue] = list(self._simulator.pings())
        return {
            "sockets": sockets.connected,
            "connections": sockets.connections,
            "waiting": len(sockets.open),
            "lost": len(sockets.lost),
            "pings": pings,
            "faults_hit": self._simulator.faults.hits(),
        }


def _as_shown_json(message: dict[str, object]) -> dict[str, object]:
    """A shown message as JSON, under the names every simulator has."""
    reactions = message["reactions"]
    named = {name: sorted(who) for name, who in reactions.items()} if isinstance(reactions, dict) else {}
    return message | {"message_id": message["ts"], "reactions": named}


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
