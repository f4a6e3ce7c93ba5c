"""A simulated platform: its people, its bot, its server on this machine, and its control over HTTP.

What people do and see is alike on all platforms; each has more of its own. Ids are the platform's, numbers or words.
People are named by numbers where all platforms are driven alike: person 7 is the user U7 on Slack.

    POST   /sim/<order>   the arguments of a method of the simulator, or a list of them -> what it returns
    GET    /sim/shown?chat=...&person=...   a chat as that person sees it; without, as everybody does
    GET    /sim/history?chat=...&after=0&wait_s=5   calls that arrived; waits for one when there is none yet
    POST   /sim/faults    a fault or a list of them;   GET: {"hits": 3};   DELETE ends the script
    GET    /sim/status

Errors are answered 400 with {"error": "..."}. A simulator's `orders` are the methods that can be called.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Any, ClassVar, Generic, Protocol, Self

import orjson
from aiohttp import StreamReader, web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.http import RawRequestMessage
from pydantic import ConfigDict, JsonValue, ValidationError, validate_call

from channels.simulators.shared.faults import FaultScript
from channels.simulators.shared.world import Call, Chat, Id, M, Refused, World

LOOPBACK = "127.0.0.1"
MAX_REQUEST_BYTES = 64 << 20  # larger ones are cut off; what a platform takes of it is decided by its own checks
MAX_WAIT_S = 60.0


class Used(Protocol):
    """A command or a press on its way to the gateway."""

    @property
    def acked(self) -> bool:
        """Return True if the gateway has taken it."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A command that the platform keeps as a message like others."""

    message_id: int
    acked: bool = True


