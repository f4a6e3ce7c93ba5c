"""Two weeks of two people's lives with the whole gateway under a moved clock, on Telegram and on the web page.

One is remembered, reminded, planned for, missed and asked; the other forgets all of it. The conversation is written to
`two_weeks.txt` in the test's directory, to be read as a friend would. It needs libfaketime, see `test_set_clock`.
"""

import asyncio
import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from channels.simulators.telegram.server import TelegramSimulator
from gateway.testing.model import Answer, Call, Reply
from tests.fakes.model_server import ModelServer
from tests.fakes.views import FakePage
from tests.journeys.house import TOKEN
from tests.torture.test_set_clock import LIBRARIES, Machine

MONDAY = datetime(2027, 3, 15, 7, 0, tzinfo=UTC)  # 08:00 in Madrid; clocks go forward on the 28th
ADA = 1
CONFIG = "[memory]\n"

pytestmark = [
    pytest.mark.long,
    pytest.mark.timeout(600),
    pytest.mark.skipif(not LIBRARIES, reason="libfaketime is not installed: apt-get install faketime"),
]

WEDDING = {
    "action": "save", "name": "wedding", "type": "project",
    "description": "Plays the cello at her sister's wedding on 2027-06-12",
    "body": "Her sister marries on 2027-06-12, she plays the Swan.\nWhy: it is her goal.\n"
    "How to apply: ask how the Swan goes.",
}  # fmt: skip
MORNINGS = {
    "action": "save", "name": "mornings", "type": "feedback", "description": "Practises best before work",
    "body": "Mornings work better than evenings.\nWhy: the evenings are loud.\nHow to apply: plan for the morning.",
}  # fmt: skip


def answer(body: dict[str, Any]) -> Answer:
    """Answer as a model would that does what it is asked."""
    messages = body["messages"]
    said = next(str(each["content"]) for each in reversed(messages) if each["role"] == "user")
    system = str(messages[0]["content"])
    if messages[-1]["role"] == "tool":
        return Reply("I keep that in mind.")
    if "Write my weekly plan" in said:
        return Reply(plan(said))
    if "wedding in June" in said:
        return Reply(calls=tuple(Call("memory", json.dumps(each)) for each in (WEDDING, MORNINGS)))
    if "remember" in said:
        known = re.findall(r"^- \S+\.md \(.*?\): (.*)$|^- \S+\.md .*?[:—] (.*)$", system, re.MULTILINE)
        return Reply("I remember: " + "; ".join("".join(each) for each in known) if known else "Nothing yet.")
    return Reply("That is good to hear.")


def plan(said: str) -> str:
    """Plan the days that are free, 30 minutes each."""
    found = re.search(r"Plan the days from (\S+) to (\S+),", said)
    assert found is not None
    first, last = (datetime.fromisoformat(each) for each in found.groups())
    days = [first + timedelta(days=ahead) for ahead in range((last - first).days + 1)]
    return "## Plan\n" + "\n".join(f"- {day:%A}: 30 min cello" for day in days if day.weekday() != 2)


