"""Knows what a model takes, gives and costs: from the operator's config, else from a kept table, else with care.

The table is genai-prices' own (windows and prices of some 2,300 models; no output caps, no word on pictures, read
2026-11). It is read when it is first asked, which costs a quarter of a second: `facts` of a wire is asked for where the
model is built.
"""

from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING

from agent.calendar import utc_now
from agent.config import LinkConfig
from agent.models.seeing import fit_pictures
from agent.models.served import ServedModel
from agent.ports import ChatModel, ModelFacts, ModelRequest, OnModelEvent
from agent.prices import TokenPrice, TokenPrices
from agent.transcript import ModelResponded

if TYPE_CHECKING:
    from genai_prices.types import ModelInfo, TieredPrices

    Listed = Decimal | TieredPrices | None

UNKNOWN_WINDOW_TOKENS = 128_000
"""Of a model that neither config nor table knows; most that are served today take this much."""


def facts_of(name: str, config: LinkConfig, served: ServedModel | None = None) -> ModelFacts:
    """Return the facts of the model of this name (`WIRE:NAME`): as it is configured, else as its server says of it.

    A server of one's own is in no table.
    """
    told = served or ServedModel(name)
    wire, _, model = name.partition(":")
    window = config.context_window_tokens or told.window_tokens
    if window is None and not config.is_local:
        window = window_of(wire, model, config.base_url)
    return ModelFacts(
        context_window_tokens=window or UNKNOWN_WINDOW_TOKENS,
        max_output_tokens=config.max_output_tokens or told.max_output_tokens,
        sees_images=_first(config.sees_images, told.sees_images, config.base_url is None),
        takes_tools=_first(config.takes_tools, told.takes_tools, True),
        prices=configured_prices(config) or (None if config.is_local else prices_of(wire, model, config)),
    )


def _first(*said: bool | None) -> bool:
    return next(each for each in said if each is not None)


def window_of(wire: str, model: str, base_url: str | None) -> int | None:
    """Tokens that the model takes in, its output included, as the table has it; None: it has not."""
    known = _find(wire, model, base_url)
    return None if known is None else known.context_window


def configured_prices(config: LinkConfig) -> TokenPrices | None:
    """Return the operator's own prices, if they set them."""
    said = config.prices
    if said is None:
        return None
    return TokenPrices(
        TokenPrice(said.input_usd_per_mtok),
        TokenPrice(said.output_usd_per_mtok),
        None if said.cache_read_usd_per_mtok is None else TokenPrice(said.cache_read_usd_per_mtok),
        None if said.cache_write_usd_per_mtok is None else TokenPrice(said.cache_write_usd_per_mtok),
    )


STANDARD_TIERS = (None, "auto", "default", "standard_only")
"""Service tiers that cost what the table says; of others it does not know the price."""


def prices_of(wire: str, model: str, config: LinkConfig) -> TokenPrices | None:
    """Return the table's prices of today; None: it has not both, or the model costs by the request as well."""
    known = _find(wire, model, config.base_url)
    if known is None or config.service_tier not in STANDARD_TIERS:
        return None
    listed = known.get_prices(utc_now())
    given, written = _price(listed.input_mtok), _price(listed.output_mtok)
    if given is None or written is None or listed.requests_kcount is not None:
        return None
    return TokenPrices(given, written, _price(listed.cache_read_mtok), _price(listed.cache_write_mtok))


def _price(price: "Listed") -> TokenPrice | None:
    if price is None or isinstance(price, Decimal):
        return None if price is None else TokenPrice(price)
    return TokenPrice(price.base, tuple((tier.start, tier.price) for tier in price.tiers))


def _find(wire: str, model: str, base_url: str | None) -> "ModelInfo | None":
    from genai_prices.data_snapshot import get_snapshot  # noqa: PLC0415  its import reads the whole table

    try:
        return get_snapshot().find_provider_model(model, None, None if base_url else wire, base_url)[1]
    except LookupError:
        return None


class KnownModel:
    """A wire whose requests and responses fit the facts of its model: pictures it can take, and what an answer cost."""

    def __init__(self, model: ChatModel, config: LinkConfig) -> None:
        """Read the facts now: the first look into the table is too slow for a turn."""
        self.name = model.name
        self._prices = configured_prices(config) or model.facts.prices
        self._model = model

    @property
    def facts(self) -> ModelFacts:
        """The model's, with the operator's prices where they are set."""
        facts = self._model.facts
        return facts if facts.prices == self._prices else replace(facts, prices=self._prices)

    async def respond(self, request: ModelRequest, on_event: OnModelEvent) -> ModelResponded:
        """Return the response, priced; a cost that the provider says itself is believed.

        Raises:
            ModelFailure: as the model's.
        """
        request = fit_pictures(request, sees_images=self._model.facts.sees_images)
        response = await self._model.respond(request, on_event)
        prices, used = self._prices, response.usage
        if prices is None or used.cost_microusd is not None:
            return response
        return replace(response, usage=replace(used, cost_microusd=prices.cost_microusd(used)))

    async def aclose(self) -> None:
        """Close the model."""
        await self._model.aclose()
