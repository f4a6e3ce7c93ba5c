"""A Telegram channel running against the simulator, for tests: one call starts all of it."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from channels.messages import Address, AttachmentKind, Button, OutboundMedia, OutboundPart, Rendered
from channels.simulators.telegram.server import TelegramSimulator
from channels.telegram.adapter import TelegramChannel
from channels.telegram.config import TelegramAccount
from tests.fakes.http import Loaded, served
from tests.fakes.sink import RecordingSink

TOKEN = "123456:AAF-made_up_token_for_tests"
SECRET = "made-up_secret-of-a-webhook"
PNG = b"\x89PNG\r\n\x1a\nnot much of a picture"


@dataclass
class Pauses:
    """A pause that takes no time and remembers how long it should have been."""

    asked_s: list[float] = field(default_factory=list)

    async def __call__(self, seconds: float) -> None:
        """Give way to others once."""
        self.asked_s.append(seconds)
        await asyncio.sleep(0)


@dataclass
class Looks(Pauses):
    """As `Pauses`, but a pause of a minute lasts until `due` is set."""

    due: asyncio.Event = field(default_factory=asyncio.Event)

    async def __call__(self, seconds: float) -> None:
        """Give way, or wait."""
        await super().__call__(seconds)
        if seconds >= 60:
            await self.due.wait()
            self.due.clear()


@dataclass
class Rig:
    """A simulator, a channel on it, and what the channel said."""

    simulator: TelegramSimulator
    channel: TelegramChannel
    sink: RecordingSink
    pauses: Pauses

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """The channel receives within this."""
        async with asyncio.TaskGroup() as tasks:
            running = tasks.create_task(self.channel.run(self.sink))
            yield
            running.cancel()


def account(simulator: TelegramSimulator, token: str = TOKEN, **more: object) -> TelegramAccount:
    """A configuration that points at the simulator and polls briskly."""
    return TelegramAccount.model_validate(
        {"token": token, "api_base": simulator.base_url, "poll_timeout_s": 1, "poll_grace_s": 0.5} | more
    )


@asynccontextmanager
async def telegram(token: str = TOKEN, **more: object) -> AsyncIterator[Rig]:
    """A rig whose channel does not receive yet; `more` goes into its configuration."""
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
    """A rig whose updates are brought over the gateway's own HTTP server."""

    url: str  # where the bot's updates go
    loaded: Loaded


@asynccontextmanager
async def telegram_webhook(**more: object) -> AsyncIterator[WebhookRig]:
    """A rig in webhook mode that does not receive yet; attempts come a thousand times faster than Telegram's."""
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


def part(
    text: str,
    *,
    chat: int = 1,
    thread: int | None = None,
    markup: str | None = None,
    reply_to: int | None = None,
    buttons: Sequence[Button] = (),
    media: Sequence[OutboundMedia] = (),
) -> OutboundPart:
    """Something to send to a chat of account main."""
    return OutboundPart(
        address=Address("telegram", "main", str(chat), None if thread is None else str(thread)),
        rendered=Rendered(text, markup),
        idem_key="0123456789abcdef",
        reply_to=None if reply_to is None else str(reply_to),
        buttons=tuple(buttons),
        media=tuple(media),
    )


def photo(content: bytes = PNG, name: str = "chart.png", mime: str = "image/png") -> OutboundMedia:
    """A picture to send."""
    return OutboundMedia(AttachmentKind.PHOTO, name, mime, content)


def paper(content: bytes = b"a,b\n1,2\n", name: str = "log.csv", mime: str = "text/csv") -> OutboundMedia:
    """A document to send."""
    return OutboundMedia(AttachmentKind.DOCUMENT, name, mime, content)
