"""The person's side over HTTP, so that another process can drive the simulator.

    POST   /sim/say      {"chat": 1, "text": "hi", "person"?, "reply_to"?, "thread"?, "bot"?} -> {"message_id": 7}
                         or a list of such objects -> a list of such answers
    POST   /sim/edit     {"chat": 1, "message_id": 7, "text": "ho"}
    POST   /sim/file     {"chat": 1, "kind": "document", "content": "<base64>", "name"?, "mime"?, "text"?, "album"?,
                          "person"?, "reply_to"?, "thread"?} -> {"message_id": 7};   kind: photo | document | voice
    POST   /sim/press    {"chat": 1, "message_id": 8, "data": "yes"} -> {"id": "..."}
    POST   /sim/block    {"chat": 1}          also /sim/unblock
    POST   /sim/chats    {"chat": -100500, "kind": "supergroup", "title"?, "forum"?}
    POST   /sim/migrate  {"chat": -5, "new_chat": -1000000000005, "person": 7}
    POST   /sim/bots     {"token": "1:abc", "username"?}
    GET    /sim/shown?chat=1                  the chat as the person sees it
    GET    /sim/draft?chat=1                  the answer that is being written; null when none shows
    GET    /sim/history?chat=1&after=0&wait_s=5   calls that arrived; waits for one when there is none yet
    POST   /sim/faults   [{"kind": "cut", "method": "sendMessage", "applied": true, "times": 2}, ...]
    GET    /sim/faults   {"hits": 3};   DELETE /sim/faults ends the script
    GET    /sim/status   bots, their menus, what waits for them

Errors are answered 400 with {"error": "..."}.
"""

from collections.abc import Callable
from dataclasses import asdict
from typing import Literal

import orjson
from aiohttp import web
from pydantic import Base64Bytes, BaseModel, ConfigDict, JsonValue, ValidationError

from channels.telegram.simulator.checks import JsonObject, Refusal
from channels.telegram.simulator.faults import parse_script
from channels.telegram.simulator.simulated import SimulatedTelegram
from channels.telegram.simulator.state import Arrived, ChatType, FileKind, PersonFile

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
    kind: Literal["photo", "document", "voice", "group", "supergroup", "channel"] = "document"
    content: Base64Bytes = b""
    name: str = ""
    mime: str = ""
    album: str | None = None
    title: str | None = None
    forum: bool = False
    new_chat: int = 0


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
            "file": self._send_file,
            "chats": self._add_chat,
            "migrate": self._migrate,
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

    def _send_file(self, order: _Order) -> JsonValue:
        if order.kind not in {"photo", "document", "voice"}:
            raise ValueError(f"{order.kind} is no kind of file")
        kind: FileKind = "photo" if order.kind == "photo" else "voice" if order.kind == "voice" else "document"
        file = PersonFile(kind, order.content, order.name, order.mime, order.album)
        message_id = self._simulator.send_file(
            order.chat,
            file,
            caption=order.text,
            person=order.person,
            reply_to=order.reply_to,
            thread=order.thread,
            bot=order.bot,
        )
        return {"message_id": message_id}

    def _add_chat(self, order: _Order) -> JsonValue:
        kind: ChatType = "group" if order.kind == "group" else "channel" if order.kind == "channel" else "supergroup"
        return self._simulator.add_chat(order.chat, kind, title=order.title, forum=order.forum, bot=order.bot).id

    def _migrate(self, order: _Order) -> JsonValue:
        self._simulator.migrate(order.chat, order.new_chat, person=order.person or 1, bot=order.bot)
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
        if name == "draft":
            draft = self._simulator.draft(int(query["chat"]), bot=query.get("bot"))
            return None if draft is None else asdict(draft)
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
            bots.append(
                {
                    "id": bot.id,
                    "username": bot.username,
                    "waiting": len(bot.updates),
                    "polls": bot.updates.polls,
                    "menus": menus,
                    "webhook": None if bot.webhook is None else bot.webhook.url,
                }
            )
        return {"bots": bots, "faults_hit": self._simulator.faults.hits()}


def _json(body: object, *, status: int = 200) -> web.Response:
    return web.Response(
        body=orjson.dumps(body, option=orjson.OPT_NON_STR_KEYS), status=status, content_type="application/json"
    )
