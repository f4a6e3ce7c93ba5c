"""`TelegramSimulator`: a Telegram on the loopback interface, with people in it.

The real SDK talks to `base_url` unmodified. The person's side is called in process (`say`, `edit`, `shown` ...) or
from another process over /sim/. What is simulated, and how faithfully: `checks`, `updates`, `methods`.

    POST   /sim/say      {"chat": 1, "text": "hi", "person"?, "reply_to"?, "thread"?, "bot"?} -> {"message_id": 7}
                         or a list of such objects -> a list of such answers
    POST   /sim/edit     {"chat": 1, "message_id": 7, "text": "ho"}
    POST   /sim/file     {"chat": 1, "kind": "document", "content": "<base64>", "name"?, "mime"?, "text"?, "album"?,
                          "person"?, "reply_to"?, "thread"?} -> {"message_id": 7};   kind: photo | document | voice
    POST   /sim/press    {"chat": 1, "message_id": 8, "data": "yes"} -> {"id": "..."}
    POST   /sim/block    {"chat": 1}          also /sim/unblock
    POST   /sim/person   {"person": 1, "text": "Ana", "locale"?: "es"}   what somebody is called, their language
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

from aiohttp import web
from pydantic import Base64Bytes, JsonValue

from channels.simulators.shared.control import Control, ControlOrder, Endpoints, Query
from channels.simulators.shared.server import LOOPBACK, Served
from channels.simulators.telegram.botapi import BotApi
from channels.simulators.telegram.checks import JsonObject
from channels.simulators.telegram.faults import Fault
from channels.simulators.telegram.hooks import HookMethods, Pusher
from channels.simulators.telegram.methods import Methods
from channels.simulators.telegram.simulated import SimulatedTelegram
from channels.simulators.telegram.state import ChatType, FileKind, PersonFile


class _Order(ControlOrder):
    """What a control call may carry; each endpoint takes what it needs."""

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
    locale: str | None = None


class TelegramControl(Control[_Order, Fault, int]):
    """Answers /sim/..."""

    def __init__(self, simulator: SimulatedTelegram) -> None:
        self._simulator = simulator
        orders: dict[str, Callable[[_Order], JsonValue]] = {
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
            "person": self._add_person,
            "migrate": self._migrate,
        }
        views: dict[str, Callable[[Query], object]] = {
            "shown": self._messages,
            "draft": self._draft,
            "status": lambda _: self._status(),
        }
        super().__init__(simulator, simulator.faults, Endpoints(_Order, orders, views, int))

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

    def _add_person(self, order: _Order) -> JsonValue:
        person = order.person or order.chat
        return self._simulator.add_person(person, order.text or f"Person {person}", language_code=order.locale).id

    def _migrate(self, order: _Order) -> JsonValue:
        self._simulator.migrate(order.chat, order.new_chat, person=order.person or 1, bot=order.bot)
        return None

    def _add_bot(self, order: _Order) -> JsonValue:
        return self._simulator.add_bot(order.token, username=order.username).id

    def _messages(self, query: Query) -> object:
        return [asdict(message) for message in self._simulator.messages_in(int(query["chat"]), bot=query.get("bot"))]

    def _draft(self, query: Query) -> object:
        draft = self._simulator.draft(int(query["chat"]), bot=query.get("bot"))
        return None if draft is None else asdict(draft)

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
