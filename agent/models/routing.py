"""Which model is asked follows from the request: each route is a test and a model, which may be a router itself."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from agent.context.weight import HEAVY_FROM
from agent.pictures import visible
from agent.ports import ChatModel, ModelFacts, ModelRequest, OnModelEvent
from agent.transcript import ModelResponded, UserItem


@dataclass(frozen=True, slots=True)
class ModelRoute:
    """Requests that pass the test go to the model."""

    wants: Callable[[ModelRequest], bool]
    model: ChatModel


class RoutedModel:
    """The first route that wants a request takes it; what no route wants goes to the model for all else."""

    def __init__(self, routes: Sequence[ModelRoute], otherwise: ChatModel) -> None:
        self.name = otherwise.name
        self._routes = routes
        self._otherwise = otherwise

    @property
    def facts(self) -> ModelFacts:
        """Those of all its models together."""
        return joint_facts([self._otherwise.facts, *(route.model.facts for route in self._routes)])

    async def respond(self, request: ModelRequest, on_event: OnModelEvent) -> ModelResponded:
        """As the chosen model's own.

        Raises:
            ModelFailure: as the chosen model's.
        """
        chosen = next((route.model for route in self._routes if route.wants(request)), self._otherwise)
        return await chosen.respond(request, on_event)

    async def aclose(self) -> None:
        """Close all of them."""
        for model in (*(route.model for route in self._routes), self._otherwise):
            await model.aclose()


def joint_facts(facts: Sequence[ModelFacts]) -> ModelFacts:
    """Of models of which any may be asked: the smallest window's; prices only where all have the same.

    Pictures are seen where one of them sees them.
    """
    smallest = min(facts, key=lambda each: each.context_window_tokens)
    prices = smallest.prices if all(each.prices == smallest.prices for each in facts) else None
    return replace(smallest, prices=prices, sees_images=any(each.sees_images for each in facts))


def is_light(request: ModelRequest) -> bool:
    """Whether the turn asks so little that a cheaper model does; the same in all steps of it. None with pictures."""
    return request.weight is not None and request.weight < HEAVY_FROM and not needs_eyes(request)


def needs_tools(request: ModelRequest) -> bool:
    """Whether the model is given tools."""
    return bool(request.tools)


def needs_eyes(request: ModelRequest) -> bool:
    """Whether the conversation, as far as it is sent, has a picture in it."""
    return any(isinstance(item, UserItem) and visible(item.pictures) for item in request.items)
