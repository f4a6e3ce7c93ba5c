"""A turn step by step, as operators read it, and the difference between two runs of it; pure."""

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import zip_longest

from agent.fallbacks import ResponseDiscarded
from agent.transcript import (
    WITHHELD,
    EndReason,
    JournalEvent,
    ModelResponded,
    Nudged,
    Steered,
    ToolResultRewritten,
    ToolReturned,
    TurnEnded,
    Usage,
)
from agent.wellformed import read_object

RESULT_CHARS = 400
"""Characters of a result in a difference."""


@dataclass(frozen=True, slots=True)
class StepCall:
    """One call of a step."""

    tool: str
    arguments: str  # JSON as the model wrote it
    result: str  # as the model read it; "": none
    is_recorded: bool = True  # False: a replay asked for it, and the record does not have it


@dataclass(frozen=True, slots=True)
class Step:
    """One response of a model, and what it read before it."""

    heard: tuple[str, ...]  # messages that joined the turn, and the harness's own
    text: str
    calls: tuple[StepCall, ...]
    model: str


@dataclass(frozen=True, slots=True)
class RunFigures:
    """The end of a turn, and what it used."""

    answer: str
    reason: EndReason | None  # None: it has not ended
    models: tuple[str, ...]
    input_tokens: int
    output_tokens: int
    cost_microusd: int | None  # None: the price of a response is unknown
    model_s: float  # seconds that models took


@dataclass(frozen=True, slots=True)
class TurnSteps:
    """A whole turn."""

    steps: tuple[Step, ...]
    figures: RunFigures


def steps_of(turn_id: str, events: Sequence[JournalEvent], missing: Collection[str] = ()) -> TurnSteps:
    """Return a turn's steps; `missing` are the keys of calls that are not in the record."""
    results = _results_in(events)
    steps: list[Step] = []
    heard: list[str] = []
    ended: TurnEnded | None = None
    for event in events:
        match event:
            case Steered():
                heard += [item.text for item in event.items]
            case Nudged():
                heard.append(event.text)
            case ModelResponded():
                keys = [f"{turn_id}/{event.step}/{index}" for index in range(len(event.tool_calls))]
                calls = tuple(
                    StepCall(call.name, call.arguments, results.get(key, ""), key not in missing)
                    for key, call in zip(keys, event.tool_calls, strict=True)
                )
                steps.append(Step(tuple(heard), event.text, calls, event.model))
                heard = []
            case TurnEnded():
                ended = event
            case _:
                pass
    return TurnSteps(tuple(steps), _figures_of(events, ended))


def _figures_of(events: Sequence[JournalEvent], ended: TurnEnded | None) -> RunFigures:
    responses = [event for event in events if isinstance(event, ModelResponded)]
    spent: list[Usage | ResponseDiscarded] = [response.usage for response in responses]
    spent += [event for event in events if isinstance(event, ResponseDiscarded)]
    costs = [used.cost_microusd for used in spent]
    return RunFigures(
        "" if ended is None else ended.text,
        None if ended is None else ended.reason,
        tuple(dict.fromkeys(response.model for response in responses)),
        sum(used.input_tokens or 0 for used in spent),
        sum(used.output_tokens or 0 for used in spent),
        None if None in costs else sum(cost for cost in costs if cost is not None),
        round(sum(response.took_s or 0.0 for response in responses), 3),
    )


def _results_in(events: Iterable[JournalEvent]) -> dict[str, str]:
    """Return the results by call key, each as the model read it last."""
    found: dict[str, str] = {}
    for event in events:
        if isinstance(event, ToolReturned):
            found[event.call_key] = event.content if event.ran_with is None else WITHHELD
        elif isinstance(event, ToolResultRewritten):
            found[event.call_key] = event.content
    return found


@dataclass(frozen=True, slots=True)
class StepPair:
    """A step of the record beside the same step of its replay."""

    recorded: Step | None  # None: the replay took more steps
    replayed: Step | None
    lines: tuple[str, ...]  # of both: "  " in both, "- " in the record alone, "+ " in the replay alone

    @property
    def is_same(self) -> bool:
        """Return True if both say and do the same."""
        return all(line.startswith(" ") for line in self.lines)


def compare(recorded: TurnSteps, replayed: TurnSteps) -> tuple[StepPair, ...]:
    """Return the steps of both in pairs, with their differences line by line."""
    return tuple(
        StepPair(before, after, diff_lines(_lines_of(before), _lines_of(after)))
        for before, after in zip_longest(recorded.steps, replayed.steps)
    )


def diff_lines(before: Sequence[str], after: Sequence[str]) -> tuple[str, ...]:
    """Return the lines of both texts with the marks of a unified difference."""
    lines: list[str] = []
    for kind, begin, end, begin_after, end_after in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if kind == "equal":
            lines += [f"  {line}" for line in before[begin:end]]
        else:
            lines += [f"- {line}" for line in before[begin:end]]
            lines += [f"+ {line}" for line in after[begin_after:end_after]]
    return tuple(lines)


def _lines_of(step: Step | None) -> list[str]:
    if step is None:
        return []
    lines = [f"read: {line}" for text in step.heard for line in text.splitlines()]
    lines += [f"text: {line}" for line in step.text.splitlines()]
    for call in step.calls:
        lines.append(f"call: {call.tool} {_sorted_json(call.arguments)}")
        lines.append(f"  result: {_shorten(call.result) if call.is_recorded else 'not in the record'}")
    return lines


def _sorted_json(written: str) -> str:
    """Return a JSON object with sorted names, on one line; any other text as it is."""
    given = read_object(written)
    return _on_one_line(written) if given is None else json.dumps(given, sort_keys=True, ensure_ascii=False)


def _shorten(result: str) -> str:
    result = _on_one_line(result)
    if len(result) <= RESULT_CHARS:
        return result
    return f"{result[:RESULT_CHARS]}… ({len(result):,} characters)"


def _on_one_line(text: str) -> str:
    return " ".join(text.splitlines())
