"""A model whose key or credit is refused is left alone for a while: asking again helps nobody."""

from collections.abc import Awaitable, Callable
from functools import partial

from agent.errors import FailureKind
from agent.models.health import Gate, HealthBoard
from agent.ports import ChatModel, ModelFacts, ModelFailure, ModelRequest, OnModelEvent
from agent.transcript import ModelResponded

FIRST_REST_S = {FailureKind.AUTH: 300.0, FailureKind.QUOTA: 3600.0}
"""Doubled each time in a row."""

LONGEST_REST_S = 86_400.0


class Cooling:
    """Cooldown around one model."""

    def __init__(self, model: ChatModel, board: HealthBoard, mark: str = "") -> None:
        """`mark` stands for key and server: with another one the model is not the one that rests."""
        self.name = model.name
        self._model = model
        self._board = board
        board.enlist(model.name, mark)

    @property
    def facts(self) -> ModelFacts:
        """The model's."""
        return self._model.facts

    async def respond(self, request: ModelRequest, on_event: OnModelEvent) -> ModelResponded:
        """As the model's own.

        Raises:
            ModelFailure: as the model's, or that it rests.
        """
        return await ask_unless_resting(self._board, self.name, partial(self._model.respond, request, on_event))

    async def aclose(self) -> None:
        """Close the model."""
        await self._model.aclose()


async def ask_unless_resting(
    board: HealthBoard, name: str, ask: Callable[[], Awaitable[ModelResponded]]
) -> ModelResponded:
    """What `ask` gives, unless what is named so rests; after a refusal it does.

    Raises:
        ModelFailure: as `ask`'s, or that it rests.
    """
    rest = board.check(name, Gate.COOLDOWN)
    try:
        response = await ask()
    except ModelFailure as problem:
        if (first_s := FIRST_REST_S.get(problem.kind)) is not None:
            strikes = 0 if rest is None else min(rest.strikes, 20)
            board.close(name, Gate.COOLDOWN, problem.kind, min(first_s * 2**strikes, LONGEST_REST_S))
        raise
    board.open(name, Gate.COOLDOWN)
    return response