class Simulator(ABC, Generic[Id, M]):
    """One platform, its bot and its people; `async with` starts and stops its server."""

    name: ClassVar[str]  # as the gateway's configuration calls it
    title: ClassVar[str]  # as people call it
    orders: ClassVar[tuple[str, ...]]  # methods that can be called over /sim/

    def __init__(self, world: World[Id], faults: FaultScript, *, host: str = LOOPBACK, port: int = 0) -> None:
        """Nothing listens before `async with` (or `start`).

        Args:
            world: what is remembered.
            faults: the script in force.
            host: where to listen; keep it on loopback, /sim/ asks for no password.
            port: 0 takes a free one, and the same one when it starts again.
        """
        self.faults = faults
        self._remembered = world
        self._host, self._port = host, port
        self._runner: web.ServerRunner | None = None
        self._server: web.Server | None = None
        self._at_work: asyncio.Task[None] | None = None
        self._is_cut = False

    @classmethod
    @abstractmethod
    def with_bot(cls) -> Self:
        """Return a simulator that knows a bot."""

    # ------------------------------------------------------------ the server

    @property
    def base_url(self) -> str:
        """Return what an adapter gets as `api_base`."""
        return f"http://{self._host}:{self._port}"

    @abstractmethod
    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer a request of a bot's."""

    async def work(self) -> None:
        """Do what goes on beside the answering, until cancelled."""

    async def start(self) -> None:
        """Listen.

        Raises:
            OSError: the port is taken.
        """
        # A call that waits must not hold up the end, hence the short shutdown.
        self._server = web.Server(self._reach, access_log=None, request_factory=_request)
        self._runner = web.ServerRunner(self._server, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, self._host, self._port).start()
        self._port = self._runner.addresses[0][1]
        self._at_work = asyncio.create_task(self.work())  # noqa: TID251  it lives from start to aclose

    async def aclose(self) -> None:
        """Stop listening and cut what is open."""
        if self._at_work is not None:
            self._at_work.cancel()
            await asyncio.wait([self._at_work])
            if not self._at_work.cancelled():
                self._at_work.result()
            self._at_work = None
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    @property
    def is_cut(self) -> bool:
        """Return True while the wire is cut."""
        return self._is_cut

    def cut_wire(self, *, mended: bool = False) -> None:
        """Cut every connection, and each that is tried, until the wire is `mended`; people go on here."""
        self._is_cut = not mended
        for connection in self._server.connections if self._server is not None and self._is_cut else ():
            if connection.transport is not None:
                connection.transport.abort()
        self._remembered.notify()

    async def _reach(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer, if there is a wire."""
        if self._is_cut:
            if request.transport is not None:
                request.transport.abort()
            return web.Response(status=503)
        return await (self._control(request) if request.path.startswith("/sim/") else self.handle(request))

    # ------------------------------------------------------------ the gateway

    @abstractmethod
    def environment(self) -> Mapping[str, str]:
        """Return the gateway's environment variables with which it comes here; once the server listens."""

    @abstractmethod
    def has_bot(self) -> bool:
        """Return True if a bot is known."""

    @abstractmethod
    def is_connected(self) -> bool:
        """Return True if the gateway listens, as far as the platform can tell."""

    @abstractmethod
    def arrivals(self) -> int:
        """Return how often the gateway has begun to listen; on Telegram each poll counts."""

    @abstractmethod
    def count_unacknowledged(self) -> int:
        """Return how much waits for the gateway's acknowledgement, as far as the platform keeps it."""

    @abstractmethod
    def forget(self) -> None:
        """Keep nothing for a gateway that is away but the chats' histories, if the platform may do that."""

    async def until(self, condition: Callable[[], bool], timeout_s: float = 30.0) -> None:
        """Wait for a change after which `condition()` holds.

        Raises:
            TimeoutError: there was none.
        """
        await self._remembered.until(condition, timeout_s)

    def history(self, chat: Id | None = None, *, after: int = 0) -> list[Call[Id]]:
        """Return the calls that arrived, refused ones too, but no plain reads; `after` is a `seq`."""
        return self._remembered.history(chat, after=after)

    @property
    def newest_seq(self) -> int:
        """Return the `seq` of the newest call; 0 before the first."""
        return self._remembered.newest_seq

    def bot_messages(self, after: int) -> list[M]:
        """Return the bot's messages that calls with a `seq` above `after` sent or changed, as they read now."""
        found: list[M] = []
        for call in self.history(after=after):
            chat = self.find_chat(call.chat_id) if call.applied and call.chat_id is not None else None
            message = chat.messages.get(call.message_id) if chat is not None and call.message_id is not None else None
            if message is not None and message.by_bot:
                found.append(message)
        return found

    # ------------------------------------------------------------ people and chats

    @abstractmethod
    def name_person(self, person: int, name: str) -> None:
        """Give a person a name; others are called by their numbers."""

    @abstractmethod
    def direct(self, person: int) -> Id:
        """Return the chat of a person with the bot alone."""

    @abstractmethod
    def room(self, number: int) -> Id:
        """Return the chat of several people with this number, with the bot in it; make it if it is new."""

    @abstractmethod
    def chats(self) -> Mapping[Id, Chat[Id, M]]:
        """Return every chat there is."""

    def find_chat(self, chat: Id) -> Chat[Id, M] | None:
        """Return a chat, or None."""
        return self.chats().get(chat)

    @property
    @abstractmethod
    def mention(self) -> str:
        """Return how a person addresses the bot in a room."""

    # ------------------------------------------------------------ what they do and see

    @abstractmethod
    def say(self, chat: Id, text: str, *, person: Id | None = None, under: Id | None = None) -> Id:
        """Write; return the message's id.

        Args:
            chat: where.
            text: what.
            person: who; None is the person of a direct chat.
            under: the message that is replied to, or whose thread it belongs into.
        """

    @abstractmethod
    def send_voice(self, chat: Id, content: bytes, seconds: float = 3.0, *, person: Id | None = None) -> Id:
        """Record a voice message, as the platform's own app does; return its id."""

    @abstractmethod
    def send_picture(self, chat: Id, content: bytes, text: str = "", *, person: Id | None = None) -> Id:
        """Send a picture, with words under it or without; return the message's id."""

    @abstractmethod
    def command(self, chat: Id, name: str, text: str = "", *, person: Id | None = None) -> Used:
        """Use a command as the platform has them."""

    def has_command(self, name: str, text: str) -> bool:
        """Return True if the platform itself takes this for a command; else it is a message that begins with "/"."""
        return True

    @abstractmethod
    def press(self, chat: Id, message_id: Id, value: str, *, person: Id | None = None) -> object:
        """Press the button with this value under a message."""

    def edit(self, chat: Id, message_id: Id, text: str) -> None:
        """Change what a person wrote."""
        there = self.chats()[chat]
        message = there.messages[message_id]
        self.change(there, message, text)
        self._remembered.notify()

    @abstractmethod
    def change(self, chat: Chat[Id, M], message: M, text: str) -> None:
        """Change a message, and tell the bot."""

    def delete(self, chat: Id, message_id: Id) -> None:
        """Take back what was written."""
        there = self.chats()[chat]
        self.take_back(there, there.messages[message_id])
        self._remembered.notify()

    @abstractmethod
    def take_back(self, chat: Chat[Id, M], message: M) -> None:
        """Delete a message, and tell the bot if the platform does."""

    def messages(self, chat: Id, person: Id | None = None) -> list[M]:
        """Return what `person` sees of a chat now, in order, without what was deleted; None: what everybody does."""
        there = self.find_chat(chat)
        shown = there.messages.values() if there is not None else ()
        return [message for message in shown if not message.deleted and message.only_for in (None, person)]

    def answers(self, chat: Id, person: Id | None = None) -> list[M]:
        """Return the bot's `messages` that have content."""
        return [message for message in self.messages(chat, person) if message.by_bot and not message.loading]

    def typing(self, chat: Id) -> int:
        """Return how often the bot was seen typing there."""
        there = self.find_chat(chat)
        return 0 if there is None else len(there.typing)

    # ------------------------------------------------------------ over HTTP

    @abstractmethod
    def read_id(self, text: str) -> Id:
        """Return an id out of a query."""

    @abstractmethod
    def status(self) -> object:
        """Return who is connected and what waits, as JSON."""

    async def _control(self, request: web.BaseRequest) -> web.StreamResponse:
        name = request.path.removeprefix("/sim/")
        try:
            answer = await self._answer(request, name)
        except (ValidationError, LookupError, ValueError, Refused) as error:
            return _json({"error": f"{name}: {error}"}, status=400)
        return _json(answer)

    async def _answer(self, request: web.BaseRequest, name: str) -> object:
        if name == "faults":
            return await self._script(request)
        if request.method == "GET" and name == "history":
            return await self._wait_for_calls(request.query)
        if request.method == "GET":
            return self.view(name, request.query)
        if name not in self.orders:
            raise LookupError("no such order")
        order = validate_call(config=ConfigDict(hide_input_in_errors=True))(getattr(self, name))
        body = orjson.loads(await request.read())
        answers = [order(**arguments) for arguments in (body if isinstance(body, list) else [body])]
        told = [answer if isinstance(answer, (int, str)) else None for answer in answers]
        return told if isinstance(body, list) else told[0]

    async def _script(self, request: web.BaseRequest) -> JsonValue:
        if request.method == "DELETE":
            self.faults.clear()
        elif request.method == "POST":
            script = orjson.loads(await request.read())
            self.faults.load(script if isinstance(script, list) else [script])
        return {"hits": self.faults.hits()}

    def view(self, name: str, query: Mapping[str, str]) -> object:
        """Return what is seen under a name, as JSON.

        Raises:
            LookupError: nothing is, or a parameter is missing.
        """
        if name == "status":
            return self.status()
        if name != "shown":
            raise LookupError("no such view")
        person = self.read_id(query["person"]) if "person" in query else None
        return [
            {**orjson.loads(_encode(message)), "buttons": message.buttons, "streaming": message.streaming}
            for message in self.messages(self.read_id(query["chat"]), person)
        ]

    async def _wait_for_calls(self, query: Mapping[str, str]) -> object:
        chat = self.read_id(query["chat"]) if "chat" in query else None
        after, wait_s = int(query.get("after", "0")), min(float(query.get("wait_s", "0")), MAX_WAIT_S)
        with suppress(TimeoutError):
            await self.until(lambda: bool(self.history(chat, after=after)), wait_s)
        return self.history(chat, after=after)


AnySimulator = Simulator[Any, Any]


def _encode(body: object) -> bytes:
    return orjson.dumps(body, default=_as_plain, option=orjson.OPT_NON_STR_KEYS)


def _as_plain(value: object) -> object:
    """Return a set as a list, and of a file's content how many bytes it has."""
    return len(value) if isinstance(value, bytes) else sorted(value) if isinstance(value, set) else str(value)


def _json(body: object, *, status: int = 200) -> web.Response:
    return web.Response(body=_encode(body), status=status, content_type="application/json")


def _request(
    message: RawRequestMessage,
    payload: StreamReader,
    protocol: web.RequestHandler,
    writer: AbstractStreamWriter,
    task: "asyncio.Task[None]",
) -> web.BaseRequest:
    """Return a request that may bring a file, or one too large to be taken."""
    loop = asyncio.get_running_loop()
    return web.BaseRequest(message, payload, protocol, writer, task, loop, client_max_size=MAX_REQUEST_BYTES)
