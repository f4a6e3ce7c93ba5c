"""A wire whose every response says what it cost, where that is known."""

from dataclasses import replace

from agent.config import LinkConfig
from agent.models.facts import configured_prices
from agent.ports import ChatModel, ModelFacts, ModelRequest, OnModelEvent
from agent.transcript import ModelResponded


class PricedModel:
    """Sets the cost of what the model answers, by its facts; one that says it itself is believed."""

    def __init__(self, model: ChatModel, config: LinkConfig) -> None:
        """The facts are read here, where a model is built: the first look into the table takes too long for a turn."""
        self.name = model.name
        self._prices = configured_prices(config) or model.facts.prices
        self._model = model

    @property
    def facts(self) -> ModelFacts:
        """The model's, with the operator's prices where they are set."""
        facts = self._model.facts
        return facts if facts.prices == self._prices else replace(facts, prices=self._prices)

    async def respond(self, request: ModelRequest, on_event: OnModelEvent) -> ModelResponded:
        """The model's response, priced.

        Raises:
            ModelFailure: as the model's.
        """
        response = await self._model.respond(request, on_event)
        prices, used = self._prices, response.usage
        if prices is None or used.cost_microusd is not None:
            return response
        return replace(response, usage=replace(used, cost_microusd=prices.cost_microusd(used)))

    async def aclose(self) -> None:
        """Close the model."""
        await self._model.aclose()
