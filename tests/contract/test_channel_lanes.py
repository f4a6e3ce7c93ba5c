"""The outbox's promises on every channel: a failed send goes out later, once, in its place, or is reported."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import pytest
import sqlalchemy as sa

from channels.base import Channel
from channels.messages import Address
from gateway.delivery.config import DeliveryConfig
from gateway.delivery.delivery import Delivery
from gateway.delivery.message_parts import OutboundMessage, recovered_mark, to_parts
from gateway.delivery.pacing import Pacer
from gateway.delivery.sender import SendTimeContent
from gateway.safety.vault import Vault
from gateway.store import outbox
from gateway.store.causes import Notice
from gateway.store.tables.traffic import outbox as outbox_table
from gateway.supervision import Faults, Run, Supervised
from gateway.testing.channel_rig import Rig, Trouble

BEGAN = datetime(2026, 11, 20, 12, tzinfo=UTC)
APOLOGY = "could not be delivered"


class One:
    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._pacer = Pacer(channel.limits, asyncio.get_running_loop().time)

    def is_configured(self, address: Address) -> bool:
        return True

    async def when_loaded(self, address: Address) -> Channel:
        return self._channel

    def now_loaded(self, address: Address) -> Channel:
        return self._channel

    def pacer(self, channel: Channel) -> Pacer:
        return self._pacer


@asynccontextmanager
async def delivering(rig: Rig, after: timedelta) -> AsyncIterator[Delivery]:
    async with Lanes() as tasks:
        delivery = Delivery(
            rig.store,
            One(rig.channel),
            DeliveryConfig(),
            lambda: BEGAN + after,
            SendTimeContent(lambda _ref, text: text),
            tasks,
            Vault.fresh(),
        )
        await delivery.recover()
        yield delivery
        tasks.cancel()
    assert 0 == tasks.faults.noted


class Lanes(Supervised):
    def __init__(self) -> None:
        super().__init__(Faults())
        self._begun: list[asyncio.Task[None]] = []

    def start(self, run: Run) -> asyncio.Task[None]:
        self._begun.append(super().start(run))
        return self._begun[-1]

    def cancel(self) -> None:
        for task in self._begun:
            task.cancel()


async def say(rig: Rig, delivery: Delivery, cause: str, *texts: str) -> None:
    """Commit something to be said, as a turn does: each text a part of it."""
    for text in texts:
        parts = to_parts(rig.channel, OutboundMessage(rig.address, Notice("test", f"{cause}-{text}"), text))
        await rig.store.commit(outbox.put, "default", parts, BEGAN)


async def rows(rig: Rig) -> list[sa.Row]:
    table = outbox_table.c
    query = sa.select(table.state, table.attempts, table.not_before).order_by(table.id)
    return await rig.store.read(lambda connection: list(connection.execute(query)))


async def until_rows(rig: Rig, *states: str) -> None:
    """Wait until the rows stand so."""
    async with asyncio.timeout(30):
        while [row.state for row in await rows(rig)] != list(states):
            await asyncio.sleep(0.02)


@pytest.fixture(autouse=True)
def only_where_sends_fail(rig: Rig) -> None:
    if rig.delivers_by_commit:
        pytest.skip("a message is delivered when it is stored")


class TestLanes:
    async def test_what_fails_for_now_waits_and_goes_out_once_in_its_place(self, rig: Rig):
        await rig.meet()
        await rig.fail_next(Trouble.RETRYABLE)
        async with delivering(rig, timedelta()) as delivery:
            await say(rig, delivery, "t", "first", "second")
            async with asyncio.timeout(30):
                while (row := (await rows(rig))[0]).not_before is None:
                    await asyncio.sleep(0.02)
            assert ("ready", 1) == (row.state, row.attempts)
            assert row.not_before > BEGAN
            assert [] == rig.sent_texts()
        await rig.mend()
        async with delivering(rig, timedelta(hours=1)):
            await until_rows(rig, "sent", "sent")
        assert ["first", "second"] == rig.sent_texts()

    async def test_what_fails_for_a_day_is_a_dead_letter_and_is_told(self, rig: Rig):
        await rig.meet()
        async with delivering(rig, timedelta(hours=25)) as delivery:
            await rig.fail_next(Trouble.RETRYABLE)
            await say(rig, delivery, "t", "never")
            async with asyncio.timeout(30):
                while "dead" not in [row.state for row in await rows(rig)]:
                    await asyncio.sleep(0.02)
        await rig.mend()
        async with delivering(rig, timedelta(hours=26)) as delivery:
            await say(rig, delivery, "u", "later")
            await until_rows(rig, "dead", "sent", "sent")
        seen = rig.sent_texts()
        assert [True, False] == [APOLOGY in text for text in seen]
        assert "later" == seen[-1]

    async def test_doubt_is_ended_by_saying_it_again_once_or_marked(self, rig: Rig):
        await rig.meet()
        await rig.fail_next(Trouble.UNKNOWN)
        async with delivering(rig, timedelta()) as delivery:
            await say(rig, delivery, "t", "said?")
            async with asyncio.timeout(30):
                while (row := (await rows(rig))[0]).state != "sent" and row.not_before is None:
                    await asyncio.sleep(0.02)  # cut during its repetition, it would stay in doubt
        await rig.mend()
        async with delivering(rig, timedelta(hours=1)):
            await until_rows(rig, "sent")
        if rig.channel.limits.idempotent_sends:
            assert ["said?"] == rig.sent_texts()
        else:
            assert ["said?", f"said?{recovered_mark(None)}"] == rig.sent_texts()

    async def test_refusal_for_good_parks_or_ends_and_blocks_no_other(self, rig: Rig):
        await rig.meet()
        await rig.fail_next(Trouble.PERMANENT)
        async with delivering(rig, timedelta()) as delivery:
            await say(rig, delivery, "t", "first")
            async with asyncio.timeout(30):
                while not (delivery.parked or "dead" in [row.state for row in await rows(rig)]):
                    await asyncio.sleep(0.02)
            parked = bool(delivery.parked)
            await rig.mend()
            if parked:
                await rig.store.commit(lambda connection: outbox.unpark(connection, rig.address.lane))
                delivery.unpark(rig.address.lane)
                await until_rows(rig, "sent")
            await say(rig, delivery, "u", "after")
            async with asyncio.timeout(30):
                while "after" not in rig.sent_texts():
                    await asyncio.sleep(0.02)
        assert (["first"] if parked else []) == [text for text in rig.sent_texts() if APOLOGY not in text][:-1]
