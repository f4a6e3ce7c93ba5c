"""A browser page and a terminal as their channels meet them: they reconnect, offer again, keep what they are shown."""

import asyncio
import contextlib
import json
import secrets
from abc import ABC, abstractmethod
from typing import Any

import aiohttp

from channels.messages import Address, OutboundPart

AGAIN_S = 0.03


async def nothing_unread(_address: Address) -> list[OutboundPart]:
    """Say that nothing was said while no terminal was open."""
    return []


class FakeView(ABC):
    """The shared part of page and terminal: everything but the connection."""

    def __init__(self) -> None:
        self.unsent: dict[str, dict[str, Any]] = {}  # said and not taken, in order
        self.shown: dict[str, dict[str, Any]] = {}  # our messages by id, as they stand
        self.frames: list[dict[str, Any]] = []  # everything that was told
        self.wanted = asyncio.Event()  # cleared: it stays away
        self.wanted.set()
        self.away = asyncio.Event()  # set while there is no connection
        self.away.set()
        self._held = asyncio.Event()  # set: what is said waits for the next offer
        self._socket: aiohttp.ClientWebSocketResponse | None = None

    async def run(self) -> None:
        """Connect again and again until cancelled, while it is wanted."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._offer_again())
            await self._come_and_go()

    async def _offer_again(self) -> None:
        while True:
            await self._held.wait()
            await asyncio.sleep(AGAIN_S)
            self._held.clear()
            with contextlib.suppress(OSError, aiohttp.ClientError):  # the next connection begins with all of it
                for frame in list(self.unsent.values()):
                    await self.send(frame)

    async def _come_and_go(self) -> None:
        while True:
            await self.wanted.wait()
            try:
                await self.connected()
            except (OSError, aiohttp.ClientError):
                pass
            finally:
                self.away.set()
            await asyncio.sleep(AGAIN_S)

    @abstractmethod
    async def connected(self) -> None:
        """Connect, and `converse` until the connection ends."""

    async def converse(self, http: aiohttp.ClientSession, url: str) -> None:
        """Call `begin`, hear until the connection ends."""
        async with http.ws_connect(url) as self._socket:
            await self.begin()
            async for message in self._socket:
                await self.hear(json.loads(message.data))
        self._socket = None

    async def send(self, frame: dict[str, Any]) -> None:
        """Send one frame, or drop it where there is no connection."""
        if self._socket is not None and not self._socket.closed:
            await self._socket.send_json(frame)

    async def leave(self) -> None:
        """Close it, until `wanted` is set again."""
        self.wanted.clear()
        if self._socket is not None:
            await self._socket.close()
        await self.away.wait()

    async def begin(self) -> None:
        self.away.clear()
        await self.send({"type": "hello"})
        for frame in list(self.unsent.values()):
            await self.send(frame)

    async def say(self, text: str, id_: str | None = None) -> str:
        """Say something; it is offered until it is taken."""
        frame = {"type": "say", "id": id_ or secrets.token_hex(8), "text": text}
        self.unsent[frame["id"]] = frame
        if not self._held.is_set():
            await self.send(frame)
        return frame["id"]

    async def hear(self, frame: dict[str, Any]) -> None:
        """Take one frame."""
        self.frames.append(frame)
        match frame["type"]:
            case "taken":
                for id_ in frame["ids"]:
                    self.unsent.pop(id_, None)
            case "not_taken":
                self._held.set()
            case "history":
                for one in frame["messages"]:
                    self._keep(one)
            case "message":
                self._keep(frame)
            case "buttons":
                self._keep(self.shown.get(frame["message"], {"type": "unknown"}) | {"buttons": frame["buttons"]})

    def _keep(self, frame: dict[str, Any]) -> None:
        if frame["type"] == "message":
            self.shown[frame["id"]] = frame

    def told(self, kind: str) -> list[dict[str, Any]]:
        """Return every frame of a kind."""
        return [frame for frame in self.frames if frame["type"] == kind]

    async def until(self, condition: Any) -> None:
        """Wait until `condition()` holds, ten seconds at most."""
        async with asyncio.timeout(30):
            while not condition():
                await asyncio.sleep(0.005)


class FakePage(FakeView):
    """A browser with one tab, which keeps its cookie."""

    def __init__(
        self, url: str, *, language: str = "en-GB,en;q=0.9", cookies: aiohttp.abc.AbstractCookieJar | None = None
    ) -> None:
        super().__init__()
        self.url = url
        self.http = aiohttp.ClientSession(
            cookie_jar=aiohttp.CookieJar(unsafe=True) if cookies is None else cookies,
            headers={"Accept-Language": language},
        )
        self.chat = ""

    async def connected(self) -> None:
        async with self.http.post(f"{self.url}web/session") as answer:
            answer.raise_for_status()
            self.chat = (await answer.json())["chat"]
        await self.converse(self.http, f"{self.url}web/ws")


class FakeTerminal(FakeView):
    """A terminal on the control socket."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self._path = path

    async def connected(self) -> None:
        async with aiohttp.ClientSession(connector=aiohttp.UnixConnector(self._path)) as http:
            await self.converse(http, "http://localhost/console")
