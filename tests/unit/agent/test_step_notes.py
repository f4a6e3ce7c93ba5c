"""Notes on old steps: made when steps are left out, paid for, journaled, and shown from then on."""

import asyncio
from dataclasses import replace

import pytest

from agent.context.compaction import MAX_NOTED, STEP_INSTRUCTIONS
from agent.context.history import PastTurn, remember
from agent.context.sizes import estimate_tokens
from agent.errors import FailureKind
from agent.fallbacks import Fallback, Recovered
from agent.loop import run_turn
from agent.models.chain import Chain
from agent.models.scripted import Says, ScriptedModel
from agent.ports import ModelFailure
from agent.transcript import (
    AssistantItem,
    EndReason,
    ModelResponded,
    StepsNoted,
    ToolCall,
    ToolReturned,
    TurnEnded,
    TurnStarted,
    Usage,
    UserItem,
)
from tests.fakes.agents import an_agent
from tests.fakes.turn_port import Died, FakeTurnPort, a_turn
from tests.unit.agent.test_transcript import refuse

WINDOW = 8_000


def past(*, turns=5, calls=5, chars=1_500, user_id="u1"):
    """Return turns whose calls, not their results, fill the window."""
    made = []
    for n in range(turns):
        events = [TurnStarted((UserItem(f"q{n}"),))]
        for step in range(calls):
            call = ToolCall(f"c{n}-{step}", "look", f'{{"for": "{n} {step} {"x" * chars}"}}')
            events += [
                ModelResponded(step, "", (call,)),
                ToolReturned(step, f"t{n}/{step}/0", call.id, "look", f'{{"found": {n}}}'),
            ]
        events += [ModelResponded(calls, f"a{n}"), TurnEnded(EndReason.COMPLETED, f"a{n}")]
        made.append(PastTurn(user_id, tuple(events), f"turn-{n}"))
    return made


class Noting(ScriptedModel):
    """A model that answers notes on steps by `notes`, and anything else by "Here."."""

    def __init__(self, notes="Found {n}.", name="scripted:test", refuses_above=None):
        self.noting = []
        self.asked = []

        def answer(request):
            if request.system is STEP_INSTRUCTIONS:
                self.noting.append(request)
                return (
                    notes
                    if isinstance(notes, ModelFailure)
                    else Says(notes.format(n=len(self.noting)), usage=Usage(500, 5))
                )
            self.asked.append(request)
            if refuses_above is not None and estimate_tokens(request.items) > refuses_above:
                return ModelFailure(FailureKind.CONTEXT, "too long")
            return Says("Here.")

        super().__init__(answer, name=name)


async def asked(port, model, history=None, **limits):
    known = remember(past() if history is None else history, "u1")
    turn = replace(a_turn(port, "and now?", known.history), starts=known.starts, summary=known.summary)
    limits = {"context_window_tokens": WINDOW, **limits}
    assert EndReason.COMPLETED is await run_turn(turn, port.ports, an_agent(model, **limits))


def texts_of(request):
    return [item.text for item in request.items if isinstance(item, AssistantItem)]


async def test_notes_stand_in_place_of_old_steps():
    port, model = FakeTurnPort(), Noting()
    await asked(port, model)
    (request,) = model.asked
    assert "" == refuse(request.items) and estimate_tokens(request.items) < WINDOW
    first, second, *_ = texts_of(request)
    assert "Steps left out for room: look x5. Notes on them" in first and first.endswith("a0")
    assert ("Found 1.", "Found 2.") == tuple(text.split("request: ")[1].split(")")[0] for text in (first, second))
    noted = [event for event in port.events if isinstance(event, StepsNoted)]
    assert len(model.noting) == len(noted) == len(port.beside) > 1
    record = model.noting[0]
    assert () == record.tools and "Result of look" in record.items[0].data
    assert [] == port.summaries, "nothing was condensed"


async def test_they_are_made_by_the_light_model_and_paid_for():
    port, main, light = FakeTurnPort(), Noting(name="big:one"), Noting(name="light:one")
    await asked(port, Chain([main], light=light))
    assert ([], 1) == (main.noting, len(main.asked)) and len(light.noting) > 1 and [] == light.asked
    assert {"light:one"} == {cost.model for cost in port.beside}


