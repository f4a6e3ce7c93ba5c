"""What a try of a model cost that came to nothing is estimated: nobody counted it.

By the length of what was sent and of what was heard; where nothing of a response was heard it cost nothing.
"""

from dataclasses import replace

from agent.context.sizes import BYTES_PER_TOKEN, RequestSizes, chars_of
from agent.ports import ChatModel, ModelEvent, ModelRequest, Recovering
from agent.rungs import Rung
from agent.transcript import Usage

TryCost = tuple[str, Usage]
"""Of which model, and what it comes to."""


class Tries:
    """The tries of one model call after the other."""

    def __init__(self, model: ChatModel) -> None:
        """`model` is who is asked; of a chain, its facts are those of its first link."""
        self._model = model
        self.asked = model.name  # who is asked now: another one of the chain, once it has changed
        self._request: ModelRequest | None = None
        self._chars: int | None = None  # streamed of the try under way; None: nothing was heard of a response

    def begin(self, request: ModelRequest) -> None:
        """This is asked now."""
        self._request, self._chars, self.asked = request, None, self._model.name

    def hear(self, event: ModelEvent) -> TryCost | None:
        """The model told this; what the try before cost, where another one begins."""
        if isinstance(event, Recovering):
            cost = self.abandon()
            self.asked = event.detail if event.rung is Rung.NEXT_MODEL else self.asked
            return cost
        chars = chars_of(event)
        if chars is not None:
            self._chars = (self._chars or 0) + chars
        return None

    def abandon(self) -> TryCost | None:
        """The try under way counts for nothing but what it cost; None: nothing of a response was heard."""
        chars, self._chars = self._chars, None
        return None if chars is None else self.estimate(chars)

    def estimate(self, said_chars: int, model: str = "") -> TryCost | None:
        """About what a response of this length cost, of this model; "": of who is asked now."""
        if self._request is None:
            return None
        used = Usage(RequestSizes().estimate(self._request), int(said_chars / BYTES_PER_TOKEN))
        by = model or self.asked
        prices = self._model.facts.prices if by == self._model.name else None
        return by, replace(used, cost_microusd=None if prices is None else prices.cost_microusd(used))
