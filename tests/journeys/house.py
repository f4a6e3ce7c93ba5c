"""The real gateway in this process, between the simulated Telegram and a model server."""

import asyncio
import json
from collections import ChainMap
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from agent.tools.base import Tool
from channels.simulators.telegram.server import TelegramSimulator
from channels.simulators.telegram.state import ShownMessage
from gateway.operators.client import call
from gateway.store.engine import Store
from gateway.testing.gateway import TestGateway
from gateway.testing.model import Reply
from tests.fakes.fresh_database import copy_fresh
from tests.fakes.model_server import ModelServer

TOKEN = "4711:JOURNEY-made-up-token"
WAIT_S = 30.0

CONFIG = """
[http]
listen = "127.0.0.1:0"
[delivery]
typing_after_s = 0.05
placeholder_after_s = 0.2
reaction_after_s = 0.3
[channels.telegram.main]
poll_timeout_s = 5
"""


@dataclass(frozen=True, slots=True)
class House:
    """A running gateway, its platform and its model server."""

    telegram: TelegramSimulator
    model: ModelServer
    store: Store
    home: Path

    @property
    def sim(self) -> TelegramSimulator:
        return self.telegram

    def texts(self, chat: int) -> list[str]:
        """Return what the bot has said in a chat, as it reads now."""
        return [shown.text for shown in self.sim.answers(chat)]

    async def until(self, condition: Callable[[], bool], what: str) -> None:
        """Wait for something that people see.

        Raises:
            AssertionError: it did not come; says what it was and what is seen instead.
        """
        try:
            async with asyncio.timeout(WAIT_S):
                while not condition():
                    await asyncio.sleep(0.01)
        except TimeoutError:
            seen = {chat: self.texts(chat) for chat in self.sim.world.bot().chats}
            raise AssertionError(f"{what} did not come; seen: {seen}") from None

    async def told(self, chat: int, words: str) -> ShownMessage:
        """Wait until the bot has said something with these words in a chat."""
        await self.until(lambda: any(words in text for text in self.texts(chat)), f"{words!r} in {chat}")
        return next(shown for shown in self.sim.answers(chat) if words in shown.text)

    async def asked(self, count: int = 1) -> None:
        """Wait until the model has had so many requests."""
        await self.until(lambda: len(self.model.requests) >= count, f"request {count} of the model")

    async def operator(self, request: str, given: Mapping[str, Any] | None = None, *, tenant: str | None = None) -> Any:
        """Ask over the control socket, as another process of the operator does."""
        return await call(self.home / "control.sock", request, given, tenant=tenant, timeout_s=WAIT_S)

    async def rows(self, query: str) -> list[dict[str, Any]]:
        """Return rows of the store, for what people cannot see."""
        statement = sa.text(query)
        return await self.store.read(lambda connection: [dict(row) for row in connection.execute(statement).mappings()])

    async def settled(self) -> None:
        """Wait until everything that came in has its outcome and everything to be said was said."""
        async with asyncio.timeout(WAIT_S):
            while await self._open():
                await asyncio.sleep(0.01)

    async def _open(self) -> bool:
        if len(self.sim.world.bot().updates):
            return True
        query = (
            "SELECT (SELECT count(*) FROM inbox WHERE outcome IS NULL)"
            " + (SELECT count(*) FROM outbox WHERE state IN ('ready', 'sending')) AS open"
        )
        return bool((await self.rows(query))[0]["open"])


@asynccontextmanager
async def house(
    directory: Path,
    *,
    access: str = "open",
    model: str | None = "openai:journey",
    config: str = "",
    environ: dict[str, str] | None = None,
    show: Callable[[str], None] | None = None,
    tools: Sequence[Tool] = (),
    bots: Sequence[str] = (),
) -> AsyncIterator[House]:
    """Run a gateway; `model` None is the offline coach, `config` and `environ` are added to its own.

    A reload reads the file, and `environ`, as they are then.

    `show` is its terminal, `tools` stand beside the coach's, `bots` are tokens that the simulator knows beside its own.
    """
    ours = {"TENK_ACCESS": access, "OPENAI_API_KEY": "sk-journey"}
    if model is not None or "[model]" not in config:
        ours["TENK_MODEL"] = model or "offline"
    telegram = TelegramSimulator.with_bot(token=TOKEN)
    for token in bots:
        telegram.add_bot(token, username=f"bot{token.partition(':')[0]}")
    if not (database := directory / "home" / "tenk.db").exists() and "DATABASE_URL" not in (environ or {}):
        await copy_fresh(database)  # a second house in a directory is the next start of the first
    given = ChainMap({} if environ is None else environ, ours)
    async with ModelServer() as server:
        made = TestGateway(
            CONFIG + config, (telegram,), directory=directory, environ=given, tools=tools, model=server, show=show
        )
        async with made:
            yield House(telegram, server, made.store, made.home)


def slow(text: str, seconds: float = 1.0) -> Reply:
    """Return an answer that takes its time to be written."""
    size = max(1, len(text) // 20)
    return Reply(text, chunk_chars=size, chunk_delay_s=seconds / 20)


def said(body: dict[str, Any]) -> list[str]:
    """Return what the model was told that people said, oldest first."""
    return [str(message["content"]) for message in body["messages"] if message["role"] == "user"]


def results(here: House) -> list[dict[str, Any]]:
    """Return what the model read of its last calls."""
    messages = here.model.requests[-1].body["messages"]
    return [json.loads(message["content"]) for message in messages if message["role"] == "tool"]
