"""A turn on recorded results: answers from the record, nothing else runs."""

import json
from dataclasses import replace

from pydantic import BaseModel

from agent.journal import whole_result
from agent.loop import run_turn
from agent.models.scripted import Says, ScriptedModel, calls
from agent.ports import ModelRequest, Principal
from agent.replay.record import NOT_RECORDED, RecordedCall, RecordedResults, recorded_calls
from agent.replay.run import run_on_record, with_prompt
from agent.replay.steps import compare, steps_of
from agent.tools.base import Effect, ToolError
from agent.tools.guards import NoHooks, PreTool, ToolUse
from agent.transcript import (
    NO_RESULT,
    CallOutcome,
    EndReason,
    JournalEvent,
    ModelResponded,
    Steered,
    ToolCall,
    ToolItem,
    ToolResultRewritten,
    ToolReturned,
    TurnEnded,
    UserItem,
)
from tests.fakes.agents import a_tool, an_agent
from tests.fakes.turn_port import FakeTurnPort, a_turn


class Asked(BaseModel):
    """Arguments of a tool with a default."""

    city: str
    days: int = 1


class Around:
    """Surroundings that count."""

    def __init__(self) -> None:
        self.costs = 0

    async def note_cost(self, response: object) -> None:
        self.costs += 1

    async def whole_result(self, handle: str) -> str | None:
        return f"whole {handle}"

    async def load_pictures(self, ids: object) -> dict[str, bytes]:
        return {}

    def scrub(self, text: str) -> str:
        return text


class UnheardHooks(NoHooks):
    """Hooks that must not run."""

    async def pre_tool(self, use: ToolUse) -> PreTool:
        raise AssertionError("a hook ran")

    async def stop(self, principal: Principal, turn_id: str, text: str) -> str:
        raise AssertionError("a hook ran")


async def never(_context: object, _arguments: object) -> object:
    raise AssertionError("a tool ran")


def weather(run=never, effect=Effect.UNSAFE):
    return a_tool("weather", run, Asked, effect, aliases=("forecast",))


def results_in(request: ModelRequest) -> list[str]:
    return [json.loads(item.content) for item in request.items if isinstance(item, ToolItem)]


def success(data: object) -> str:
    return json.dumps({"success": True, "data": data, "error": None})


async def test_a_replay_sees_what_the_recorded_turn_saw():
    ran = []

    async def run(_context, asked):
        ran.append(asked.city)
        if asked.city == "Lima":
            raise ToolError("no such city", {"near": "Lime"})
        return {"sun": len(ran)}

    script = [
        calls(("weather", '{"city": "Oslo"}'), ("weather", '{"city": "Lima"}')),
        calls(("weather", '{"days": 1, "city": "Oslo"}')),
        Says("Sunny."),
    ]
    port, first = FakeTurnPort(), ScriptedModel(list(script))
    turn = a_turn(port)
    await run_turn(turn, port.ports, an_agent(first, weather(run, Effect.NONE)))
    recorded = recorded_calls(turn.id, port.events)
    assert 3 == len(ran) == len(recorded)

    again, around = ScriptedModel(list(script)), Around()
    results = RecordedResults(recorded)
    agent = replace(an_agent(again, weather(effect=Effect.NONE)), hooks=UnheardHooks())
    events = await run_on_record(a_turn(FakeTurnPort()), agent, results, around)
    assert 3 == len(ran) == around.costs
    assert [request.items for request in first.requests] == [request.items for request in again.requests]
    assert [request.tools[0].schema for request in first.requests] == [each.tools[0].schema for each in again.requests]
    before, after = steps_of(turn.id, port.events), steps_of(turn.id, events)
    assert all(pair.is_same for pair in compare(before, after))


