"""A live answer as a person sees it, second by second, on a virtual clock."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from itertools import pairwise
from pathlib import Path

import pytest
import sqlalchemy as sa
from pydantic import BaseModel

from agent.tools.base import Effect, Tool, ToolContext, tool, tools_of
from agent.transcript import ModelResponded, ToolCall
from channels.errors import Permanent, Retryable
from channels.messages import Address, OutboundPart, Receipt, Rendered
from gateway.delivery.config import DeliveryConfig
from gateway.store import journal
from gateway.store.tables.traffic import outbox
from tests.fakes.chat import LIMITS, FakeChannel
from tests.fakes.spine import NOON, Spine, quick_store
from tests.fakes.virtual_time import VirtualTimeLoop, passes, run_virtually

PACED = replace(LIMITS, max_text=2000, edit_interval_s=1.0, typing_every_s=4.5)


@dataclass
class TimedChannel(FakeChannel):
    at_s: list[tuple[float, str, str, str]] = field(default_factory=list)  # when, kind, chat, text
    typed_at_s: list[float] = field(default_factory=list)
    edit_takes_s: float = 0.0
    send_takes_s: float = 0.0

    async def _do(self, kind: str, part: OutboundPart, message_id: str) -> Receipt:
        self.at_s.append((self.now(), kind, part.address.chat, part.rendered.text))
        await passes({"edit": self.edit_takes_s, "send": self.send_takes_s}.get(kind, 0.0))
        return await super()._do(kind, part, message_id)

    async def show_typing(self, address: Address) -> None:
        self.typed_at_s.append(self.now())
        await super().show_typing(address)

    def times(self, kind: str, chat: str = "c1") -> list[float]:
        return [at for at, what, where, _ in self.at_s if (what, where) == (kind, chat)]


class WithoutDrafts(TimedChannel):
    draft_lasts_s = 30.0

    def drafts_in(self, address: Address) -> bool:
        return True

    async def draft(self, address: Address, draft_id: int, rendered: Rendered) -> None:
        raise Permanent("TEXTDRAFT_PEER_INVALID")


@asynccontextmanager
async def gateway(
    loop: VirtualTimeLoop, path: Path, made: type[TimedChannel], tools: tuple[Tool, ...] = ()
) -> AsyncIterator[tuple[Spine, TimedChannel]]:
    store = await quick_store(path / "tenk.db")
    channel = made(limits=PACED, now=loop.time)
    spine = Spine(
        store, channel, live=DeliveryConfig(), clock=lambda: NOON + timedelta(seconds=loop.elapsed_s), tools=tools
    )
    await spine.begin()
    loop.busy = lambda: store.engine.under_way + spine.delivery.long_texts.under_way > 0
    try:
        yield spine, channel
    finally:
        await spine.kill()
        await store.aclose()


def scene(
    path: Path,
    play: Callable[[Spine, TimedChannel], Awaitable[None]],
    made: type[TimedChannel] = TimedChannel,
    tools: tuple[Tool, ...] = (),
) -> None:
    """Play what happens to one gateway."""

    async def on(loop: VirtualTimeLoop) -> None:
        async with gateway(loop, path, made, tools) as (spine, channel):
            await play(spine, channel)

    run_virtually(on)


async def stream(spine: Spine, seconds: float) -> str:
    words = ""
    for number in range(int(seconds * 10)):
        await passes(0.1)
        spine.model.stream(f"w{number} ")
        words += f"w{number} "
    return words


def test_a_chat_told_to_wait_is_not_edited_meanwhile(tmp_path: Path) -> None:

    async def play(spine: Spine, channel: TimedChannel) -> None:
        await spine.say("tell me")
        await passes(2.0)
        channel.fates.append(Retryable("too many", retry_after_s=30.0))
        words = await stream(spine, 10)
        spine.model.finish(words)
        await passes(60)
        refused, *after = channel.times("edit")
        assert refused + 30.0 <= after[0]
        assert [words.strip()] == channel.shown()

    scene(tmp_path, play)


def test_an_answer_grows_in_a_placeholder_that_a_death_cut(tmp_path: Path) -> None:

    async def play(spine: Spine, channel: TimedChannel) -> None:
        channel.limits = replace(channel.limits, idempotent_sends=True)
        channel.send_takes_s = 3.0
        await spine.say("hello")
        await spine.asked()
        await stream(spine, 2.0)  # the placeholder is on its way
        await spine.kill()
        await spine.begin()
        await spine.asked()
        await stream(spine, 8.0)
        assert channel.times("edit")

    scene(tmp_path, play)


def test_once_another_owns_the_turn_no_page_is_turned(tmp_path: Path) -> None:

    async def play(spine: Spine, channel: TimedChannel) -> None:
        await spine.say("tell me all")
        await stream(spine, 5)
        await spine.store.commit(journal.take_all_shards, owner="another")
        await stream(spine, 60)
        assert ["placeholder"] == await spine.store.read(
            lambda c: list(c.execute(sa.select(outbox.c.action)).scalars())
        )

    scene(tmp_path, play)


@pytest.mark.parametrize("end", ["answer", "stop", "broken and silent"])
def test_typing_ends_with_the_turn(tmp_path: Path, end: str) -> None:

    async def play(spine: Spine, channel: TimedChannel) -> None:
        await spine.say("tell me")
        await passes(20.0)
        if end == "answer":
            spine.model.give("done")
        elif end == "stop":
            await spine.say("/stop")
        else:  # it is tried once more, and hears nothing until its deadline
            spine.model.give(RuntimeError("no model does this"))
            await passes(150.0)
        await passes(1.0)
        typed = len(channel.typed_at_s)
        assert 5 <= typed
        assert max(after - before for before, after in pairwise(channel.typed_at_s)) <= 5.0
        await passes(600.0)
        assert typed == len(channel.typed_at_s)

    scene(tmp_path, play)


def test_no_chat_waits_for_another(tmp_path: Path) -> None:

    async def play(spine: Spine, channel: TimedChannel) -> None:
        spine.model.answer_at_once = lambda _: ModelResponded(0, "here you are")
        channel.fates.append(Retryable("too many", retry_after_s=600.0))
        await spine.say("first", chat="g0")
        await passes(1.0)
        for number in range(1, 10):
            await spine.say("me too", user="p2", chat=f"g{number}")
        await passes(598.0)
        assert [] == channel.shown("g0")
        assert [["here you are"]] * 9 == [channel.shown(f"g{number}") for number in range(1, 10)]
        assert max(channel.times("send", f"g{number}")[0] for number in range(1, 10)) < 2.0
        await passes(2.0)
        assert ["here you are"] == channel.shown("g0")
        assert 600.0 <= channel.times("send", "g0")[1]

    scene(tmp_path, play)


def test_where_drafts_are_refused_the_answer_is_a_placeholder(tmp_path: Path) -> None:

    async def play(spine: Spine, channel: TimedChannel) -> None:
        await spine.say("tell me")
        await passes(0.1)
        words = await stream(spine, 5)
        spine.model.finish(words)
        await passes(10.0)
        assert 2 <= len(channel.times("edit")) - 1
        assert [words.strip()] == channel.shown()

    scene(tmp_path, play, WithoutDrafts)


@pytest.mark.parametrize(("locale", "note"), [("en", "Still working on it …"), ("es-MX", "Sigo en ello …")])
def test_who_waits_for_a_first_word_is_told_after_ten_seconds(tmp_path: Path, locale: str, note: str) -> None:

    async def play(spine: Spine, channel: TimedChannel) -> None:
        spine.people.known["p1"] = replace(spine.people.known["p1"], locale=locale)
        await spine.say("hello")
        await passes(9.5)
        assert ["…"] == [text for _, _, _, text in channel.at_s]
        await passes(50)
        assert ["…", note] == [text for _, _, _, text in channel.at_s]
        assert 10 <= channel.times("edit")[0] <= 10.5
        spine.model.give("The answer.")
        await passes(5)
        assert ["send", "edit", "edit"] == [kind for _, kind, _, _ in channel.at_s]
        assert ["The answer."] == channel.shown("c1")

    scene(tmp_path, play)


def test_who_reads_an_answer_already_is_not_told_that_it_takes_long(tmp_path: Path) -> None:

    async def play(spine: Spine, channel: TimedChannel) -> None:
        await spine.say("hello")
        await passes(3)
        spine.model.stream("first words")
        await passes(60)
        assert not any("working" in text for _, _, _, text in channel.at_s)
        spine.model.finish("first words")
        await passes(5)

    scene(tmp_path, play)


class Days(BaseModel):
    """Arguments of the slow tool."""

    days: int


class SlowTools:
    """One tool that takes its time and says so."""

    @tool(Days, effect=Effect.NONE)
    async def read_slowly(self, context: ToolContext, arguments: Days) -> object:
        """Read."""
        await passes(2)
        context.report("Half of it is read")
        await passes(2)
        return "read"


def test_what_a_tool_does_is_seen_while_there_is_no_answer(tmp_path: Path) -> None:

    async def play(spine: Spine, channel: TimedChannel) -> None:
        await spine.say("how was my month?")
        await passes(0.1)
        spine.model.give(ModelResponded(0, "", (ToolCall("c0", "read_slowly", '{"days": 30}'),)))
        await passes(8)
        spine.model.give("All fine.")
        await passes(60)
        assert ["…"] == [text for _, kind, _, text in channel.at_s if kind == "send"]
        edits = [text for _, kind, _, text in channel.at_s if kind == "edit"]
        assert ["Working: read slowly …", "Half of it is read …", "All fine."] == edits

    scene(tmp_path, play, tools=tools_of(SlowTools()))
