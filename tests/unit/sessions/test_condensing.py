"""A conversation of hundreds of turns: inside its window, with its first facts, at a cost that does not grow."""

import asyncio
import re
import time
from dataclasses import dataclass, field
from statistics import mean

import pytest
import sqlalchemy as sa

from agent.context.compaction import INSTRUCTIONS
from agent.context.sizes import RequestSizes
from agent.ports import ModelFacts, ModelRequest, OnModelEvent
from agent.transcript import ModelResponded, UserItem
from tests.fakes.spine import GatedModel, Spine

FACT = re.compile(r"fact \d+ is \w+\.")
FACT_EVERY = 60
"""Turns between two facts; the first turn tells one."""

TALK = "Slow scales and long tones with the metronome today, hands apart and then together, and it went rather well. "
ANSWER = "That sounds like a good session. Keep the tempo where it is until three days in a row feel easy. "


@dataclass
class FactKeeper:
    sizes: RequestSizes = field(default_factory=RequestSizes)
    asked_tokens: list[int] = field(default_factory=list)  # of each answer's request
    notes_tokens: list[int] = field(default_factory=list)  # of each request for notes
    known: set[str] = field(default_factory=set)  # facts in the newest request

    def answer(self, request: ModelRequest) -> ModelResponded:
        said = "\n".join(f"{item.text}\n{item.data}" for item in request.items if isinstance(item, UserItem))
        facts = dict.fromkeys(FACT.findall(said))
        if request.system is INSTRUCTIONS:
            self.notes_tokens.append(self.sizes.estimate(request))
            return ModelResponded(0, "\n".join(facts))
        self.asked_tokens.append(self.sizes.estimate(request))
        self.known = set(facts)
        return ModelResponded(0, ANSWER * 6)


@dataclass(frozen=True, slots=True)
class TurnCost:
    asked_tokens: int  # of its request
    notes_tokens: int  # of the requests for notes that came with it
    cpu_s: float


async def talk(spine: Spine, keeper: FactKeeper, turns: int) -> list[TurnCost]:
    spine.model.answer_at_once = keeper.answer
    spine.channel.limited(max_text=4096)
    costs: list[TurnCost] = []
    for turn in range(turns):
        fact = f"fact {turn // FACT_EVERY} is w{turn}x. " if turn % FACT_EVERY == 0 else ""
        notes, answered, begun_s = len(keeper.notes_tokens), len(keeper.asked_tokens), time.process_time()
        await spine.say(f"{fact}{turn}: {TALK * 5}")
        await spine.until(lambda answered=answered: len(keeper.asked_tokens) > answered)
        await spine.quiet()
        costs.append(TurnCost(keeper.asked_tokens[-1], sum(keeper.notes_tokens[notes:]), time.process_time() - begun_s))
    return costs


WINDOW = 8_000


@pytest.mark.gate
async def test_300_turns_fit_a_small_window_and_cost_the_same_to_the_end(spine: Spine) -> None:
    spine.model.facts = ModelFacts(context_window_tokens=WINDOW)
    keeper = FactKeeper()
    costs = await talk(spine, keeper, 300)
    assert max(cost.asked_tokens for cost in costs) < WINDOW
    assert max(keeper.notes_tokens) < WINDOW
    assert {f"fact {n} is w{60 * n}x." for n in range(5)} == keeper.known
    per_turn = [cost.asked_tokens + cost.notes_tokens for cost in costs]
    assert mean(per_turn[200:]) <= 1.1 * mean(per_turn[100:200])
    assert 1 == sum("grown long" in text for text in spine.channel.shown())
    await spine.kill()
    await spine.begin()
    spine.model.answer_at_once = keeper.answer
    await spine.say("and now?")
    await spine.quiet()
    assert 5 == len(keeper.known)


async def test_notes_that_broke_are_not_tried_again_at_once(spine: Spine) -> None:
    keeper, tries = FactKeeper(), []

    class Broken(GatedModel):
        async def respond(self, request: ModelRequest, on_event: OnModelEvent) -> ModelResponded:
            if request.system is INSTRUCTIONS:
                tries.append(len(keeper.asked_tokens))
                raise ValueError("no model should raise this")
            return await super().respond(request, on_event)

    spine.model, spine.breaks = Broken(), True
    while not tries:
        await talk(spine, keeper, 1)
    await talk(spine, keeper, 3)
    assert 1 == len(tries)


async def test_notes_that_are_made_while_their_person_is_forgotten_are_not_kept(spine: Spine) -> None:
    keeper, stalled, go_on, made = FactKeeper(), asyncio.Event(), asyncio.Event(), asyncio.Event()

    class WaitingNotes(GatedModel):
        async def respond(self, request: ModelRequest, on_event: OnModelEvent) -> ModelResponded:
            if request.system is INSTRUCTIONS:
                stalled.set()
                await go_on.wait()
                made.set()
            return await super().respond(request, on_event)

    spine.model = WaitingNotes()
    spine.model.facts = ModelFacts(context_window_tokens=WINDOW)
    while not stalled.is_set():
        await talk(spine, keeper, 1)
    for table in ("events", "turns"):
        await spine.store.commit(lambda c, table=table: c.execute(sa.text(f"DELETE FROM {table}")).rowcount)
    go_on.set()
    await made.wait()
    await spine.quiet()
    assert 0 == await spine.store.read(lambda c: c.execute(sa.text("SELECT count(*) FROM summaries")).scalar())
    assert not any("grown long" in text for text in spine.channel.shown())


async def test_f45_a_kill_while_notes_are_made_leaves_the_conversation_as_it_was(spine: Spine) -> None:
    keeper, stalled = FactKeeper(), asyncio.Event()

    class StallingNotes(GatedModel):
        async def respond(self, request: ModelRequest, on_event: OnModelEvent) -> ModelResponded:
            if request.system is INSTRUCTIONS:
                stalled.set()
                await asyncio.Event().wait()
            return await super().respond(request, on_event)

    gated, spine.model = spine.model, StallingNotes()
    gated.facts = spine.model.facts = ModelFacts(context_window_tokens=WINDOW)
    while not stalled.is_set():
        await talk(spine, keeper, 1)
    assert len(keeper.asked_tokens) > 10 and keeper.known == {"fact 0 is w0x."}
    await spine.kill()
    before = len(keeper.asked_tokens)
    spine.model = gated
    await spine.begin()
    await talk(spine, keeper, 1)
    assert before + 1 == len(keeper.asked_tokens) and keeper.notes_tokens
    await talk(spine, keeper, 1)
    assert "fact 0 is w0x." in keeper.known
    assert max(keeper.asked_tokens[-2:]) < max(keeper.asked_tokens)
