"""A gateway's own parts between a model in memory and a simulated platform, with the real adapter and time of its own.

Time stands still while a call is on its way, so that a minute of edits takes as long as its calls.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol

from channels.base import Reaction
from channels.discord.adapter import DiscordChannel
from channels.messages import Address, OutboundPart, Receipt
from channels.simulators.discord.person_side import DiscordPersonSide
from channels.simulators.slack.person_side import SlackPersonSide
from channels.simulators.telegram.person_side import TelegramPersonSide
from channels.simulators.telegram.server import TelegramSimulator
from channels.slack.adapter import SlackChannel
from channels.telegram.adapter import TelegramChannel
from gateway.delivery.config import DeliveryConfig
from tests.fakes import discord, slack, telegram
from tests.fakes.simulated_channel import Pauses
from tests.fakes.spine import NOON, Spine, quick_store
from tests.fakes.virtual_time import VirtualTimeLoop, passes, run_virtually

SENDER = {"telegram": "1", "discord": "1", "slack": "T1:U1"}


@dataclass(frozen=True, slots=True)
class Write:
    """One call that asked the platform for something."""

    at_s: float
    kind: str  # send | edit | delete | typing | reaction
    text: str = ""


@dataclass
class Watch:
    """Which calls of a channel are on their way, and when each was made."""

    now_s: Callable[[], float]
    in_flight: int = 0
    writes: list[Write] = field(default_factory=list)

    @contextmanager
    def call(self, kind: str, text: str = "") -> Iterator[None]:
        """One call."""
        self.writes.append(Write(self.now_s(), kind, text))
        self.in_flight += 1
        try:
            yield
        finally:
            self.in_flight -= 1

    def most_a_minute(self) -> int:
        """The most calls within any minute."""
        times = [write.at_s for write in self.writes]
        return max(sum(begin <= at < begin + 60 for at in times) for begin in times)


class _Watched:
    """An adapter that tells when it calls."""

    watch: Watch

    def now(self) -> float:
        """Seconds on the clock of the scene."""
        return self.watch.now_s()

    async def send(self, part: OutboundPart) -> Receipt:
        """As the port says."""
        with self.watch.call("send", part.rendered.text):
            return await super().send(part)  # type: ignore[misc]  of the adapter beside it

    async def edit(self, part: OutboundPart, platform_id: str) -> Receipt:
        """As the port says."""
        with self.watch.call("edit", part.rendered.text):
            return await super().edit(part, platform_id)  # type: ignore[misc]  of the adapter beside it

    async def delete(self, address: Address, message_id: str) -> None:
        """As the port says."""
        with self.watch.call("delete"):
            await super().delete(address, message_id)  # type: ignore[misc]  of the adapter beside it

    async def show_typing(self, address: Address) -> None:
        """As the port says."""
        with self.watch.call("typing"):
            await super().show_typing(address)  # type: ignore[misc]  of the adapter beside it

    async def react(self, address: Address, message_id: str, reaction: Reaction | None) -> None:
        """As the port says."""
        with self.watch.call("reaction"):
            await super().react(address, message_id, reaction)  # type: ignore[misc]  of the adapter beside it


class _Telegram(_Watched, TelegramChannel):
    pass


class _Discord(_Watched, DiscordChannel):
    pass


class _Slack(_Watched, SlackChannel):
    pass


class Simulated(Protocol):
    """What is looked at of a simulated platform."""

    def say(self, chat: Any, text: str) -> Any:
        """Somebody says something in a chat; its id."""
        ...

    def answers(self, chat: Any) -> list[Any]:
        """What the bot said in a chat, as it stands."""
        ...

    def history(self, chat: Any) -> list[Any]:
        """The calls that came in for it."""
        ...


@dataclass
class Scene:
    """One chat of a simulated platform, and a gateway that answers there."""

    spine: Spine
    watch: Watch
    simulator: Simulated
    address: Address
    chat: int | str

    async def asked(self, thread: str | None = None) -> None:
        """Somebody asks, and the model begins to think."""
        address = replace(self.address, thread=thread)
        sender = replace(self.spine.message("").sender, id=SENDER[address.channel])
        asked = self.simulator.say(self.chat, "tell me everything")
        more = {"channel": address.channel, "address": address, "sender": sender, "message_id": str(asked)}
        await self.spine.say("tell me everything", chat=address.chat, **more)
        await passes(0.1)

    async def said(self, text: str) -> None:
        """The same person says something else, and what follows from it goes out."""
        sender = replace(self.spine.message("").sender, id=SENDER[self.address.channel])
        more = {"channel": self.address.channel, "address": self.address, "sender": sender}
        await self.spine.say(text, chat=self.address.chat, **more)
        await passes(60.0)

    async def stream(self, text: str, seconds: float) -> None:
        """The model says this, ten pieces a second."""
        size = -(-len(text) // max(1, round(seconds * 10)))
        for at in range(0, len(text), size):
            await passes(0.1)
            self.spine.model.stream(text[at : at + size])

    async def finished(self, text: str) -> None:
        """The answer ends, and everything of it goes out."""
        self.spine.model.finish(text)
        await passes(120.0)

    async def restarted(self) -> None:
        """The process dies, and the next one takes the turn up until the model is asked again."""
        await self.spine.kill()
        await self.spine.begin()
        await passes(1.0)

    def texts(self) -> list[str]:
        """What the bot said, as it reads now."""
        return [answer.text for answer in self.simulator.answers(self.chat)]

    def refusals(self) -> list[str]:
        """What the platform did not do, in its words."""
        return [call.description for call in self.simulator.history(self.chat) if not call.applied]

    def repeated(self) -> list[str]:
        """Texts of our messages that were put in the place of the same text."""
        said = [[edit.text for edit in answer.edits] for answer in self.simulator.answers(self.chat)]
        return [text for texts in said for before, text in pairwise(texts) if before == text]


def _platform(name: str, chat: int | str) -> tuple[Any, Callable[[], Any]]:
    """A simulator, and how its adapter is made once it listens."""
    if name == "telegram":
        sim: Any = TelegramPersonSide(TelegramSimulator(throttled=False)).simulator
        sim.add_chat(chat, "private" if int(chat) > 0 else "supergroup")
        return sim, lambda: _Telegram(telegram.account(sim))
    if name == "discord":
        sim = DiscordPersonSide().simulator
        sim.add_channel(chat, discord.GUILD)
        return sim, lambda: _Discord(discord.account(sim), sleep=Pauses())
    sim = SlackPersonSide().simulator
    return sim, lambda: _Slack(slack.account(sim), sleep=Pauses())


@asynccontextmanager
async def _scene(loop: VirtualTimeLoop, path: Path, platform: str, chat: int | str) -> AsyncIterator[Scene]:
    simulator, make = _platform(platform, chat)
    store = await quick_store(path / "tenk.db")
    watch = Watch(loop.time)
    async with simulator:
        channel = make()
        channel.watch = watch
        spine = Spine(store, channel, live=DeliveryConfig(), clock=lambda: NOON + timedelta(seconds=loop.elapsed_s))
        await spine.begin()
        loop.busy = lambda: store.engine.under_way + watch.in_flight + spine.delivery.long_texts.under_way > 0
        try:
            yield Scene(spine, watch, simulator, Address(platform, "main", str(chat)), chat)
        finally:
            await spine.kill()
            await channel.aclose()
            await store.aclose()


def scene(path: Path, platform: str, chat: int | str, play: Callable[[Scene], Awaitable[None]]) -> None:
    """Play what happens in one chat of a platform."""

    async def on(loop: VirtualTimeLoop) -> None:
        async with _scene(loop, path, platform, chat) as here:
            await play(here)

    run_virtually(on)
