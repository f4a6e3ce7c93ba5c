"""The loop: model and tools in turn, steering and stops."""

import asyncio
import json

from agent.loop import run_turn
from agent.models.scripted import Says, ScriptedModel, calls
from agent.ports import TextDelta
from agent.tools.base import Effect
from agent.transcript import (
    SKIPPED,
    AssistantItem,
    CallOutcome,
    EndReason,
    ModelResponded,
    UserItem,
    fold,
)
from agent.turn_progress import ToolStarted
from tests.fakes.agents import a_tool, an_agent, double, returned
from tests.fakes.turn_port import FakeTurnPort, a_turn


async def test_an_answer_without_tools_ends_the_turn():
    port, model = FakeTurnPort(), ScriptedModel(["Hello Ana."])
    assert EndReason.COMPLETED is await run_turn(a_turn(port), port.ports, an_agent(model))
    assert "Hello Ana." == port.answer
    assert [UserItem("hello"), AssistantItem("Hello Ana.")] == list(fold(port.events))
    assert "Hello Ana." == port.shown.strip()


async def test_tools_run_and_their_results_are_read():
    port = FakeTurnPort()
    model = ScriptedModel([calls(("double", '{"n": 21}'), ("double", '{"n": 1}'), text="Let me see."), "42"])
    reason = await run_turn(a_turn(port), port.ports, an_agent(model, a_tool("double", double)))
    assert EndReason.COMPLETED is reason
    items = list(model.requests[1].items)
    assert ["Let me see."] == [item.text for item in items if isinstance(item, AssistantItem)]
    assert [42, 2] == [json.loads(item.content)["data"] for item in items[2:]]
    assert "42" == port.answer == port.shown.strip()
    assert ["double"] * 2 == [event.name for event in port.progressed if isinstance(event, ToolStarted)]


async def test_f56_steering_between_tools_skips_the_rest():
    port = FakeTurnPort()

    async def slow(_context, _arguments):
        port.say("no, the piano")
        return "guitar"

    model = ScriptedModel([calls(("slow", "{}"), ("slow", "{}")), "The piano then."])
    assert EndReason.COMPLETED is await run_turn(a_turn(port), port.ports, an_agent(model, a_tool("slow", slow)))
    first, second = returned(port)
    assert (CallOutcome.DONE, CallOutcome.SKIPPED) == (first.outcome, second.outcome)
    assert SKIPPED == json.loads(second.content)["error"]
    assert UserItem("no, the piano") == model.requests[1].items[-1]
    assert "The piano then." == port.answer


async def test_f56_steering_while_the_answer_streams_is_read_and_the_answer_stands():
    port = FakeTurnPort()
    port.on_progress = lambda event: port.say("and the bass?") if event == TextDelta("Guitar: ") else None
    model = ScriptedModel(["Guitar: 3 h.", "Bass: 1 h."])
    assert EndReason.COMPLETED is await run_turn(a_turn(port), port.ports, an_agent(model))
    assert "Guitar: 3 h.\n\nBass: 1 h." == port.answer
    assert port.answer.split() == port.shown.split()
    assert [
        UserItem("hello"),
        AssistantItem("Guitar: 3 h."),
        UserItem("and the bass?"),
        AssistantItem("Bass: 1 h."),
    ] == list(fold(port.events))


async def test_f56_steering_at_the_last_moment_is_read_before_the_end():
    port = FakeTurnPort()
    say, port.steering_waits = iter([True]), lambda: False

    async def finish(reason, text, response, note, end=port.finish, **more):
        if next(say, False):
            port.say("wait")
            del port.steering_waits
        return await end(reason, text, response, note)

    port.finish = finish
    model = ScriptedModel(["One.", "Two."])
    assert EndReason.COMPLETED is await run_turn(a_turn(port), port.ports, an_agent(model))
    assert "One.\n\nTwo." == port.answer


async def test_f55_a_stop_closes_the_stream_and_keeps_what_was_said():
    port = FakeTurnPort()
    port.on_progress = lambda event: port.stop() if event == TextDelta("two ") else None

    async def pause(_seconds):
        if port.stopping():
            await asyncio.Event().wait()

    model = ScriptedModel([Says("one two three four", word_s=30.0)], sleep=pause)
    assert EndReason.STOPPED is await run_turn(a_turn(port), port.ports, an_agent(model))
    assert "one two\n\n(Stopped.)" == port.answer


async def test_f55_a_stop_lets_a_running_tool_finish_and_runs_no_other():
    port = FakeTurnPort()

    async def slow(_context, _arguments):
        port.stop()
        await asyncio.sleep(0)
        return "done"

    model = ScriptedModel([calls(("slow", "{}"), ("slow", "{}"))])
    assert EndReason.STOPPED is await run_turn(
        a_turn(port), port.ports, an_agent(model, a_tool("slow", slow, effect=Effect.UNSAFE), allow_tools=("*",))
    )
    assert [CallOutcome.DONE, CallOutcome.SKIPPED] == [event.outcome for event in returned(port)]
    assert "Stopped." == port.answer


async def test_an_answer_journaled_before_a_crash_is_not_asked_again():
    port = FakeTurnPort()
    turn = a_turn(port)
    port.events.append(ModelResponded(0, "Hi."))
    turn = a_turn(port)
    assert EndReason.COMPLETED is await run_turn(turn, port.ports, an_agent(ScriptedModel([])))
    assert "Hi." == port.answer
