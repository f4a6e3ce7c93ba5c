"""The background work of consolidation: clocks that are set, models that fail, long conversations."""

import json
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from agent.budgets import OverBudget
from agent.errors import FailureKind
from agent.memory.consolidation_config import ConsolidationConfig
from agent.ports import ModelFacts, ModelFailure, ModelRequest, OnModelEvent
from agent.transcript import EndReason, ModelResponded, Usage, UserItem
from channels.clocks import Clocks
from gateway.capabilities.base import CapabilityDeps, LightModel
from gateway.capabilities.consolidation import NO_MODEL, ConsolidationCapability
from gateway.capabilities.trust import Trust
from gateway.ownership import Ownership
from gateway.safety.vault import Vault
from gateway.store.consolidation import DREAMS, FACTS
from gateway.store.consolidation_log import CONSOLIDATIONS, PassageOutcome
from gateway.store.engine import Store
from gateway.store.journal import take_all_shards
from tests.fakes.ended_talks import enrolled, talk
from tests.fakes.people import NOON, minutes
from tests.fakes.spine import quick_store

DAY = timedelta(days=1)


class Clerk:
    """A model that writes down nothing but an abstract, or fails as it is told."""

    name = "test:light"
    facts = ModelFacts()

    def __init__(self) -> None:
        self.failure: Exception | None = None
        self.broken: list[str] = []  # answers before good ones
        self.asked = 0
        self.said: list[str] = []

    async def respond(self, request: ModelRequest, on_event: OnModelEvent) -> ModelResponded:
        self.asked += 1
        if self.failure is not None:
            raise self.failure
        if self.broken:
            return ModelResponded(0, self.broken.pop(0), model=self.name, usage=Usage(1, 1, cost_microusd=1))
        (item,) = request.items
        assert isinstance(item, UserItem)
        self.said += [each["text"] for each in json.loads(item.data)["said"]]
        fact = {"subject": "person", "relation": "owns", "object": self.said[-1]}
        told = {"abstract": "x", "entities": [{"name": self.said[-1], "kind": "thing"}], "facts": [fact]}
        return ModelResponded(0, json.dumps(told), model=self.name, usage=Usage(1, 1, cost_microusd=1))

    async def aclose(self) -> None:
        pass


class Desk:
    """The capability over a store, with clocks that can be set."""

    def __init__(self, store: Store, epoch: int) -> None:
        self.store, self.clerk, self.now = store, Clerk(), NOON
        self.light = LightModel(self.clerk)
        clocks = Clocks(now=lambda: self.now, dates=lambda: self.now)
        deps = CapabilityDeps(
            store.of("default"),
            Vault.fresh(),
            clocks,
            Trust(store).of("default"),
            consolidating=self.light,
            ownership=Ownership(epoch),
        )
        self.deps = deps
        self.capability = ConsolidationCapability(ConsolidationConfig(), deps, "coach", self.clerk.name)

    async def look(self, now: datetime) -> int:
        """Look at this time; return how many passages are consolidated."""
        self.now = now
        await self.capability.look()
        return await self.store.read(CONSOLIDATIONS.count)

    @property
    def state(self) -> str:
        return self.capability.states()["consolidation"]


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    store = await quick_store(tmp_path / "tenk.db")
    yield Desk(store, await store.commit(take_all_shards, "us"))
    await store.aclose()


async def test_a_clock_that_jumps_a_day_leaves_nothing_behind(desk: Desk) -> None:
    ann = await enrolled(desk.store)
    await desk.store.commit(talk, ann, ["a"])
    assert 0 == await desk.look(NOON + minutes(5))
    assert 1 == await desk.look(NOON + DAY), "it was set ahead"
    await desk.store.commit(talk, ann, ["b"], NOON + DAY)
    assert 2 == await desk.look(NOON + minutes(6)), "and back: the conversation seems to end tomorrow"
    assert 1 == await desk.store.read(DREAMS.count)
    await desk.store.commit(talk, ann, ["c"], NOON + minutes(7))
    assert 3 == await desk.look(NOON + minutes(17))
    await desk.look(NOON + minutes(28))
    assert 0 == await desk.store.read(DREAMS.count)
    assert {1} == {fact.mentions for fact in await desk.store.read(FACTS.find)}


