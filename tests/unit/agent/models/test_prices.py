"""Cost of a call: config before the table, each kind of token apart, or unknown."""

from decimal import Decimal

import pytest

from agent.config import ModelConfig
from agent.models.facts import KnownModel, facts_of
from agent.models.scripted import Says, ScriptedModel
from agent.ports import ModelRequest, SystemPrompt
from agent.prices import TokenPrice, TokenPrices
from agent.transcript import Usage, UserItem

OWN = {"input_usd_per_mtok": "2", "output_usd_per_mtok": "10"}
CACHED = TokenPrices(*(TokenPrice(Decimal(usd)) for usd in ("3", "15", "0.3", "3.75")))


@pytest.mark.parametrize(
    ("used", "cost_microusd"),
    [
        (Usage(1000, 100), 3000 + 1500),
        (Usage(1000, 100, 600, 300), 300 + 180 + 1125 + 1500),
        (Usage(1000, 0, 600, 300, cache_write_hour_tokens=200), 300 + 180 + 375 + 1200),
        (Usage(1, 0, 1), 1),
        (Usage(0, 0), 0),
        (Usage(None, 100), None),
        (Usage(1000, None), None),
        (Usage(10, 0, 50, 50), 3),
    ],
)
def test_each_kind_of_token_has_its_price(used, cost_microusd):
    assert cost_microusd == CACHED.cost_microusd(used)


def test_cached_input_without_a_price_costs_what_other_input_does():
    prices = TokenPrices(TokenPrice(Decimal(2)), TokenPrice(Decimal(10)))
    assert prices.cost_microusd(Usage(100, 1)) == prices.cost_microusd(Usage(100, 1, 40, 40)) == 210


def test_a_long_prompt_pays_the_price_of_its_tier_for_all():
    tiered = TokenPrice(Decimal(3), ((200_000, Decimal(6)),))
    prices = TokenPrices(tiered, TokenPrice(Decimal(15)))
    assert 600_000 == prices.cost_microusd(Usage(200_000, 0))
    assert 1_200_006 == prices.cost_microusd(Usage(200_001, 0))


@pytest.mark.parametrize(
    ("name", "config"),
    [
        ("openai:no-such-model", {}),
        ("openai:gpt-5-mini", {"base_url": "https://models.example/v1"}),
        ("openai:gpt-5-mini", {"base_url": "http://127.0.0.1:11434/v1"}),
        ("openai:gpt-5-mini", {"service_tier": "priority"}),
    ],
)
def test_an_unknown_model_has_no_price(name, config):
    assert facts_of(name, ModelConfig(**config)).prices is None
    prices = facts_of(name, ModelConfig(**config, prices=OWN)).prices
    assert 2 == prices.cost_microusd(Usage(1, 0))


@pytest.mark.parametrize("name", ["openai:gpt-5-mini", "anthropic:claude-haiku-4-5"])
def test_the_table_prices_what_it_knows_and_config_goes_before_it(name):
    listed = facts_of(name, ModelConfig()).prices
    assert 0 < listed.cost_microusd(Usage(1000, 0, 1000)) < listed.cost_microusd(Usage(1000, 0))
    own = TokenPrices(TokenPrice(Decimal(2)), TokenPrice(Decimal(10)))
    assert own == facts_of(name, ModelConfig(prices=OWN)).prices


@pytest.mark.parametrize(
    ("prices", "said", "cost_microusd"),
    [
        (OWN, Usage(1000, 100), 3000),
        (None, Usage(1000, 100), None),
        (OWN, Usage(), None),
        (OWN, Usage(1000, 100, cost_microusd=7), 7),
    ],
)
async def test_a_priced_model_says_what_its_response_cost(prices, said, cost_microusd):
    model = KnownModel(ScriptedModel([Says("hi", usage=said)]), ModelConfig(prices=prices))
    response = await model.respond(ModelRequest(SystemPrompt("be kind"), (UserItem("hello"),)), lambda _event: None)
    assert cost_microusd == response.usage.cost_microusd
    await model.aclose()
