"""A wire that is not asked before what the call may cost is set aside; each of its tries is a call of its own.

The budget decides what caps there are, and what is left of them.
"""

from agent.budgets import Budget, Spending, most_of, spent_of
from agent.config import LinkConfig
from agent.context.sizes import BYTES_PER_TOKEN, Calibration, chars_of, said_chars
from agent.errors import FailureKind
from agent.ports import (
    ChatModel,
    ModelEvent,
    ModelFacts,
    ModelFailure,
    ModelRequest,
    OnModelEvent,
)
from agent.prices import TokenPrices
from agent.transcript import ModelResponded, Usage


class BudgetedModel:
    """Reserves for the input as we estimate it and for all the output that the call may have; settles by what was."""

    def __init__(
        self, model: ChatModel, config: LinkConfig, budget: Budget, last_prices: TokenPrices | None = None
    ) -> None:
        """`model` says what its responses cost; if nobody knows that any more, `last_prices` count."""
        self.name = model.name
        self._model = model
        self._budget = budget
        self._last_prices = last_prices
        self._thinking_tokens = config.thinking if isinstance(config.thinking, int) else 0
        self._calibration = Calibration()

    @property
    def facts(self) -> ModelFacts:
        """The model's."""
        return self._model.facts

    async def respond(self, request: ModelRequest, on_event: OnModelEvent) -> ModelResponded:
        """The model's response.

        Raises:
            OverBudget: a cap is reached; the model was not asked.
            ModelFailure: as the model's.
        """
        prices = self._model.facts.prices or self._last_prices
        estimated = self._calibration.sizes.estimate(request)
        asked_tokens = self._calibration.tokens(self.name, estimated)
        most = most_of(prices, asked_tokens, request.max_output_tokens + self._thinking_tokens)
        heard = _Heard(on_event)
        hold = await self._budget.reserve(most)
        spent = most
        try:
            response = await self._model.respond(request, heard)
            by_estimate = Usage(asked_tokens, max(heard.tokens, int(said_chars(response) / BYTES_PER_TOKEN)))
            spent = spent_of(prices, response.usage, by_estimate)
            self._calibration.note(self.name, estimated, response.usage.input_tokens)
        except BaseException as problem:
            if isinstance(problem, ModelFailure) and _is_free(problem) and not heard.any:
                spent = Spending()
            elif request.stream:  # of one that does not stream nobody can tell how far it came
                spent = spent_of(prices, Usage(), Usage(asked_tokens, heard.tokens))
            raise
        finally:
            hold.settle(spent)
        return response

    async def aclose(self) -> None:
        """Close the model."""
        await self._model.aclose()


def _is_free(problem: ModelFailure) -> bool:
    """Whether nothing was read or written for it; of what broke, or fell silent, nobody knows."""
    broke = problem.kind is FailureKind.NETWORK and problem.status is None and not problem.unasked
    return not broke and problem.kind is not FailureKind.TIMEOUT


class _Heard:
    """Passes events on, and counts about how much of a response they are."""

    def __init__(self, on_event: OnModelEvent) -> None:
        self._on_event = on_event
        self._chars = 0
        self.any = False  # the provider has begun a response

    def __call__(self, event: ModelEvent) -> None:
        chars = chars_of(event)
        self._chars += chars or 0
        self.any = self.any or chars is not None
        self._on_event(event)

    @property
    def tokens(self) -> int:
        return int(self._chars / BYTES_PER_TOKEN)
