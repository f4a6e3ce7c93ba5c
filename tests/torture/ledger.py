"""A count of effects on the outside world: an HTTP service that is never killed, and the tools that call it."""

import asyncio
import os
from collections import Counter
from collections.abc import Mapping

import aiohttp
from aiohttp import web
from pydantic import BaseModel

from agent.tools.base import Effect, ToolContext, tool

FELL = 139
"""The status of a process that died of a tool, as of a fault in native code."""


class Ledger:
    """A list of effects and their authors. An idempotent effect counts once a key; repeats are noted."""

    def __init__(self) -> None:
        self.noted: Counter[str] = Counter()  # deeds by ref, each key once
        self.repeats: Counter[str] = Counter()  # requests beyond the first of a key, by ref
        self.paid: Counter[str] = Counter()  # every request, by ref
        self.keys: dict[str, str] = {}  # key -> ref
        self.port = 0
        self._runner: web.AppRunner | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def start(self) -> None:
        """Listen on a free port."""
        app = web.Application()
        app.router.add_post("/note_down", self._note_down)
        app.router.add_post("/pay", self._pay)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.port = self._runner.addresses[0][1]

    async def aclose(self) -> None:
        """Stop listening."""
        if self._runner is not None:
            await self._runner.cleanup()

    async def _note_down(self, request: web.Request) -> web.Response:
        asked = await request.json()
        if asked["key"] in self.keys:
            self.repeats[asked["ref"]] += 1
        else:
            self.keys[asked["key"]] = asked["ref"]
            self.noted[asked["ref"]] += 1
        await asyncio.sleep(0.01)
        return web.json_response({"noted": self.noted[asked["ref"]]})

    async def _pay(self, request: web.Request) -> web.Response:
        asked = await request.json()
        self.paid[asked["ref"]] += 1
        await asyncio.sleep(0.01)
        return web.json_response({"paid": True})


class Deed(BaseModel):
    """Arguments of both tools."""

    ref: str


class LedgerTools:
    """A tortured gateway's tools beside the coach's own."""

    def __init__(self, url: str = "") -> None:
        self._url = url or os.environ["TORTURE_LEDGER"]

    @tool(Deed, effect=Effect.IDEMPOTENT)
    async def note_down(self, context: ToolContext, arguments: Deed) -> object:
        """Note a deed down; the same key again changes nothing."""
        return await self._post("note_down", {"ref": arguments.ref, "key": context.call_key})

    @tool(Deed, effect=Effect.UNSAFE)
    async def pay(self, context: ToolContext, arguments: Deed) -> object:
        """Pay; every request pays again."""
        return await self._post("pay", {"ref": arguments.ref})

    @tool(Deed, effect=Effect.IDEMPOTENT)
    async def fall(self, context: ToolContext, arguments: Deed) -> object:
        """Take the whole process along, each time it is tried."""
        os._exit(FELL)

    async def _post(self, what: str, asked: Mapping[str, str]) -> object:
        async with aiohttp.ClientSession() as session, session.post(f"{self._url}/{what}", json=asked) as answer:
            return await answer.json()
