"""The events of a turn in this process, appended only after the port made them durable.

`turn_figures` computes from them the log line of a turn's end.
"""

from collections.abc import Iterable, Sequence

from agent.fallbacks import Fallback, Recovered, ResponseDiscarded
from agent.ports import JournalPort, LocalEffect
from agent.transcript import (
    EndReason,
    JournalEvent,
    ModelResponded,
    Nudged,
    NudgeReason,
    Steered,
    SuggestedReply,
    ToolResultRewritten,
    ToolReturned,
    Transcript,
    TurnEnded,
    Usage,
    fold,
)


def whole_result(events: Iterable[JournalEvent], call_key: str) -> str | None:
    """Return the result of a call before it was shortened, as hooks left it; None if unknown or hooks are pending."""
    content = None
    for event in events:
        match event:
            case ToolReturned(call_key=key) if key == call_key:
                content = event.content if event.ran_with is None else None
            case ToolResultRewritten(call_key=key, is_cut=False) if key == call_key:
                content = event.content
            case _:
                pass
    return content


def open_calls(events: Sequence[JournalEvent]) -> tuple[tuple[ModelResponded, int], ...]:
    """Return the calls of the last response that have no result yet, as (response, index)."""
    returned: set[str] = set()
    for event in reversed(events):
        if isinstance(event, ToolReturned):
            returned.add(event.call_id)
        elif isinstance(event, ModelResponded):
            return tuple((event, i) for i, call in enumerate(event.tool_calls) if call.id not in returned)
    return ()


def results_before_hooks(events: Sequence[JournalEvent]) -> tuple[ToolReturned, ...]:
    """Return the results of the last response for which hooks have not run yet, in the order they came."""
    found: list[ToolReturned] = []
    heard: set[str] = set()
    for event in reversed(events):
        match event:
            case ToolResultRewritten(is_cut=False):
                heard.add(event.call_key)
            case ToolReturned() if event.ran_with is not None and event.call_key not in heard:
                found.append(event)
            case ModelResponded():
                break
            case _:
                pass
    return tuple(reversed(found))


class Journal:
    """The events of one turn, in the order they became durable."""

    def __init__(self, turn_id: str, events: Sequence[JournalEvent], port: JournalPort) -> None:
        self.events: list[JournalEvent] = []
        self.steps = 0
        """Model responses so far, and so the number of the next step."""
        self.taken: set[Fallback] = set()
        """The fallbacks that the turn took, including those before a crash."""
        self._turn_id = turn_id
        self._port = port
        self._folded: tuple[int, Transcript] = (0, ())  # the transcript of the first n events
        self._append(events)

    def _append(self, events: Sequence[JournalEvent]) -> None:
        self.events.extend(events)
        for event in events:
            if isinstance(event, ModelResponded):
                self.steps += 1
            elif isinstance(event, Recovered):
                self.taken.add(event.fallback)

    async def record(self, *events: JournalEvent) -> None:
        """Make these events durable, then part of the turn."""
        await self._port.record(*events)
        self._append(events)

    async def apply(self, effect: LocalEffect, returned: ToolReturned) -> ToolReturned:
        """Run a local effect and journal its result in one commit."""
        applied = await self._port.apply(effect, returned)
        self._append([applied])
        return applied

    async def steer(self, overtaken: Sequence[ToolReturned] = ()) -> bool:
        """Take in the person's new messages, if any; calls in `overtaken` are skipped for them."""
        if not self._port.steering_waits():
            return False
        step = self.steps
        items = await self._port.steer(step, overtaken)
        if items:
            self._append([*overtaken, Steered(step, items)])
        return bool(items)

    def call_key(self, step: int, index: int) -> str:
        """Return the idempotency key of a call: the same after a crash, never the provider's call id."""
        return f"{self._turn_id}/{step}/{index}"

    @property
    def items(self) -> Transcript:
        """Return the turn's transcript so far."""
        if self._folded[0] != len(self.events):
            self._folded = len(self.events), fold(self.events)
        return self._folded[1]

    @property
    def last(self) -> JournalEvent | None:
        """Return the newest event, or None."""
        return self.events[-1] if self.events else None

    @property
    def unfinished(self) -> ModelResponded | None:
        """Return the last event if it is a response without calls: an answer that has not ended the turn yet."""
        last = self.last
        return last if isinstance(last, ModelResponded) and not last.tool_calls else None

    def as_discarded(self, model: str, used: Usage, *, estimated: bool, behind: int = 0) -> ResponseDiscarded:
        """Return the event for a response that is thrown away; `behind` events before it are not journaled yet."""
        before = sum(isinstance(event, ResponseDiscarded) for event in self.events)
        return ResponseDiscarded(
            self.steps,
            before + behind + 1,
            model,
            used.input_tokens,
            used.output_tokens,
            used.cache_read_tokens,
            used.cache_write_tokens,
            estimated,
            used.cost_microusd,
        )

    def nudges(self, why: NudgeReason) -> int:
        """Return how often the harness nudged the model for this reason."""
        return sum(isinstance(event, Nudged) and event.why is why for event in self.events)


