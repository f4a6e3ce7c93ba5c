"""A model that asks for thousands of calls at once: a bound, and no commit for each (F37)."""

import json

from agent.loop import run_turn
from agent.models.scripted import Says, ScriptedModel
from agent.transcript import EndReason, ModelResponded, ToolCall, ToolItem
from tests.fakes.agents import a_tool, an_agent, double, returned
from tests.fakes.turn_port import FakeTurnPort, a_turn


def calls(many: int, name: str) -> Says:
    return Says(calls=tuple(ToolCall(f"c{index}", name, f'{{"n": {index}}}') for index in range(many)))


async def a_turn_with(many: int, name: str = "double") -> tuple[FakeTurnPort, ScriptedModel]:
    model, port = ScriptedModel([calls(many, name), "done"]), FakeTurnPort()
    agent = an_agent(model, a_tool("double", double, concurrency_safe=True))
    assert EndReason.COMPLETED is await run_turn(a_turn(port), port.ports, agent)
    return port, model


async def test_f37_5000_calls_are_about_60_commits_and_100_results() -> None:
    port, model = await a_turn_with(5000)
    assert 50 + 1 + 1 + 1 == port.commits  # a result each, one of all that were refused, the response, the end
    items = [item for item in model.requests[-1].items if isinstance(item, ToolItem)]
    errors = [json.loads(item.content)["error"] for item in items]
    assert 100 == len(items)
    assert 49 == sum("Ask again for this one" in (error or "") for error in errors)
    assert "4900 more calls" in errors[-1]


async def test_f37_5000_calls_of_no_tool_are_bounded_as_well() -> None:
    port, _ = await a_turn_with(5000, "no_such_tool")
    assert 100 == len(returned(port))
    assert 50 + 1 + 1 + 1 == port.commits


async def test_f37_what_was_left_out_is_told_after_a_crash_too() -> None:
    port, _ = await a_turn_with(5000)
    assert 4900 == next(event for event in port.events if isinstance(event, ModelResponded)).calls_left_out
