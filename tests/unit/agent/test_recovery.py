"""Recovery from a response that is no answer; every way out has words."""

import asyncio
from decimal import Decimal

from agent.errors import FailureKind
from agent.fallbacks import Fallback, ResponseDiscarded
from agent.journal import Journal, fallback_of
from agent.loop import run_turn
from agent.model_caller import Recoveries
from agent.models.scripted import Says, ScriptedModel, calls
from agent.ports import ModelFacts, ModelFailure, ModelRequest, Recovering, SystemPrompt, TextDelta
from agent.prices import TokenPrice, TokenPrices
from agent.transcript import (
    CallOutcome,
    EndReason,
    NoteItem,
    Nudged,
    NudgeReason,
    StopReason,
    ToolCall,
    Usage,
    fold,
)
from tests.fakes.agents import a_tool, an_agent, double, returned
from tests.fakes.turn_port import FakeTurnPort, a_turn


async def test_past_the_step_limit_one_last_call_without_tools_answers():
    """Cover F54."""
    port = FakeTurnPort()
    model = ScriptedModel(
        lambda request: calls(("double", f'{{"n": {len(request.items)}}}')) if request.tools else Says("So far 8.")
    )
    agent = an_agent(model, a_tool("double", double), max_steps=5)
    assert EndReason.MAX_STEPS is await run_turn(a_turn(port), port.ports, agent)
    assert 6 == len(model.requests)
    assert port.answer.startswith("So far 8.\n\n(")
    assert isinstance(model.requests[-1].items[-1], NoteItem)


async def test_f54_the_same_call_again_and_again_is_nudged_once_then_ended():
    port = FakeTurnPort()
    model = ScriptedModel(lambda request: calls(("double", '{"n": 1}')) if request.tools else Says("It is 2."))
    assert EndReason.STUCK is await run_turn(a_turn(port), port.ports, an_agent(model, a_tool("double", double)))
    assert 9 == len(model.requests)
    assert port.answer.startswith("It is 2.")


async def test_f29_a_cut_answer_raises_the_cap_then_goes_on_three_times():
    port = FakeTurnPort()
    cut = [Says(text, stop=StopReason.LENGTH) for text in ("gone", "a", "b", "c")]
    model = ScriptedModel([*cut, Says("d")])
    assert EndReason.COMPLETED is await run_turn(a_turn(port), port.ports, an_agent(model))
    assert "abcd" == port.answer == "".join(port.shown.split())
    assert [8192, 65536, 65536, 65536, 65536] == [request.max_output_tokens for request in model.requests]


async def test_f29_an_answer_cut_too_often_ends_as_too_long():
    port, model = FakeTurnPort(), ScriptedModel([Says(text, stop=StopReason.LENGTH) for text in "-abcd"])
    assert EndReason.MAX_TOKENS is await run_turn(a_turn(port), port.ports, an_agent(model))
    assert port.answer.startswith("abcd\n\n(")


async def test_f29_a_call_cut_in_its_arguments_never_runs():
    port, ran = FakeTurnPort(), []

    async def run(_context, arguments):
        ran.append(arguments)

    cut = Says(calls=(ToolCall("c0", "double", '{"n": 1}'),), stop=StopReason.LENGTH)
    model = ScriptedModel([cut, cut, "Done."])
    assert EndReason.COMPLETED is await run_turn(a_turn(port), port.ports, an_agent(model, a_tool("double", run)))
    assert [] == ran
    assert [CallOutcome.FAILED] == [event.outcome for event in returned(port)]


async def test_the_raised_cap_is_given_up_when_the_model_refuses_it():
    port = FakeTurnPort()

    def answer(request):
        if request.max_output_tokens > 8192:
            return ModelFailure(FailureKind.BAD_REQUEST, "max_tokens is too large")
        return Says("a", stop=StopReason.LENGTH) if len(request.items) == 1 else Says("b")

    assert EndReason.COMPLETED is await run_turn(a_turn(port), port.ports, an_agent(ScriptedModel(answer)))
    assert "ab" == port.answer


