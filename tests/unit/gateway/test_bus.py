"""The bus: in order of admission, urgent rows first, each row once, also after an outage."""

import asyncio
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.messages import Address, ChatKind, InboundMessage, Sender
from gateway.durable_queue import QueueHead, load_filtered
from gateway.errors import StoreUnavailable
from gateway.inbound.bus import Bus
from gateway.store.inbox import InboxRow
from tests.fakes.people import NOON


def a_row(id_: int, text: str = "hello") -> InboxRow:
    address = Address("sim", "main", "c1")
    event = InboundMessage(
        event_id=str(id_),
        message_id=str(id_),
        address=address,
        sender=Sender("1", "Ana"),
        received_at=NOON,
        kind=ChatKind.DIRECT,
        text=text,
    )
    return InboxRow(id_, "default", "key", "p1", event, NOON)


class Inbox:
    def __init__(self) -> None:
        self.rows: list[InboxRow] = []
        self.down = False

    def add(self, text: str = "hello") -> InboxRow:
        self.rows.append(a_row(len(self.rows) + 1, text))
        return self.rows[-1]

    async def load(self, after_id: int, limit: int) -> list[InboxRow]:
        await asyncio.sleep(0)
        if self.down:
            raise StoreUnavailable("down")
        return [row for row in self.rows if row.id > after_id][:limit]


def is_urgent(row: InboxRow) -> bool:
    return isinstance(row.event, InboundMessage) and row.event.text == "/stop"


async def take(bus: Bus, count: int) -> list[int]:
    async with asyncio.timeout(30):
        return [(await bus.consume()).id for _ in range(count)]


@given(
    st.integers(1, 5),
    st.lists(
        st.tuples(st.sampled_from(["add", "urgent", "hint", "hint", "consume", "consume"]), st.integers(0, 50)),
        max_size=50,
    ),
)
def test_every_row_comes_once_and_in_order_whichever_hints_there_are(size: int, steps: list[tuple[str, int]]) -> None:

    async def play() -> None:
        inbox, out = Inbox(), []
        bus = Bus(size, inbox.load, is_urgent)
        for step, number in steps:
            if step in {"add", "urgent"}:
                inbox.add("/stop" if step == "urgent" else "hello")
            elif step == "hint" and inbox.rows:
                bus.publish(inbox.rows[number % len(inbox.rows)])
            elif step == "consume" and len(out) < len(inbox.rows):
                bus.reread()
                out += await take(bus, 1)
        bus.reread()
        out += await take(bus, len(inbox.rows) - len(out))
        for row in inbox.rows:
            bus.publish(row)
        waiting = asyncio.ensure_future(bus.consume())  # noqa: TID251  cancelled below
        await asyncio.wait([waiting], timeout=0)
        for _ in range(5):
            await asyncio.sleep(0)
        assert not waiting.done()
        waiting.cancel()
        assert sorted(set(out)) == sorted(out)
        calm = [id_ for id_ in out if not is_urgent(inbox.rows[id_ - 1])]
        assert sorted(calm) == calm

    asyncio.run(play())


async def test_a_store_that_is_away_for_a_while_costs_no_row() -> None:
    """Cover F64."""
    inbox = Inbox()
    window: QueueHead[InboxRow] = QueueHead(2, inbox.load)
    for _ in range(5):
        window.offer(inbox.add())
    assert [1, 2] == [row.id for row in (await window.next(), await window.next()) if row]
    inbox.down = True
    with pytest.raises(StoreUnavailable):
        await window.next()
    assert 3 == len(window)
    inbox.down = False
    assert [3, 4, 5] == [row.id for row in (await window.next(), await window.next(), await window.next()) if row]
    assert await window.next() is None


async def test_a_window_that_is_rewound_begins_with_the_oldest_row() -> None:
    inbox = Inbox()
    window: QueueHead[InboxRow] = QueueHead(10, inbox.load, has_unread=True)
    first = inbox.add()
    inbox.add()
    async with asyncio.TaskGroup() as tasks:
        reading = tasks.create_task(window.next())
        await asyncio.sleep(0)
        window.rewind()
    assert first == reading.result()
    window.rewind()
    assert first == await window.next()


@given(st.lists(st.booleans(), max_size=30), st.integers(1, 4))
def test_a_page_of_unwanted_rows_hides_nothing_behind_it(wanted: list[bool], limit: int) -> None:

    async def play() -> None:
        inbox = Inbox()
        for _ in wanted:
            inbox.add()
        want: Callable[[InboxRow], bool] = lambda row: wanted[row.id - 1]  # noqa: E731  a predicate
        found, after = [], 0
        while page := await load_filtered(inbox.load, want, after, limit):
            found += [row.id for row in page]
            after = page[-1].id
            if len(page) < limit:
                break
        assert [index + 1 for index, is_wanted in enumerate(wanted) if is_wanted] == found

    asyncio.run(play())
