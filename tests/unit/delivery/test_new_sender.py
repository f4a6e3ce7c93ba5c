"""A new owner of an account's lease: its rows from the store go before its own window."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar, cast

import pytest
import sqlalchemy as sa

from channels.messages import Address
from gateway import failpoints
from gateway.delivery.config import DeliveryConfig
from gateway.delivery.delivery import Delivery
from gateway.delivery.message_parts import OutboundMessage, to_parts
from gateway.delivery.sender import SendTimeContent
from gateway.ownership import SharedOwnership
from gateway.store import outbox
from gateway.store.causes import AnswerOf
from gateway.store.engine import Store
from gateway.store.leases import Lease, Round
from gateway.store.tables.traffic import outbox as outbox_table
from gateway.store.tables.turns import leases
from gateway.supervision import Supervised
from tests.fakes.chat import Hang
from tests.fakes.spine import Spine

T = TypeVar("T")

CHAT = Address("sim", "main", "c1")
WORDS = "\n\n".join(f"a{number} " + "x" * 90 for number in range(3))
"""Three parts, of which the first is sent as a placeholder."""


async def column(spine: Spine, name: str) -> list[object]:
    query = sa.select(outbox_table.c[name]).order_by(outbox_table.c.id)
    return await spine.store.read(lambda connection: list(connection.execute(query).scalars()))


def names(spine: Spine) -> list[str]:
    return [text.split()[0] for text in spine.channel.shown(CHAT.chat)]


async def hold(spine: Spine, ownership: SharedOwnership, epoch: int) -> None:
    ownership.update(Round({}, {"out sim:main": epoch}), 60.0)
    lease = {"name": "out sim:main", "owner": "me", "epoch": epoch, "until": None}
    await spine.store.commit(
        lambda connection: (
            connection.execute(sa.delete(leases)),
            connection.execute(sa.insert(leases), lease),
        )
    )


@pytest.mark.parametrize("looks_first", [True, False])
async def test_what_was_at_hand_before_another_sent_there_is_read_anew(spine: Spine, looks_first: bool) -> None:
    ownership = SharedOwnership(lambda: 0.0, lambda *_: None)
    await hold(spine, ownership, 1)
    spine.channel.fates.extend([None, hang := Hang()])
    async with Supervised(spine.faults) as tasks:
        own = DeliveryConfig(), lambda: spine.now, SendTimeContent(lambda _ref, text: text)
        delivery = Delivery(spine.store, spine.channels, *own, tasks, spine.vault, ownership)
        await delivery.recover()
        parts = to_parts(spine.channel, OutboundMessage(CHAT, AnswerOf("t1"), WORDS))
        rows = await spine.store.commit(outbox.put, "default", parts, spine.now)
        async with asyncio.timeout(30):
            while len(spine.channel.parts) < 2:
                await asyncio.sleep(0)
        await hold(spine, ownership, 3)
        await spine.store.commit(lambda connection: outbox.record_sent(connection, rows[1].id, "9", spine.now))
        await spine.store.commit(lambda connection: outbox.mark_sending(connection, rows[2].id, rows[2].part.action))
        if looks_first:
            await delivery.recover()
        hang.release.set()
        async with asyncio.timeout(30):
            while not looks_first and delivery.works_before(spine.now):
                await asyncio.sleep(0)
            await delivery.recover()
            while {"sent"} != {*await column(spine, "state")}:
                pass
    assert ["a0", "a1", "a2"] == names(spine)
    assert [0, 0, 1, 0] == await column(spine, "marked")


class SlowStore:
    def __init__(self, store: Store, meanwhile: Callable[[], Awaitable[object]]) -> None:
        self.commit = store.commit
        self.listen = store.listen
        self._store = store
        self._meanwhile = meanwhile

    async def read(self, query: Callable[[sa.Connection], T], *, lasting: bool = False) -> T:
        found = await self._store.read(query, lasting=lasting)
        await self._meanwhile()
        return found


async def test_what_is_committed_while_a_new_sender_looks_goes_before_what_is_committed_behind(spine: Spine) -> None:
    ownership = SharedOwnership(lambda: 0.0, lambda *_: None)
    await hold(spine, ownership, 1)

    async def say(text: str) -> None:
        parts, now = to_parts(spine.channel, OutboundMessage(CHAT, AnswerOf(text), text)), spine.now
        claimed = delivery.reserve(parts[0])
        await spine.store.commit(outbox.put, "default", parts, now, first_claimed=claimed)

    said = iter(["first"])

    async def meanwhile() -> None:
        for text in said:
            await say(text)

    async with Supervised(spine.faults) as tasks:
        slow = cast(Store, SlowStore(spine.store, meanwhile))
        own = DeliveryConfig(), lambda: spine.now, SendTimeContent(lambda _ref, text: text)
        delivery = Delivery(slow, spine.channels, *own, tasks, spine.vault, ownership)
        await delivery.recover()
        await say("second")
        async with asyncio.timeout(30):
            while ["sent", "sent"] != await column(spine, "state"):
                pass
    assert ["first", "second"] == names(spine)


class NotedOwnership(SharedOwnership):
    def __init__(self, now_s: Callable[[], float], tell: Callable[[str, object], None]) -> None:
        super().__init__(now_s, tell)
        self.asked = asyncio.Event()

    async def confirm(self, lease: Lease) -> None:
        self.asked.set()
        await super().confirm(lease)


@pytest.mark.parametrize("runs_out", ["in the commit", "before the call"])
async def test_a_lease_that_ran_out_and_came_back_keeps_the_order(spine: Spine, runs_out: str) -> None:
    now_s = 0.0
    ownership = NotedOwnership(lambda: now_s, lambda *_: None)
    await hold(spine, ownership, 1)
    async with Supervised(spine.faults) as tasks:
        own = DeliveryConfig(), lambda: spine.now, SendTimeContent(lambda _ref, text: text)
        delivery = Delivery(spine.store, spine.channels, *own, tasks, spine.vault, ownership)
        await delivery.recover()

        async def say(text: str) -> None:
            parts = to_parts(spine.channel, OutboundMessage(CHAT, AnswerOf(text), text))
            claimed = delivery.reserve(parts[0])
            await spine.store.commit(outbox.put, "default", parts, spine.now, first_claimed=claimed)

        if runs_out == "in the commit":
            failpoints.arm("commit_unknown:1:raise")
        saying = tasks.create_task(say("first"))
        now_s = 61.0 if runs_out == "in the commit" else 0.0
        await saying
        now_s = 61.0
        async with asyncio.timeout(30):
            await ownership.asked.wait()
        assert [] == names(spine)
        ownership.update(Round({}, {"out sim:main": 1}), 120.0)
        await say("second")
        await delivery.recover()
        async with asyncio.timeout(30):
            while ["sent", "sent"] != await column(spine, "state"):
                pass
    assert ["first", "second"] == names(spine)
    assert [0, 0] == await column(spine, "marked")
