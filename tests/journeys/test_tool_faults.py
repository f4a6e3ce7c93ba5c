"""F46 to F49 and F52 over the wire: a tool misbehaves, the person has one answer, and the next turn works."""

import asyncio
import json
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from agent.tools.base import Effect, ToolContext, ToolError, tool, tools_of
from gateway.testing.model import Call, Reply
from tests.journeys.house import House, house


class Wanted(BaseModel):
    """Arguments of the tools here."""

    what: str = ""


class BadTools:
    """Each misbehaves in its own way."""

    def __init__(self) -> None:
        self.release = asyncio.Event()
        self.cancelled = 0
        self.calls = 0

    @tool(Wanted, effect=Effect.NONE, concurrency_safe=True)
    async def burst(self, context: ToolContext, arguments: Wanted) -> object:
        """Raise."""
        raise RuntimeError("password=hunter2")

    @tool(Wanted, effect=Effect.NONE, timeout_s=0.2)
    async def hang(self, context: ToolContext, arguments: Wanted) -> object:
        """Never come back."""
        try:
            await asyncio.Event().wait()
        finally:
            self.cancelled += 1

    @tool(Wanted, effect=Effect.NONE, timeout_s=0.2)
    async def stubborn(self, context: ToolContext, arguments: Wanted) -> object:
        """Not even when cancelled."""
        while not self.release.is_set():
            try:
                await self.release.wait()
            except asyncio.CancelledError:
                self.cancelled += 1
        return "zanzibar"

    @tool(Wanted, effect=Effect.NONE, concurrency_safe=True)
    async def give(self, context: ToolContext, arguments: Wanted) -> object:
        """Give what no model can read."""
        self.calls += 1
        if arguments.what == "refusal":
            raise ToolError("not this one")
        return {"much": "x" * 50_000_000, "binary": b"\x00\xff" * 9, "nothing": None, "object": object()}.get(
            arguments.what, arguments.what
        )


def results(here: House) -> list[dict[str, Any]]:
    """What the model read of its last calls."""
    messages = here.model.requests[-1].body["messages"]
    return [json.loads(message["content"]) for message in messages if message["role"] == "tool"]


async def try_out(here: House, said: str, *calls: Call) -> list[dict[str, Any]]:
    """One turn with these calls; the person has exactly one more message, and what the model read."""
    before = len(here.texts(1))
    here.model.answers(Reply(calls=calls), Reply(f"That was {said}."))
    here.sim.say(1, said)
    await here.told(1, f"That was {said}.")
    await here.settled()
    assert before + 1 == len(here.texts(1))
    return results(here)[-len(calls) :]


async def test_f46_a_tool_that_raises(tmp_path: Path) -> None:
    """The model reads that it failed, and nothing of the message, which may hold a secret."""
    async with house(tmp_path, tools=tools_of(BadTools())) as here:
        (failed,) = await try_out(here, "a burst", Call("burst", "{}"))
        assert not failed["success"]
        assert "RuntimeError" in failed["error"]
        assert "hunter2" not in str(here.model.requests)
        (fine,) = await try_out(here, "the next one", Call("give", '{"what": "milk"}'))
        assert "milk" == fine["data"]


async def test_f47_a_tool_that_hangs(tmp_path: Path) -> None:
    """It is timed out by its own limit, and has ended when the answer comes."""
    bad = BadTools()
    async with house(tmp_path, tools=tools_of(bad)) as here:
        (failed,) = await try_out(here, "a wait", Call("hang", "{}"))
        assert "timed out" in failed["error"]
        assert 1 == bad.cancelled
        await try_out(here, "the next one", Call("give", "{}"))


async def test_f48_a_tool_that_ignores_its_end(tmp_path: Path) -> None:
    """It is left behind: the turn goes on, the next one too; what it does later is nobody's."""
    bad = BadTools()
    async with house(tmp_path, tools=tools_of(bad)) as here:
        (failed,) = await try_out(here, "a stubborn one", Call("stubborn", "{}"))
        assert "timed out" in failed["error"]
        await try_out(here, "the next one", Call("give", "{}"))
        bad.release.set()
        assert "zanzibar" not in str(here.model.requests[-1].body)


async def test_f49_what_no_model_can_read(tmp_path: Path) -> None:
    """Fifty megabytes, bytes, nothing, an object: each becomes a short JSON result; the first can be read on."""
    bad = BadTools()
    async with house(tmp_path, tools=tools_of(bad)) as here:
        (much,) = await try_out(here, "much", Call("give", '{"what": "much"}'))
        assert len(json.dumps(much)) < 20_000
        handle = much["data"]["handle"]
        (page,) = await try_out(here, "more", Call("read_result", json.dumps({"handle": handle, "offset": 8000})))
        assert 20_000 >= len(page["data"]["text"]) > 10_000
        (binary,) = await try_out(here, "bytes", Call("give", '{"what": "binary"}'))
        assert "(18 bytes of binary data)" == binary["data"]
        (nothing,) = await try_out(here, "nothing", Call("give", '{"what": "nothing"}'))
        assert (True, None) == (nothing["success"], nothing["data"])
        (odd,) = await try_out(here, "an object", Call("give", '{"what": "object"}'))
        assert "cannot be shown" in odd["error"]


async def test_f52_one_of_three_fails(tmp_path: Path) -> None:
    """Each call has its own result, in the order asked."""
    async with house(tmp_path, tools=tools_of(BadTools())) as here:
        calls = [Call("give", json.dumps({"what": what})) for what in ("milk", "refusal", "flour")]
        read = await try_out(here, "three", *calls)
        assert ["milk", None, "flour"] == [result["data"] for result in read]
        assert "not this one" == read[1]["error"]
        await try_out(here, "the next one", Call("give", "{}"))
