"""Reservation of a call's cost before it and correction after it; over a cap the turn ends with words."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from decimal import Decimal

import pytest

from agent.budgets import OverBudget, Spending
from agent.config import LinkConfig
from agent.errors import FailureKind
from agent.loop import run_turn
from agent.models.budgeted import BudgetedModel
from agent.models.failures import failure
from agent.models.scripted import Says, ScriptedModel, calls
from agent.permission_rules import Verdict
from agent.permissions.chain import AutoConfig
from agent.permissions.judge import Judge
from agent.ports import ModelFacts, ModelFailure, ModelRequest, SystemPrompt
from agent.prices import TokenPrice, TokenPrices
from agent.transcript import AssistantItem, EndReason, Usage, UserItem
from tests.fakes.agents import a_tool, an_agent, double
from tests.fakes.turn_port import ANA, NOW, FakeTurnPort, a_turn

PRICES = TokenPrices(TokenPrice(Decimal(2)), TokenPrice(Decimal(10)), cache_write=TokenPrice(Decimal(3)))
FACTS = ModelFacts(prices=PRICES)
REQUEST = ModelRequest(SystemPrompt("s" * 35), (UserItem("w" * 54),), max_output_tokens=100)
INPUT = 30
"""Tokens of it by our estimate."""
WHOLE = Spending(INPUT + 100, 3 * INPUT + 18 + 1000)
"""All of its output, its input at the dearest price: the ten tokens of instructions are kept for an hour."""


@dataclass
class FakeBudget:
    calls: int = 100
    scope: str = "user"
    reason: EndReason = EndReason.MAX_COST
    resets_at: object = None
    left_tokens: int = 10**9
    held: list[Spending] = field(default_factory=list)
    spent: list[Spending] = field(default_factory=list)

    async def reserve(self, most, least=None):
        if len(self.held) >= self.calls or least.tokens > self.left_tokens:
            raise OverBudget(self.reason, self.scope, self.resets_at)
        self.granted = Spending(min(most.tokens, self.left_tokens), most.microusd)
        self.held.append(self.granted)
        return self

    def settle(self, spent):
        self.spent.append(spent)


async def asked(script, request=REQUEST, facts=FACTS, config=None):
    budget = FakeBudget()
    model = BudgetedModel(ScriptedModel([script], facts=facts), config or LinkConfig(), budget)
    with suppress(ModelFailure):
        await model.respond(request, lambda _event: None)
    return budget.held[0], budget.spent[0]


COUNTED = Says("ok", usage=Usage(40, 5, cost_microusd=77))


@pytest.mark.parametrize(
    ("spent", "script", "facts"),
    [
        (Spending(45, 77), COUNTED, FACTS),
        (Spending(45, 0), replace(COUNTED, usage=Usage(40, 5)), ModelFacts()),
        (Spending(INPUT + 2, 2 * INPUT + 20), Says("x" * 7), FACTS),
        (Spending(), failure(FailureKind.AUTH, "no", status=401), FACTS),
        (Spending(), replace(failure(FailureKind.NETWORK, "no connection"), unasked=True), FACTS),
        (Spending(INPUT, 2 * INPUT), failure(FailureKind.NETWORK, "reset"), FACTS),
        (Spending(INPUT, 2 * INPUT), failure(FailureKind.TIMEOUT, "silent"), FACTS),
        (Spending(INPUT + 2, 2 * INPUT + 20), Says("x" * 7, fails_after=failure(FailureKind.NETWORK, "cut")), FACTS),
    ],
    ids=["counted", "no price", "not counted", "refused", "unreachable", "reset", "silent", "cut off"],
)
async def test_a_call_is_settled_by_what_it_came_to(spent, script, facts):
    held, settled = await asked(script, facts=facts)
    assert spent == settled
    assert held == (WHOLE if facts is FACTS else Spending(WHOLE.tokens))


@pytest.mark.parametrize("kind", [FailureKind.TIMEOUT, FailureKind.NETWORK])
async def test_a_response_without_streaming_has_no_progress(kind):
    held, settled = await asked(
        failure(kind, "cut or silent"), replace(REQUEST, stream=False), config=LinkConfig(thinking=2000)
    )
    assert replace(WHOLE, tokens=WHOLE.tokens + 2000, microusd=WHOLE.microusd + 20_000) == held == settled


async def test_a_call_that_is_stopped_counts_what_was_heard():
    budget = FakeBudget()
    model = BudgetedModel(ScriptedModel([Says("w" * 7 + " more", word_s=3600)], facts=FACTS), LinkConfig(), budget)
    heard = asyncio.Event()
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(model.respond(REQUEST, lambda _event: heard.set()))
        await heard.wait()
        task.cancel()
    assert [Spending(INPUT + 2, 2 * INPUT + 20)] == budget.spent


async def test_the_estimate_learns_from_what_was_counted():
    budget = FakeBudget()
    told = Says("ok", usage=Usage(2 * INPUT, 1))
    model = BudgetedModel(ScriptedModel([told, told], facts=ModelFacts()), LinkConfig(), budget)
    for _ in range(2):
        await model.respond(REQUEST, lambda _event: None)
    assert [INPUT + 100, INPUT * 3 // 2 + 100] == [held.tokens for held in budget.held]


@pytest.mark.parametrize(
    ("locale", "scope", "hours", "words"),
    [
        ("en", "user", 7, "What I may spend on you today is used up. It starts again at 20:00, in about 7 hours."),
        ("es", "user", 1, "Empieza de nuevo a las 14:00, en menos de una hora."),
        ("en", "day", 2, "by everyone together. It starts again at 15:00, in about 2 hours."),
        ("es", "turn", None, "todo lo que puede costar una respuesta"),
    ],
)
async def test_over_a_cap_the_person_reads_when_it_starts_again(locale, scope, hours, words):
    person = replace(ANA, locale=locale, timezone="Europe/Madrid")
    resets_at = None if hours is None else NOW + timedelta(hours=hours)
    budget = FakeBudget(calls=0, scope=scope, resets_at=resets_at)
    inner, port = ScriptedModel(["never"]), FakeTurnPort()
    agent = an_agent(BudgetedModel(inner, LinkConfig(), budget))
    assert EndReason.MAX_COST is await run_turn(a_turn(port, principal=person), port.ports, agent)
    assert words in port.answer
    assert [] == inner.requests
    assert (None if hours is None else hours * 3600.0) == port.events[-1].busy_s


def talk(*texts):
    kinds = (UserItem, AssistantItem)
    return tuple(kinds[index % 2](text) for index, text in enumerate(texts))


@pytest.mark.parametrize(
    ("left", "items", "output"),
    [(10_000, 5, 1000), (3300, 5, 867), (2700, 3, 1000), (2200, 3, 576), (1620, 1, 805), (1300, None, None)],
)
async def test_a_call_gets_what_a_cap_leaves_and_no_more(left, items, output):
    long = "word " * 560  # 800 tokens by our estimate
    request = replace(REQUEST, items=talk(long, "a", long, "b", long), max_output_tokens=1000)
    budget, inner = FakeBudget(left_tokens=left), ScriptedModel(["ok"], facts=FACTS)
    model = BudgetedModel(inner, LinkConfig(), budget)
    if items is None:
        with pytest.raises(OverBudget):
            await model.respond(request, lambda _event: None)
        assert [] == inner.requests
        return
    await model.respond(request, lambda _event: None)
    (asked,) = inner.requests
    assert items == len(asked.items)
    assert output == pytest.approx(asked.max_output_tokens, abs=60)
    assert isinstance(asked.items[0], UserItem)


async def test_what_was_found_before_the_cap_is_told():
    budget = FakeBudget(calls=1, reason=EndReason.MAX_TOKENS)
    model = BudgetedModel(ScriptedModel([calls(("double", '{"n": 21}')), "never"]), LinkConfig(), budget)
    port = FakeTurnPort()
    reason = await run_turn(a_turn(port), port.ports, an_agent(model, a_tool("double", double)))
    assert EndReason.MAX_TOKENS is reason
    assert "42" in port.answer and "all that one answer may cost" in port.answer


async def test_a_judge_over_budget_lets_the_person_decide():
    model = BudgetedModel(ScriptedModel(["never"]), LinkConfig(), FakeBudget(calls=0))
    assert Verdict.ASK is await Judge(model, AutoConfig()).judge("pay", "", "{}", FakeTurnPort().note_cost)
