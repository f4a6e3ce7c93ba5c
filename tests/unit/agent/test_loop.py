"""The loop: model and tools in turn, steering, stops, limits, and an answer on every way out."""

import asyncio
import json

import pytest
from pydantic import BaseModel, ConfigDict

from agent.config import AgentConfig
from agent.errors import FailureKind
from agent.loop import Agent, run_turn
from agent.models.scripted import Says, ScriptedModel, calls
from agent.ports import CallStreamed, ModelFailure, TextDelta, ToolStarted
from agent.tools.base import Effect, Tool, ToolContext, ToolError
from agent.transcript import (
    SKIPPED,
    AssistantItem,
    CallOutcome,
    EndReason,
    ModelResponded,
    NoteItem,
    Steered,
    StopReason,
    ToolCall,
    ToolItem,
    ToolReturned,
    UserItem,
    fold,
)
from tests.fakes.turn_port import ANA, NOW, FakeTurnPort, a_turn


class Nothing(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Number(BaseModel):
    model_config = ConfigDict(extra="forbid")
    n: int = 0


def a_tool(name, run, arguments=Number, effect=Effect.NONE, **flags):
    return Tool(name=name, description=name, arguments=arguments, run=run, effect=effect, **flags)


async def double(_context, arguments):
    return arguments.n * 2


def an_agent(model, *tools, **limits):
    return Agent(model=model, tools=tools, prompt=lambda *_: "be kind", limits=AgentConfig(**limits), clock=lambda: NOW)


def returned(port):
    return [event for event in port.events if isinstance(event, ToolReturned)]


async def test_an_answer_without_tools_ends_the_turn():
    """A text is the answer, committed with the end."""
    port, model = FakeTurnPort(), ScriptedModel(["Hello Ana."])
    assert EndReason.COMPLETED is await run_turn(a_turn(port), port, an_agent(model))
    assert "Hello Ana." == port.answer
    assert [UserItem("hello"), AssistantItem("Hello Ana.")] == list(fold(port.events))
    assert "Hello Ana." == port.shown.strip()


async def test_tools_run_and_their_results_are_read():
    """The model gets one result per call, right behind the call, and answers from it."""
    port = FakeTurnPort()
    model = ScriptedModel([calls(("double", '{"n": 21}'), ("double", '{"n": 1}'), text="Let me see."), "42"])
    reason = await run_turn(a_turn(port), port, an_agent(model, a_tool("double", double)))
    assert EndReason.COMPLETED is reason
    items = list(model.requests[1].items)
    assert ["Let me see."] == [item.text for item in items if isinstance(item, AssistantItem)]
    assert [42, 2] == [json.loads(item.content)["data"] for item in items[2:]]
    assert "42" == port.answer == port.shown.strip()
    assert [ToolStarted("double")] * 2 == [event for event in port.progressed if isinstance(event, ToolStarted)]


async def test_f56_steering_between_tools_skips_the_rest():
    """What is said while a tool runs overtakes the calls not yet started, in the commit that takes it in."""
    port = FakeTurnPort()

    async def slow(_context, _arguments):
        port.say("no, the piano")
        return "guitar"

    model = ScriptedModel([calls(("slow", "{}"), ("slow", "{}")), "The piano then."])
    assert EndReason.COMPLETED is await run_turn(a_turn(port), port, an_agent(model, a_tool("slow", slow)))
    first, second = returned(port)
    assert (CallOutcome.DONE, CallOutcome.SKIPPED) == (first.outcome, second.outcome)
    assert SKIPPED == json.loads(second.content)["error"]
    assert UserItem("no, the piano") == model.requests[1].items[-1]
    assert "The piano then." == port.answer


async def test_f56_steering_while_the_answer_streams_is_read_and_the_answer_stands():
    """A message during a final answer joins the turn; the answer already given is delivered with the next."""
    port = FakeTurnPort()
    port.on_progress = lambda event: port.say("and the bass?") if event == TextDelta("Guitar: ") else None
    model = ScriptedModel(["Guitar: 3 h.", "Bass: 1 h."])
    assert EndReason.COMPLETED is await run_turn(a_turn(port), port, an_agent(model))
    assert "Guitar: 3 h.\n\nBass: 1 h." == port.answer
    assert port.answer.split() == port.shown.split()
    assert [UserItem("hello"), AssistantItem("Guitar: 3 h."), UserItem("and the bass?"),
            AssistantItem("Bass: 1 h.")] == list(fold(port.events))  # fmt: skip


async def test_f56_steering_at_the_last_moment_is_read_before_the_end():
    """finish() says that something came in: nothing ended, and the loop reads on."""
    port = FakeTurnPort()
    say, port.steering_waits = iter([True]), lambda: False

    async def finish(reason, text, response, end=port.finish):
        if next(say, False):
            port.say("wait")
            del port.steering_waits
        return await end(reason, text, response)

    port.finish = finish
    model = ScriptedModel(["One.", "Two."])
    assert EndReason.COMPLETED is await run_turn(a_turn(port), port, an_agent(model))
    assert "One.\n\nTwo." == port.answer


async def test_steering_before_the_first_call_is_read_with_it():
    """What came in before the turn began to think is part of its first request."""
    port = FakeTurnPort()
    port.say("I mean the violin")
    model = ScriptedModel(["Violin."])
    await run_turn(a_turn(port), port, an_agent(model))
    assert [UserItem("hello"), UserItem("I mean the violin")] == list(model.requests[0].items)
    assert 1 == sum(isinstance(event, Steered) for event in port.events)


async def test_f55_a_stop_closes_the_stream_and_keeps_what_was_said():
    """A stop does not wait for the model; what had streamed is the answer, marked."""
    port = FakeTurnPort()
    port.on_progress = lambda event: port.stop() if event == TextDelta("two ") else None
    model = ScriptedModel(
        [Says("one two three four", word_s=30.0)], sleep=lambda s: asyncio.sleep(0 if not port.stopping() else s)
    )
    assert EndReason.STOPPED is await run_turn(a_turn(port), port, an_agent(model))
    assert "one two\n\n(Stopped.)" == port.answer


async def test_f55_a_stop_lets_a_running_tool_finish_and_runs_no_other():
    """A tool that cannot be cancelled finishes and is journaled; the next one is not started."""
    port = FakeTurnPort()

    async def slow(_context, _arguments):
        port.stop()
        await asyncio.sleep(0)
        return "done"

    model = ScriptedModel([calls(("slow", "{}"), ("slow", "{}"))])
    assert EndReason.STOPPED is await run_turn(a_turn(port), port, an_agent(model, a_tool("slow", slow)))
    assert [CallOutcome.DONE, CallOutcome.SKIPPED] == [event.outcome for event in returned(port)]
    assert "Stopped." == port.answer


async def test_f55_a_stop_ends_a_cancellable_tool():
    """A tool that says so is cancelled at once."""
    port = FakeTurnPort()

    async def endless(_context, _arguments):
        port.stop()
        await asyncio.Event().wait()

    model = ScriptedModel([calls(("endless", "{}"))])
    tool = a_tool("endless", endless, cancellable=True)
    assert EndReason.STOPPED is await run_turn(a_turn(port), port, an_agent(model, tool))
    assert [CallOutcome.FAILED] == [event.outcome for event in returned(port)]


async def test_past_the_step_limit_one_last_call_without_tools_answers():
    """The limit ends in an answer from what is known, marked as such (F54)."""
    port = FakeTurnPort()
    model = ScriptedModel(
        lambda request: calls(("double", f'{{"n": {len(request.items)}}}')) if request.tools else Says("So far 8.")
    )
    agent = an_agent(model, a_tool("double", double), max_steps=5)
    assert EndReason.MAX_STEPS is await run_turn(a_turn(port), port, agent)
    assert 6 == len(model.requests)
    assert port.answer.startswith("So far 8.\n\n(")
    assert isinstance(model.requests[-1].items[-1], NoteItem)


async def test_f54_the_same_call_again_and_again_is_nudged_once_then_ended():
    """Going in circles is told to the model once; then the next response is the last."""
    port = FakeTurnPort()
    model = ScriptedModel(lambda request: calls(("double", '{"n": 1}')) if request.tools else Says("It is 2."))
    assert EndReason.STUCK is await run_turn(a_turn(port), port, an_agent(model, a_tool("double", double)))
    assert 9 == len(model.requests)
    assert port.answer.startswith("It is 2.")


@pytest.mark.parametrize("written", ["", "   ", "<think>hm</think>"])
async def test_f31_f32_nothing_said_is_nudged_twice_then_told(written):
    """An empty response is asked again twice; then the person is told, never left in silence."""
    port, model = FakeTurnPort(), ScriptedModel([written, written, written])
    assert EndReason.MODEL_ERROR is await run_turn(a_turn(port), port, an_agent(model))
    assert 3 == len(model.requests)
    assert port.answer


async def test_f29_a_cut_answer_raises_the_cap_then_goes_on_three_times():
    """The first cut asks the same again with the higher cap; later ones continue, and the pieces are one answer."""
    port = FakeTurnPort()
    cut = [Says(text, stop=StopReason.LENGTH) for text in ("gone", "a", "b", "c")]
    model = ScriptedModel([*cut, Says("d")])
    assert EndReason.COMPLETED is await run_turn(a_turn(port), port, an_agent(model))
    assert "abcd" == port.answer == "".join(port.shown.split())
    assert [8192, 65536, 65536, 65536, 65536] == [request.max_output_tokens for request in model.requests]


async def test_f29_an_answer_cut_too_often_ends_as_too_long():
    """After three continuations the person gets the pieces and is told that it is cut."""
    port, model = FakeTurnPort(), ScriptedModel(lambda _: Says("x", stop=StopReason.LENGTH))
    assert EndReason.MAX_TOKENS is await run_turn(a_turn(port), port, an_agent(model))
    assert port.answer.startswith("xxxx\n\n(")


async def test_f29_a_call_cut_in_its_arguments_never_runs():
    """Half a call gets a result that says so."""
    port, ran = FakeTurnPort(), []

    async def run(_context, arguments):
        ran.append(arguments)

    cut = Says(calls=(ToolCall("c0", "double", '{"n": 1}'),), stop=StopReason.LENGTH)
    model = ScriptedModel([cut, cut, "Done."])
    assert EndReason.COMPLETED is await run_turn(a_turn(port), port, an_agent(model, a_tool("double", run)))
    assert [] == ran
    assert [CallOutcome.FAILED] == [event.outcome for event in returned(port)]


async def test_the_raised_cap_is_given_up_when_the_model_refuses_it():
    """A model whose own cap is lower is asked with the first one again."""
    port = FakeTurnPort()

    def answer(request):
        if request.max_output_tokens > 8192:
            return ModelFailure(FailureKind.BAD_REQUEST, "max_tokens is too large")
        return Says("a", stop=StopReason.LENGTH) if len(request.items) == 1 else Says("b")

    assert EndReason.COMPLETED is await run_turn(a_turn(port), port, an_agent(ScriptedModel(answer)))
    assert "ab" == port.answer


async def test_f30_a_refusal_is_an_answer():
    """A filtered response ends in words."""
    port, model = FakeTurnPort(), ScriptedModel([Says("", stop=StopReason.REFUSED)])
    assert EndReason.COMPLETED is await run_turn(a_turn(port), port, an_agent(model))
    assert "I can't answer that." == port.answer


async def test_f33_calling_without_a_call_is_told_three_times():
    """stop_reason "tools" without a call is malformed: said how, at most three times."""
    port, model = FakeTurnPort(), ScriptedModel(lambda _: Says("", stop=StopReason.TOOLS))
    assert EndReason.MODEL_ERROR is await run_turn(a_turn(port), port, an_agent(model))
    assert 4 == len(model.requests)


async def test_f34_malformed_arguments_are_told_then_an_answer_is_forced():
    """Unreadable arguments come back as results; the third time the model must answer without tools."""
    port = FakeTurnPort()
    model = ScriptedModel(lambda request: calls(("double", "{oops")) if request.tools else Says("Sorry."))
    assert EndReason.MODEL_ERROR is await run_turn(a_turn(port), port, an_agent(model, a_tool("double", double)))
    assert 4 == len(model.requests)
    assert port.answer.startswith("Sorry.")


async def test_f41_f42_too_long_a_request_drops_old_results_once_then_tells():
    """The old tool results go first; when that is not enough the person is told."""
    history = [UserItem("q"), AssistantItem("", (ToolCall("a", "double", "{}"),)), ToolItem("a", "double", "x" * 99),
               AssistantItem("", (ToolCall("b", "double", "{}"),)), ToolItem("b", "double", "y"),
               AssistantItem("", (ToolCall("c", "double", "{}"),)), ToolItem("c", "double", "z"),
               AssistantItem("ok")]  # fmt: skip
    port = FakeTurnPort()
    model = ScriptedModel([ModelFailure(FailureKind.CONTEXT, "too long")] * 2)
    reason = await run_turn(a_turn(port, history=history), port, an_agent(model))
    assert EndReason.CONTEXT_EXHAUSTED is reason
    first, second = model.requests
    assert ["x" * 99, "y", "z"] == [item.content for item in first.items if isinstance(item, ToolItem)]
    assert ["y", "z"] == [item.content for item in second.items if isinstance(item, ToolItem)][1:]
    assert "left out" in second.items[2].content


@pytest.mark.parametrize(
    ("failure", "words"),
    [
        (ModelFailure(FailureKind.RATE_LIMIT, "429", retry_after_s=3600), "try again in about 60 min"),
        (ModelFailure(FailureKind.RATE_LIMIT, "429", retry_after_s=61), "try again in about 2 min"),
        (ModelFailure(FailureKind.OVERLOADED, "529"), "try again in about 1 min"),
        (ModelFailure(FailureKind.AUTH, "401 key sk-secret"), "check its key"),
        (ModelFailure(FailureKind.QUOTA, "402"), "out of credit"),
        (ModelFailure(FailureKind.NETWORK, "reset"), "can't reach my model"),
    ],
)
async def test_f02_f09_f10_a_failed_model_is_told_in_words(failure, words):
    """The person reads what they can do; never the error, never the key."""
    port = FakeTurnPort()
    assert EndReason.MODEL_ERROR is await run_turn(a_turn(port), port, an_agent(ScriptedModel([failure])))
    assert words in port.answer
    assert "sk-secret" not in port.answer


async def test_the_person_reads_their_own_language():
    """Failures are told in Spanish to who speaks it."""
    port = FakeTurnPort()
    principal = type(ANA)("u", "t", locale="es-MX")
    model = ScriptedModel([ModelFailure(FailureKind.RATE_LIMIT, "429", retry_after_s=200)])
    await run_turn(a_turn(port, principal=principal), port, an_agent(model))
    assert "unos 4 min" in port.answer


async def test_f23_the_deadline_ends_a_model_that_never_answers():
    """The total deadline holds whatever drips in."""
    port, model = FakeTurnPort(), ScriptedModel([Says("never", delay_s=3600)])
    assert EndReason.TIMEOUT is await run_turn(a_turn(port), port, an_agent(model, deadline_s=0.05))
    assert "too long" in port.answer


async def test_five_timeouts_in_a_row_end_the_turn():
    """Tools that time out again and again end the turn with words."""
    port = FakeTurnPort()

    async def hang(_context, _arguments):
        await asyncio.Event().wait()

    model = ScriptedModel(lambda request: calls(("hang", f'{{"n": {len(request.items)}}}')))
    agent = an_agent(model, a_tool("hang", hang, timeout_s=0.01))
    assert EndReason.TIMEOUT is await run_turn(a_turn(port), port, agent)
    assert 5 == len(returned(port))


async def test_f36_call_ids_are_made_unique():
    """Doubled, missing and reused call ids become ids of our own; each call has its result."""
    port = FakeTurnPort()
    history = [UserItem("q"), AssistantItem("", (ToolCall("old", "double", "{}"),)), ToolItem("old", "double", "{}")]
    wanted = tuple(ToolCall(id_, "double", f'{{"n": {n}}}') for n, id_ in enumerate(["same", "same", "", "old"]))
    model = ScriptedModel([Says(calls=wanted), "ok"])
    agent = an_agent(model, a_tool("double", double, concurrency_safe=True))
    await run_turn(a_turn(port, history=history), port, agent)
    results = [item for item in model.requests[1].items if isinstance(item, ToolItem)][1:]
    assert [0, 2, 4, 6] == [json.loads(item.content)["data"] for item in results]
    assert 5 == len({item.call_id for item in results} | {"old"})


async def test_f39_an_answer_beyond_measure_is_cut():
    """10 MB of text do not reach a chat."""
    port, model = FakeTurnPort(), ScriptedModel([Says("word" * 300_000)])
    assert EndReason.MAX_TOKENS is await run_turn(a_turn(port), port, an_agent(model))
    assert 1_000_000 < len(port.answer) < 1_000_100


async def test_a_turn_that_ended_is_not_run_again():
    """A journal with its end is left as it is."""
    port = FakeTurnPort()
    await run_turn(a_turn(port), port, an_agent(ScriptedModel(["Hi."])))
    assert EndReason.COMPLETED is await run_turn(a_turn(port), port, an_agent(ScriptedModel([])))
    assert "Hi." == port.answer


async def test_an_answer_journaled_before_a_crash_is_not_asked_again():
    """A text that stands last in the journal is finished, not repeated."""
    port = FakeTurnPort()
    turn = a_turn(port)
    port.events.append(ModelResponded(0, "Hi."))
    turn = a_turn(port)
    assert EndReason.COMPLETED is await run_turn(turn, port, an_agent(ScriptedModel([])))
    assert "Hi." == port.answer


async def test_a_tool_error_is_read_by_the_model():
    """A refusal of a tool is its result (F46)."""
    port = FakeTurnPort()

    async def refuse(context: ToolContext, _arguments):
        assert ANA == context.principal
        raise ToolError("no such skill")

    model = ScriptedModel([calls(("refuse", "{}")), "There is none."])
    await run_turn(a_turn(port), port, an_agent(model, a_tool("refuse", refuse)))
    assert "no such skill" == json.loads(returned(port)[0].content)["error"]
    assert "There is none." == port.answer


class StreamsCalls:
    """A model whose first call has streamed in whole long before its response is over."""

    name = "streams:test"

    def __init__(self, *, then=None, calls=(ToolCall("c0", "double", '{"n": 1}'), ToolCall("c1", "late", "{}"))):
        self.calls = calls
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
