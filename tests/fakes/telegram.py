"""A Telegram channel running against the simulator."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial

from channels.messages import AttachmentKind, OutboundMedia
from channels.simulators.telegram.server import TOKEN, TelegramSimulator
from channels.telegram.adapter import TelegramChannel
from channels.telegram.config import TelegramAccount
from tests.fakes.http import Loaded, served
from tests.fakes.simulated_channel import Pauses, Rig, part_of
from tests.fakes.sink import RecordingSink

part = partial(part_of, "telegram", chat=1)
"""Something to send to a chat of account main."""

SECRET = "made-up_secret-of-a-webhook"
PNG = b"\x89PNG\r\n\x1a\nnot much of a picture"


@dataclass
class Looks(Pauses):
    """A pause as in `Pauses`; one of a minute lasts until `due` is set."""

    due: asyncio.Event = field(default_factory=asyncio.Event)

    async def __call__(self, seconds: float) -> None:
        """Give way, or wait."""
        await super().__call__(seconds)
        if seconds >= 60:
            await self.due.wait()
            self.due.clear()


def account(simulator: TelegramSimulator, token: str = TOKEN, **more: object) -> TelegramAccount:
    """Return a configuration that points at the simulator and polls briskly."""
    return TelegramAccount.model_validate(
        {"token": token, "api_base": simulator.base_url, "poll_timeout_s": 1, "poll_grace_s": 0.5} | more
    )


@asynccontextmanager
async def telegram(token: str = TOKEN, **more: object) -> AsyncIterator[Rig]:
    """Return a rig whose channel does not receive yet; `more` goes into its configuration."""
    async with TelegramSimulator(throttled=False) as simulator:
        simulator.add_bot(TOKEN)
        pauses = Pauses()
        channel = TelegramChannel(account(simulator, token, **more), sleep=pauses)
        try:
            yield Rig(simulator, channel, RecordingSink(), pauses)
        finally:
            await channel.aclose()


@dataclass
class WebhookRig(Rig):
    """A rig whose updates arrive over the gateway's own HTTP server."""

    url: str  # where the bot's updates go
    loaded: Loaded


@asynccontextmanager
async def telegram_webhook(**more: object) -> AsyncIterator[WebhookRig]:
    """Return a rig in webhook mode that does not receive yet; it retries a thousand times faster than Telegram."""
    loaded = Loaded()
    async with TelegramSimulator(webhook_time_scale=0.001) as simulator, served(loaded) as base:
        simulator.add_bot(TOKEN)
        settings = {"mode": "webhook", "webhook_url": base, "webhook_secret": SECRET} | more
        config, pauses = account(simulator, **settings), Looks()
        channel = TelegramChannel(config, sleep=pauses)
        loaded.channels.append(channel)
        try:
            yield WebhookRig(simulator, channel, RecordingSink(), pauses, config.webhook_target, loaded)
        finally:
            await channel.aclose()


def photo(content: bytes = PNG, name: str = "chart.png", mime: str = "image/png") -> OutboundMedia:
    return OutboundMedia(AttachmentKind.PHOTO, name, mime, content)


def paper(content: bytes = b"a,b\n1,2\n", name: str = "log.csv", mime: str = "text/csv") -> OutboundMedia:
    return OutboundMedia(AttachmentKind.DOCUMENT, name, mime, content)
