"""The playground: the stage with two people on each platform, on a page where their chats are played.

It runs in a process of its own, beside the gateway that it starts, so that a player can kill the gateway.
"""

import asyncio
import mimetypes
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from importlib.resources import files
from typing import Any, Literal
from urllib.parse import urlsplit

import orjson
from aiohttp import web
from aiohttp.typedefs import Handler
from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from channels.simulators.shared.simulator import AnySimulator
from channels.simulators.shared.world import AnyMessage
from channels.web.attached import picture_type
from channels.web.page_files import HEADERS
from gateway.demo.chat import BOT, is_whole
from gateway.demo.marks import as_read
from gateway.demo.stage import DISCORD_ROOM, SLACK_ROOM, TELEGRAM_ROOM, Stage, StoryBroken
from gateway.demo.story import CODE, SENDER
from gateway.errors import GatewayError

PATH, PORT, HOST = "/playground", 8084, "127.0.0.1"
NAMES = {1: "Ann", 2: "Ben"}  # Ann becomes the owner
PLACES = ("direct", "room")
WORDS_PER_S = 14.0  # the offline coach: slowly enough to be killed in the middle of a sentence
SHOWN_MESSAGES, SHOWN_CALLS = 80, 40
LET_IN_S = 30.0
LIMIT_S = 5  # how long a platform tells the gateway to wait
LOOK_S = 0.15  # between two looks for a change
MAX_BODY_BYTES = 64_000

_FILES = {PATH: "index.html", f"{PATH}/playground.css": "playground.css", f"{PATH}/playground.js": "playground.js"}
_HEADERS = HEADERS | {"Cache-Control": "no-store"}
_ROOMS = {"telegram": TELEGRAM_ROOM, "discord": DISCORD_ROOM, "slack": SLACK_ROOM}
_SENDS = {"telegram": "sendMessage", "discord": "createMessage", "slack": "chat.postMessage"}
_LIMITED: Mapping[str, Mapping[str, JsonValue]] = {
    "telegram": {"kind": "status", "status": 429},
    "discord": {"kind": "status", "status": 429},
    "slack": {"kind": "error", "error": "ratelimited"},
}


class Order(BaseModel):
    """An action on the page; each kind takes the fields that it needs."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    do: Literal["say", "press", "cut", "mend", "lose", "limit", "kill", "start"]
    platform: Literal["telegram", "discord", "slack"] = "telegram"
    place: Literal["direct", "room"] = "direct"
    person: Literal[1, 2] = 1
    text: str = Field(default="", max_length=8_000)
    message: str = Field(default="", max_length=64)
    value: str = Field(default="", max_length=4_000)
    mention: bool = True  # begin a message in a room with the bot's name


async def serve(port: int, show: Callable[[str], None], *, attached: bool = False) -> None:
    """Serve until cancelled, or, if `attached`, until our parent closes our standard input.

    Raises:
        GatewayError: the port is taken.
    """
    async with Stage() as stage:
        playground = Playground(stage)
        runner = web.AppRunner(playground.application(), access_log=None, shutdown_timeout=1.0)
        await runner.setup()
        try:
            await web.TCPSite(runner, HOST, port).start()
            show(f"Playground: http://{HOST}:{runner.addresses[0][1]}{PATH}")
            async with asyncio.TaskGroup() as tasks:
                running = tasks.create_task(playground.run())
                if attached:
                    await _input_ends()
                    running.cancel()
        except OSError as error:
            raise GatewayError(f"port {port} cannot be used ({error.strerror}); give another with --port") from error
        finally:
            await runner.cleanup()


async def _input_ends() -> None:
    reader, loop = asyncio.StreamReader(), asyncio.get_running_loop()
    transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    with closing(transport):
        await reader.read()


@web.middleware
async def _guard(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Refuse pages of other sites, also under a rebound name."""
    name = origin = None
    with suppress(ValueError):
        name = urlsplit(f"//{request.host}").hostname
        origin = urlsplit(request.headers.get("Origin", f"http://{request.host}")).netloc
    if name not in {HOST, "localhost"} or origin != request.host:
        raise web.HTTPForbidden(text="this is served to this machine alone\n")
    return await handler(request)


async def _page_file(request: web.Request) -> web.Response:
    name = _FILES[request.path]
    content = (files("gateway.demo") / "page" / name).read_bytes()
    return web.Response(body=content, content_type=mimetypes.guess_type(name)[0], charset="utf-8", headers=_HEADERS)


async def _no_icon(_request: web.Request) -> web.Response:
    return web.Response(status=204)


