"""A Telegram channel running against the simulator, for tests: one call starts all of it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from channels.messages import Address, OutboundPart, Rendered
from channels.telegram.adapter import TelegramChannel
from channels.telegram.config import TelegramAccount
from channels.telegram.simulator.server import TelegramSimulator
from tests.fakes.sink import RecordingSink

TOKEN = "123456:AAF-made_up_token_for_tests"


@dataclass
class Pauses:
    """A pause that takes no time and remembers how long it should have been."""

    asked_s: list[float] = field(default_factory=list)

    async def __call__(self, seconds: float) -> None:
        """Give way to others once."""
        self.asked_s.append(seconds)
        await asyncio.sleep(0)


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
        channel = TelegramChannel(account(simulator, token, **more), pause=pauses)
        try:
            yield Rig(simulator, channel, RecordingSink(), pauses)
        finally:
            await channel.aclose()


def part(text: str, *, chat: int = 1, markup: str | None = None, reply_to: int | None = None) -> OutboundPart:
    """Something to send to a chat of account main."""
    return OutboundPart(
        address=Address("telegram", "main", str(chat)),
        rendered=Rendered(text, markup),
        idem_key="0123456789abcdef",
        reply_to=None if reply_to is None else str(reply_to),
    )