async def test_the_nth_equal_call_gets_the_nth_result_and_a_further_one_none():
    recorded = [
        RecordedCall("forecast", '{"city": "Oslo", "security_risk": "LOW"}', success("first")),
        RecordedCall("weather", '{"days": 1, "city": "Oslo"}', success("second")),
        RecordedCall("weather", '{"town": "Oslo"}', success("of another schema")),
        RecordedCall("wind", '{"city": "Oslo"}', success("of another tool")),
    ]
    results, turn = RecordedResults(recorded), a_turn(FakeTurnPort())
    model = ScriptedModel([calls(*[("weather", '{"city": "Oslo"}')] * 3), Says("Sunny.")])
    events = await run_on_record(turn, an_agent(model, weather()), results, Around())
    assert ["first", "second", None] == [result["data"] for result in results_in(model.requests[-1])]
    assert NOT_RECORDED == results_in(model.requests[-1])[-1]["error"]
    assert {f"{turn.id}/0/2"} == results.missing
    (first, _) = steps_of(turn.id, events, results.missing).steps
    assert [True, True, False] == [call.is_recorded for call in first.calls]


async def test_messages_that_joined_the_turn_join_its_replay_at_the_same_step_or_at_the_answer():
    early, late = Steered(1, (UserItem("and tomorrow?"),)), Steered(7, (UserItem("thanks"),))
    model = ScriptedModel([calls(("weather", '{"city": "Oslo"}')), Says("Sunny."), Says("You are welcome.")])
    turn = a_turn(FakeTurnPort())
    events = await run_on_record(turn, an_agent(model, weather()), RecordedResults([]), Around(), steered=(early, late))
    said = [[item.text for item in request.items if isinstance(item, UserItem)][1:] for request in model.requests]
    assert [[], ["and tomorrow?"], ["and tomorrow?", "thanks"]] == said
    assert [(), ("and tomorrow?",), ("thanks",)] == [step.heard for step in steps_of(turn.id, events).steps]
    assert "Sunny.\n\nYou are welcome." == steps_of(turn.id, events).figures.answer


async def test_another_prompt_takes_the_place_of_the_identity_alone():
    model = ScriptedModel([Says("Yes.")])
    agent = with_prompt(an_agent(model), "Be brief.")
    await run_on_record(a_turn(FakeTurnPort()), agent, RecordedResults([]), Around())
    assert "Be brief." == model.requests[0].system.static


async def test_a_call_whose_result_was_lost_is_recorded_as_unknown():
    events: list[JournalEvent] = [
        ModelResponded(0, "", (ToolCall("a", "weather", "{}"), ToolCall("b", "weather", "{}"))),
        ToolReturned(0, "t/0/1", "b", "weather", success(1), ran_with="{}"),
    ]
    lost, withheld = recorded_calls("t", events)
    assert (NO_RESULT, CallOutcome.UNKNOWN) == (lost.content, lost.outcome)
    assert "withheld" in withheld.content
    assert "withheld" in steps_of("t", events).steps[0].calls[1].result
    heard = ToolResultRewritten(0, "t/0/1", "b", success("by a hook"))
    assert success("by a hook") == steps_of("t", (*events, heard)).steps[0].calls[1].result
    assert whole_result(events, "t/0/1") is None


def test_steps_are_compared_line_by_line():
    def run(*responses: ModelResponded) -> tuple[JournalEvent, ...]:
        return (*responses, TurnEnded(EndReason.COMPLETED, responses[-1].text))

    call = ToolCall("1", "weather", '{"city":"Oslo","b":1}')
    same = ToolCall("2", "weather", '{"b": 1, "city": "Oslo"}')
    other = ToolCall("3", "weather", "{nonsense\n")
    long = ToolReturned(0, "t/0/0", "1", "weather", "x" * 1000)
    recorded = steps_of("t", (long, *run(ModelResponded(0, "", (call,)), ModelResponded(1, "Rain.\nTake a coat."))))
    replayed = steps_of(
        "t",
        (long, *run(ModelResponded(0, "", (same,)), ModelResponded(1, "Rain.", (other,)), ModelResponded(2, "Rain."))),
        missing={"t/1/0"},
    )
    first, second, third = compare(recorded, replayed)
    assert first.is_same
    assert first.lines[1].endswith("… (1,000 characters)")
    assert not second.is_same
    assert (
        "  text: Rain.",
        "- text: Take a coat.",
        "+ call: weather {nonsense",
        "+   result: not in the record",
    ) == second.lines
    assert ("+ text: Rain.",) == third.lines
    assert third.recorded is None