class Playground:
    """Three platforms, two people on each, and a gateway between them that can be killed."""

    def __init__(self, stage: Stage) -> None:
        """Take an open stage on which no gateway runs yet."""
        self._stage = stage
        self._sides: dict[str, AnySimulator] = {name: getattr(stage, name) for name in _ROOMS}
        self._authors: dict[tuple[str, Any], int] = {}  # platform and message -> person
        self._gateway, self._problem = "starting", ""
        self._epoch_s = time.time() - time.monotonic()
        for side in stage.platforms:
            for person, name in NAMES.items():
                side.name_person(person, name)

    def application(self) -> web.Application:
        """Return the page, its files, the events of its state, and its actions."""
        application = web.Application(middlewares=[_guard], client_max_size=MAX_BODY_BYTES)
        for path in _FILES:
            application.router.add_get(path, _page_file)
        application.router.add_get("/favicon.ico", _no_icon)
        application.router.add_get(f"{PATH}/events", self._events)
        application.router.add_get(f"{PATH}/file", self._file)
        application.router.add_get(f"{PATH}/log", self._log)
        application.router.add_post(f"{PATH}/act", self._act)
        return application

    # ------------------------------------------------------------ the gateway

    async def run(self) -> None:
        """Start the gateway, let Ann in as its owner on every platform, and note if it ends by itself."""
        await self._start()
        try:
            if not self._problem:
                await self._let_owner_in()
        except StoryBroken as error:
            self._problem = str(error)
        while True:
            if self._gateway == "running" and not self._stage.is_running:
                self._gateway, self._problem = "ended", "The gateway ended by itself; its log says why."
            await asyncio.sleep(0.2)

    async def _start(self) -> None:
        self._gateway, self._problem = "starting", ""
        try:
            await self._stage.start(WORDS_PER_S)
        except* StoryBroken as errors:
            self._problem = str(errors.exceptions[0])
        self._gateway = "running" if self._stage.is_running else "ended"

    async def _let_owner_in(self) -> None:
        """Approve Ann on each platform; the first approval makes her owner there, `tenk users role` on the others.

        She asks everywhere first: without an owner, the bot asks no owner about her.
        """
        codes = []
        for side in self._stage.platforms:
            chat = side.direct(1)
            self._say(side, chat, 1, "Hello! It is me, Ann.")
            with suppress(TimeoutError):
                await side.until(lambda side=side, chat=chat: bool(_code_in(side, chat)), LET_IN_S)  # type: ignore[misc]  # mypy takes no defaults here
            if not (code := _code_in(side, chat)):
                raise StoryBroken(f"Ann was given no code on {side.title}")
            codes.append(code)
        for number, code in enumerate(codes):
            sender = SENDER.search(await self._stage.tenk("pairing", "approve", code))
            if number and sender is not None:
                await self._stage.tenk("users", "role", sender[1], "owner")

    # ------------------------------------------------------------ actions

    async def _act(self, request: web.Request) -> web.Response:
        """Carry out one order; answer 400 if it is malformed, 409 if it cannot be carried out."""
        if request.content_type != "application/json":
            raise web.HTTPUnsupportedMediaType(text="JSON is taken here\n")
        try:
            refusal = await self._carry_out(Order.model_validate_json(await request.read()))
        except ValidationError as error:
            fields = ", ".join(".".join(map(str, problem["loc"])) for problem in error.errors(include_url=False))
            raise web.HTTPBadRequest(text=f"not an order of the playground: look at {fields or 'the JSON'}\n") from None
        if refusal:
            raise web.HTTPConflict(text=f"{refusal}\n")
        return web.Response(status=204)

    async def _carry_out(self, order: Order) -> str:
        """Carry out an order. Return why it cannot be, or ""."""
        side = self._sides[order.platform]
        match order.do:
            case "kill":
                self._gateway = "killing"
                await self._stage.kill()
                self._gateway = "killed"
            case "start" if self._stage.is_running or self._gateway == "starting":
                return "The gateway runs."
            case "start":
                await self._start()
            case "say":
                return self._talk(side, order)
            case "press":
                return self._press(side, order)
            case "cut" | "mend":
                side.cut_wire(mended=order.do == "mend")
            case "lose":
                side.faults.load([{"kind": "cut", "method": _SENDS[side.name], "applied": True}])
            case "limit":
                side.faults.load([{"method": _SENDS[side.name], "retry_after_s": LIMIT_S, **_LIMITED[side.name]}])
        return ""

    def _talk(self, side: AnySimulator, order: Order) -> str:
        text = order.text.strip()
        if not text:
            return "There is nothing to say."
        chat = self._chat(side, order.place, order.person)
        name, _, rest = text.removeprefix("/").partition(" ")
        if not (text.startswith("/") and side.has_command(name, rest)):
            mention = f"{side.mention} " if order.place == "room" and order.mention else ""
            self._say(side, chat, order.person, mention + text)
            return ""
        try:
            side.command(chat, name, rest.strip(), person=order.person)
        except LookupError as error:
            return f"{side.title} says: {error}"
        return ""

    def _say(self, side: AnySimulator, chat: Any, person: int, text: str) -> None:
        self._authors[side.name, side.say(chat, text, person=person)] = person

    def _press(self, side: AnySimulator, order: Order) -> str:
        found = _find(self._messages(side, order.place, order.person), order.message)
        if found is None or order.value not in {value for _, value in found.buttons}:
            return "That button is gone."
        side.press(found.chat_id, found.message_id, order.value, person=order.person)
        return ""

    # ------------------------------------------------------------ what the page shows

    async def _events(self, request: web.Request) -> web.StreamResponse:
        """Send the whole state each time that it changes, as server-sent events."""
        answer = web.StreamResponse(headers=_HEADERS | {"Content-Type": "text/event-stream"})
        await answer.prepare(request)
        shown = b""
        while True:
            pid = self._stage.pid if self._stage.is_running else None
            state = orjson.dumps(
                {
                    "gateway": {"state": self._gateway, "problem": self._problem, "pid": pid},
                    "platforms": [self._platform(side) for side in self._sides.values()],
                }
            )
            if state != shown:
                shown = state
                await answer.write(b"data: " + state + b"\n\n")
            await asyncio.sleep(LOOK_S)

    async def _file(self, request: web.Request) -> web.Response:
        """Send a file of a message: a picture, or bytes that a browser does not run."""
        query = request.query
        side, number = self._sides.get(query.get("platform", "")), query.get("n", "")
        views = [self._messages(side, place, person) for place in PLACES for person in NAMES] if side else []
        found = _find([message for view in views for message in view], query.get("message", ""))
        file = {str(at): each for at, each in enumerate(found.files)}.get(number) if found else None
        if file is None:
            raise web.HTTPNotFound
        safe = picture_type(file.content) or "application/octet-stream"
        return web.Response(body=file.content, content_type=safe, headers=_HEADERS)

    async def _log(self, _request: web.Request) -> web.Response:
        return web.Response(text=self._stage.log_tail(), headers=_HEADERS)

    def _platform(self, side: AnySimulator) -> JsonValue:
        return {
            "name": side.name,
            "title": side.title,
            "connected": self._stage.is_running and not side.is_cut and side.is_connected(),
            "cut": side.is_cut,
            "waiting": side.count_unacknowledged(),
            "views": {
                f"{place}-{person}": [self._message(side, seen) for seen in self._messages(side, place, person)]
                for place in PLACES
                for person in NAMES
            },
            "calls": [
                {
                    "n": call.seq, "at": self._ms(call.at_s), "method": call.method, "status": call.status,
                    "applied": call.applied, "text": (call.text or "")[:160], "why": call.description[:120],
                }
                for call in side.history(after=side.newest_seq - SHOWN_CALLS)
            ],
        }  # fmt: skip

    def _message(self, side: AnySimulator, seen: AnyMessage) -> JsonValue:
        message = as_read(seen)
        author = NAMES.get(self._authors.get((side.name, message.message_id), 0), "")
        return {
            "id": str(message.message_id),
            "bot": message.by_bot,
            "who": BOT if message.by_bot else author,
            "text": message.text if message.entities else message.text.replace(side.mention, f"@{BOT}"),
            "looks": list(message.entities or ()),
            "reaction": message.reaction,
            "private": message.private,
            "thread": message.thread is not None,
            "growing": message.by_bot and not is_whole(message),
            "buttons": [list(button) for button in message.buttons],
            "files": [
                {
                    "name": file.name or file.kind,
                    "bytes": len(file.content),
                    "picture": picture_type(file.content) is not None,
                }
                for file in message.files
            ],
            "at": self._ms(message.at_s),
        }

    def _messages(self, side: AnySimulator, place: str, person: int) -> Sequence[AnyMessage]:
        return side.messages(self._chat(side, place, person), person)[-SHOWN_MESSAGES:]

    def _chat(self, side: AnySimulator, place: str, person: int) -> Any:
        return side.direct(person) if place == "direct" else side.room(_ROOMS[side.name])

    def _ms(self, at_s: float) -> int:
        """Return milliseconds since 1970, as browsers count."""
        return int((at_s + self._epoch_s) * 1000)


def _find(messages: Sequence[AnyMessage], message_id: str) -> AnyMessage | None:
    return next((message for message in messages if str(message.message_id) == message_id), None)


def _code_in(side: AnySimulator, chat: Any) -> str:
    codes = (CODE.search(as_read(message).text) for message in side.answers(chat))
    return next((found[0] for found in codes if found), "")
