"""A chat while a long answer is written there, over the wires of the platforms."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol

import pytest

from channels.base import Reaction
from channels.discord.adapter import DiscordChannel
from channels.messages import Address, OutboundPart, Receipt
from channels.simulators.discord.server import DiscordSimulator
from channels.simulators.slack.server import SlackSimulator
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
    at_s: float
    kind: str  # send | edit | delete | typing | reaction
    text: str = ""


@dataclass
class Watch:
    now_s: Callable[[], float]
    in_flight: int = 0
    writes: list[Write] = field(default_factory=list)

    @contextmanager
    def call(self, kind: str, text: str = "") -> Iterator[None]:
        self.writes.append(Write(self.now_s(), kind, text))
        self.in_flight += 1
        try:
            yield
        finally:
            self.in_flight -= 1

    def most_a_minute(self) -> int:
        times = [write.at_s for write in self.writes]
        return max(sum(begin <= at < begin + 60 for at in times) for begin in times)


class _Watched:
    watch: Watch

    def now(self) -> float:
        return self.watch.now_s()

    async def send(self, part: OutboundPart) -> Receipt:
        with self.watch.call("send", part.rendered.text):
            return await super().send(part)  # type: ignore[misc]  of the adapter beside it

    async def edit(self, part: OutboundPart, platform_id: str) -> Receipt:
        with self.watch.call("edit", part.rendered.text):
            return await super().edit(part, platform_id)  # type: ignore[misc]  of the adapter beside it

    async def delete(self, address: Address, message_id: str) -> None:
        with self.watch.call("delete"):
            await super().delete(address, message_id)  # type: ignore[misc]  of the adapter beside it

    async def show_typing(self, address: Address) -> None:
        with self.watch.call("typing"):
            await super().show_typing(address)  # type: ignore[misc]  of the adapter beside it

    async def react(self, address: Address, message_id: str, reaction: Reaction | None) -> None:
        with self.watch.call("reaction"):
            await super().react(address, message_id, reaction)  # type: ignore[misc]  of the adapter beside it


class _Telegram(_Watched, TelegramChannel):
    pass


class _Discord(_Watched, DiscordChannel):
    pass


class _Slack(_Watched, SlackChannel):
    pass


class Simulated(Protocol):
    def say(self, chat: Any, text: str) -> Any: ...

    def answers(self, chat: Any) -> list[Any]: ...

    def history(self, chat: Any) -> list[Any]: ...


@dataclass
class Scene:
    spine: Spine
    watch: Watch
    simulator: Simulated
    address: Address
    chat: int | str

    async def asked(self, thread: str | None = None) -> None:
        address = replace(self.address, thread=thread)
        sender = replace(self.spine.message("").sender, id=SENDER[address.channel])
        asked = self.simulator.say(self.chat, "tell me everything")
        more = {"channel": address.channel, "address": address, "sender": sender, "message_id": str(asked)}
        await self.spine.say("tell me everything", chat=address.chat, **more)
        await passes(0.1)

    async def said(self, text: str) -> None:
        sender = replace(self.spine.message("").sender, id=SENDER[self.address.channel])
        more = {"channel": self.address.channel, "address": self.address, "sender": sender}
        await self.spine.say(text, chat=self.address.chat, **more)
        await passes(60.0)

    async def stream(self, text: str, seconds: float) -> None:
        size = -(-len(text) // max(1, round(seconds * 10)))
        for at in range(0, len(text), size):
            await passes(0.1)
            self.spine.model.stream(text[at : at + size])

    async def finished(self, text: str) -> None:
        self.spine.model.finish(text)
        await passes(120.0)

    async def restarted(self) -> None:
        await self.spine.kill()
        await self.spine.begin()
        await passes(1.0)

    def texts(self) -> list[str]:
        return [answer.text for answer in self.simulator.answers(self.chat)]

    def refusals(self) -> list[str]:
        return [call.description for call in self.simulator.history(self.chat) if not call.applied]

    def repeated(self) -> list[str]:
        said = [[edit.text for edit in answer.edits] for answer in self.simulator.answers(self.chat)]
        return [text for texts in said for before, text in pairwise(texts) if before == text]


def _platform(name: str, chat: int | str) -> tuple[Any, Callable[[], Any]]:
    if name == "telegram":
        sim: Any = TelegramSimulator.with_bot(throttled=False)
        sim.add_chat(chat, "private" if int(chat) > 0 else "supergroup")
        return sim, lambda: _Telegram(telegram.account(sim))
    if name == "discord":
        sim = DiscordSimulator.with_bot()
        sim.add_channel(chat, discord.GUILD)
        return sim, lambda: _Discord(discord.account(sim), sleep=Pauses())
    sim = SlackSimulator.with_bot()
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


PLATFORMS = pytest.mark.parametrize(
    ("platform", "chat", "size"), [("telegram", 1, 4096), ("discord", 1, 2000), ("slack", "D1", 12_000)]
)
GROUPS = pytest.mark.parametrize(
    ("platform", "chat", "a_minute"), [("telegram", -1001, 20), ("discord", 5, 60), ("slack", "C1", 50)]
)


def words(chars: int) -> str:
    text = ""
    number = 0
    while len(text) < chars:
        sentence = " ".join(f"w{number + at}" for at in range(60))
        number += 60
        text += f"{sentence}.\n\n"
    return text.strip()


def all_words(texts: list[str]) -> list[str]:
    return " ".join(texts).split()


@PLATFORMS
def test_an_answer_that_fills_a_message_goes_on_in_the_next(
    tmp_path: Path, platform: str, chat: int | str, size: int
) -> None:
    answer = words(int(size * 2.6))

    async def play(here: Scene) -> None:
        await here.asked()
        await here.stream(answer, 60)
        grown = here.texts()
        assert 3 == len(grown)
        assert len(all_words(grown)) > len(answer.split()) * 0.8
        assert all(text.endswith("…") == (text is grown[-1]) for text in grown)
        await here.finished(answer)
        assert answer.split() == all_words(here.texts())
        assert [] == here.refusals()
        assert [] == here.repeated()

    scene(tmp_path, platform, chat, play)


@GROUPS
def test_a_group_is_not_flooded_by_an_answer_that_grows(
    tmp_path: Path, platform: str, chat: int | str, a_minute: int
) -> None:
    answer = words(9_000)

    async def play(here: Scene) -> None:
        await here.asked()
        await here.stream(answer, 120)
        assert len(here.watch.writes) > 20, "it was seen growing"
        await here.finished(answer)
        assert answer.split() == all_words(here.texts())
        assert here.watch.most_a_minute() <= a_minute
        assert [] == here.refusals()
        assert [] == here.repeated()

    scene(tmp_path, platform, chat, play)


CHATS = pytest.mark.parametrize(("platform", "chat", "size"), [("telegram", 1, 4096), ("discord", 1, 2000)])


@CHATS
def test_an_answer_that_ends_shorter_than_it_was_seen_leaves_nothing_behind(
    tmp_path: Path, platform: str, chat: int | str, size: int
) -> None:

    async def play(here: Scene) -> None:
        await here.asked()
        await here.stream(words(int(size * 2.4)), 40)
        assert 3 == len(here.texts())
        await here.finished("Shorter than it seemed.")
        assert ["Shorter than it seemed."] == here.texts()

    scene(tmp_path, platform, chat, play)


@CHATS
@pytest.mark.parametrize("other", [False, True], ids=["the same words", "other words"])
def test_an_answer_of_many_messages_survives_a_death(
    tmp_path: Path, platform: str, chat: int | str, size: int, other: bool
) -> None:
    answer = words(int(size * 2.4))
    again = answer.replace("w", "v") + "\n\nAnd more." if other else answer

    async def play(here: Scene) -> None:
        await here.asked()
        await here.stream(answer, 40)
        assert 3 == len(here.texts())
        await here.restarted()
        await here.stream(again, 30)
        await here.finished(again)
        assert again.split() == all_words(here.texts())
        assert [] == here.refusals()

    scene(tmp_path, platform, chat, play)


@CHATS
def test_stopping_an_answer_of_many_messages_keeps_what_was_said(
    tmp_path: Path, platform: str, chat: int | str, size: int
) -> None:
    answer = words(int(size * 2.4))

    async def play(here: Scene) -> None:
        await here.asked()
        await here.stream(answer, 40)
        await here.said("/stop")
        assert answer.split() == all_words(here.texts())[: len(answer.split())]
        assert not [text for text in here.texts() if text.endswith("…")]

    scene(tmp_path, platform, chat, play)


def test_an_answer_goes_on_in_a_second_stream_of_its_thread(tmp_path: Path) -> None:
    answer = words(int(12_000 * 1.4))

    async def play(here: Scene) -> None:
        root = here.simulator.say(here.chat, "hello")
        await here.asked(thread=root)
        await here.stream(answer, 60)
        first, second = here.simulator.answers(here.chat)
        assert (False, True) == (first.streaming, second.streaming)
        assert first.metadata is not None
        await here.finished(answer)
        assert answer.split() == all_words(here.texts())
        assert [] == here.refusals()

    scene(tmp_path, "slack", "C1", play)


@pytest.mark.parametrize(("platform", "chat"), [("telegram", 1), ("discord", 1), ("slack", "D1")])
def test_who_waits_for_a_model_that_warms_up_is_told(tmp_path: Path, platform: str, chat: int | str) -> None:

    async def play(here: Scene) -> None:
        await here.asked()
        await passes(9)
        assert ["…"] == [text.strip() for text in here.texts()]
        await passes(2)
        assert ["Still working on it …"] == here.texts()
        await passes(60)
        signs = [write.at_s for write in here.watch.writes if write.kind == "typing"]
        assert not signs or max(signs) > 60
        await here.finished("Warm now.")
        assert ["Warm now."] == here.texts()
        assert [] == here.refusals()

    scene(tmp_path, platform, chat, play)
