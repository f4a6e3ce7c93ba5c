"""What a model call did to recover is gathered while it is under way, and journaled once it is over.

Rungs that the wire takes are heard from it; what a thrown-away try cost is estimated, for nobody counted it.
"""

from collections.abc import Sequence
from dataclasses import replace

from agent.context.sizes import BYTES_PER_TOKEN, estimate_tokens
from agent.journal import Journal
from agent.ports import Alive, CallStreamed, ChatModel, ModelEvent, ModelRequest, Recovering, TextDelta, ThinkingDelta
from agent.rungs import Recovered, ResponseDiscarded, Rung
from agent.transcript import ModelResponded, Usage


class Recoveries:
    """Of one turn's model calls, one at a time."""

    def __init__(self, journal: Journal, model: ChatModel) -> None:
        """`model` is who is asked; of a chain, its facts are those of its first link."""
        self._journal = journal
        self._model = model
        self._asked = model.name  # who is asked now: another one of the chain, once it has changed
        self._request: ModelRequest | None = None
        self._chars: int | None = None  # streamed of the try under way; None: nothing was heard of a response
        self._waiting: list[Recovered | ResponseDiscarded] = []

    def begin(self, request: ModelRequest) -> None:
        """This is asked now."""
        self._request, self._chars, self._asked = request, None, self._model.name

    def hear(self, event: ModelEvent) -> None:
        """The model told this."""
        match event:
            case TextDelta() | ThinkingDelta():
                self._chars = (self._chars or 0) + len(event.text)
            case CallStreamed():
                self._chars = (self._chars or 0) + len(event.call.name) + len(event.call.arguments)
            case Alive():
                self._chars = self._chars or 0
            case Recovering():
                self.abandon()
                self._waiting.append(Recovered(self._journal.steps, event.rung, event.detail))
                if event.rung is Rung.NEXT_MODEL:
                    self._asked = event.detail
            case _:
                pass

    def abandon(self) -> None:
        """The try under way counts for nothing; it is paid for if any of a response was heard."""
        if self._chars is not None and self._request is not None:
            used = Usage(_input_tokens(self._request), int(self._chars / BYTES_PER_TOKEN))
            self._discard_uncounted(self._asked, used)
        self._chars = None

    def discard(self, response: ModelResponded) -> None:
        """A whole response counts for nothing but what it cost."""
        if response.usage.input_tokens is not None or response.usage.output_tokens is not None:
            self._discard(response.model, response.usage, estimated=False)
        elif self._request is not None:
            said = len(response.text) + sum(len(call.arguments) for call in response.tool_calls)
            used = Usage(_input_tokens(self._request), int(said / BYTES_PER_TOKEN))
            self._discard_uncounted(response.model or self._asked, used)

    def note(self, rung: Rung, detail: str = "") -> None:
        """The turn takes this rung."""
        self._waiting.append(Recovered(self._journal.steps, rung, detail))

    async def write(self, *, abandoned: bool = False) -> None:
        """Journal what was gathered, in one commit; none where all went well. `abandoned`: with the try under way."""
        if abandoned:
            self.abandon()
        if self._waiting:
            events, self._waiting = self._waiting, []
            await self._journal.record(*events)

    def _discard_uncounted(self, model: str, used: Usage) -> None:
        prices = self._model.facts.prices if model == self._model.name else None
        cost = None if prices is None else prices.cost_microusd(used)
        self._discard(model, replace(used, cost_microusd=cost), estimated=True)

    def _discard(self, model: str, used: Usage, *, estimated: bool) -> None:
        behind = sum(isinstance(event, ResponseDiscarded) for event in self._waiting)
        self._waiting.append(self._journal.as_discarded(model, used, estimated=estimated, behind=behind))


def _input_tokens(request: ModelRequest) -> int:
    tools: Sequence[str] = [f"{tool.name}{tool.description}{tool.schema}" for tool in request.tools]
    told = len(str(request.system)) + sum(map(len, tools))
    return estimate_tokens(request.items) + int(told / BYTES_PER_TOKEN)
