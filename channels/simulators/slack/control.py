"""The person's side over HTTP, so that another process can drive the simulator.

    POST   /sim/say      {"chat": "D1", "text": "hi", "person"?, "thread"?} -> {"message_id": "1700000000.000001"}
                         or a list of such objects -> a list of such answers
    POST   /sim/edit     {"chat": "D1", "message_id": "…", "text": "ho"}     also /sim/delete
    POST   /sim/command  {"chat": "D1", "text": "/log 45m guitar", "person"?}
    POST   /sim/press    {"chat": "D1", "message_id": "…", "data": "yes"}
    POST   /sim/person   {"person": "U1", "text": "Ann"}   what somebody is called
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

from pydantic import JsonValue

from channels.simulators.shared.control import Control, ControlOrder, Endpoints, Query
from channels.simulators.slack.checks import JsonObject
from channels.simulators.slack.faults import Fault
from channels.simulators.slack.simulated import SimulatedSlack
from channels.simulators.slack.state import APP_TOKEN, BOT_TOKEN, SCOPES, SIGNING_SECRET


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
            "person": lambda order: simulator.add_person(order.person or "U1", order.text),
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
