"""Fifty turns at once over the real store: the bill passes a cap by less than one call."""

import asyncio
from datetime import timedelta
from decimal import Decimal
from functools import partial
from pathlib import Path

import pytest

from agent.budgets import Hold, OverBudget, Spending
from agent.config import LinkConfig
from agent.context.compaction import INSTRUCTIONS
from agent.errors import FailureKind
from agent.models.budgeted import BudgetedModel
from agent.ports import ModelFacts, ModelFailure, ModelRequest, OnModelEvent, Principal
from agent.prices import TokenPrice, TokenPrices
from agent.transcript import EndReason, ModelResponded, Usage
from channels.messages import Address
from gateway.sessions.budgets import Budgets, Spender, caps_of, note_spender, words_of
from gateway.sessions.config import BudgetsConfig
from gateway.store import budgets as rows
from gateway.store.budgets import Cap, CapUse
from gateway.store.journal import TurnRow
from tests.fakes.spine import NOON, QuickStore, Spine, quick_store

PRICES = TokenPrices(TokenPrice(Decimal(1)), TokenPrice(Decimal(10)))
MANY = 50
CAP_MICROUSD = 2_000_000


class BillingProvider:
    """A provider that answers on demand and bills that; a call cut before its end costs all that was reserved."""

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
        pass


class MortalBudgets(Budgets):
    dies = False
    held_microusd = 0
    largest_microusd = 0

    async def reserve(self, most: Spending, least: Spending | None = None) -> Hold:
        self.largest_microusd = max(self.largest_microusd, most.microusd)
        hold = await super().reserve(most, least)
        return _MortalHold(self, hold)


class _MortalHold:
    def __init__(self, budgets: MortalBudgets, hold: Hold) -> None:
        self._budgets = budgets
        self._hold = hold
        self.granted = hold.granted
        budgets.held_microusd += hold.granted.microusd

    def settle(self, spent: Spending) -> None:
        if not self._budgets.dies:
            self._budgets.held_microusd -= self.granted.microusd
            self._hold.settle(spent)


def begun(spine: Spine, store: QuickStore, provider: BillingProvider) -> MortalBudgets:
    caps = MortalBudgets(BudgetsConfig(day_usd=Decimal(CAP_MICROUSD) / 1_000_000), store, lambda: NOON)
    spine.model = BudgetedModel(provider, LinkConfig(), caps)  # type: ignore[assignment]  any model will do
    return caps


@pytest.mark.parametrize("deaths", [1, *(pytest.param(deaths, marks=pytest.mark.gate) for deaths in (0, 3))])
async def test_what_is_billed_never_passes_the_cap(tmp_path: Path, deaths: int) -> None:
    store, provider = await quick_store(tmp_path / "tenk.db"), BillingProvider()
    spine = Spine(store)
    spine.channel.limited(max_text=4096)
    caps = begun(spine, store, provider)
    await spine.begin()
    for _ in range(max(2, deaths + 1)):
        provider.open.clear()
        for chat in range(MANY):
            await spine.say("hello", chat=f"g{chat}")
        await spine.quiet()
        if deaths > 0 and provider.under_way:
            deaths, caps.dies = deaths - 1, True
            await spine.kill()
            provider.billed_microusd += caps.held_microusd
            provider.under_way = 0
            caps = begun(spine, store, provider)
            await caps.begin()
            await spine.begin()
        await spine.quiet()
        provider.open.set()
        await spine.quiet()
    largest = max(caps.largest_microusd, 81_920)
    assert CAP_MICROUSD <= provider.billed_microusd + 2 * largest
    assert provider.billed_microusd <= CAP_MICROUSD
    assert None not in (await spine.outcomes()).values()
    shown = [text for chat in range(MANY) for text in spine.channel.shown(f"g{chat}")]
    assert not [text for text in shown if text != "Done." and "used up, by everyone together" not in text]
    await spine.kill()
    await store.aclose()


@pytest.mark.parametrize(
    ("zone", "own_day", "resets"),
    [("Europe/Madrid", "2026-03-04", 11), ("Pacific/Kiritimati", "2026-03-05", 22), ("nowhere", "2026-03-04", 12)],
)
def test_a_persons_day_is_their_own_and_all_others_are_utcs(zone: str, own_day: str, resets: int) -> None:
    config = BudgetsConfig(turn_tokens=5, user_usd=Decimal("0.5"), channel_tokens=7, day_usd=Decimal(1))
    caps = caps_of(config, Spender("t", "ana", "sim:main", "turn-1", zone), NOON)
    assert [
        Cap("t", "turn", "turn-1", "", None, 5, None),
        Cap("t", "user", "ana", own_day, 500_000, None, NOON + timedelta(hours=resets)),
        Cap("t", "channel", "sim:main", "2026-03-04", None, 7, NOON + timedelta(hours=12)),
        Cap("", "day", "", "2026-03-04", 1_000_000, None, NOON + timedelta(hours=12)),
    ] == caps