def suggested_replies(events: Sequence[JournalEvent]) -> tuple[SuggestedReply, ...]:
    """Return the suggested replies of a turn's answer; () if the turn did not finish."""
    if not events or not isinstance(ended := events[-1], TurnEnded) or ended.reason is not EndReason.COMPLETED:
        return ()
    return next((event.replies for event in reversed(events) if isinstance(event, ModelResponded)), ())


_FALLBACKS = {
    NudgeReason.EMPTY: Fallback.EMPTY_NUDGED,
    NudgeReason.CUT: Fallback.CONTINUED,
    NudgeReason.MALFORMED: Fallback.CALL_EXPLAINED,
    NudgeReason.STUCK: Fallback.CIRCLE_NUDGED,
    NudgeReason.STOP: Fallback.SENT_ON,
    NudgeReason.GATE: Fallback.ASKED_TO_FIT,
    NudgeReason.LAST: Fallback.ANSWER_FORCED,
}


def fallback_of(event: JournalEvent) -> Fallback | None:
    """Return the fallback that this event journals, or None; a nudge is a fallback that the model is told of."""
    match event:
        case Recovered():
            return event.fallback
        case Nudged(why=NudgeReason() as why):
            return _FALLBACKS[why]
        case _:
            return None


def turn_figures(events: Iterable[JournalEvent]) -> dict[str, int | float]:
    """Return the figures of one turn: steps, calls, tokens, seconds of model and tools; failures only if there were
    any.
    """
    figures: dict[str, int | float] = dict.fromkeys(("steps", "calls", "input_tokens", "output_tokens"), 0)
    figures |= {"model_s": 0.0, "tools_s": 0.0}
    for event in events:
        match event:
            case ModelResponded():
                figures["steps"] += 1
                figures["input_tokens"] += event.usage.input_tokens or 0
                figures["output_tokens"] += event.usage.output_tokens or 0
                figures["model_s"] += event.took_s or 0.0
            case ToolReturned():
                figures["calls"] += 1
                figures["tools_s"] += event.took_s or 0.0
            case ResponseDiscarded():
                figures["discarded"] = figures.get("discarded", 0) + 1
                figures["discarded_tokens"] = (
                    figures.get("discarded_tokens", 0) + (event.input_tokens or 0) + (event.output_tokens or 0)
                )
            case Recovered() | Nudged():
                figures["recoveries"] = figures.get("recoveries", 0) + 1
            case _:
                pass
    for seconds in ("model_s", "tools_s"):
        figures[seconds] = round(figures[seconds], 3)
    return figures


def models_and_tools(events: Iterable[JournalEvent]) -> dict[str, str]:
    """Return the models that answered and the tools that ran, each once, in order of first use."""
    happened = [*events]
    models = dict.fromkeys(event.model for event in happened if isinstance(event, ModelResponded) and event.model)
    tools = dict.fromkeys(event.name for event in happened if isinstance(event, ToolReturned))
    return {"model": ",".join(models), "tools": ",".join(tools)}
