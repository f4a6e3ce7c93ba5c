"""The person's side over HTTP, so that another process can drive the simulator.

    POST   /sim/say      {"chat": 1, "text": "hi", "person"?, "reply_to"?, "thread"?, "bot"?} -> {"message_id": 7}
                         or a list of such objects -> a list of such answers
    POST   /sim/edit     {"chat": 1, "message_id": 7, "text": "ho"}
    POST   /sim/press    {"chat": 1, "message_id": 8, "data": "yes"} -> {"id": "..."}
    POST   /sim/block    {"chat": 1}          also /sim/unblock
    POST   /sim/bots     {"token": "1:abc", "username"?}
    GET    /sim/shown?chat=1                  the chat as the person sees it
    GET    /sim/history?chat=1&after=0&wait_s=5   calls that arrived; waits for one when there is none yet
    POST   /sim/faults   [{"kind": "cut", "method": "sendMessage", "applied": true, "times": 2}, ...]
    GET    /sim/faults   {"hits": 3};   DELETE /sim/faults ends the script
    GET    /sim/status   bots, their menus, what waits for them

Errors are answered 400 with {"error": "..."}.
"""

from collections.abc import Callable
from dataclasses import asdict

import orjson
from aiohttp import web
from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError

from channels.telegram.simulator.checks import JsonObject, Refusal
from channels.telegram.simulator.faults import parse_script
from channels.telegram.simulator.simulated import SimulatedTelegram
from channels.telegram.simulator.state import Arrived

MAX_WAIT_S = 60.0


class _Order(BaseModel):
    """What a control call may carry; each endpoint takes what it needs."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    chat: int = 0
    text: str = ""
    person: int | None = None
    reply_to: int | None = None
    thread: int | None = None
    message_id: int = 0
    data: str = ""
    bot: str | None = None
    token: str = ""
    username: str = "tenk_bot"


class Control:
    """Answers /sim/..."""

    def __init__(self, simulator: SimulatedTelegram) -> None:
        self._simulator = simulator
        self._orders: dict[str, Callable[[_Order], JsonValue]] = {
            "say": self._say,
            "edit": self._edit,
            "press": lambda order: {
                "id": simulator.press(order.chat, order.message_id, order.data, person=order.person)
            },
            "block": lambda order: simulator.block(order.chat, person=order.person, bot=order.bot),
            "unblock": lambda order: simulator.unblock(order.chat, person=order.person, bot=order.bot),
            "bots": self._add_bot,
        }

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """One control call."""
        name = request.path.removeprefix("/sim/")
        try:
            answer = await self._answer(request, name)
        except (ValidationError, LookupError, ValueError, Refusal) as error:
            return _json({"error": f"{name}: {error}"}, status=400)
        return _json(answer)

    async def _answer(self, request: web.BaseRequest, name: str) -> object:
        if name == "faults":
            return await self._faults(request)
        if request.method == "GET":
            return await self._read(request, name)
        if name not in self._orders:
            raise LookupError("no such endpoint")
        body = orjson.loads(await request.read())
        if isinstance(body, list):
            return [self._orders[name](_Order.model_validate(one)) for one in body]
        return self._orders[name](_Order.model_validate(body))

    def _say(self, order: _Order) -> JsonValue:
        message_id = self._simulator.say(
            order.chat,
            order.text,
            person=order.person,
            reply_to=order.reply_to,
            thread=order.thread,
            bot=order.bot,
        )
        return {"message_id": message_id}

    def _edit(self, order: _Order) -> JsonValue:
        self._simulator.edit(order.chat, order.message_id, order.text, bot=order.bot)
        return None

    def _add_bot(self, order: _Order) -> JsonValue:
        return self._simulator.add_bot(order.token, username=order.username).id

    async def _faults(self, request: web.BaseRequest) -> JsonObject:
        faults = self._simulator.faults
        if request.method == "DELETE":
            faults.clear()
        elif request.method == "POST":
            script = orjson.loads(await request.read())
            faults.script(*parse_script(script if isinstance(script, list) else [script]))
        return {"hits": faults.hits()}

    async def _read(self, request: web.BaseRequest, name: str) -> object:
        query = request.query
        if name == "shown":
            return [asdict(message) for message in self._simulator.shown(int(query["chat"]), bot=query.get("bot"))]
        if name == "history":
            chat = int(query["chat"]) if "chat" in query else None
            wait_s = min(float(query.get("wait_s", "0")), MAX_WAIT_S)
            return [asdict(call) for call in await self._history(chat, int(query.get("after", "0")), wait_s)]
        if name == "status":
            return self._status()
        raise LookupError("no such endpoint")

    async def _history(self, chat: int | None, after: int, wait_s: float) -> list[Arrived]:
        """The calls after `after`; waits up to `wait_s` for the first of them."""
        simulator = self._simulator
        try:
            await simulator.until(lambda: bool(simulator.history(chat, after=after)), timeout_s=wait_s)
        except TimeoutError:
            return []
        return simulator.history(chat, after=after)

    def _status(self) -> JsonObject:
        bots: list[JsonValue] = []
        for bot in self._simulator.world.bots.values():
            menus: JsonObject = {language: list(menu) for language, menu in bot.commands.items()}
            polls = bot.updates.polls
            bots.append(
                {"id": bot.id, "username": bot.username, "waiting": len(bot.updates), "polls": polls, "menus": menus}
            )
        return {"bots": bots, "faults_hit": self._simulator.faults.hits()}


def _json(body: object, *, status: int = 200) -> web.Response:
    return web.Response(
        body=orjson.dumps(body, option=orjson.OPT_NON_STR_KEYS), status=status, content_type="application/json"
    )
