"""Live events of a chat wait for the gaps that are being read; contract tests read the platforms' histories."""

import asyncio
from collections.abc import Sequence

from channels.chat.backfill import EVERYTHING, Backfill, HistoryBounds, Listing, Page
from channels.messages import InboundEvent, Rejected


class OneChat:
    bounds = HistoryBounds(at_once=1, pages=1, together=0)

    def __init__(self) -> None:
        self.may_list = asyncio.Semaphore(0)
        self.listed_since: list[float] = []

    async def list_places(self, name: str, since: float) -> Listing[str]:
        assert name == EVERYTHING
        await self.may_list.acquire()
        self.listed_since.append(since)
        return Listing(["chat"])

    async def read_page(self, place: str, since: float, start: str) -> Page[str, str]:
        return Page()

    def to_events(self, place: str, message: str) -> Sequence[InboundEvent | Rejected]:
        return ()

    def explain(self, place: str, failure: Exception) -> str | None:
        return str(failure)

    def name(self, place: str) -> str:
        return place


async def _offer(events: Sequence[InboundEvent | Rejected]) -> None:
    assert not events


async def test_a_live_event_waits_for_every_gap_that_was_noticed_before_it() -> None:
    history, told = OneChat(), list[str]()
    backfill = Backfill(history, _offer, told.append, asyncio.sleep, "main")
    async with asyncio.TaskGroup() as tasks:
        gaps = [tasks.create_task(backfill.fill(since)) for since in (1.0, 2.0)]
        await asyncio.sleep(0)
        live = tasks.create_task(backfill.until_read("chat"))
        history.may_list.release()
        await gaps[0]
        await asyncio.sleep(0)
        waited = not live.done()
        history.may_list.release()
    assert (True, [1.0, 2.0]) == (waited, history.listed_since)
