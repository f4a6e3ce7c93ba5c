"""What a model call did to recover is gathered while it is under way, and journaled once it is over.

Rungs that the wire takes are heard from it; what a thrown-away try cost is `context.tries`' matter.
"""

from agent.context.sizes import said_chars
from agent.context.tries import Tries, TryCost
from agent.journal import Journal
from agent.ports import ChatModel, ModelEvent, ModelRequest, Recovering
from agent.rungs import Recovered, ResponseDiscarded, Rung
from agent.transcript import ModelResponded, Usage


class Recoveries:
    """Of one turn's model calls, one at a time."""

    def __init__(self, journal: Journal, model: ChatModel) -> None:
        self._journal = journal
        self._tries = Tries(model)
        self._waiting: list[Recovered | ResponseDiscarded] = []

    @property
    def asked(self) -> str:
        """Who was asked last: of a chain, the link."""
        return self._tries.asked

    def begin(self, request: ModelRequest) -> None:
        """This is asked now."""
        self._tries.begin(request)

    def hear(self, event: ModelEvent) -> None:
        """The model told this."""
        self._discard_uncounted(self._tries.hear(event))
        if isinstance(event, Recovering):
            self._waiting.append(Recovered(self._journal.steps, event.rung, event.detail, event.why))

    def abandon(self) -> None:
        """The try under way counts for nothing; it is paid for if any of a response was heard."""
        self._discard_uncounted(self._tries.abandon())

    def discard(self, response: ModelResponded) -> None:
        """A whole response counts for nothing but what it cost."""
        if response.usage.input_tokens is not None or response.usage.output_tokens is not None:
            self._discard(response.model, response.usage, estimated=False)
        else:
            self._discard_uncounted(self._tries.estimate(said_chars(response), response.model))

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

    def _discard_uncounted(self, cost: TryCost | None) -> None:
        if cost is not None:
            self._discard(*cost, estimated=True)

    def _discard(self, model: str, used: Usage, *, estimated: bool) -> None:
        behind = sum(isinstance(event, ResponseDiscarded) for event in self._waiting)
        self._waiting.append(self._journal.as_discarded(model, used, estimated=estimated, behind=behind))