class Life:
    """The two people and the clock between them."""

    def __init__(self, machine: Machine, sim: TelegramSimulator, page: FakePage, story: Path) -> None:
        self._machine, self._sim, self._page, self._story = machine, sim, page, story
        self._seen: dict[str, int] = {}

    def go_to(self, day: int, hour: float) -> None:
        """Set the clock to an hour in Madrid of the first, second ... day."""
        moment = MONDAY + timedelta(days=day - 1, hours=hour - 8)
        self._machine.set_clock(f"{(moment - datetime.now(UTC)).total_seconds():+.0f}s")
        self._write(f"\n== day {day}, {moment:%A}, {hour:g} o'clock")

    async def ada(self, text: str, expected: str = "") -> str:
        self._write(f"Ada: {text}")
        self._sim.say(ADA, text)
        return await self.heard(expected)

    async def heard(self, expected: str = "") -> str:
        """Return what the bot has said to Ada since the last time, once these words are among it."""
        before = self._seen.get("ada", 0)
        await self._machine.until(lambda: any(expected in text for text in self._machine.texts[before:]))
        await asyncio.sleep(0.5)
        said = self._machine.texts[before:]
        self._seen["ada"] = before + len(said)
        for text in said:
            self._write(f"bot to Ada: {text}")
        return "\n".join(said)

    async def quiet(self, seconds: float = 5.0) -> str:
        """Return what the bot says by itself within some seconds of the schedule's look."""
        await asyncio.sleep(seconds)
        before = self._seen.get("ada", 0)
        return await self.heard("") if len(self._machine.texts) > before else ""

    async def bea(self, text: str, expected: str = "") -> str:
        before = len(self._page.shown)
        self._write(f"Bea (web): {text}")
        await self._page.say(text)
        await self._page.until(lambda: any(expected in str(one) for one in list(self._page.shown.values())[before:]))
        await asyncio.sleep(0.5)
        said = [str(one.get("text") or one.get("html") or "") for one in list(self._page.shown.values())[before:]]
        for words in said:
            self._write(f"bot to Bea: {words}")
        return "\n".join(said)

    def _write(self, line: str) -> None:
        with self._story.open("a") as story:
            story.write(f"{line}\n")


async def test_two_weeks_are_remembered_reminded_planned_and_forgotten_on_demand(tmp_path: Path) -> None:
    async with TelegramSimulator() as sim, ModelServer(answer) as model:
        sim.add_bot(TOKEN)
        machine = Machine(sim, model, tmp_path, CONFIG)
        machine.set_clock(f"{(MONDAY - datetime.now(UTC)).total_seconds():+.0f}s")
        async with machine.running():
            await machine.until(lambda: "http_started" in machine.log.read_text())
            url = re.findall(r"http://[0-9.]+:\d+/", machine.log.read_text())[-1]
            page = FakePage(url)
            async with asyncio.TaskGroup() as tasks:
                looking = tasks.create_task(page.run())
                await live(Life(machine, sim, page, tmp_path / "two_weeks.txt"))
                looking.cancel()
            await page.http.close()


async def live(life: Life) -> None:
    """Live the two weeks."""
    life.go_to(1, 8)
    await life.ada("/timezone Europe/Madrid", "Madrid")
    await life.ada(
        "I play at my sister's wedding in June, on 12 June 2027. Mornings work better, evenings are loud.", "mind"
    )
    await life.ada("/log 30m cello", "Logged")
    await life.ada("/remind 07:15 tue,thu cello", "07:15")
    await life.ada("/plan not on Wednesday, 40 minutes a day", "Shall I open each of your weeks")
    await life.ada("/checkins plan on", "Mondays at 08:00")
    assert "wedding" not in await life.bea("What do you remember of me?", "Nothing yet")
    life.go_to(2, 7.3)
    assert "07:15" in await life.heard("07:15")
    await life.ada("/log 35m cello", "Logged")
    life.go_to(3, 9)
    await life.ada("/new", "new conversation")
    assert "wedding" in await life.ada("What do you remember of me?", "I remember")
    life.go_to(4, 7.3)
    await life.heard("07:15")
    life.go_to(6, 18.1)
    await life.quiet()
    life.go_to(7, 18.1)
    assert "35 min of cello" in await life.heard("35 min of cello")
    life.go_to(8, 8.1)
    monday = await life.heard("A new week begins")
    assert "Wednesday:" not in monday
    await life.ada("/log 20m cello", "Logged")
    life.go_to(9, 7.3)
    await life.heard("07:15")
    life.go_to(10, 20)
    await life.ada("/memory", "wedding")
    await life.ada("/memory forget wedding", "")
    await life.ada("/new", "new conversation")
    known = await life.ada("What do you remember of me?", "I remember")
    assert "wedding" not in known
    assert "before work" in known
    life.go_to(15, 8.1)
    await life.heard("A new week begins")
    await life.ada("/forget everything yes", "")
    life.go_to(16, 7.3)
    assert "" == await life.quiet(6)
