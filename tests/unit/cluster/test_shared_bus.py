"""The bus of one process of several: the owner gets each row once, in order."""

from collections.abc import Collection
from datetime import UTC, datetime

import pytest

from channels.messages import Address, ChatKind, InboundMessage, Sender
from gateway.inbound.bus import SharedBus
from gateway.store.inbox import InboxRow
from gateway.store.journal import shard_of

AT = datetime(2026, 3, 4, tzinfo=UTC)
OURS, THEIRS = "agent:coach:sim:main:direct:p1", "agent:coach:sim:main:direct:p2"
SHARD = shard_of(OURS)


def row(id_: int, key: str = OURS, text: str = "hello") -> InboxRow:
    said = InboundMessage(
        event_id=f"msg:{id_}",
        message_id=str(id_),
        address=Address("sim", "main", "c1"),
        sender=Sender("p1", "P"),
        received_at=AT,
        kind=ChatKind.DIRECT,
        text=text,
        mentions_bot=True,
    )
    return InboxRow(id_, "default", key, "p1", said, AT)


class Inbox:
    def __init__(self, *rows: InboxRow) -> None:
        self.rows = list(rows)
        self.told: list[int] = []
        self.bus = SharedBus(3, self.load, self.waiting, lambda each: each.event.text == "/stop", self.told.append)  # type: ignore[union-attr]  # messages alone

    async def load(self, shards: Collection[int], known: Collection[int], limit: int) -> list[InboxRow]:
        return [each for each in self.rows if shard_of(each.session_key) in shards and each.id not in known][:limit]

    async def waiting(self, ids: Collection[int]) -> set[int]:
        return {each.id for each in self.rows if each.id in ids}

    async def take(self, count: int) -> list[int]:
        return [(await self.bus.consume()).id for _ in range(count)]


@pytest.fixture
def inbox() -> Inbox:
    return Inbox(row(1), row(2, THEIRS), row(3), row(4), row(5), row(6))


async def test_each_row_is_given_out_once(inbox: Inbox) -> None:
    inbox.bus.adopt([SHARD])
    assert [1, 3, 4, 5, 6] == await inbox.take(5)
    inbox.rows += [row(9)]
    inbox.bus.publish(row(9))
    inbox.bus.wake(str(SHARD))
    inbox.rows += [row(8)]
    assert [8, 9] == sorted(await inbox.take(2))
    inbox.rows.append(row(10))
    inbox.bus.wake(str(SHARD))
    assert [10] == await inbox.take(1)


async def test_rows_of_others_are_told_to_their_owner(inbox: Inbox) -> None:
    inbox.bus.adopt([SHARD])
    inbox.bus.publish(row(2, THEIRS))
    inbox.bus.wake(str(shard_of(THEIRS)))
    assert [1, 3, 4, 5, 6] == await inbox.take(5)
    assert [shard_of(THEIRS)] == inbox.told


async def test_a_shard_that_is_lost_takes_its_rows_along(inbox: Inbox) -> None:
    inbox.bus.adopt([SHARD])
    assert [1] == await inbox.take(1)
    inbox.bus.drop([SHARD])
    assert not inbox.bus.holds(SHARD)
    inbox.bus.publish(row(3))
    assert [SHARD] == inbox.told
    inbox.bus.adopt([SHARD])
    assert [1, 3] == await inbox.take(2)
