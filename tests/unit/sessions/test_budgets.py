"""Fifty turns at once over the store as it is: what a provider bills passes a cap by less than one call."""

import asyncio
from decimal import Decimal
from pathlib import Path

import pytest

from agent.budgets import Hold, Spending
from agent.config import LinkConfig
from agent.models.budgeted import BudgetedModel
from agent.ports import ModelFacts, ModelRequest, OnModelEvent
from agent.prices import TokenPrice, TokenPrices
from agent.transcript import ModelResponded, Usage
from gateway.sessions.budgets import Budgets
from gateway.sessions.config import BudgetsConfig
from tests.fakes.spine import NOON, QuickStore, Spine, quick_store

PRICES = TokenPrices(TokenPrice(Decimal(1)), TokenPrice(Decimal(10)))
MANY = 50
CAP_MICROUSD = 2_000_000


class BillingProvider:
    """Answers when it is let, and bills that; of calls that nobody heard the end of all that was set aside."""

    name = "billing:m"
    facts = ModelFacts(prices=PRICES)

    def __init__(self) -> None:
        self.billed_microusd = 0
        self.under_way = 0
        self.open = asyncio.Event()

    async def respond(self, request: ModelRequest, on_event: OnModelEvent) -> ModelResponded:
        self.under_way += 1
        await self.open.wait()
        self.under_way -= 1
        used = Usage(10, request.max_output_tokens * 4 // 5)
        self.billed_microusd += PRICES.cost_microusd(used) or 0
        return ModelResponded(0, "Done.", usage=used, model=self.name)

    async def aclose(self) -> None:
        """Nothing is open."""


class MortalBudgets(Budgets):
    """Of a process that may die: then what it set aside is never settled."""

    dies = False
    largest_microusd = 0

    async def reserve(self, most: Spending) -> Hold:
        self.largest_microusd = max(self.largest_microusd, most.microusd)
        hold = await super().reserve(most)
        return _MortalHold(self, hold)


class _MortalHold:
    def __init__(self, budgets: MortalBudgets, hold: Hold) -> None:
        self._budgets = budgets
        self._hold = hold

    def settle(self, spent: Spending) -> None:
        if not self._budgets.dies:
            self._hold.settle(spent)


def begun(spine: Spine, store: QuickStore, provider: BillingProvider) -> MortalBudgets:
    """The caps of a process, around the provider."""
    caps = MortalBudgets(BudgetsConfig(day_usd=Decimal(CAP_MICROUSD) / 1_000_000), store, lambda: NOON)
    spine.model = BudgetedModel(provider, LinkConfig(), caps)  # type: ignore[assignment]  any model will do
    return caps


@pytest.mark.parametrize("deaths", [1, *(pytest.param(deaths, marks=pytest.mark.gate) for deaths in (0, 3))])
async def test_what_is_billed_passes_the_cap_by_less_than_one_call(tmp_path: Path, deaths: int) -> None:
    """Everybody asks at once, and again; the process dies with calls under way. Who is not answered reads why."""
    store, provider = await quick_store(tmp_path / "tenk.db"), BillingProvider()
    spine = Spine(store)
    spine.channel.limited(max_text=4096)
    caps = begun(spine, store, provider)
    await spine.begin()
    for _ in range(deaths + 2):
        provider.open.clear()
        for chat in range(MANY):
            await spine.say("hello", chat=f"g{chat}")
        await spine.quiet()
        if deaths > 0 and provider.under_way:
            deaths, caps.dies = deaths - 1, True
            await spine.kill()
            provider.billed_microusd += provider.under_way * caps.largest_microusd
            provider.under_way = 0
            caps = begun(spine, store, provider)
            await caps.begin()
            await spine.begin()
        await spine.quiet()
        provider.open.set()
        await spine.quiet()
    largest = max(caps.largest_microusd, 81_920)
    assert CAP_MICROUSD <= provider.billed_microusd + 2 * largest
    assert provider.billed_microusd < CAP_MICROUSD + largest
    assert None not in (await spine.outcomes()).values()
    shown = [text for chat in range(MANY) for text in spine.channel.shown(f"g{chat}")]
    assert not [text for text in shown if text != "Done." and "used up, by everybody together" not in text]
    await spine.kill()
    await store.aclose()
