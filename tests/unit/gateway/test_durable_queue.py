"""The window on a durable queue: bounded, in order, nothing lost, nothing twice."""

import asyncio
from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.durable_queue import QueueHead, SerialWorker
from tests.fakes.amounts import share


@dataclass(frozen=True)
class Row:
    id: int


class Table:
    """The durable queue that a window looks into."""

    def __init__(self) -> None:
        self.rows: list[Row] = []

    def add(self) -> Row:
        row = Row(len(self.rows) + 1)
        self.rows.append(row)
        return row

    async def load(self, after_id: int, limit: int) -> list[Row]:
        await asyncio.sleep(0)
        return [row for row in self.rows if row.id > after_id][:limit]


@given(st.integers(1, 4), st.lists(st.sampled_from(["offer", "silent", "next", "reread"]), max_size=60), st.booleans())
@settings(max_examples=share(300), deadline=None)
def test_every_row_comes_out_once_and_in_order(size: int, steps: list[str], behind: bool) -> None:
    """Whatever is offered, kept back by a full window or found on a second look, each row comes exactly once."""

    async def play() -> None:
        table, out = Table(), []
        window = QueueHead(size, table.load, has_unread=behind)
        offered: set[int] = set()
        for step in steps:
            if step == "offer":
                row = table.add()
                offered.add(row.id)
                window.offer(row)
            elif step == "silent" and not window:
                table.add()  # committed without a word; a second look must find it
                window.reread()
            elif step == "reread":
                window.reread()
            elif (row := await window.next()) is not None:
                out.append(row.id)
        while (row := await window.next()) is not None:
            out.append(row.id)
        assert out == sorted(set(out))
        assert offered <= set(out)

    asyncio.run(play())


async def test_a_full_window_keeps_its_bound() -> None:
    """Rows beyond the bound stay in the store and are counted as waiting."""
    table = Table()
    window = QueueHead(3, table.load)
    for _ in range(10):
        window.offer(table.add())
    assert 3 == len(list(window))
    assert 10 == len(window)


async def test_rows_offered_while_the_store_is_read_are_not_lost() -> None:
    """A row that is committed during a refill comes once, after those before it."""
    table = Table()
    window = QueueHead(10, table.load, has_unread=True)
    first = table.add()

    async def offer_meanwhile() -> None:
        window.offer(table.add())

    async with asyncio.TaskGroup() as tasks:
        reading = tasks.create_task(window.next())
        tasks.create_task(offer_meanwhile())
    assert first == reading.result()
    assert Row(2) == await window.next()
    assert await window.next() is None


async def test_taking_out_of_turn_leaves_the_others_in_order() -> None:
    """Steering takes some rows; the rest keep their order."""
    table = Table()
    window = QueueHead(10, table.load)
    for _ in range(4):
        window.offer(table.add())
    assert [Row(2), Row(4)] == window.take(lambda row: row.id % 2 == 0)
    assert [Row(1), Row(3)] == list(window)


async def test_one_task_works_one_row_at_a_time() -> None:
    """Rows offered while one is worked wait for it."""
    table, seen, together = Table(), [], []
    busy = 0

    async def work(row: Row) -> None:
        nonlocal busy
        busy += 1
        together.append(busy)
        await asyncio.sleep(0)
        seen.append(row.id)
        busy -= 1

    async with asyncio.TaskGroup() as tasks:
        drained = SerialWorker(QueueHead(10, table.load), work, tasks)
        for _ in range(5):
            drained.offer(table.add())
    assert [1, 2, 3, 4, 5] == seen
    assert {1} == set(together)
    assert not drained.running
