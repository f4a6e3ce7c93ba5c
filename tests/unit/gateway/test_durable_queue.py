"""The window on a durable queue: bounded, in order, nothing lost, nothing twice."""

import asyncio
from dataclasses import dataclass

from gateway.durable_queue import QueueHead, SerialWorker
from gateway.supervision import Faults, Supervised


@dataclass(frozen=True)
class Row:
    id: int


class Table:
    def __init__(self) -> None:
        self.rows: list[Row] = []

    def add(self) -> Row:
        row = Row(len(self.rows) + 1)
        self.rows.append(row)
        return row

    async def load(self, after_id: int, limit: int) -> list[Row]:
        await asyncio.sleep(0)
        return [row for row in self.rows if row.id > after_id][:limit]


async def test_rows_offered_while_the_store_is_read_are_not_lost() -> None:
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


async def test_one_task_works_one_row_at_a_time() -> None:
    table, seen, together = Table(), [], []
    busy = 0

    async def work(row: Row) -> None:
        nonlocal busy
        busy += 1
        together.append(busy)
        await asyncio.sleep(0)
        seen.append(row.id)
        busy -= 1

    async with Supervised(Faults()) as tasks:
        drained = SerialWorker(QueueHead(10, table.load), work, tasks, "lane", "c1")
        for _ in range(5):
            drained.offer(table.add())
    assert [1, 2, 3, 4, 5] == seen
    assert {1} == set(together)
    assert not drained.running
