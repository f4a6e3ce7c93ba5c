"""A model that fails again and again is not asked for half a minute; then one call tries whether it is back."""

from agent.errors import FailureKind
from agent.models.health import Gate, HealthBoard
from agent.ports import ChatModel, ModelFacts, ModelFailure, ModelRequest, OnModelEvent
from agent.transcript import ModelResponded

FAILURES = 5
"""In a row, of any turns."""

REST_S = 30.0

DOWN = frozenset({FailureKind.OVERLOADED, FailureKind.SERVER, FailureKind.NETWORK, FailureKind.TIMEOUT})
"""Kinds that say that the provider is not there; anything else is an answer of one that is."""


class Circuit:
    """A circuit breaker around one model. Each try counts, so it stands inside what tries again."""

    def __init__(self, model: ChatModel, board: HealthBoard) -> None:
        self.name = model.name
        self._model = model
        self._board = board
        self._failures = 0  # in a row
        self._trial = False  # somebody tries whether it is back

    @property
    def facts(self) -> ModelFacts:
        """The model's."""
        return self._model.facts

    async def respond(self, request: ModelRequest, on_event: OnModelEvent) -> ModelResponded:
        """As the model's own.

        Raises:
            ModelFailure: as the model's, or that the circuit is open.
        """
        rest = self._board.check(self.name, Gate.CIRCUIT)
        if rest is not None and self._trial:
            raise ModelFailure(rest.why, "somebody tries whether it is back", retryable=False, retry_after_s=REST_S)
        self._trial = rest is not None
        try:
            response = await self._model.respond(request, on_event)
        except ModelFailure as problem:
            self._note(problem, tried=rest is not None)
            raise
        finally:
            if rest is not None:
                self._trial = False
        self._close_circuit()
        return response

    def _note(self, problem: ModelFailure, *, tried: bool) -> None:
        if problem.kind not in DOWN:
            self._close_circuit()
            return
        self._failures += 1
        if tried or self._failures >= FAILURES:
            self._failures = 0
            self._board.close(self.name, Gate.CIRCUIT, problem.kind, REST_S)

    def _close_circuit(self) -> None:
        self._failures = 0
        self._board.open(self.name, Gate.CIRCUIT)

    async def aclose(self) -> None:
        """Close the model."""
        await self._model.aclose()
