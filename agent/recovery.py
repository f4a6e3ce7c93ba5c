"""Recovery from empty, truncated and malformed responses; each fallback has its own bound a turn.

A turn that repeats itself, see `detect_loop`, gets a hint first and is then ended.
"""

import json
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TypeVar, assert_never

from agent.fallbacks import Fallback, Recovered
from agent.responses import Empty, Malformed, Truncated
from agent.tools.calls import CallResult
from agent.tools.results import failure_result
from agent.transcript import (
    CallOutcome,
    EndReason,
    JournalEvent,
    ModelResponded,
    Nudged,
    NudgeReason,
    Steered,
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
    """Repair the turn, or end it if this fallback is used up; return None to ask the model again."""
    match response:
        case Empty():
            return await _nudge(run, response.response, NudgeReason.EMPTY, MAX_EMPTY, _EMPTY)
        case Malformed():
            return await _nudge(run, response.response, NudgeReason.MALFORMED, MAX_MALFORMED, _NO_CALL)
        case Truncated():
            return await _continue(run, response.response)
        case never:
            assert_never(never)


async def _nudge(run: TurnRun, response: ModelResponded, why: NudgeReason, most: int, words: str) -> EndReason | None:
    if run.scope.journal.nudges(why) >= most:
        return await run.end(EndReason.MODEL_ERROR, run.answer(response), response)
    await run.scope.journal.record(response, Nudged(response.step, words, why))
    return None


async def _continue(run: TurnRun, response: ModelResponded) -> EndReason | None:
    """Raise the cap once for the same request; after that, let the model continue from the cut."""
    if await run.model.raise_cap(response):
        return None
    said = run.answer(response)
    if run.scope.journal.nudges(NudgeReason.CUT) >= MAX_CONTINUED or len(said) > run.scope.limits.max_answer_chars:
        return await run.end(EndReason.MAX_TOKENS, said, response)
    if detect_loop([*run.scope.journal.events, response]) is not None:  # it was told to repeat nothing
        return await run.end(EndReason.STUCK, said, response)
    overtaken = [
        ToolReturned(
            response.step,
            run.scope.journal.call_key(response.step, index),
            call.id,
            call.name,
            failure_result(_CUT_CALL),
            CallOutcome.FAILED,
        )
        for index, call in enumerate(response.tool_calls)
    ]
    await run.scope.journal.record(response, *overtaken, Nudged(response.step, _CONTINUE, NudgeReason.CUT))
    return None


async def after_calls(run: TurnRun, ended: Sequence[CallResult]) -> None:
    """Tell the model about malformed calls and loops; after too many of them, force the next answer to be the last."""
    step = run.scope.journal.steps
    if any(result.malformed for result in ended):
        if run.scope.journal.nudges(NudgeReason.MALFORMED) + 1 >= MAX_MALFORMED:
            await force_answer(run, EndReason.MODEL_ERROR)
            return
        await run.scope.journal.record(Nudged(step, _MALFORMED, NudgeReason.MALFORMED))
    if (how := detect_loop(run.scope.journal.events)) is None:
        return
    if run.scope.journal.nudges(NudgeReason.STUCK):
        await force_answer(run, EndReason.STUCK)
    else:
        await run.scope.journal.record(Nudged(step, _STUCK.format(how=how), NudgeReason.STUCK))


async def force_answer(run: TurnRun, reason: EndReason) -> None:
    """Make the next response the last, without tools."""
    await run.scope.journal.record(Nudged(run.scope.journal.steps, _LAST, NudgeReason.LAST, reason))


def forced_end(run: TurnRun) -> EndReason | None:
    """Return the reason that ends the turn with its next response, or None."""
    return next(
        (event.ends for event in reversed(run.scope.journal.events) if isinstance(event, Nudged) and event.ends), None
    )


SAME_PAIR = 4
SAME_ERROR = 3
MONOLOGUE = 3
ALTERNATION = 6
TOO_LONG = 3
WINDOW = 20

MAX_COMPARED_CHARS = 20_000
"""Characters of results and arguments that are compared."""

_TIMES = re.compile(
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(\.\d+)?(Z|[+-]\d\d:?\d\d)?"
    r"|\b\d{2}:\d{2}:\d{2}(\.\d+)?\b"
    r"|\b1[6-9]\d{8}(\d{3})?(\.\d+)?\b"  # Unix seconds or milliseconds, 2020 to 2033
)

_OF_LENGTH = frozenset({Fallback.RESULTS_DROPPED, Fallback.COMPACTED, Fallback.HISTORY_DROPPED})


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Call:
    """One call with its result, normalised: without times, arguments as canonical JSON."""

    what: str
    result: str
    failed: bool


@dataclass(slots=True)
class _Step:
    """One response with the results of its calls."""

    response: ModelResponded | None  # None: the person wrote between it and its results
    returned: list[ToolReturned] = field(default_factory=list)

    def calls(self) -> tuple[_Call, ...]:
        """Return the step's calls in a form to compare; () if it made none."""
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
        """Return the text of a step without calls."""
        alone = self.response is not None and not self.response.tool_calls
        return _timeless(self.response.text.strip()) if alone and self.response is not None else ""


def detect_loop(events: Sequence[JournalEvent]) -> str | None:
    """Return how the turn repeats itself since the person's last message or the last nudge, or None."""
    if sum(isinstance(event, Recovered) and event.fallback in _OF_LENGTH for event in events) >= TOO_LONG:
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
    """Return the steps since the person's last message or the last nudge, without skipped calls."""
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
    """Return arguments as canonical JSON, so that order and spaces do not matter.

    Times within ten minutes are equal: a model that writes down the current time repeats itself, while four reminders
    differ.
    """
    if len(arguments) <= MAX_COMPARED_CHARS:
        with suppress(ValueError, RecursionError):
            arguments = json.dumps(json.loads(arguments), sort_keys=True)
    return _TIMES.sub(_coarsely, arguments[:MAX_COMPARED_CHARS])


def _coarsely(time: re.Match[str]) -> str:
    """Cut a time of day to its ten minutes; keep a bare number, which may be an id."""
    text = time[0]
    return text[: 15 if "-" in text[:5] else 4] if ":" in text else text


def _timeless(text: str) -> str:
    return _TIMES.sub("", text[:MAX_COMPARED_CHARS])
