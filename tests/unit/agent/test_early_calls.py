"""Calls that only read start while their response still streams; others never do (D4)."""

import asyncio

import pytest

from agent.errors import FailureKind
from agent.loop import run_turn
from agent.ports import CallStreamed, ModelFailure
from agent.tools.base import Effect
from agent.transcript import (
    CallOutcome,
    EndReason,
    ModelResponded,
    StopReason,
    ToolCall,
)
from tests.fakes.agents import a_tool, an_agent, double, returned
from tests.fakes.turn_port import FakeTurnPort, a_turn


class StreamsCalls:
    """A model whose first call has streamed in whole long before its response is over."""

    name = "streams:test"

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
    """It runs once, beside the stream, and its result is journaled behind the response."""
    port, model, keys = FakeTurnPort(), StreamsCalls(), []

    async def run(context, arguments):
        keys.append(context.call_key)
        model.ran.set()
        return arguments.n

    tools = (a_tool("double", run, concurrency_safe=True), a_tool("late", double))
    turn = a_turn(port)
    assert EndReason.COMPLETED is await run_turn(turn, port, an_agent(model, *tools))
    assert [f"{turn.id}/0/0"] == keys
    assert [f"{turn.id}/0/0", f"{turn.id}/0/1"] == [event.call_key for event in returned(port)]
    assert isinstance(port.events[1], ModelResponded)


async def test_a_call_begun_early_is_not_skipped_by_steering():
    """It had started: its result counts, the others are overtaken."""
    port, model = FakeTurnPort(), StreamsCalls()

    async def run(_context, arguments):
        port.say("wait")
        model.ran.set()
        return arguments.n

    tools = (a_tool("double", run, concurrency_safe=True), a_tool("late", double))
    assert EndReason.COMPLETED is await run_turn(a_turn(port), port, an_agent(model, *tools))
    assert [CallOutcome.DONE, CallOutcome.SKIPPED] == [event.outcome for event in returned(port)]


@pytest.mark.parametrize("effect", [Effect.LOCAL, Effect.IDEMPOTENT, Effect.UNSAFE])
async def test_a_call_with_an_effect_waits_for_its_response(effect):
    """Nothing that changes anything starts before the response that asks for it is journaled (D4)."""
    port, model, seen = FakeTurnPort(apply_command=lambda _: "{}"), StreamsCalls(), []
    model.ran.set()

    async def run(_context, _arguments):
        seen.append(any(isinstance(event, ModelResponded) for event in port.events))

    tools = (a_tool("double", run, effect=effect, concurrency_safe=True), a_tool("late", double))
    await run_turn(a_turn(port), port, an_agent(model, *tools, allow_tools=("*",)))
    assert [True] == seen


async def test_a_call_begun_for_a_response_that_failed_leaves_nothing():
    """The stream broke: what ran early is cancelled, no result is journaled, and the person is told."""
    port, ended = FakeTurnPort(), asyncio.Event()
    model = StreamsCalls(then=ModelFailure(FailureKind.NETWORK, "cut"))

    async def run(_context, _arguments):
        model.ran.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    tool = a_tool("double", run, concurrency_safe=True)
    assert EndReason.MODEL_ERROR is await run_turn(a_turn(port), port, an_agent(model, tool))
    await ended.wait()
    assert [] == returned(port)