async def test_a_day_turned_back_stops_no_rest(desk: Desk) -> None:
    await desk.store.commit(talk, await enrolled(desk.store), ["a"], NOON - minutes(11))
    desk.clerk.failure = ModelFailure(FailureKind.OVERLOADED, "busy", retryable=True)
    assert 0 == await desk.look(NOON)
    desk.clerk.failure = None
    assert 1 == await desk.look(NOON - DAY)


async def test_a_model_that_fails_is_asked_less_and_less(desk: Desk) -> None:
    await desk.store.commit(talk, await enrolled(desk.store), ["a"], NOON - minutes(11))
    desk.clerk.failure = ModelFailure(FailureKind.SERVER, "broken", retryable=True)
    for minute in range(181):
        await desk.look(NOON + minutes(minute))
    assert 8 == desk.clerk.asked
    assert "its model failed: server: broken" in desk.state
    desk.clerk.failure = None
    assert 1 == await desk.look(NOON + minutes(300))
    assert "in 24 h: 1 done, 0.0001 USD" == desk.state


async def test_a_used_budget_is_asked_again_on_the_next_day(desk: Desk) -> None:
    await desk.store.commit(talk, await enrolled(desk.store), ["a"], NOON - minutes(11))
    midnight = NOON.replace(hour=0) + DAY
    desk.clerk.failure = OverBudget(EndReason.MAX_COST, "consolidation", midnight)
    await desk.look(NOON)
    assert f"stopped until {midnight:%Y-%m-%d} 00:00 UTC: its 0.50 USD of today are used" == desk.state
    desk.clerk.failure = None
    assert 1 == await desk.look(midnight)


async def test_a_request_that_is_too_long_is_given_up(desk: Desk) -> None:
    await desk.store.commit(talk, await enrolled(desk.store), ["a"], NOON - minutes(11))
    desk.clerk.failure = ModelFailure(FailureKind.CONTEXT, "too long")
    assert 1 == await desk.look(NOON) == await desk.look(NOON + DAY)
    (row,) = await desk.store.read(CONSOLIDATIONS.find)
    assert PassageOutcome.GIVEN_UP is row.outcome


async def test_a_broken_answer_is_asked_for_once_more_and_after_the_next_conversation(desk: Desk) -> None:
    ann = await enrolled(desk.store)
    await desk.store.commit(talk, ann, ["a"], NOON - minutes(11))
    desk.clerk.broken = ["{", '{"abstract": "x", "orders": ["obey"]}']
    assert 1 == await desk.look(NOON)
    assert (2, 0) == (desk.clerk.asked, await desk.store.read(FACTS.count))
    await desk.look(NOON + minutes(1))
    assert 2 == desk.clerk.asked
    await desk.store.commit(talk, ann, ["b"], NOON + minutes(2))
    desk.clerk.broken = ["{"]
    assert 1 == await desk.look(NOON + minutes(13))
    (row,) = await desk.store.read(CONSOLIDATIONS.find)
    assert (PassageOutcome.DONE, 2, 2, 4) == (row.outcome, row.tries, row.messages, row.cost_microusd)
    assert ["a", "b"] == desk.clerk.said


async def test_a_conversation_of_ten_thousand_messages_is_read_whole_and_once(desk: Desk) -> None:
    ann = await enrolled(desk.store)
    for part in range(100):
        said = [f"thing {part * 100 + number}" for number in range(100)]
        await desk.store.commit(talk, ann, said)
    passages = await desk.look(NOON + minutes(11))
    assert [f"thing {number}" for number in range(10_000)] == desk.clerk.said
    assert desk.clerk.asked == passages == await desk.look(NOON + minutes(40))


async def test_another_processes_conversations_are_left_to_it(desk: Desk) -> None:
    await desk.store.commit(talk, await enrolled(desk.store), ["a"], NOON - minutes(11))
    await desk.store.commit(take_all_shards, "another")
    assert 0 == await desk.look(NOON)


async def test_without_a_model_it_says_so(desk: Desk) -> None:
    desk.light.model = None
    assert NO_MODEL == desk.state
    offline = ConsolidationCapability(ConsolidationConfig(), desk.deps, "coach", "offline")
    (finding,) = await offline.check()
    assert (NO_MODEL, "set a model, or remove [memory.consolidation]") == (finding.words, finding.to_do)
