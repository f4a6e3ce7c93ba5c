"""Cost of three tools in a turn, beside the same model calls without them: CPU of the whole way, journal included.

Both turns ask the model twice; the one without tools gets an empty response first, and is nudged. Model and platform
are in this process and cost next to nothing. The database is a file that is not synced.
"""

import asyncio
import gc
import json
import tempfile
import time
from pathlib import Path
from statistics import median

from pydantic import BaseModel

from agent.ports import ModelRequest, Principal
from agent.tools.base import Effect, ToolContext, tool, tools_of
from agent.transcript import ModelResponded, StopReason, ToolCall, ToolItem
from channels.messages import OutboundPart, Receipt
from gateway.__main__ import COLLECTED_AFTER
from tests.fakes.chat import FakeChannel
from tests.fakes.spine import Spine, quick_store

TURNS = 60
ROUNDS = 7


class Place(BaseModel):
    """Arguments of the tool."""

    name: str


class Places:
    """A tool that reads, and answers about as much as the coach's do."""

    @tool(Place, effect=Effect.NONE, concurrency_safe=True)
    async def look_up(self, context: ToolContext, arguments: Place) -> object:
        """Look a place up."""
        return {"name": arguments.name, "rows": [{"day": day, "minutes": 30 + day} for day in range(30)]}


class Heard(FakeChannel):
    """A channel that signals each answer."""

    def __init__(self) -> None:
        super().__init__()
        self.answered = asyncio.Event()

    async def send(self, part: OutboundPart) -> Receipt:
        receipt = await super().send(part)
        self.answered.set()
        return receipt


def _with_tools(request: ModelRequest) -> ModelResponded:
    if isinstance(request.items[-1], ToolItem):
        return ModelResponded(0, "Three places.")
    calls = tuple(ToolCall(f"c{n}", "look_up", json.dumps({"name": f"place {n}"})) for n in range(3))
    return ModelResponded(0, "", calls, stop=StopReason.TOOLS)


def _without(request: ModelRequest) -> ModelResponded:
    return ModelResponded(0, "" if len(request.items) == 1 else "Three places.")


async def run() -> dict[str, object]:
    """Measure the CPU of a turn with three tools and of one without, in rounds that alternate."""
    took_ms: dict[str, list[float]] = {"three tools": [], "none": []}
    with tempfile.TemporaryDirectory(prefix="tenk-bench-") as directory:
        store = await quick_store(Path(directory) / "tenk.db")
        channel = Heard()
        spine = Spine(store, channel, tools=tools_of(Places()))
        await spine.begin()
        usual = gc.get_threshold()
        gc.collect()
        gc.freeze()
        gc.set_threshold(*COLLECTED_AFTER)  # as in a gateway that has started
        chats = 0
        for _ in range(ROUNDS):
            for name, answer in (("three tools", _with_tools), ("none", _without)):
                spine.model.answer_at_once = answer
                begun_s = time.process_time()
                for _ in range(TURNS):
                    chats += 1
                    channel.answered.clear()
                    user = f"u{chats}"  # each a conversation of their own
                    spine.people.known[user] = Principal(user, "default", locale="en")
                    await spine.say("Which places?", user, f"c{chats}")
                    async with asyncio.timeout(30):
                        await channel.answered.wait()
                took_ms[name].append((time.process_time() - begun_s) * 1000 / TURNS)
        await spine.kill()
        await store.aclose()
        gc.set_threshold(*usual)
        gc.unfreeze()
    middle = {name: median(figures[1:]) for name, figures in took_ms.items()}
    more_ms = middle["three tools"] - middle["none"]
    print(f"\nthree tools in a turn of two model calls, CPU ms a turn; medians of {ROUNDS - 1} rounds of {TURNS}")
    print(f"  with {middle['three tools']:.2f}   without {middle['none']:.2f}   more {more_ms:.2f}")
    print("  goal: at most 3 ms more than the model calls")
    return {"three tools": round(middle["three tools"], 3), "none": round(middle["none"], 3), "more": round(more_ms, 3)}
