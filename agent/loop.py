"""The page everybody reads: model and tools in turn until there is an answer. Everything is journaled as it happens.

The journal is the only state that counts: each round looks at its last event and does what comes next, so that a turn
another process began is gone on with in the same way. What a step does is in the modules named on its line.
"""

from dataclasses import replace
from typing import assert_never

from agent.bounded import Interrupted
from agent.budgets import OverBudget
from agent.definition import Agent
from agent.ports import ModelFailure, Turn, TurnPorts
from agent.recovery import after_calls, force_answer, forced_end, recover
from agent.responses import Empty, Malformed, Refused, Text, ToolCalls, Truncated, classify
from agent.transcript import EndReason, ModelResponded, TurnEnded
from agent.turn_run import TurnRun

__all__ = ["Agent", "run_turn"]


async def run_turn(turn: Turn, ports: TurnPorts, agent: Agent) -> EndReason:
    """Take the turn to its end, from wherever its journal stands; how it ended.

    The person always gets an answer. A failed model, a stop, a deadline or a limit is an end with words of its own.
    Cancelling this leaves a journal that another call can go on from.

    Raises:
        Fenced: another process owns the session; nothing more was written.
    """
    run = TurnRun.begin(turn, ports, agent)
    if isinstance(last := run.scope.journal.last, TurnEnded):
        return last.reason
    ended = None
    try:
        while ended is None:
            ended = await _step(run)
    except OverBudget as over:
        return await run.end_over_budget(over) or over.reason
    except Interrupted as stop:
        return await run.end(stop.reason, run.said_so_far()) or stop.reason
    except ModelFailure as failure:
        return await run.end_failed(failure) or EndReason.MODEL_ERROR
    finally:
        run.tools.expect(None)  # no call outlives the turn
    return ended


async def _step(run: TurnRun) -> EndReason | None:
    """One round; how the turn ended, or None when it goes on."""
    if ended := await run.run_open_calls():  # reads steering before each call; a stop gives each its result
        await after_calls(run, ended)
    run.check()
    await run.scope.journal.steer()
    if (reason := forced_end(run)) is not None:
        response = run.scope.journal.unfinished or await run.model.ask(with_tools=False)
        return await run.end(reason, run.answer(response), response)
    if run.scope.journal.steps >= run.scope.limits.max_steps and run.scope.journal.unfinished is None:
        await force_answer(run, EndReason.MAX_STEPS)
        return None
    return await _take(run, run.scope.journal.unfinished or await run.model.ask())


async def _take(run: TurnRun, response: ModelResponded) -> EndReason | None:
    """Do what this response calls for; None: go round again."""
    kind = classify(response)
    match kind:
        case ToolCalls():
            await run.scope.journal.record(response)
            return None
        case (Empty() | Truncated() | Malformed()) as other:
            return await recover(run, other)
        case Text() | Refused():
            response = replace(response, tool_calls=()) if response.tool_calls else response
        case never:
            assert_never(never)
    # An answer: the end, unless the person said something meanwhile. Then it stands, and the loop reads on.
    if not run.scope.ports.journal.steering_waits():
        if isinstance(kind, Text) and (await run.gate_refused(response) or await run.stop_denied(response)):
            return None
        ended = await run.end(EndReason.COMPLETED, run.answer(response), response)
        if ended is not None:
            return ended
    if run.scope.journal.last is not response:
        await run.scope.journal.record(response)
    return None
