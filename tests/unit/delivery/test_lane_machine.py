"""Lanes over the real store: no part is lost or out of order, whatever fails, dies or moves between two steps."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

import pytest
import sqlalchemy as sa
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant, rule

from channels.errors import Permanent, PermanentKind, Retryable, Unknown
from channels.messages import Address, OutboundPart, Receipt
from gateway.delivery.message_parts import OutboundMessage, to_parts
from gateway.delivery.retry_policy import BACKOFF
from gateway.store import chats, outbox
from gateway.store.causes import AnswerOf
from gateway.store.engine import Store
from gateway.store.tables.traffic import outbox as outbox_table
from tests.fakes.amounts import share
from tests.fakes.chat import FakeChannel, Fate, Hang, Lost
from tests.fakes.machines import AsyncMachine
from tests.fakes.spine import Spine
from tests.fakes.virtual_time import passes

CHATS = st.sampled_from(["c1", "c2"])
MARK = "↻"

FATES = st.sampled_from(
    [
        lambda: None,
        lambda: None,
        lambda: Retryable("busy", retry_after_s=0.0),
        lambda: Unknown("cut before"),
        lambda: Lost(Unknown("cut behind")),
        lambda: Permanent("no"),
        lambda: Permanent("what is this", PermanentKind.MALFORMED),
        lambda: Permanent("it is gone", PermanentKind.TARGET_GONE),
        lambda: Permanent("blocked", PermanentKind.BLOCKED),
        lambda: KeyError("a bug in the adapter"),
        Hang,
        Hang,
        Hang,
    ]
)


@dataclass(frozen=True)
class Part:
    word: str
    chat: str
    action: str
    state: str
    marked: bool


class WatchfulChannel(FakeChannel):
    """A channel that notes calls that should not be made: the gateway takes what a channel raises for its failure."""

    def __init__(self, store: Store) -> None:
        super().__init__()
        self.wrong: list[str] = []
        self.refused: set[tuple[str, str]] = set()  # in this life: attempts that heard that their chat has moved
        self.cut: list[OutboundPart] = []  # of calls that were cancelled
        self._store = store

    async def send(self, part: OutboundPart) -> Receipt:
        await self._look(part, "send")
        try:
            return await super().send(part)
        except asyncio.CancelledError:
            self.cut.append(part)
            raise

    async def edit(self, part: OutboundPart, platform_id: str) -> Receipt:
        await self._look(part, "edit")
        return await super().edit(part, platform_id)

    def take_cut(self) -> None:
        """Show what the calls of a dead process sent."""
        for part in self.cut:
            self.sent += 1
            self.messages[str(self.sent)] = part.address.chat, part.rendered.text

    def begin(self) -> None:
        """Forget what the last process did."""
        self.cut.clear()
        self.refused.clear()

    async def _look(self, part: OutboundPart, call: str) -> None:
        query = sa.select(outbox_table.c.state, outbox_table.c.action).where(outbox_table.c.idem_key == part.idem_key)
        row, parked = await self._store.read(lambda each: (each.execute(query).one(), outbox.parked_lanes(each)))
        if row.state != "sending" or (row.action == "edit") is not (call == "edit"):
            self.wrong.append(f"a {call} that is stored as {row.action}, {row.state}")
        if part.address.lane in parked:
            self.wrong.append("a call to a chat that cannot be reached")
        attempt = part.idem_key, part.address.chat
        if attempt in self.refused:
            self.wrong.append("a call to a chat that said before that it has moved")
        if part.address.chat in self.gone:
            self.refused.add(attempt)


class Lanes(AsyncMachine):
    """Replies to two chats over a platform that cannot tell a repeated send, with a process that may die."""

    def __init__(self) -> None:
        super().__init__()
        self.channel = WatchfulChannel(self.store)
        self.spine = Spine(self.store, self.channel)
        self.said: list[tuple[str, str]] = []  # chat and word of each part, in order
        self.replies = 0
        self.hanging: list[Hang] = []
        self.crashes = 0
        self.moves = 0
        self.now_at = {"c1": "c1", "c2": "c2"}  # a chat's id by now
        self.heard_at = dict(self.now_at)  # and as far as the gateway has heard
        self.run(self.spine.begin())

    @rule(
        chat=CHATS,
        parts=st.integers(1, 3),
        fates=st.lists(FATES, max_size=4),
        claimed=st.booleans(),
        settled=st.booleans(),
    )
    def reply(self, chat: str, parts: int, fates: list[Callable[[], Fate]], claimed: bool, settled: bool) -> None:

        async def step() -> None:
            self.replies += 1
            words = [f"r{self.replies}p{number}." for number in range(parts)]
            text = "\n\n".join(f"{word} " + "x" * 90 for word in words)
            address = self.address(chat)
            composed = to_parts(self.spine.channel, OutboundMessage(address, AnswerOf(f"t{self.replies}"), text))
            assert parts == len({part.number for part in composed})
            self.said += [(chat, word) for word in words]
            self.add(fates)
            first = claimed and self.spine.delivery.reserve(composed[0])
            await self.store.commit(outbox.put, "default", composed, self.spine.now, first_claimed=first)
            await self.go_on(settled)

        self.run(step())

    def add(self, fates: list[Callable[[], Fate]]) -> None:
        made: list[Fate] = [fate() for fate in fates]
        self.hanging += [fate for fate in made if isinstance(fate, Hang)]
        self.spine.channel.fates.extend(made)

    async def go_on(self, settled: bool) -> None:
        """Let things come to rest, or go on in the middle of them."""
        if settled:
            await self.spine.quiet()
        else:
            self.spine.check()

    @rule()
    def release(self) -> None:

        async def step() -> None:
            while self.hanging:
                self.hanging.pop().release.set()
            await self.spine.quiet()

        self.run(step())

    @rule(ticks=st.integers(1, 30))
    def advance(self, ticks: int) -> None:
        """Let the lanes take some of their steps, so that the next rule falls between two of them."""

        async def step() -> None:
            for _ in range(ticks):
                await asyncio.sleep(0)
                if self.store.engine.under_way:
                    await self.store.engine.at_rest.wait()
            self.spine.check()

        self.run(step())

    @rule(chat=CHATS, settled=st.booleans())
    def heard(self, chat: str, settled: bool) -> None:
        self.run(self.unpark(chat, settled))

    async def unpark(self, chat: str, settled: bool) -> None:
        for where in {self.now_at[chat], self.heard_at[chat]}:
            lane = Address("sim", "main", where).lane
            if lane in self.spine.delivery.parked:
                await self.store.commit(outbox.unpark, lane)
                self.spine.delivery.unpark(lane)
        await self.go_on(settled)

    @rule(chat=CHATS)
    def look_again(self, chat: str) -> None:

        async def step() -> None:
            self.spine.delivery.reread(self.address(chat))
            await self.spine.quiet()

        self.run(step())

    @rule(chat=CHATS, heard=st.booleans(), settled=st.booleans())
    def move(self, chat: str, heard: bool, settled: bool) -> None:

        async def step() -> None:
            await self.hear_of_move(chat)
            self.moves += 1
            new = f"{chat}.{self.moves}"
            self.spine.channel.gone[self.now_at[chat]] = new
            self.now_at[chat] = new
            if heard:
                await self.hear_of_move(chat)
            await self.go_on(settled)

        self.run(step())

    async def hear_of_move(self, chat: str) -> None:
        old, new = self.address(chat), self.now_at[chat]
        if old.chat != new:
            await self.store.commit(chats.move_chat, "default", old, new, self.spine.now)
            self.spine.delivery.move(old, new)
            self.heard_at[chat] = new

    def address(self, chat: str) -> Address:
        return Address("sim", "main", self.heard_at[chat])

    @rule(late=st.booleans())
    def crash(self, late: bool) -> None:

        async def step() -> None:
            self.crashes += 1
            await self.spine.kill()
            if late:
                self.channel.take_cut()
            self.channel.begin()
            self.hanging.clear()
            self.spine.later(seconds=5)
            await self.spine.begin()

        self.run(step())

    # ------------------------------------------------------------ what must hold

    @invariant()
    def no_call_is_wrong(self) -> None:
        assert [] == self.channel.wrong

    async def last(self) -> None:
        """Let everything go out, then compare the chats with the store."""
        self.spine.channel.fates.clear()
        for _ in range(3):
            while self.hanging:
                self.hanging.pop().release.set()
            for chat in ("c1", "c2"):
                await self.unpark(chat, settled=True)
        for _ in range(3):  # an edit that was cut waits a while before it is repeated, in the life that it is in
            await passes(2 * BACKOFF.steps_s[-1])
            for chat in ("c1", "c2"):
                await self.unpark(chat, settled=True)
        await self.spine.kill()
        parts = await self.store.read(_parts)
        assert {part.state for part in parts} <= {"sent", "unknown", "dead"}, "a part without an end"
        for chat in ("c1", "c2"):
            here = [part for part in parts if part.chat.partition(".")[0] == chat]
            self.each_part_arrived_or_is_recorded(chat, here)

    def each_part_arrived_or_is_recorded(self, chat: str, parts: list[Part]) -> None:
        shown = self.spine.channel.messages.values()
        texts = [text for where, text in shown if where.partition(".")[0] == chat]
        for where, word in self.said:
            if where != chat:
                continue
            rows = [part for part in parts if part.word == word and part.action != "placeholder"]
            arrived = [text for text in texts if text.startswith(word)]
            assert rows, "a part that is nowhere"
            if any(row.state == "sent" for row in rows):
                assert arrived, f"{word} is recorded as sent and is not there"
            assert len(arrived) <= 2, f"{word} was said {len(arrived)} times"
            assert len(arrived) < 2 or any(MARK in text for text in arrived[1:]), f"{word} twice, unmarked"
        first = list(dict.fromkeys(word for text in texts if (word := text.split()[0]).startswith("r")))
        wanted = [word for where, word in self.said if where == chat and word in first]
        assert wanted == first, "out of order"


def _parts(connection: sa.Connection) -> list[Part]:
    table = outbox_table
    query = sa.select(table.c.plain, table.c.chat, table.c.action, table.c.state, table.c.marked).order_by(table.c.id)
    rows = connection.execute(query)
    return [Part((row.plain.split() or ["…"])[0], row.chat, row.action, row.state, row.marked) for row in rows]


@pytest.mark.timeout(240)
class TestLanes(Lanes.TestCase):  # type: ignore[misc,name-defined]  hypothesis makes the class
    settings = settings(max_examples=share(150), stateful_step_count=20, deadline=None)


@pytest.mark.long
@pytest.mark.timeout(1800)
class TestLanesAtLength(Lanes.TestCase):  # type: ignore[misc,name-defined]  hypothesis makes the class
    settings = settings(max_examples=600, stateful_step_count=40, deadline=None)