async def test_f30_a_refusal_in_the_middle_is_marked_and_hides_nothing_that_was_done():
    partly, after = FakeTurnPort(), FakeTurnPort()
    refusal = Says("First, ", stop=StopReason.REFUSED)
    assert EndReason.COMPLETED is await run_turn(a_turn(partly), partly.ports, an_agent(ScriptedModel([refusal])))
    assert "First,\n\n(My model refused to go on here.)" == partly.answer
    model = ScriptedModel([calls(("double", '{"n": 4}')), Says("", stop=StopReason.REFUSED)])
    await run_turn(a_turn(after), after.ports, an_agent(model, a_tool("double", double)))
    assert "double: 8" in after.answer and after.answer.endswith("I can't answer that.")


async def test_f34_malformed_arguments_are_told_then_an_answer_is_forced():
    port = FakeTurnPort()
    model = ScriptedModel(lambda request: calls(("double", "{oops")) if request.tools else Says("Sorry."))
    assert EndReason.MODEL_ERROR is await run_turn(a_turn(port), port.ports, an_agent(model, a_tool("double", double)))
    assert 4 == len(model.requests)
    assert port.answer.startswith("Sorry.")


async def test_five_timeouts_in_a_row_end_the_turn():
    port = FakeTurnPort()

    async def hang(_context, _arguments):
        await asyncio.Event().wait()

    model = ScriptedModel(lambda request: calls(("hang", f'{{"n": {len(request.items)}}}')))
    agent = an_agent(model, a_tool("hang", hang, timeout_s=0.01))
    assert EndReason.TIMEOUT is await run_turn(a_turn(port), port.ports, agent)
    assert 5 == len(returned(port))


async def test_f39_an_answer_beyond_measure_is_cut():
    port, model = FakeTurnPort(), ScriptedModel([Says("word" * 300_000)])
    assert EndReason.MAX_TOKENS is await run_turn(a_turn(port), port.ports, an_agent(model))
    assert 1_000_000 < len(port.answer) < 1_000_100


async def test_the_last_call_answers_even_if_it_asks_for_tools():
    port = FakeTurnPort()
    model = ScriptedModel(lambda request: calls(("double", f'{{"n": {len(request.items)}}}'), text="So far 8."))
    agent = an_agent(model, a_tool("double", double), max_steps=2)
    assert EndReason.MAX_STEPS is await run_turn(a_turn(port), port.ports, agent)
    assert port.answer.startswith("So far 8.")
    assert 2 == len(returned(port))
    *_, said, note = fold(port.events)
    assert ("So far 8.", ()) == (said.text, said.tool_calls)
    assert note.ends_turn


async def test_a_forced_end_is_continued_after_a_crash():
    port = FakeTurnPort()
    model = ScriptedModel(lambda request: calls(("double", '{"n": 1}')) if request.tools else Says("It is 2."))
    agent = an_agent(model, a_tool("double", double))
    await run_turn(a_turn(port), port.ports, agent)
    forced = next(at for at, event in enumerate(port.events) if getattr(event, "ends", None))
    again = FakeTurnPort(events=port.events[: forced + 1])
    assert EndReason.STUCK is await run_turn(a_turn(again), again.ports, agent)
    assert port.answer == again.answer


async def test_a_response_that_broke_off_is_counted_as_its_own_models():
    port = FakeTurnPort()
    journal = Journal("t1", (), port)
    prices = TokenPrices(TokenPrice(Decimal(3)), TokenPrice(Decimal(15)))
    recoveries = Recoveries(journal, ScriptedModel([], name="wire:first", facts=ModelFacts(prices=prices)))
    for _ in range(2):
        recoveries.tries.begin(ModelRequest(SystemPrompt("Be brief."), ()))
        for event in (TextDelta("So "), Recovering(Fallback.NEXT_MODEL, "wire:second"), TextDelta("Well ")):
            recoveries.hear(event)
        await recoveries.write(abandoned=True)
    discarded = [event for event in port.events if isinstance(event, ResponseDiscarded)]
    assert ["wire:first", "wire:second"] * 2 == [event.model for event in discarded]
    first, second = discarded[:2]
    assert prices.cost_microusd(Usage(first.input_tokens, first.output_tokens)) == first.cost_microusd
    assert first.cost_microusd and second.cost_microusd is None


def test_each_note_to_the_model_is_a_fallback_of_its_own():
    assert len(NudgeReason) == len({fallback_of(Nudged(0, "go on", why)) for why in NudgeReason} - {None})
    assert fallback_of(Nudged(0, "context")) is None
