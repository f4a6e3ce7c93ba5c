"""A turn that goes in circles is recognised from its journal; pure."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from agent.transcript import (
    CallOutcome,
    JournalEvent,
    ModelResponded,
    Nudged,
    NudgeReason,
    Steered,
    ToolCall,
    ToolReturned,
)

# Thresholds of OpenHands' stuck detector (read 2026-11; window 20): 4 pairs, 3 errors, 3 monologues, 6 alternations.
SAME_PAIR = 4
SAME_ERROR = 3
MONOLOGUE = 3
ALTERNATION = 6
WINDOW = 20

MAX_COMPARED_CHARS = 20_000
"""Results that are the same so far count as the same."""

_TIMES = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(\.\d+)?(Z|[+-]\d\d:?\d\d)?|\b\d{2}:\d{2}:\d{2}(\.\d+)?\b")


@dataclass(frozen=True, slots=True)
class _Observation:
    """One call with what came of it, or one text; times of day blanked."""

    what: str
    result: str
    failed: bool = False
    text: bool = False


def detect_loop(events: Sequence[JournalEvent]) -> str | None:
    """How the turn goes in circles since the person last spoke or it was last told so; None when it does not."""
    seen = _observe(events)
    if _tail(seen, SAME_ERROR, lambda a, b: a == b and a.failed):
        return f"the same call failed the same way {SAME_ERROR} times"
    if _tail(seen, SAME_PAIR, lambda a, b: a == b and not a.text):
        return f"the same call gave the same result {SAME_PAIR} times"
    if _tail(seen, MONOLOGUE, lambda a, b: a == b and a.text):
        return f"the same text was said {MONOLOGUE} times"
    if len(seen) >= ALTERNATION and _alternates(seen[-ALTERNATION:]):
        return f"two calls alternate for {ALTERNATION} times"
    return None


def _tail(seen: Sequence[_Observation], n: int, alike: Callable[[_Observation, _Observation], bool]) -> bool:
    last = seen[-n:]
    return len(last) == n and all(alike(last[0], other) for other in last)


def _alternates(last: Sequence[_Observation]) -> bool:
    a, b = last[0], last[1]
    return a != b and all(each == (a, b)[i % 2] for i, each in enumerate(last))


def _observe(events: Sequence[JournalEvent]) -> list[_Observation]:
    """What was done since the person spoke or it was told, of that the last window; nothing else is looked into."""
    calls: dict[str, ToolCall] = {}
    done: list[tuple[ModelResponded | ToolReturned, ToolCall | None]] = []
    for event in events:
        match event:
            case ModelResponded():
                calls |= {call.id: call for call in event.tool_calls}
                if not event.tool_calls and event.text.strip():
                    done.append((event, None))
            case ToolReturned() if event.outcome is not CallOutcome.SKIPPED:
                done.append((event, calls.get(event.call_id)))
            case Steered():
                done.clear()
            case Nudged() if event.why is NudgeReason.STUCK:
                done.clear()
            case _:
                pass
    return [_comparable(event, call) for event, call in done[-WINDOW:]]


def _comparable(event: ModelResponded | ToolReturned, call: ToolCall | None) -> _Observation:
    if isinstance(event, ModelResponded):
        return _Observation(event.text.strip(), "", text=True)
    what = f"{event.name} {call.arguments if call else ''}"
    return _Observation(_timeless(what), _timeless(event.content), event.outcome is not CallOutcome.DONE)


def _timeless(text: str) -> str:
    return _TIMES.sub("", text[:MAX_COMPARED_CHARS])
