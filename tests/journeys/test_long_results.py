"""Long tool results and loaded tools after a restart, and what a wait says."""

import asyncio
import json
from pathlib import Path

from pydantic import BaseModel

from agent.tools.base import Effect, ToolContext, tool, tools_of
from gateway.operators.client import short_name
from gateway.testing.model import Call, Reply
from tests.fakes.views import FakeTerminal
from tests.journeys.house import house, results

SEEN = "find"
"""Said first in a second life: this platform counts its updates anew, and the gateway has had its first one."""

ROWS = [f"row {number}" for number in range(4000)]


class Search(BaseModel):
    """Arguments of the tools here."""

    words: str = ""


class Archive:
    """A tool that finds much, one that is seldom needed, one that takes its time."""

    def __init__(self) -> None:
        self.release = asyncio.Event()

    @tool(Search, effect=Effect.NONE, concurrency_safe=True, max_result_chars=10_000)
    async def find_rows(self, context: ToolContext, arguments: Search) -> object:
        """Find rows."""
        return ROWS

    @tool(Search, effect=Effect.NONE, should_defer=True)
    async def moon_phase(self, context: ToolContext, arguments: Search) -> object:
        """Say how full the moon is."""
        return "half"

    @tool(Search, effect=Effect.NONE)
    async def dig(self, context: ToolContext, arguments: Search) -> object:
        """Dig."""
        context.report("Digging in the archive")
        await self.release.wait()
        return "found"


async def test_a_result_is_read_on_after_a_restart(tmp_path: Path) -> None:
    async with house(tmp_path, tools=tools_of(Archive())) as here:
        here.model.answers(Reply(calls=(Call("find_rows", "{}"),)), Reply("I see the first rows."))
        here.sim.say(1, "find")
        await here.told(1, "first rows")
        (found,) = results(here)
        handle, offset = found["data"]["handle"], found["data"]["next_offset"]
        assert not [each for each in here.model.requests[0].body["tools"] if "read_result" in str(each)]
        assert [each for each in here.model.requests[1].body["tools"] if "read_result" in str(each)]
    given = json.dumps({"handle": handle, "offset": offset})
    async with house(tmp_path, tools=tools_of(Archive())) as here:
        here.sim.say(1, SEEN)
        here.model.answers(Reply(calls=(Call("read_result", given),)), Reply("And now more."))
        here.sim.say(1, "go on")
        await here.told(1, "And now more.")
        page = results(here)[-1]["data"]
        assert found["data"]["preview"][-20:] + page["text"][:20] in json.dumps(
            {"success": True, "data": ROWS, "error": None}, separators=(",", ":")
        )
        here.model.answers(Reply(calls=(Call("read_result", given),)), Reply("There is nothing."))
        here.sim.say(2, "show me theirs")
        await here.told(2, "There is nothing.")
        assert "no such result" in results(here)[-1]["error"]


async def test_a_tool_that_was_looked_for_is_there_after_a_restart(tmp_path: Path) -> None:

    def told(request: object) -> list[str]:
        return [each["function"]["name"] for each in request.body["tools"]]  # type: ignore[attr-defined]  as received

    async with house(tmp_path, tools=tools_of(Archive())) as here:
        here.model.answers(
            Reply(calls=(Call("tool_search", '{"query": "moon"}'),)), Reply(calls=(Call("moon_phase", "{}"),))
        )
        here.sim.say(1, "is the moon full?")
        await here.told(1, "A short answer.")
        first, second, _ = here.model.requests
        assert "moon_phase" not in told(first)
        assert "moon_phase: Say how full the moon is" in str(first.body["tools"])
        assert "moon_phase" in told(second)
        assert "half" == results(here)[-1]["data"]
        await here.settled()  # or the next life says it again, and is believed to have answered
    async with house(tmp_path, tools=tools_of(Archive())) as here:
        here.sim.say(1, SEEN)
        here.sim.say(1, "and tomorrow?")
        await here.told(1, "A short answer.")
        assert "moon_phase" in told(here.model.requests[0])


async def test_a_wait_says_what_it_is_for(tmp_path: Path) -> None:
    archive = Archive()
    async with house(tmp_path, tools=tools_of(archive)) as here:
        here.model.answers(Reply(calls=(Call("dig", "{}"),)), Reply("Here it is."))
        here.sim.say(1, "dig!")
        await here.told(1, "Digging in the archive")
        archive.release.set()
        await here.told(1, "Here it is.")
        await here.settled()
        assert ["Here it is."] == here.texts(1)


async def test_a_terminal_shows_a_tool_as_it_runs(tmp_path: Path) -> None:
    archive = Archive()
    async with house(tmp_path, tools=tools_of(archive)) as here, asyncio.TaskGroup() as tasks:
        with short_name(here.home / "control.sock") as path:
            terminal = FakeTerminal(path)
            running = tasks.create_task(terminal.run())
            here.model.answers(Reply(calls=(Call("dig", "{}"),)), Reply("Here it is."))
            await terminal.say("dig!")
            await terminal.until(lambda: "Digging in the archive …" in texts(terminal))
            archive.release.set()
            await terminal.until(lambda: "Here it is." in texts(terminal))
            await here.settled()
            assert ["Here it is."] == [frame["text"] for frame in terminal.shown.values()]
            running.cancel()


def texts(terminal: FakeTerminal) -> list[str]:
    return [frame["text"] for frame in terminal.told("message")]