def test_a_cap_is_shown_as_it_was_set() -> None:
    cap = Cap("t", "day", "", "2026-03-04", 15_000, None, NOON)
    assert "0.01 / 0.015 USD" == words_of(CapUse(cap, Spending(0, 12_000)))


async def test_without_a_cap_nothing_is_on_a_calls_way(spine: Spine) -> None:
    provider, caps = BillingProvider(), Budgets(BudgetsConfig(), spine.store, lambda: NOON)
    assert provider is caps.charge_by(BudgetsConfig(), {})(provider, LinkConfig())
    assert (None, {}) == (await caps.own_cap(Principal("ana", "t")), await caps.standing())


async def test_who_is_stopped_while_it_waits_for_its_reservation_leaves_none(spine: Spine) -> None:
    caps = begun(spine, spine.store, BillingProvider())
    note_spender(
        TurnRow("t1", "t", "s", "ana", "chat", Address("sim", "main", "c1"), None, NOON), Principal("ana", "t")
    )
    async with asyncio.TaskGroup() as tasks:
        waiting = tasks.create_task(caps.reserve(Spending(5, 5)))
        await asyncio.sleep(0)
        waiting.cancel()
    assert waiting.cancelled()
    await spine.quiet()
    (use,) = await spine.store.read(partial(rows.in_use, now=NOON, limit=9))
    assert Spending() == use.used
    assert 0 == await spine.store.commit(rows.forget_holds)


async def test_what_calls_under_way_have_set_aside_is_waited_for(spine: Spine) -> None:
    caps = Budgets(BudgetsConfig(user_usd=Decimal(1)), spine.store, lambda: NOON)
    ana = Principal("ana", "t")
    note_spender(TurnRow("t1", "t", "s", "ana", "chat", Address("sim", "main", "c1"), None, NOON), ana)
    first = await caps.reserve(Spending(5, 1_000_000))
    async with asyncio.timeout(30), asyncio.TaskGroup() as tasks:
        second = tasks.create_task(caps.reserve(Spending(5, 1_000_000), Spending(5, 1)))
        await spine.quiet()
        own = await caps.own_cap(ana)
        assert (False, Spending()) == (second.done(), own and own.used)
        first.settle(Spending(5, 100_000))
    assert Spending(5, 900_000) == second.result().granted
    second.result().settle(Spending(5, 900_000))
    with pytest.raises(OverBudget):
        await caps.reserve(Spending(5, 1))
    assert {} == caps._set_aside  # noqa: SLF001  what is never taken off again would let everybody wait


async def test_who_waits_too_long_for_calls_under_way_hears_that_the_model_is_busy(spine: Spine) -> None:
    caps = Budgets(BudgetsConfig(user_usd=Decimal(1)), spine.store, lambda: NOON)
    ana = Principal("ana", "t")
    note_spender(TurnRow("t1", "t", "s", "ana", "chat", Address("sim", "main", "c1"), None, NOON), ana)
    under_way = await caps.reserve(Spending(5, 1_000_000))
    caps.wait_s = 0.0
    with pytest.raises(ModelFailure) as busy:
        await caps.reserve(Spending(5, 1))
    assert (FailureKind.RATE_LIMIT, 61.0) == (busy.value.kind, busy.value.retry_after_s)
    under_way.settle(Spending())
    await spine.quiet()
    own = await caps.own_cap(ana)
    assert (Spending(), 0) == (own and own.used, await spine.store.commit(rows.forget_holds))


async def test_notes_over_a_cap_are_left_for_another_time(spine: Spine) -> None:
    refused = []

    def answer(request: ModelRequest) -> ModelResponded:
        if request.system is INSTRUCTIONS:
            refused.append(request)
            raise OverBudget(EndReason.MAX_COST, "day", None)
        return ModelResponded(0, "Yes.")

    spine.model.answer_at_once = answer
    while not refused:
        await spine.say("And then?")
        await spine.quiet()
    await spine.say("And now?")
    await spine.quiet()
    assert {"Yes."} == set(spine.channel.shown("c1"))
    assert 1 == len(refused)
