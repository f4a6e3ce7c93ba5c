"""A Discord bot after a long absence: people who are let in get their answers, however many strangers wrote."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from channels.simulators.discord.server import DiscordSimulator
from gateway.app import Gateway
from gateway.config.settings import load
from gateway.operators.client import call
from gateway.store.engine import Store

TOKEN = "made-up.token.for-a-journey"
LET_IN = range(1_001, 1_031)
STRANGERS = range(5_001, 5_631)
FEW = STRANGERS[:60]
NEW = 7_001
CONFIG = f"""
[http]
listen = "127.0.0.1:0"
[access.accounts."discord:main"]
allow = {[f"discord:{person}" for person in LET_IN]}
[channels.web]
enabled = false
"""


class Bot:
    def __init__(self, directory: Path, sim: DiscordSimulator) -> None:
        self.sim = sim
        file = directory / "gateway.toml"
        file.write_text(CONFIG)
        ours = {"DISCORD_BOT_TOKEN": TOKEN, "DISCORD_API_BASE": sim.base_url, "TENK_MODEL": "offline"}
        self.settings = load(file, ours | {"TENK_HOME": str(directory / "home")})
        self.settings.home.mkdir(mode=0o700, exist_ok=True)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Store]:
        store = await Store.open(self.settings.database_url)
        try:
            async with asyncio.TaskGroup() as tasks:
                running = tasks.create_task(Gateway(self.settings, store).run())
                await self.sim.until(lambda: self.sim.world.bot().sessions.connected or running.done())
                yield store
                running.cancel()
        finally:
            await store.aclose()

    async def operator(self, request: str) -> Any:
        return await call(self.settings.home / "control.sock", request, timeout_s=5.0)

    def answered(self, person: int) -> int:
        return sum(one.by_bot for one in self.sim.chat(person).messages.values())


@pytest.mark.parametrize("strangers", [FEW, pytest.param(STRANGERS, marks=pytest.mark.gate)], ids=len)
async def test_after_a_gap_everybody_who_is_let_in_is_answered(tmp_path: Path, strangers: range) -> None:
    async with DiscordSimulator() as sim:
        sim.add_bot(TOKEN)
        bot = Bot(tmp_path, sim)
        async with bot.running():
            for person in LET_IN:
                sim.say(person, "/help")
            await sim.until(lambda: all(bot.answered(person) for person in LET_IN))
            sim.say(NEW, "hello")
            await sim.until(lambda: bot.answered(NEW) > 0)
            (asked,) = (await bot.operator("GET /v1/pairing"))["requests"]
            await bot.operator(f"POST /v1/pairing/{asked['request']}/approve")
            for person in strangers:
                sim.say(person, "hello")
            sim.say(LET_IN[0], "/help")  # behind all of them
            await sim.until(lambda: bot.answered(LET_IN[0]) == 2)
        sim.forget_sessions()
        before = {person: bot.answered(person) for person in (*LET_IN, NEW)}
        for person in before:
            sim.say(person, "/help")
        async with bot.running():
            await sim.until(lambda: all(bot.answered(person) > before[person] for person in before))
            status = await bot.operator("GET /v1/status")
        assert "ready" == status["parts"]["discord:main"]


async def test_what_cannot_be_read_back_is_shown_until_it_is(tmp_path: Path) -> None:
    async with DiscordSimulator() as sim:
        sim.add_bot(TOKEN)
        bot = Bot(tmp_path, sim)
        first, second = LET_IN[:2]
        async with bot.running():
            for person in (first, second):
                sim.say(person, "/help")
            await sim.until(lambda: bot.answered(first) + bot.answered(second) == 2)
        sim.forget_sessions()
        sim.say(second, "/help")
        sim.chat(second).readable = False
        async with bot.running():
            sim.say(first, "/help")
            await sim.until(lambda: bot.answered(first) == 2)
            status = await bot.operator("GET /v1/status")
        words = "degraded (after a gap 1 were not read: direct chat 1002 (403"
        assert status["parts"]["discord:main"].startswith(words)
