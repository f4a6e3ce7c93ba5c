"""Calls whose results come later: the turn waits for them without a slot."""

import pytest

from agent.consent import TurnParked
from agent.loop import run_turn
from agent.models.scripted import Says, ScriptedModel, calls
from agent.ports import LocalEffect
from agent.tools.base import Awaited, Effect, ToolError
from agent.transcript import CallOutcome, EndReason
from tests.fakes.agents import a_tool, an_agent, returned
from tests.fakes.turn_port import FakeTurnPort, a_turn

TURN = "0190-turn-000000000001"


def begin(_change, key):
    return key


class Desk:
    """Work whose results a test puts down."""

    def __init__(self):
        self.done = {}
        self.ran = []

    async def ask(self, context, _arguments):
        key = context.call_key
        return self.done.get(key) or Awaited(LocalEffect(begin, key))

    async def read(self, context, _arguments):
        self.ran.append(context.call_key)
        return "read"


@pytest.fixture
def desk():
    return Desk()


def agent_of(desk, *script):
    ask = a_tool("ask", desk.ask, effect=Effect.LOCAL, read_only=True, concurrency_safe=True)
    return an_agent(ScriptedModel(script), ask, a_tool("write", desk.read, effect=Effect.LOCAL))


async def run(port, agent):
    return await run_turn(a_turn(port), port.ports, agent)


def port_of():
    return FakeTurnPort(run_effect=lambda effect: str(effect.run(None)))


async def test_the_turn_goes_on_with_the_results_and_calls_behind_them_wait(desk):
    port = port_of()
    agent = agent_of(desk, calls(("ask", "{}"), ("ask", "{}"), ("write", "{}")), "Both are here.")
    with pytest.raises(TurnParked):
        await run(port, agent)
    assert [f"{TURN}/0/0", f"{TURN}/0/1"] == port.begun
    desk.done[f"{TURN}/0/1"] = "second"
    port.say("meanwhile")  # joins once each call has its result
    with pytest.raises(TurnParked):
        await run(port, agent)
    assert [] == desk.ran
    desk.done[f"{TURN}/0/0"] = "first"
    assert EndReason.COMPLETED is await run(port, agent)
    first, second, behind = sorted(returned(port), key=lambda event: event.call_key)
    assert "first" in first.content
    assert "second" in second.content
    assert CallOutcome.SKIPPED is behind.outcome


async def test_a_result_that_came_first_is_not_waited_for(desk):
    port = port_of()
    port.ready_at_once = True
    wait = port.wait

    async def wait_and_end(step, calls, left_s):
        desk.done[f"{TURN}/0/0"] = "first"
        await wait(step, calls, left_s)

    port.wait = wait_and_end
    assert EndReason.COMPLETED is await run(port, agent_of(desk, calls(("ask", "{}")), "Here."))


async def test_a_stop_ends_the_wait(desk):
    port = port_of()
    agent = agent_of(desk, calls(("ask", "{}")), Says("Never said."))
    with pytest.raises(TurnParked):
        await run(port, agent)
    port.stop()
    assert EndReason.STOPPED is await run(port, agent)
    assert CallOutcome.SKIPPED is returned(port)[0].outcome


async def test_work_that_is_refused_gives_the_model_the_reason(desk):
    def refuse(_effect):
        raise ToolError("Five tasks run already.")

    port = FakeTurnPort(run_effect=refuse)
    assert EndReason.COMPLETED is await run(port, agent_of(desk, calls(("ask", "{}")), "I could not."))
    assert "Five tasks run already." in returned(port)[0].content
