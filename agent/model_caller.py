"""Asks the model for one whole response: what it is shown, what streams meanwhile, and what is mended to ask again.

What a response means is the loop's matter, a response that is none the ladder's; waiting for a busy provider and
trying again is the wire's wrapper.
"""

from dataclasses import replace

from agent.bounded import Deadline, Interrupted, run_bounded
from agent.config import AgentConfig
from agent.context.layers import blank_old_results, trim_history
from agent.context.sizes import estimate_tokens
from agent.errors import FailureKind
from agent.journal import Journal
from agent.ports import (
    Alive,
    CallStreamed,
    ChatModel,
    ModelAtWork,
    ModelEvent,
    ModelFailure,
    ModelRequest,
    Pinged,
    RetryPause,
    TextDelta,
    TextDiscarded,
    ToolSpec,
    Turn,
    TurnPort,
)
from agent.responses import at_most, with_own_ids
from agent.tools.pipeline import PendingCall, Pipeline
from agent.transcript import AssistantItem, EndReason, Item, ModelResponded, answer_separator, fold

NO_CALLS = -1
"""In place of a count: the response under way was given no tools."""

TOLD_CALLS = 2
"""So many times the calls that may run are kept, each with a result; of more, only their number."""


class ModelCaller:
    """The model calls of one turn. Calls that only read are begun while their response still streams."""

    def __init__(
        self,
        turn: Turn,
        port: TurnPort,
        model: ChatModel,
        request: ModelRequest,
        limits: AgentConfig,
        journal: Journal,
        pipeline: Pipeline,
        deadline: Deadline,
    ) -> None:
        """Nothing is asked yet; each call begins as `request`, and `pipeline` runs what is begun early."""
        self._turn = turn
        self._port = port
        self._model = model
        self._request = request
        self._limits = limits
        self._journal = journal
        self._pipeline = pipeline
        self._deadline = deadline
        self._retry_budget_s = limits.patience_s
        self._cap = limits.max_output_tokens
        self._cap_was_raised = False
        self._slim = False  # old tool results are left out
        self._streamed: list[str] = []  # of the response under way
        self._reads = NO_CALLS  # calls of the response under way that all only read, and were begun
        self._separator = ""  # stands between what was answered before and the response under way

    async def ask(self, *, with_tools: bool = True) -> ModelResponded:
        """One whole response to everything so far; cut short by a stop or the deadline.

        Raises:
            Interrupted: the turn should end; what had streamed is `streamed_text`.
            ModelFailure: there is no response; the ladder's own remedies are used up.
        """
        self._streamed.clear()
        self._separator = answer_separator(self._journal.events)
        self._drop_begun()  # of a response before this one that came to nothing
        self._reads = 0 if with_tools else NO_CALLS
        tools: tuple[ToolSpec, ...] = self._pipeline.tools.specs if with_tools else ()
        request = replace(
            self._request,
            items=self._items(),
            tools=tools,
            max_output_tokens=self._cap,
            retry_budget_s=self._retry_budget_s,
        )
        response: ModelResponded | None = None
        try:
            responding = self._model.respond(request, self._hear)
            response = await run_bounded(responding, self._deadline.remaining_s, self._port.until_stopped)
        except TimeoutError:
            raise Interrupted(EndReason.TIMEOUT) from None
        except ModelFailure as failure:
            if not self._apply_remedy(failure):
                raise
        finally:
            self._deadline.hold(False)
        if response is None:
            self._discard_streamed()
            return await self.ask(with_tools=with_tools)
        if response.tool_calls:
            self._discard_streamed()  # said beside a call: no answer
        self._streamed.clear()
        used = self._used_ids() if response.tool_calls else frozenset()
        kept = at_most(response, TOLD_CALLS * self._limits.max_calls)
        return with_own_ids(kept, self._journal.steps, used, self._turn.id)

    def streamed_text(self) -> str:
        """What streamed of a response that was cut short, as it follows what was answered before."""
        text = "".join(self._streamed)
        return self._separator + text if text.strip() else ""

    def raise_cap(self) -> bool:
        """Ask the same again with the higher output cap; False when that was tried in this turn. Begun calls end."""
        self._drop_begun()
        if self._cap_was_raised or self._limits.raised_output_tokens <= self._cap:
            return False
        self._cap_was_raised, self._cap = True, self._limits.raised_output_tokens
        self._port.progress(TextDiscarded())
        return True

    def _apply_remedy(self, failure: ModelFailure) -> bool:
        """Whether something was changed that makes it worth asking again; each remedy serves once a turn."""
        if failure.kind is FailureKind.CONTEXT and not self._slim:
            self._slim = True
            return True
        if failure.kind is FailureKind.BAD_REQUEST and self._cap > self._limits.max_output_tokens:
            self._cap = self._limits.max_output_tokens  # the model's own cap is lower than the raised one
            return True
        return False

    def _discard_streamed(self) -> None:
        """Tell whoever watches that what was streamed of this response does not count."""
        if self._streamed:
            self._port.progress(TextDiscarded())
        self._streamed.clear()

    def _drop_begun(self) -> None:
        """What was begun for a response that does not count ends; the next one's calls are counted anew."""
        self._pipeline.drop_begun()
        self._reads = min(self._reads, 0)

    def _hear(self, event: ModelEvent) -> None:
        match event:
            case Alive() | Pinged():
                return
            case ModelAtWork():
                self._deadline.hold(event.on)
                return
            case TextDelta():
                if self._separator and not self._streamed:
                    self._port.progress(TextDelta(self._separator))
                self._streamed.append(event.text)
            case TextDiscarded():
                self._streamed.clear()
                self._drop_begun()
            case CallStreamed():
                self._begin_early(event)
            case RetryPause():
                self._retry_budget_s = max(0.0, self._retry_budget_s - event.seconds)
        self._port.progress(event)

    def _begin_early(self, event: CallStreamed) -> None:
        """Start a call while its response streams, where it and all before it only read: nothing it reads changes."""
        step = self._journal.steps
        next_ = self._reads == event.index < min(self._limits.max_parallel_calls, self._limits.max_calls)
        if next_ and self._pipeline.only_reads(event.call):
            self._reads += 1
            self._pipeline.begin(PendingCall(event.call, step, self._journal.call_key(step, event.index)))

    def _items(self) -> list[Item]:
        own = fold(self._journal.events)
        room = self._limits.context_window_tokens - self._limits.max_output_tokens
        room -= estimate_tokens(own) + int(len(str(self._request.system)) / 3)
        items: list[Item] = [*trim_history(self._turn.history, self._limits.history_items, room), *own]
        return blank_old_results(items) if self._slim else items

    def _used_ids(self) -> set[str]:
        items = (*self._turn.history, *fold(self._journal.events))
        return {call.id for item in items if isinstance(item, AssistantItem) for call in item.tool_calls}
