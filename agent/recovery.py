"""When a response is no answer and no call, a ladder of remedies is tried. Each rung has its own bound a turn.

A turn that goes in circles gets a hint, then an end.
"""

from collections.abc import Sequence
from typing import assert_never

from agent.responses import Empty, Malformed, Truncated
from agent.stuck import detect_loop
from agent.tools.calls import CallResult
from agent.tools.results import failure_result
from agent.transcript import (
    CallOutcome,
    EndReason,
    ModelResponded,
    Nudged,
    NudgeReason,
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
        case never:
            assert_never(never)


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
    if detect_loop([*run.journal.events, response]) is not None:  # it was told to repeat nothing
        return await run.end(EndReason.STUCK, said, response)
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
