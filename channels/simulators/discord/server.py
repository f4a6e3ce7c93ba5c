"""`DiscordSimulator`: a Discord on the loopback interface, with people in it.

The real library talks to `base_url` unmodified: REST under /api/v10, the gateway's WebSocket at /gateway, files under
/attachments. The person's side is called in process (`say`, `edit`, `shown` ...) or over /sim/.

    POST   /sim/say        {"chat": 1, "text": "hi", "person"?, "reply_to"?, "bot"?} -> {"message_id": 7}
                           or a list of such objects -> a list of such answers
    POST   /sim/edit       {"chat": 1, "message_id": 7, "text": "ho"};   POST /sim/delete
    POST   /sim/command    {"chat": 1, "name": "log", "options": {"text": "..."}} -> {"id": "..."}
    POST   /sim/press      {"chat": 1, "message_id": 8, "data": "yes"} -> {"id": "..."}
    POST   /sim/guilds     {"guild": 5, "name"?};   POST /sim/channels {"chat": 50, "guild": 5, "parent"?}
    POST   /sim/block      {"chat": 1}
    POST   /sim/person     {"person": 7, "text": "Ana", "locale"?: "es-ES"}   what somebody is called, their language
    POST   /sim/bots       {"token": "abc"}
    POST   /sim/network    {"do": "reconnect" | "cut" | "invalidate" | "forget", "code"?, "shard"?}
    POST   /sim/shards     {"shards": 4, "max_concurrency"?, "every_s"?}   what GET /gateway/bot says, and is kept to
    GET    /sim/shown?chat=1&person=7         the chat as that person sees it; without, as everybody does
    GET    /sim/history?chat=1&after=0&wait_s=5   calls that arrived; waits for one when there is none yet
    POST   /sim/faults     [{"kind": "cut", "method": "createMessage", "applied": true, "times": 2}, ...]
    GET    /sim/faults     {"hits": 3};   DELETE /sim/faults ends the script
    GET    /sim/status     bots, their commands, their sessions

Errors are answered 400 with {"error": "..."}.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING

from aiohttp import web
from pydantic import Field, JsonValue

from channels.simulators.discord.checks import JsonObject
from channels.simulators.discord.faults import Fault
from channels.simulators.discord.rest import Rest
from channels.simulators.discord.simulated import SimulatedDiscord
from channels.simulators.shared.control import Control, ControlOrder, Endpoints, Query
from channels.simulators.shared.server import LOOPBACK, Served

if TYPE_CHECKING:
    from channels.simulators.discord.state import ShownMessage


class _Order(ControlOrder):
    """What a control call may carry; each endpoint takes what it needs."""

    chat: int = 0
    text: str = ""
    person: int | None = None
    reply_to: int | None = None
    message_id: int = 0
    data: str = ""
    name: str = ""
    options: Mapping[str, JsonValue] = Field(default_factory=dict)
    guild: int = 0
    parent: int | None = None
    do: str = ""
    code: int | None = None
    shard: int | None = None
    shards: int = Field(default=1, ge=1)
    max_concurrency: int = Field(default=1, ge=1)
    every_s: float = 5.0
    bot: str | None = None
    token: str = ""
    locale: str = "en-US"


class DiscordControl(Control[_Order, Fault, int]):
    """Answers /sim/..."""

    def __init__(self, simulator: SimulatedDiscord) -> None:
        self._simulator = simulator
        orders: dict[str, Callable[[_Order], JsonValue]] = {
            "say": self._say,
            "edit": lambda order: simulator.edit(order.chat, order.message_id, order.text),
            "delete": lambda order: simulator.delete(order.chat, order.message_id),
            "command": self._command,
            "press": self._press,
            "guilds": lambda order: simulator.add_guild(order.guild, order.name or "Guild").id,
            "channels": self._add_channel,
            "person": self._add_person,
            "block": lambda order: simulator.block(order.chat),
            "bots": lambda order: simulator.add_bot(order.token).id,
            "network": self._network,
            "shards": self._shards,
        }
        views: dict[str, Callable[[Query], object]] = {"shown": self._list_shown, "status": lambda _: self._status()}
        super().__init__(simulator, simulator.faults, Endpoints(_Order, orders, views, int))

    def _add_person(self, order: _Order) -> JsonValue:
        person = order.person or 0
        return self._simulator.add_person(person, order.text or f"Person {person}", locale=order.locale).id

    def _say(self, order: _Order) -> JsonValue:
        said = self._simulator.say(order.chat, order.text, person=order.person, reply_to=order.reply_to, bot=order.bot)
        return {"message_id": said}

    def _command(self, order: _Order) -> JsonValue:
        used = self._simulator.command(order.chat, order.name, order.options, person=order.person, bot=order.bot)
        return {"id": str(used.id)}

    def _press(self, order: _Order) -> JsonValue:
        pressed = self._simulator.press(order.chat, order.message_id, order.data, person=order.person, bot=order.bot)
        return {"id": str(pressed.id)}

    def _add_channel(self, order: _Order) -> JsonValue:
        if order.parent is not None:
            return self._simulator.add_thread(order.chat, order.parent).id
        return self._simulator.add_channel(order.chat, order.guild, name=order.name or "general").id

    def _network(self, order: _Order) -> JsonValue:
        match order.do:
            case "reconnect":
                self._simulator.ask_reconnect(bot=order.bot, shard=order.shard)
            case "cut":
                self._simulator.close_sockets(order.code, bot=order.bot, shard=order.shard)
            case "invalidate":
                self._simulator.invalidate(bot=order.bot, shard=order.shard)
            case "forget":
                self._simulator.forget_sessions(bot=order.bot, shard=order.shard)
            case _:
                raise LookupError("do is one of reconnect, cut, invalidate, forget")
        return None

    def _shards(self, order: _Order) -> JsonValue:
        limit = self._simulator.world.bot(order.bot).sessions.limit
        limit.shards, limit.max_concurrency, limit.every_s = order.shards, order.max_concurrency, order.every_s
        return None

    def _list_shown(self, query: Query) -> object:
        by = int(query["person"]) if "person" in query else None
        return [_as_json(message) for message in self._simulator.messages_in(int(query["chat"]), by)]

    def _status(self) -> JsonObject:
        bots: list[JsonValue] = []
        for bot in self._simulator.world.bots.values():
            sessions = bot.sessions
            names: list[JsonValue] = [command["name"] for command in bot.commands]
            status: JsonObject = {
                "id": bot.id,
                "username": bot.name,
                "connected": sessions.connected,
                "commands": names,
            }
            shards: list[JsonValue] = [f"{number}/{count}" for number, count in sessions.standing]
            starts: JsonObject = {"identifies": sessions.identifies, "resumes": sessions.resumes}
            bots.append(status | starts | {"too_quick": sessions.too_quick, "shards": shards})
        return {"bots": bots, "faults_hit": self._simulator.faults.hits()}


def _as_json(message: "ShownMessage") -> dict[str, object]:
    """A message as JSON; files by their names."""
    return {
        "message_id": message.message_id,
        "chat_id": message.chat_id,
        "sender_id": message.sender_id,
        "by_bot": message.by_bot,
        "text": message.text,
        "reply_to": message.reply_to,
        "loading": message.loading,
        "only_for": message.only_for,
        "edits": [asdict(edit) for edit in message.edits],
        "reactions": {str(who): sorted(emoji) for who, emoji in message.reactions.items()},
        "files": [file.name for file in message.files],
        "pings": list(message.pings),
        "components": message.components,
        "at_s": message.at_s,
    }


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
