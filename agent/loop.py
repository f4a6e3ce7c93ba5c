"""The agent loop: model and tools alternate until there is an answer, and every step is journaled.

The journal is the only state: each round looks at its last event and does what comes next, so that another process can
resume the turn. The person's new messages (steering) are read at four checkpoints, marked below.
"""

from dataclasses import replace
from typing import assert_never

from agent.bounded import Interrupted
from agent.budgets import OverBudget
from agent.definition import Agent
from agent.ports import ModelFailure, Turn, TurnPorts
from agent.recovery import after_calls, force_answer, forced_end, recover
from agent.responses import Empty, Malformed, RefusedAnswer, Text, ToolCalls, Truncated, classify
from agent.transcript import EndReason, ModelResponded, TurnEnded
from agent.turn_run import TurnRun

__all__ = ["Agent", "run_turn"]


async def run_turn(turn: Turn, ports: TurnPorts, agent: Agent) -> EndReason:
    """Run the turn to its end, from wherever its journal is, and return how it ended.

    The person always gets an answer: a failed model, a stop, a deadline and a limit each have their own text.
    Cancelling this leaves a journal that another call can resume.

    Raises:
        TurnParked: the turn waits for its person; it is resumed later.
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
        return await run.end_over_budget(over, run.said_so_far()) or over.reason
    except Interrupted as stop:
        return await run.end(stop.reason, run.said_so_far()) or stop.reason
    except ModelFailure as failure:
        return await run.end_failed(failure, run.said_so_far(), run.model.asked) or EndReason.MODEL_ERROR
    finally:
        run.tools.expect(None)  # no call outlives the turn
    return ended


async def _step(run: TurnRun) -> EndReason | None:
    """Run the open tool calls, then ask the model; return how the turn ended, or None to continue."""
    journal = run.scope.journal
    if results := await run.run_open_calls():  # steering, 1: before each call; calls that have not begun are skipped
        await after_calls(run, results)
    run.check()
    await journal.steer()  # steering, 2: before the model is asked
    if (reason := forced_end(run)) is not None:
        response = journal.unfinished or await run.model.ask(with_tools=False)
        return await run.end(reason, run.answer(response), response)
    if run.is_out_of_steps and journal.unfinished is None:
        await force_answer(run, EndReason.MAX_STEPS)
        return None
    return await _take(run, journal.unfinished or await run.ask())


async def _take(run: TurnRun, response: ModelResponded) -> EndReason | None:
    """Act on this response; return how the turn ended, or None to continue."""
    journal, kind = run.scope.journal, classify(response)
    match kind:
        case ToolCalls():
            await journal.record(response)
            return None
        case (Empty() | Truncated() | Malformed()) as other:
            return await recover(run, other)
        case Text() | RefusedAnswer():
            response = replace(response, tool_calls=()) if response.tool_calls else response
        case never:
            assert_never(never)
    if not run.scope.ports.journal.steering_waits():  # steering, 3: after an answer, which stays; the loop reads on
        if isinstance(kind, Text) and (await run.gate_refused(response) or await run.stop_denied(response)):
            return None
        ended = await run.end(EndReason.COMPLETED, run.answer(response), response)  # steering, 4: as the turn ends
        if ended is not None:
            return ended
    if journal.last is not response:
        await journal.record(response)
    return None
