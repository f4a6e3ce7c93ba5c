"""A model whose key or credit is refused is left alone for a while: asking again helps nobody."""

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
        rest = self._board.check(self.name, Gate.COOLDOWN)
        try:
            response = await self._model.respond(request, on_event)
        except ModelFailure as problem:
            if (first_s := FIRST_REST_S.get(problem.kind)) is not None:
                strikes = 0 if rest is None else min(rest.strikes, 20)
                self._board.close(self.name, Gate.COOLDOWN, problem.kind, min(first_s * 2**strikes, LONGEST_REST_S))
            raise
        self._board.open(self.name, Gate.COOLDOWN)
        return response

    async def aclose(self) -> None:
        """Close the model."""
        await self._model.aclose()
