"""When a response is no answer and no call, a ladder of remedies is tried. Each rung has its own bound a turn.

A turn that goes in circles gets a hint, then an end.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from agent.responses import Empty, Malformed, Truncated
from agent.tools.pipeline import CallResult
from agent.tools.results import failure_result
from agent.transcript import (
    CallOutcome,
    EndReason,
    JournalEvent,
    ModelResponded,
    Nudged,
    NudgeReason,
    Steered,
    ToolCall,
    ToolReturned,
)
from agent.turn_run import TurnRun

MAX_EMPTY = 2
MAX_CONTINUED = 3
MAX_MALFORMED = 3

_EMPTY = "Your last response was empty. Answer the person now."
_CONTINUE = "Your response was cut at the output limit. Go on exactly where it stops; repeat nothing."
_CUT_CALL = "Not run: the response was cut at the output limit in the middle of its calls. Ask for less at once."
_MALFORMED = "A tool call could not be read. Its arguments must be one JSON object that fits the tool's schema."
_NO_CALL = "You said that you call a tool and named none. Call one, or answer the person."
_STUCK = "You are going in circles: {how}. Do something else, or answer from what you know."
_LAST = "Answer the person now from what you know so far. You cannot use tools any more."


async def recover(run: TurnRun, response: Empty | Truncated | Malformed) -> EndReason | None:
    """Put the turn on its way again, or end it when this rung is used up; None: ask the model again."""
    match response:
        case Empty():
            return await _nudge(run, response.response, NudgeReason.EMPTY, MAX_EMPTY, _EMPTY)
        case Malformed():
            return await _nudge(run, response.response, NudgeReason.MALFORMED, MAX_MALFORMED, _NO_CALL)
        case Truncated():
            return await _continue(run, response.response)


async def _nudge(run: TurnRun, response: ModelResponded, why: NudgeReason, most: int, words: str) -> EndReason | None:
    if run.journal.nudges(why) >= most:
        return await run.end(EndReason.MODEL_ERROR, run.answer(response), response)
    await run.journal.record(response, Nudged(response.step, words, why))
    return None


async def _continue(run: TurnRun, response: ModelResponded) -> EndReason | None:
    """Raise the cap once and ask the same again; after that let the model go on from the cut."""
    if await run.model.raise_cap(response):
        return None
    said = run.answer(response)
    if run.journal.nudges(NudgeReason.CUT) >= MAX_CONTINUED or len(said) > run.limits.max_answer_chars:
        return await run.end(EndReason.MAX_TOKENS, said, response)
    overtaken = [
        ToolReturned(
            response.step,
            run.journal.call_key(response.step, index),
            call.id,
            call.name,
            failure_result(_CUT_CALL),
            CallOutcome.FAILED,
        )
        for index, call in enumerate(response.tool_calls)
    ]
    await run.journal.record(response, *overtaken, Nudged(response.step, _CONTINUE, NudgeReason.CUT))
    return None


async def after_calls(run: TurnRun, ended: Sequence[CallResult]) -> None:
    """Say how a call was malformed, and that the turn goes in circles; too often, and the next answer is the last."""
    step = run.journal.steps
    if any(result.malformed for result in ended):
        if run.journal.nudges(NudgeReason.MALFORMED) + 1 >= MAX_MALFORMED:
            await force_answer(run, EndReason.MODEL_ERROR)
            return
        await run.journal.record(Nudged(step, _MALFORMED, NudgeReason.MALFORMED))
    if (how := detect_loop(run.journal.events)) is None:
        return
    if run.journal.nudges(NudgeReason.STUCK):
        await force_answer(run, EndReason.STUCK)
    else:
        await run.journal.record(Nudged(step, _STUCK.format(how=how), NudgeReason.STUCK))


async def force_answer(run: TurnRun, reason: EndReason) -> None:
    """Let the next response be the last: without tools, whatever it is."""
    await run.journal.record(Nudged(run.journal.steps, _LAST, NudgeReason.LAST, reason))


def forced_end(run: TurnRun) -> EndReason | None:
    """How the turn ends with its next response, when that is to be its last."""
    return next(
        (event.ends for event in reversed(run.journal.events) if isinstance(event, Nudged) and event.ends), None
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
