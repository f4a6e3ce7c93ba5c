"""Compaction: what a turn shows the model stays inside the window, and nothing drops off in silence."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.context.compaction import HEAD, INSTRUCTIONS, since_step, summary_item
from agent.context.history import PastTurn, remember
from agent.context.layers import blank_old_results, collapse_steps, drop_results, fit, largest_results
from agent.context.sizes import Calibration, WindowRoom, estimate_tokens
from agent.errors import FailureKind
from agent.loop import run_turn
from agent.models.chain import Chain
from agent.models.scripted import ScriptedModel, calls
from agent.ports import ModelFailure, Summary, TextDelta
from agent.transcript import (
    AssistantItem,
    EndReason,
    ModelResponded,
    NoteItem,
    ToolCall,
    ToolItem,
    TurnEnded,
    TurnStarted,
    UserItem,
    fold,
)
from tests.fakes.agents import a_tool, an_agent, double
from tests.fakes.turn_port import NOW, Died, FakeTurnPort, a_turn
from tests.unit.agent.test_transcript import refuse

WINDOW = 8_000
CHAT = "We talked about the cello for a while. " * 20  # about 230 tokens
PAST = [
    PastTurn("u1", (TurnStarted((UserItem(f"{n}: {CHAT}"),)), TurnEnded(EndReason.COMPLETED, CHAT)), f"turn-{n}")
    for n in range(20)
]


class Noting(ScriptedModel):
    """A scripted model that returns these notes, or this failure, for any text to condense."""

    def __init__(self, notes, script):
        super().__init__(script)
        self.notes = notes
        self.condensing = []

    async def respond(self, request, on_event):
        if request.system is not INSTRUCTIONS:
            return await super().respond(request, on_event)
        self.condensing.append(request)
        if isinstance(self.notes, Exception):
            raise self.notes
        return ModelResponded(0, self.notes, model="scripted")


def going_on(port, past=PAST, summary=None, text="and now?"):
    known = remember(past, "u1", summary)
    return replace(a_turn(port, text, known.history), starts=known.starts, summary=known.summary)


def step(n, size=400, name="double"):
    return (AssistantItem("", (ToolCall(f"c{n}", name, "{}"),)), ToolItem(f"c{n}", name, "x" * size))


items_of_turns = st.lists(
    st.tuples(st.integers(0, 3), st.integers(1, 3_000), st.booleans()), min_size=1, max_size=8
).map(
    lambda turns: [
        item
        for at, (calls, size, noted) in enumerate(turns)
        for item in (
            UserItem(f"q{at}"),
            *(part for n in range(calls) for part in step(f"{at}-{n}", size)),
            *((NoteItem("n"),) if noted else ()),
            AssistantItem("a"),
        )
    ]
)


class TestLayers:
    @given(items_of_turns, st.integers(-50, 2_000))
    def test_each_layer_keeps_the_transcript_valid_and_what_people_said(self, items, most):
        """Cover F44."""
        for fitted in (
            blank_old_results(items),
            drop_results(items, largest_results(items, most)),
            collapse_steps(items),
            fit(items, most),
        ):
            assert "" == refuse(fitted)
            said = [item for item in items if isinstance(item, UserItem)]
            assert said == [item for item in fitted if isinstance(item, UserItem)]
            assert estimate_tokens(fitted) <= estimate_tokens(items) + 30 * len(items)
        assert items == fit(items, estimate_tokens(items))

    def test_what_goes_first_is_cheapest(self):
        items = [
            UserItem("a"),
            *(part for n in range(8) for part in step(n)),
            AssistantItem("done"),
            UserItem("b"),
            *step(9, 4_000),
            *step(10),
            AssistantItem("x"),
            UserItem("c"),
            AssistantItem("y"),
        ]
        whole = estimate_tokens(items)
        snipped = fit(items, whole - 10)
        assert 5 == sum("xxx" in item.content for item in snipped if isinstance(item, ToolItem))
        dropped = fit(items, whole - 1_500)
        assert not any(len(item.content) > 400 for item in dropped if isinstance(item, ToolItem))
        collapsed = fit(items, 100)
        assert "(Steps left out for room: double x8.)\n\ndone" == collapsed[1].text
        assert "xxx" in [item.content for item in collapsed if isinstance(item, ToolItem)][-1]


@pytest.mark.parametrize(
    ("window", "soft", "hard"), [(200_000, 187_000, 197_000), (128_000, 115_000, 125_000), (8_000, 6_000, 7_000)]
)
def test_thresholds_are_in_tokens_of_a_large_window_and_in_shares_of_a_small_one(window, soft, hard):
    room = WindowRoom(window)
    assert (soft, hard, window * 3 // 4) == (room.soft_tokens, room.hard_tokens, room.turn_tokens)
    assert room.output_tokens(8_192, hard) <= window - hard
    assert room.notes_tokens <= 50_000


class TestWithinATurn:
    async def test_a_long_conversation_is_condensed_before_it_is_asked(self):
        port, model = FakeTurnPort(), Noting("Ana plays the cello.", ["Here you are."])
        agent = an_agent(model, a_tool("double", double), context_window_tokens=WINDOW)
        assert EndReason.COMPLETED is await run_turn(going_on(port), port.ports, agent)
        (asked,), first = model.requests, model.condensing[0]
        assert () == first.tools and "Person: 0: We talked" in first.items[0].data
        assert all(estimate_tokens(request.items) < WINDOW for request in model.condensing)
        ((summary, responses),) = port.summaries
        assert "Ana plays the cello." == summary.notes and len(model.condensing) == len(responses)
        head, first, *_ = asked.items
        assert head.data.startswith(HEAD) and "Ana plays the cello." in head.data and "" == head.text
        kept = int(summary.turn_id.removeprefix("turn-"))
        assert first.text.startswith(f"{kept}: ") and summary.condensed == 2 * kept
        assert estimate_tokens(asked.items[1:]) <= 0.35 * sum(estimate_tokens(fold(turn.events)) for turn in PAST)
        assert "" == refuse(asked.items)

    @pytest.mark.parametrize("answer", [ModelFailure(FailureKind.OVERLOADED, "529"), KeyError("a bug"), "", "   "])
    async def test_f44_without_notes_it_is_trimmed_and_said(self, answer):
        port, model = FakeTurnPort(), Noting(answer, ["Here you are."])
        assert EndReason.COMPLETED is await run_turn(
            going_on(port), port.ports, an_agent(model, context_window_tokens=WINDOW)
        )
        ((summary, responses),) = port.summaries
        assert "" == summary.notes and summary.left_out > 20
        assert (0 if isinstance(answer, Exception) else 1) == len(responses)  # it is paid for
        assert f"{summary.left_out} messages are left out" in model.requests[0].items[0].data

    async def test_f44_a_summary_that_stalls_is_given_up(self):

        class Stalling(Noting):
            async def respond(self, request, on_event):
                if request.system is INSTRUCTIONS:
                    await asyncio.Event().wait()
                return await super().respond(request, on_event)

        port, model = FakeTurnPort(), Stalling("", ["Here you are."])
        agent = an_agent(model, context_window_tokens=WINDOW, summary_s=0.01)
        assert EndReason.COMPLETED is await run_turn(going_on(port), port.ports, agent)
        assert port.summaries[0][0].left_out > 20

    @pytest.mark.parametrize("heard", [True, False])
    async def test_a_stop_while_notes_are_made_loses_no_cost(self, heard):
        port = FakeTurnPort()

        class Stopped(Noting):
            async def respond(self, request, on_event):
                if not self.condensing:
                    return await super().respond(request, on_event)
                if heard:
                    on_event(TextDelta("Ana plays"))
                port.stop()
                return await asyncio.get_running_loop().create_future()

        model = Stopped("Notes.", ["unused"])
        agent = an_agent(model, context_window_tokens=WINDOW)
        talk = [*PAST, *(replace(turn, id=f"{turn.id}-b") for turn in PAST)]
        assert EndReason.STOPPED is await run_turn(going_on(port, talk), port.ports, agent)
        whole, *cut = port.beside
        assert isinstance(whole, ModelResponded) and [] == port.summaries
        assert [True] * heard == [each.estimated and each.input_tokens > 500 and each.output_tokens > 0 for each in cut]

    async def test_what_a_smaller_model_refuses_as_too_long_shrinks_no_other_ones_window(self):

        class Down(ScriptedModel):
            async def respond(self, request, on_event):
                raise ModelFailure(FailureKind.OVERLOADED, "529")

        class Small(Noting):
            async def respond(self, request, on_event):
                if request.system is not INSTRUCTIONS and estimate_tokens(request.items) > 4_000:
                    raise ModelFailure(FailureKind.CONTEXT, "too long")
                return await super().respond(request, on_event)

        port, calibration = FakeTurnPort(), Calibration()
        small = Small("Notes.", ["Here."])
        small.name = "small:one"
        chain = Chain([Down([], name="big:one"), small])
        agent = replace(an_agent(chain, context_window_tokens=40_000), calibration=calibration)
        assert EndReason.COMPLETED is await run_turn(going_on(port), port.ports, agent)
        assert 1_000 == calibration.tokens("big:one", 1_000) < calibration.tokens("small:one", 1_000)

    async def test_a_turn_that_grows_is_condensed_in_its_middle(self):
        wanted = [calls(("double", f'{{"n": {n}}}'), text=f"{n} {CHAT}" * 2) for n in range(20)]
        port, model = FakeTurnPort(), Noting("Doubled much.", [*wanted, "Done."])
        reason = await run_turn(
            going_on(port, []), port.ports, an_agent(model, a_tool("double", double), context_window_tokens=WINDOW)
        )
        assert EndReason.COMPLETED is reason or EndReason.STUCK is reason
        (summary, _), *_ = port.summaries
        assert summary.step > 5 and port.events[0].items == (UserItem("and now?"),)
        last = model.requests[-1].items
        assert "Doubled much." in last[0].data and UserItem("and now?") in last
        assert all("" == refuse(request.items) for request in model.requests)
        assert all(estimate_tokens(request.items) < WindowRoom(WINDOW).hard_tokens for request in model.requests)

    async def test_f43_a_message_longer_than_the_window_is_refused_politely(self):
        port, model = FakeTurnPort(), Noting("", ["unused"])
        turn = going_on(port, [], text="word " * 12_000)
        assert EndReason.CONTEXT_EXHAUSTED is await run_turn(
            turn, port.ports, an_agent(model, context_window_tokens=WINDOW)
        )
        assert "shorter parts" in port.answer and [] == model.requests

    @pytest.mark.parametrize("after", [False, True])
    async def test_f45_killed_while_it_is_kept_it_is_old_or_new(self, after):
        port, model = FakeTurnPort(dies_at=0, dies_after=after), Noting("Notes.", [])
        with pytest.raises(Died):
            await run_turn(going_on(port), port.ports, an_agent(model, context_window_tokens=WINDOW))
        kept = Summary("Notes.", "turn-15", condensed=30) if after else None
        port.dies_at = None
        again = Noting("Notes.", ["Here."])
        turn = going_on(port, PAST, kept)
        assert EndReason.COMPLETED is await run_turn(turn, port.ports, an_agent(again, context_window_tokens=WINDOW))
        asked = again.requests[-1].items
        assert "" == refuse(asked) and "Notes." in asked[0].data


class TestHistory:
    @pytest.mark.parametrize("asks", ["parked", "meanwhile", "after"])
    def test_what_ran_while_a_turn_waited_is_not_cut_off_by_its_summary(self, asks):

        def ended(id_, at_s):
            said = TurnStarted((UserItem(id_),)), TurnEnded(EndReason.COMPLETED, f"{id_} done")
            return PastTurn("u1", said, id_, NOW + timedelta(seconds=at_s))

        summary = Summary("Notes.", "t-5", 1, condensed=8, kept_at=NOW)
        past = [ended("t-3", -2), ended("t-4", -1), ended("t-2", 1), ended("t-6", 2)]  # t-2 had waited for longer
        if asks == "after":
            past.append(ended("t-5", 3))
        known = remember(past, "u1", summary, "t-5" if asks == "parked" else "t-7")
        said = [item.text for item in known.history if isinstance(item, UserItem) and item.text]
        assert ["t-2", "t-6", *(["t-5"] if asks == "after" else [])] == said
        assert [id_ for _, id_ in known.starts] == said and summary is known.summary

    def test_a_summary_made_within_a_turn_holds_after_it(self):
        events = (
            TurnStarted((UserItem("q"),)),
            ModelResponded(0, "", (ToolCall("c1", "t", "{}"),)),
            ModelResponded(1, "The answer."),
            TurnEnded(EndReason.COMPLETED, "The answer."),
        )
        assert [UserItem("q"), AssistantItem("The answer.")] == list(fold(since_step(events, 1)))
        summary = Summary("Notes.", "now", 1)
        assert (summary_item(summary),) == remember(PAST, "u1", summary, "now").history
        later = remember([*PAST, PastTurn("u1", events, "now")], "u1", summary)
        assert (summary_item(summary), UserItem("q"), AssistantItem("The answer.")) == later.history
