"""Read-only calls start while their response still streams; others never do."""

import asyncio

import pytest

from agent.errors import FailureKind
from agent.loop import run_turn
from agent.ports import CallStreamed, ModelFacts, ModelFailure
from agent.tools.base import Effect
from agent.transcript import (
    AssistantItem,
    EndReason,
    ModelResponded,
    Nudged,
    NudgeReason,
    StopReason,
    ToolCall,
    TurnStarted,
    UserItem,
)
from tests.fakes.agents import a_tool, an_agent, double, returned
from tests.fakes.turn_port import FakeTurnPort, a_turn


class StreamsCalls:
    name = "streams:test"
    facts = ModelFacts()

    def __init__(self, *, then=None):
        self.calls = (ToolCall("c0", "double", '{"n": 1}'), ToolCall("c1", "late", "{}"))
        self.then = then
        self.ran = asyncio.Event()
        self.asked = 0

    async def respond(self, request, on_event):
        self.asked += 1
        if self.asked > 1:
            return ModelResponded(0, "done")
        on_event(CallStreamed(0, self.calls[0]))
        await self.ran.wait()  # the response ends only once the call has run
        if self.then is not None:
            raise self.then
        return ModelResponded(0, "", self.calls, stop=StopReason.TOOLS)

    async def aclose(self):
        pass


async def test_a_reading_call_starts_before_its_response_is_over():
    port, model, keys = FakeTurnPort(), StreamsCalls(), []

    async def run(context, arguments):
        keys.append(context.call_key)
        model.ran.set()
        return arguments.n

    tools = (a_tool("double", run, concurrency_safe=True), a_tool("late", double))
    turn = a_turn(port)
    assert EndReason.COMPLETED is await run_turn(turn, port.ports, an_agent(model, *tools))
    assert [f"{turn.id}/0/0"] == keys
    assert [f"{turn.id}/0/0", f"{turn.id}/0/1"] == [event.call_key for event in returned(port)]
    assert isinstance(port.events[1], ModelResponded)


@pytest.mark.parametrize("effect", [Effect.LOCAL, Effect.IDEMPOTENT, Effect.UNSAFE])
async def test_a_call_with_an_effect_waits_for_its_response(effect):
    port, model, seen = FakeTurnPort(run_effect=lambda _: "{}"), StreamsCalls(), []
    model.ran.set()

    async def run(_context, _arguments):
        seen.append(any(isinstance(event, ModelResponded) for event in port.events))

    tools = (a_tool("double", run, effect=effect, concurrency_safe=True), a_tool("late", double))
    await run_turn(a_turn(port), port.ports, an_agent(model, *tools, allow_tools=("*",)))
    assert [True] == seen


async def test_a_call_begun_for_a_response_that_failed_leaves_nothing():
    port, ended = FakeTurnPort(), asyncio.Event()
    model = StreamsCalls(then=ModelFailure(FailureKind.NETWORK, "cut"))

    async def run(_context, _arguments):
        model.ran.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    tool = a_tool("double", run, concurrency_safe=True)
    assert EndReason.MODEL_ERROR is await run_turn(a_turn(port), port.ports, an_agent(model, tool))
    await ended.wait()
    assert [] == returned(port)


class Ledger:
    """A count that calls change and read; it notes what each read saw, and overlapping calls."""

    def __init__(self):
        self.count, self.inside = 0, 0
        self.seen, self.together = [], []

    async def _inside(self):
        self.inside += 1
        for _ in range(3):
            await asyncio.sleep(0)
        self.together.append(self.inside)
        self.inside -= 1

    async def read(self, _context, _arguments):
        before = self.count
        await self._inside()
        self.seen.append(before)
        return before

    async def write(self, _context, _arguments):
        await self._inside()
        self.count += 1
        return self.count

    def tools(self):
        return (
            a_tool("read", self.read, concurrency_safe=True),
            a_tool("write", self.write, effect=Effect.IDEMPOTENT, concurrency_safe=True),
            a_tool("set", self.write, effect=Effect.UNSAFE),
        )


class StreamsAll:
    """A model whose calls stream in one after another before its response ends."""

    name = "streams:all"
    facts = ModelFacts()

    def __init__(self, *streamed, response=None):
        self.streamed = [ToolCall(f"c{at}", name, "{}") for at, name in enumerate(streamed)]
        self.wanted = self.streamed if response is None else response
        self.asked = 0

    async def respond(self, request, on_event):
        self.asked += 1
        if self.asked > 1:
            return ModelResponded(0, "done")
        for at, call in enumerate(self.streamed):
            on_event(CallStreamed(at, call))
            for _ in range(8):
                await asyncio.sleep(0)
        return ModelResponded(0, "", tuple(self.wanted), stop=StopReason.TOOLS)

    async def aclose(self):
        pass


async def test_a_read_begun_for_a_response_that_became_another_is_read_anew():
    port, ledger = FakeTurnPort(), Ledger()
    response = [ToolCall("c0", "set", "{}"), ToolCall("c1", "read", "{}")]
    model = StreamsAll("read", "read", response=response)
    await run_turn(a_turn(port), port.ports, an_agent(model, *ledger.tools(), allow_tools=("*",)))
    results = [event.content for event in returned(port)]
    assert '"data":1' in results[1]


async def test_a_read_begun_for_a_response_asked_again_does_not_count():
    port, ledger = FakeTurnPort(), Ledger()

    class AsksAgain(StreamsAll):
        async def respond(self, request, on_event):
            if not self.asked:
                on_event(CallStreamed(0, ToolCall("c0", "read", "{}")))
                on_event(CallStreamed(1, ToolCall("c1", "read", "{}")))
                self.asked, self.wanted = -1, [ToolCall("c0", "set", "{}"), ToolCall("c1", "read", "{}")]
                raise ModelFailure(FailureKind.CONTEXT, "too long")
            return await super().respond(request, on_event)

    await run_turn(
        a_turn(port, history=[UserItem("q"), AssistantItem("a")]),
        port.ports,
        an_agent(AsksAgain(), *ledger.tools(), allow_tools=("*",)),
    )
    assert '"data":1' in returned(port)[1].content


async def test_a_last_response_starts_nothing():
    port, ledger = FakeTurnPort(), Ledger()
    agent = an_agent(StreamsAll("read"), *ledger.tools(), max_steps=1)
    port.events.append(TurnStarted((UserItem("hello"),)))
    port.events.append(Nudged(0, "answer now", NudgeReason.LAST, EndReason.MAX_STEPS))
    await run_turn(a_turn(port), port.ports, agent)
    assert [] == ledger.together


async def test_calls_of_a_refused_response_do_not_run():
    port, ledger = FakeTurnPort(), Ledger()

    class Refuses(StreamsAll):
        async def respond(self, request, on_event):
            self.asked += 1
            if self.asked > 1:
                return ModelResponded(0, "done")
            port.say("and?")
            return ModelResponded(0, "no", (ToolCall("c0", "set", "{}"),), stop=StopReason.REFUSED)

    await run_turn(a_turn(port), port.ports, an_agent(Refuses(), *ledger.tools(), allow_tools=("*",)))
    assert 0 == ledger.count
