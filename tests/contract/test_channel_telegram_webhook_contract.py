"""The contract of all channels, on Telegram's webhook mode."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from channels.base import Channel
from channels.simulators.shared.simulator import AnySimulator
from channels.simulators.telegram.server import TelegramSimulator
from channels.telegram.adapter import TelegramChannel
from gateway.testing.channel_contract import EndContract, InContract, OutContract
from gateway.testing.channel_rig import Rig
from tests.contract.platform_rigs import TelegramRig
from tests.fakes.http import Loaded, served
from tests.fakes.spine import quick_store
from tests.fakes.telegram import SECRET, TOKEN, account


class TelegramWebhookRig(TelegramRig):
    async def open(self) -> None:
        """Start the platform, and the server it calls."""
        self.loaded = Loaded()
        self.base = await self._stack.enter_async_context(served(self.loaded))
        await super().open()

    def simulated(self) -> AnySimulator:
        side = TelegramSimulator(webhook_time_scale=0.001)
        side.add_bot(TOKEN)
        side.add_chat(1, "private")
        return side

    async def make(self) -> Channel:
        webhook = {"mode": "webhook", "webhook_url": self.base, "webhook_secret": SECRET}
        channel = TelegramChannel(account(self.simulator, **webhook), sleep=_short)
        self.loaded.channels[:] = [channel]
        return channel


async def _short(seconds: float) -> None:
    await asyncio.sleep(min(seconds / 100, 0.2))


class TestIn(InContract):
    pass


class TestOut(OutContract):
    pass


class TestEnd(EndContract):
    pass


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    store = await quick_store(tmp_path / "tenk.db")
    try:
        async with TelegramWebhookRig(store, tmp_path).alive() as made:
            yield made
    finally:
        await store.aclose()
