"""Of a response's calls reads run side by side and others alone, order kept; more than the bound are refused.

No call runs before an earlier one of its response that may change what it reads has ended and is journaled.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import takewhile

from agent.journal import Journal
from agent.ports import TurnPort
from agent.tools.pipeline import CallResult, PendingCall, Pipeline
from agent.tools.results import failure_result
from agent.transcript import SKIPPED, CallOutcome, ModelResponded, ToolIntended, ToolReturned

STOPPED = "Not run: the person stopped the turn."


class Executor:
    """Runs the open calls of a turn's last response."""

    def __init__(
        self, pipeline: Pipeline, journal: Journal, port: TurnPort, *, max_calls: int, max_parallel: int
    ) -> None:
        self._pipeline = pipeline
        self._journal = journal
        self._port = port
        self._max_calls = max_calls
        self._slots = asyncio.Semaphore(max_parallel)

    async def run(self, open_: Sequence[tuple[ModelResponded, int]]) -> list[CallResult]:
        """What became of these calls; steering or a stop overtakes those not yet started."""
        intents = {event.call_key: event for event in self._journal.events if isinstance(event, ToolIntended)}
        pending = [self._pending(response, index, intents) for response, index in open_ if index < self._max_calls]
        ended = await self._refuse(open_[len(pending) :])
        intended = [call for call in pending if call.intended]  # a dead process began these: settled, never skipped
        fresh = [call for call in pending if not call.intended]
        early = list(takewhile(self._pipeline.has_begun, fresh))
        self._pipeline.drop_begun(but=early)  # one behind a call that had not begun may have read too soon
        fresh = fresh[len(early) :]
        ended += [await self._run_call(call) for call in intended]
        ended += [await self._pipeline.run_begun(call) for call in early]
        while fresh:
            if overtaken := await self._overtaken(fresh):
                return ended + overtaken
            batch = self._batch(fresh)
            ended += await self._together(batch)
            fresh = fresh[len(batch) :]
        return ended

    def _pending(self, response: ModelResponded, index: int, intents: Mapping[str, ToolIntended]) -> PendingCall:
        key = self._journal.call_key(response.step, index)
        pending = PendingCall(response.tool_calls[index], response.step, key, intents.get(key))
        pending.response_stands.set()
        return pending

    def _batch(self, calls: Sequence[PendingCall]) -> Sequence[PendingCall]:
        """The calls at the front that run next: as many reads as stand together, or one call of any kind."""
        reads = sum(1 for _ in takewhile(lambda pending: self._pipeline.only_reads(pending.call), calls))
        return calls[: max(1, reads)]

    async def _overtaken(self, rest: Sequence[PendingCall]) -> list[CallResult]:
        """Skipped results for calls not started, when the person stopped the turn or said something meanwhile."""
        if self._port.stopping() is not None:
            skipped = [_skip_call(call, STOPPED) for call in rest]
            await self._journal.record(*skipped)
            return [CallResult(returned) for returned in skipped]
        skipped = [_skip_call(call, SKIPPED) for call in rest]
        return [CallResult(returned) for returned in skipped] if await self._journal.steer(skipped) else []

    async def _together(self, batch: Sequence[PendingCall]) -> list[CallResult]:
        if len(batch) == 1:
            return [await self._run_call(batch[0])]
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(self._run_call(call)) for call in batch]
        except ExceptionGroup as group_of_one:  # what ends one ends the turn: Fenced, a store that is gone
            raise group_of_one.exceptions[0] from None
        return [task.result() for task in tasks]

    async def _refuse(self, surplus: Sequence[tuple[ModelResponded, int]]) -> list[CallResult]:
        """Results for the calls beyond the bound, in one commit; the last one tells of those that are not even kept."""
        refused = [_refuse_call(self._pending(response, index, {}), self._max_calls) for response, index in surplus]
        if surplus and (left_out := surplus[-1][0].calls_left_out):
            error = failure_result(
                f"Not run, nor {left_out} more calls: at most {self._max_calls} calls in one response."
            )
            refused[-1] = replace(refused[-1], content=error)
        if refused:
            await self._journal.record(*refused)
        return [CallResult(returned) for returned in refused]

    async def _run_call(self, pending: PendingCall) -> CallResult:
        async with self._slots:
            return await self._pipeline.run(pending)


def _refuse_call(pending: PendingCall, most: int) -> ToolReturned:
    error = f"Not run: at most {most} calls in one response. Ask again for this one."
    return pending.to_returned(failure_result(error), CallOutcome.FAILED)


def _skip_call(pending: PendingCall, why: str) -> ToolReturned:
    return pending.to_returned(failure_result(why), CallOutcome.SKIPPED)