@pytest.mark.parametrize("after", [False, True])
async def test_a_resumed_turn_sends_the_same_bytes(after):
    port, first = FakeTurnPort(dies_at=0 if not after else 1), Noting("First {n}.")
    with pytest.raises(Died):
        await asked(port, first)
    port.dies_at = None
    second = Noting("Second {n}.")
    await asked(port, second)
    shown = second.asked[-1]
    if after:
        assert [] == second.noting and first.asked[0].items == shown.items
    else:
        assert not any("First" in text for text in texts_of(shown)), "what was not committed is made anew"


async def test_later_turns_show_them_without_asking_again():
    port, model = FakeTurnPort(), Noting()
    await asked(port, model)
    ended = PastTurn("u1", tuple(port.events), "turn-5")
    known = remember([*past(), ended], "u1")
    assert len(model.noting) == sum(
        "Notes on them" in item.text for item in known.history if hasattr(item, "tool_calls")
    )
    assert [f"turn-{n}" for n in range(6)] == [id_ for _, id_ in known.starts]
    assert all(isinstance(known.history[index], UserItem) for index, _ in known.starts)
    assert estimate_tokens(known.history) == known.tokens < estimate_tokens(remember(past(), "u1").history)
    later, next_port = Noting(), FakeTurnPort()
    await asked(next_port, later, [*past(), ended])
    assert "Found 1." in texts_of(later.asked[0])[0]


async def test_another_persons_turn_does_not_show_them():
    port, model = FakeTurnPort(), Noting()
    await asked(port, model)
    known = remember([*past(), PastTurn("u1", tuple(port.events), "turn-5")], "u2")
    assert "Found" not in str(known.history)


async def test_digests_do_not_depend_on_ids_that_come_twice():
    port, model = FakeTurnPort(), Noting()
    await asked(port, model)
    twice = [replace(turn, events=tuple(_renamed(event) for event in turn.events)) for turn in past()]
    known = remember([*twice, PastTurn("u1", tuple(port.events), "turn-5")], "u1")
    assert "Found 1." in str(known.history) and "" == refuse(known.history)


def _renamed(event):
    match event:
        case ModelResponded():
            return replace(event, tool_calls=tuple(replace(call, id="call_0") for call in event.tool_calls))
        case ToolReturned():
            return replace(event, call_id="call_0")
    return event


@pytest.mark.parametrize("notes", [ModelFailure(FailureKind.OVERLOADED, "529"), "   "])
async def test_without_notes_the_names_of_the_tools_stay(notes):
    port, model = FakeTurnPort(), Noting(notes)
    await asked(port, model)
    assert "(Steps left out for room: look x5.)\n\na0" == texts_of(model.asked[0])[0]
    assert not any(isinstance(event, StepsNoted) for event in port.events)
    assert 1 == len(model.noting), "no second try in this turn"


async def test_a_model_that_stalls_is_given_up_and_finished_notes_stay():
    class Stalling(Noting):
        async def respond(self, request, on_event):
            if request.system is STEP_INSTRUCTIONS and self.noting:
                await asyncio.Event().wait()
            return await super().respond(request, on_event)

    port, model = FakeTurnPort(), Stalling()
    await asked(port, model, summary_s=0.05)
    first, second, *_ = texts_of(model.asked[0])
    assert "Found 1." in first and "(Steps left out for room: look x5.)\n\na1" == second


async def test_a_turn_makes_notes_on_so_many_spans_at_most():
    port, model = FakeTurnPort(), Noting()
    await asked(port, model, past(turns=MAX_NOTED + 4, calls=2))
    assert MAX_NOTED == len(model.noting)


async def test_a_refused_request_is_shortened_by_notes_before_the_conversation_is_condensed():
    port, model = FakeTurnPort(), Noting(refuses_above=3_000)
    await asked(port, model, past(turns=4, calls=2), context_window_tokens=100_000)
    taken = [event.fallback for event in port.events if isinstance(event, Recovered)]
    assert [Fallback.RESULTS_DROPPED, Fallback.STEPS_NOTED] == taken[:1] + taken[-1:]
    assert [] == port.summaries
