"""A model whose calls reserve their highest cost first; each attempt is a call of its own.

The budget decides which caps there are, and what is left of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from agent.budgets import Budget, Spending, most_of, output_within, spent_of
from agent.config import LinkConfig
from agent.context.sizes import BYTES_PER_TOKEN, Calibration, chars_of, estimate_tokens, said_chars
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
from agent.transcript import AssistantItem, Item, ModelResponded, NoteItem, Usage, UserItem

LEAST_OUTPUT_TOKENS = 512
"""Output tokens that must fit; if they do not, the older part of the conversation is left out."""


class BudgetedModel:
    """A model that reserves for its estimated input and all output that the call may have, and settles the real cost.

    If less is left, the call gets that: shorter output, then less history. If even that does not fit, it is refused.
    """

    def __init__(
        self, model: ChatModel, config: LinkConfig, budget: Budget, last_prices: TokenPrices | None = None
    ) -> None:
        """`model` knows the price of its responses; `last_prices` are used if it no longer does."""
        self.name = model.name
        self._model = model
        self._budget = budget
        self._last_prices = last_prices
        self._thinking_tokens = config.thinking if isinstance(config.thinking, int) else 0
        self._calibration = Calibration()

    @property
    def facts(self) -> ModelFacts:
        return self._model.facts

    async def respond(self, request: ModelRequest, on_event: OnModelEvent) -> ModelResponded:
        """Return the model's response.

        Raises:
            OverBudget: a cap is reached; the model was not asked.
            ModelFailure: the model failed.
        """
        prices = self._model.facts.prices or self._last_prices
        sizes = self._sizes(request)
        fixed = self._calibration.sizes.estimate_fixed(request.system, request.tools)
        lasting = self._calibration.tokens(self.name, fixed)
        thinking = self._thinking_tokens
        least_output = min(LEAST_OUTPUT_TOKENS, request.max_output_tokens) + thinking
        most = most_of(prices, sizes[0].tokens, request.max_output_tokens + thinking, lasting)
        least = most_of(prices, sizes[-1].tokens, least_output, lasting)
        heard = _Heard(on_event)
        hold = await self._budget.reserve(most, Spending(least.tokens, least.microusd + 1 if least.microusd else 0))
        size, output = _within(hold.granted, prices, sizes, lasting, request.max_output_tokens + thinking, least_output)
        request = replace(request, items=request.items[size.start :], max_output_tokens=output - thinking)
        estimated, asked_tokens = size.estimated, size.tokens
        spent = hold.granted
        try:
            response = await self._model.respond(request, heard)
            by_estimate = Usage(asked_tokens, max(heard.tokens, int(said_chars(response) / BYTES_PER_TOKEN)))
            spent = spent_of(prices, response.usage, by_estimate)
            self._calibration.note(self.name, estimated, response.usage.input_tokens)
        except BaseException as problem:
            if isinstance(problem, ModelFailure) and _is_free(problem) and not heard.any:
                spent = Spending()
            elif request.stream:  # without a stream the progress is unknown
                spent = spent_of(prices, Usage(), Usage(asked_tokens, heard.tokens))
            raise
        finally:
            hold.settle(spent)
        return response

    def _sizes(self, request: ModelRequest) -> "list[_Size]":
        """Return the sizes of the request, first whole and then with less and less of its history."""
        found, estimated = [], self._calibration.sizes.estimate(request)
        before = 0
        for start in _starts(request.items):
            estimated -= estimate_tokens(request.items[before:start])
            before = start
            found.append(_Size(start, estimated, self._calibration.tokens(self.name, estimated)))
        return found

    async def aclose(self) -> None:
        """Close the model."""
        await self._model.aclose()


@dataclass(frozen=True, slots=True)
class _Size:
    """A request whose conversation begins at an item."""

    start: int
    estimated: int  # tokens, before calibration
    tokens: int


def _starts(items: Sequence[Item]) -> list[int]:
    """Return the indexes at which a conversation may begin: its start, and each message up to the unanswered ones."""
    answers = (index for index in range(len(items) - 1, -1, -1) if _is_answer(items[index]))
    answered = next(answers, -1)
    said = [index for index, item in enumerate(items) if index and isinstance(item, UserItem)]
    until = next((index for index in said if index > answered), None)
    return [0, *(index for index in said if until is not None and index <= until)]


def _is_answer(item: Item) -> bool:
    return (isinstance(item, AssistantItem) and not item.tool_calls) or (isinstance(item, NoteItem) and item.ends_turn)


def _within(
    granted: Spending,
    prices: TokenPrices | None,
    sizes: Sequence[_Size],
    lasting_tokens: int,
    most_output: int,
    least_output: int,
) -> tuple[_Size, int]:
    """Return the largest size that leaves room for an answer, and the output tokens that it may have."""
    rooms = ((size, output_within(granted, prices, size.tokens, lasting_tokens)) for size in sizes)
    size, room = next(((size, room) for size, room in rooms if room >= least_output), (sizes[-1], least_output))
    return size, min(most_output, room)


def _is_free(problem: ModelFailure) -> bool:
    """Return True if the provider processed no tokens; False after a broken or silent response."""
    broke = problem.kind is FailureKind.NETWORK and problem.status is None and not problem.unasked
    return not broke and problem.kind is not FailureKind.TIMEOUT


class _Heard:
    """A listener that passes events on and counts their characters."""

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
