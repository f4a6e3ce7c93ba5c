"""What a turn took, worked out from its journal: for the line that its end leaves in the log. Pure."""

from collections.abc import Iterable

from agent.rungs import Recovered, ResponseDiscarded, Rung
from agent.transcript import JournalEvent, ModelResponded, Nudged, NudgeReason, ToolReturned

_RUNGS = {
    NudgeReason.EMPTY: Rung.EMPTY_NUDGED,
    NudgeReason.CUT: Rung.CONTINUED,
    NudgeReason.MALFORMED: Rung.CALL_EXPLAINED,
    NudgeReason.STUCK: Rung.CIRCLE_NUDGED,
    NudgeReason.LAST: Rung.ANSWER_FORCED,
}


def rung_of(event: JournalEvent) -> Rung | None:
    """Which rung of the recovery ladder this event journals; a nudge is one, told to the model in words."""
    match event:
        case Recovered():
            return event.rung
        case Nudged(why=NudgeReason() as why):
            return _RUNGS[why]
        case _:
            return None


def turn_figures(events: Iterable[JournalEvent]) -> dict[str, int | float]:
    """Steps, calls, tokens, the model's seconds and the tools' of one turn's events; what went wrong only if it did."""
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
    """Who answered and what was called, each once, in the order of the first time."""
    happened = [*events]
    models = dict.fromkeys(event.model for event in happened if isinstance(event, ModelResponded) and event.model)
    tools = dict.fromkeys(event.name for event in happened if isinstance(event, ToolReturned))
    return {"model": ",".join(models), "tools": ",".join(tools)}
