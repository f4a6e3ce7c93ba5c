"""Two tabs of one person's web chat, open at two machines that are killed and paused."""

import asyncio
import re
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from itertools import pairwise
from typing import Any

from tests.fakes.views import FakePage
from tests.torture.invariants import Verdict

FIRST = 500_001
"""Number of the first message; no chat of a platform has so many."""

WRITES_EVERY_S = 2.0

ANSWER = re.compile(r"\bre:m(\d+)\b")


class Tabs:
    """Both tabs. They write in turn, and each shows all answers."""

    def __init__(self, pages: Sequence[FakePage]) -> None:
        self._pages = pages
        self._said: list[int] = []

    async def talk(self) -> None:
        """Write in one tab after the other until cancelled."""
        while True:
            number = FIRST + len(self._said)
            self._said.append(number)
            await self._pages[number % len(self._pages)].say(f"m{number} please")
            await asyncio.sleep(WRITES_EVERY_S)

    def has_all(self) -> bool:
        """Return True if the gateway took every message, and each tab shows every answer."""
        told = (_answers(page.shown) for page in self._pages)
        return not any(page.unsent for page in self._pages) and all({*self._said} <= {*found} for found in told)

    def examine(self, verdict: Verdict) -> None:
        """Add the messages of the tabs to a verdict, and what is wrong with their answers."""
        verdict.messages += len(self._said)
        for tab, page in enumerate(self._pages):
            order = _answers(page.shown)
            times = Counter(order)
            verdict.lost += [
                f"I2: tab {tab} does not show the answer to m{one}" for one in self._said if not times[one]
            ]
            verdict.doubled += [
                f"I6: tab {tab} shows {count} answers to m{one}" for one, count in times.items() if count > 1
            ]
            for writer in range(len(self._pages)):
                own = [number for number in order if number % len(self._pages) == writer]
                verdict.wrong += [f"I4: tab {tab} shows m{b} after m{a}" for a, b in pairwise(own) if b < a]
            growing = [id_ for id_, frame in page.shown.items() if frame["live"] or frame["waiting"]]
            verdict.wrong += [f"I2: in tab {tab} the answer {id_} is unfinished" for id_ in growing]


def _answers(shown: Mapping[str, Mapping[str, Any]]) -> list[int]:
    return [int(number) for frame in shown.values() if not frame["live"] for number in ANSWER.findall(frame["html"])]


@asynccontextmanager
async def two_tabs(addresses: Sequence[str]) -> AsyncIterator[Tabs]:
    """Open two tabs of one browser, each at a machine of its own."""
    first = FakePage(f"http://{addresses[0]}/")
    second = FakePage(f"http://{addresses[1]}/", cookies=first.http.cookie_jar)
    async with first.http, second.http, asyncio.TaskGroup() as tasks:
        visits = [tasks.create_task(first.run())]
        await first.until(lambda: bool(first.told("history")))
        visits.append(tasks.create_task(second.run()))
        await second.until(lambda: bool(second.told("history")))
        yield Tabs((first, second))
        for visit in visits:
            visit.cancel()
