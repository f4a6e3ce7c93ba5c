"""A turn that goes in circles is noticed, by what it did and what came of it; pure. What follows is the ladder's work.

Thresholds of OpenHands' stuck detector (read 2026-11; window 20), but that two steps alternate for six whole cycles.
"""

import json
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TypeVar

from agent.rungs import Recovered, Rung
from agent.transcript import CallOutcome, JournalEvent, ModelResponded, Nudged, NudgeReason, Steered, ToolReturned

SAME_PAIR = 4
SAME_ERROR = 3
MONOLOGUE = 3
ALTERNATION = 6
TOO_LONG = 3
WINDOW = 20

MAX_COMPARED_CHARS = 20_000
"""Results that are the same so far count as the same."""

_TIMES = re.compile(
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(\.\d+)?(Z|[+-]\d\d:?\d\d)?"
    r"|\b\d{2}:\d{2}:\d{2}(\.\d+)?\b"
    r"|\b1[6-9]\d{8}(\d{3})?(\.\d+)?\b"  # Unix seconds or milliseconds, 2020 to 2033
)

_OF_LENGTH = frozenset({Rung.RESULTS_DROPPED, Rung.COMPACTED, Rung.HISTORY_DROPPED})


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Call:
    """One call with what came of it; times blanked, arguments in one spelling."""

    what: str
    result: str
    failed: bool


@dataclass(slots=True)
class _Step:
    """One response with the results of its calls."""

    response: ModelResponded | None  # None: the person spoke between it and its results
    returned: list[ToolReturned] = field(default_factory=list)

    def calls(self) -> tuple[_Call, ...]:
        """What it did, in a form to compare; () where it did nothing."""
        asked = {} if self.response is None else {call.id: call.arguments for call in self.response.tool_calls}
        return tuple(
            _Call(
                f"{event.name} {_spell(asked.get(event.call_id, ''))}",
                _timeless(event.content),
                event.outcome is not CallOutcome.DONE,
            )
            for event in self.returned
        )

    def monologue(self) -> str:
        """What it said instead of doing anything."""
        alone = self.response is not None and not self.response.tool_calls
        return _timeless(self.response.text.strip()) if alone and self.response is not None else ""


def detect_loop(events: Sequence[JournalEvent]) -> str | None:
    """How the turn goes in circles since the person last spoke or it was last told so; None when it does not."""
    if sum(isinstance(event, Recovered) and event.rung in _OF_LENGTH for event in events) >= TOO_LONG:
        return f"what you read was too long {TOO_LONG} times"
    steps = _steps(events)[-WINDOW:]
    if len(steps) < min(SAME_ERROR, MONOLOGUE, SAME_PAIR):
        return None
    done = [step.calls() for step in steps]
    if _repeats(done, SAME_ERROR, lambda calls: any(call.failed for call in calls)):
        return f"the same call failed the same way {SAME_ERROR} times"
    if _repeats(done, SAME_PAIR, bool):
        return f"the same call gave the same result {SAME_PAIR} times"
    if _repeats([step.monologue() for step in steps], MONOLOGUE, bool):
        return f"the same text was said {MONOLOGUE} times"
    if _alternates(done[-2 * ALTERNATION :]):
        return f"two calls alternate for {ALTERNATION} times"
    return None


def _repeats(seen: Sequence[T], times: int, counts: Callable[[T], bool]) -> bool:
    last = seen[-times:]
    return len(last) == times and counts(last[0]) and all(last[0] == other for other in last)


def _alternates(last: Sequence[tuple[_Call, ...]]) -> bool:
    if len(last) < 2 * ALTERNATION:
        return False
    a, b = last[0], last[1]
    return bool(a) and bool(b) and a != b and all(each == (a, b)[i % 2] for i, each in enumerate(last))


def _steps(events: Sequence[JournalEvent]) -> list[_Step]:
    """What was done since the person spoke or it was told, step by step; steps that were overtaken left out."""
    steps: list[_Step] = []
    for event in events:
        match event:
            case ModelResponded():
                steps.append(_Step(event))
            case ToolReturned() if event.outcome is not CallOutcome.SKIPPED:
                if not steps:
                    steps.append(_Step(None))
                steps[-1].returned.append(event)
            case Steered() | Nudged(why=NudgeReason.STUCK):
                steps.clear()
            case _:
                pass
    return [step for step in steps if step.returned or step.monologue()]


def _spell(arguments: str) -> str:
    """JSON in one spelling: the same arguments in another order, or with other blanks, are the same."""
    if len(arguments) <= MAX_COMPARED_CHARS:
        with suppress(ValueError, RecursionError):
            arguments = json.dumps(json.loads(arguments), sort_keys=True)
    return _timeless(arguments)


def _timeless(text: str) -> str:
    return _TIMES.sub("", text[:MAX_COMPARED_CHARS])
