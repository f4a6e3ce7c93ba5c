"""A channel against a simulator: the part that all platforms share."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from channels.messages import Address, Button, OutboundMedia, OutboundPart, Rendered
from tests.fakes.sink import RecordingSink


@dataclass
class Pauses:
    """A pause that takes next to no time and notes its length."""

    takes_s: float = 0.0
    asked_s: list[float] = field(default_factory=list)

    async def __call__(self, seconds: float) -> None:
        """Give way to others."""
        self.asked_s.append(seconds)
        await asyncio.sleep(self.takes_s)


@dataclass
class Rig:
    """A simulator, a channel on it, and the channel's sink."""

    simulator: Any
    channel: Any
    sink: RecordingSink
    pauses: Pauses

    async def connected(self) -> None:
        """Wait until the channel receives, where that has to be waited for."""

    @asynccontextmanager
    async def running(self, *, wait: bool = True) -> AsyncIterator[None]:
        """Receive within this context; the channel is connected when the body begins."""
        async with asyncio.TaskGroup() as tasks:
            running = tasks.create_task(self.sink.run(self.channel))
            if wait:
                await self.connected()
            yield
            running.cancel()


def part_of(
    channel: str,
    text: str,
    *,
    chat: object,
    thread: object = None,
    markup: str | None = None,
    key: str = "0123456789abcdef",
    reply_to: object = None,
    buttons: Sequence[Button] = (),
    media: Sequence[OutboundMedia] = (),
    **more: Any,
) -> OutboundPart:
    """Return a part to send to a chat of the channel's account main."""
    return OutboundPart(
        address=Address(channel, "main", str(chat), None if thread is None else str(thread)),
        rendered=Rendered(text, markup),
        idem_key=key,
        reply_to=None if reply_to is None else str(reply_to),
        buttons=tuple(buttons),
        media=tuple(media),
        **more,
    )
