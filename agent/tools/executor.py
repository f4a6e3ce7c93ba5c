"""The timing of tool calls: safe calls run in parallel, others alone and in order; calls beyond the limit are refused.

No call starts before an earlier one of its response that may change what it reads has ended and is journaled. Read-only
calls start as soon as their arguments have streamed.
"""

import asyncio
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from agent.consent import AskedCall, Parked
from agent.tools.calls import AwaitedCall, CallResult, PendingCall
from agent.tools.pipeline import Pipeline
from agent.tools.results import failure_result
from agent.tools.toolbox import ToolBox
from agent.transcript import SKIPPED, CallOutcome, EndReason, ModelResponded, ToolCall, ToolIntended, ToolReturned

STOPPED = "Not run: the person stopped the turn."

Ended = CallResult | AskedCall | AwaitedCall
"""The ways in which the steps of a call end."""


@dataclass(slots=True, eq=False)
class _EarlyCall:
    """A read-only call that started while its response streams."""

    pending: PendingCall
    task: "asyncio.Task[Ended] | None" = None  # None: waits for an earlier call


class Executor:
    """The tool calls of a turn's responses, one response at a time."""

    def __init__(self, pipeline: Pipeline) -> None:
        self._pipeline = pipeline
        self._journal = pipeline.scope.journal
        self._limits = pipeline.scope.limits
        self.timeouts_in_row = 0
        """Consecutive timeouts."""
        self._step: int | None = None
        self._begun: list[_EarlyCall] = []  # the leading read-only calls of the current response

    @property
    def tools(self) -> ToolBox:
        """Return the tools that the model may call."""
        return self._pipeline.tools

    # ---------------------------------------------------------------- while the response streams

    def expect(self, step: int | None) -> None:
        """Accept streamed calls of this step (None: of no step); cancel the calls started before."""
        self._drop(self._begun)
        self._begun = []
        self._step = step

    def expect_again(self) -> None:
        """Cancel the calls of a discarded response, and accept those of the next attempt."""
        self.expect(self._step)

    def hear(self, index: int, call: ToolCall) -> None:
        """Start a streamed call early if it and every call before it are read-only."""
        if self._step is None or index != len(self._begun) or index >= self._limits.max_calls:
            return  # calls are not allowed, or an earlier call was not read-only
        pending = PendingCall(call, self._step, self._journal.call_key(self._step, index), on_end=self._begin_next)
        admission = self._pipeline.admit(pending)
        if not admission.reads:
            return
        pending.safe = admission.safe
        self._begun.append(_EarlyCall(pending))
        self._begin_next()

    def _begin_next(self) -> None:
        for begun in self._begun:
            if begun.task is None:
                running = [other.pending for other in self._begun if other.task is not None]
                safe = [pending.safe for pending in running if not pending.has_ended]
                if not _fits(begun.pending.safe, safe, self._limits.max_parallel_calls):
                    return
                begun.task = asyncio.create_task(self._pipeline.run(begun.pending))  # noqa: TID251  ends in run() or expect()
                begun.task.add_done_callback(_retrieve)

    def _adopt(self, wanted: Sequence[PendingCall]) -> "dict[asyncio.Task[Ended], PendingCall]":
        """Keep the early calls up to the first that did not start, and cancel the rest: they may have read too soon."""
        adopted = {}
        for begun, pending in zip(self._begun, wanted, strict=False):
            if begun.task is None or not begun.pending.adopt(pending):
                break
            adopted[begun.task] = begun.pending
        self._drop(self._begun[len(adopted) :])
        self._begun = []
        self._step = None
        return adopted

    @staticmethod
    def _drop(unwanted: Iterable[_EarlyCall]) -> None:
        for begun in unwanted:
            begun.pending.on_end = None
            if begun.task is not None:
                begun.task.cancel()

    # ---------------------------------------------------------------- once the response is journaled

    async def run_pending_hooks(self, owed: Sequence[ToolReturned]) -> None:
        """Run the hooks on results of a process that crashed before it could."""
        for raw in owed:
            await self._pipeline.run_pending_hooks(raw)

    async def run(self, open_: Sequence[tuple[ModelResponded, int]]) -> list[CallResult]:
        """Run these calls and return their outcomes in order; new messages or a stop skip those that have not started.

        Raises:
            TurnParked: a call waits for consent or for its result; those in parallel have ended.
        """
        if not open_:
            self.expect(None)
            return []
        before = {event.call_key: event for event in self._journal.events if isinstance(event, ToolIntended)}
        parked = [event for event in self._journal.events if isinstance(event, Parked)]
        asked = {event.about: event.backfilled for event in parked if event.asks}
        begun = {event.about for event in parked if not event.asks}
        pending = [
            self._pending(response, index, before) for response, index in open_ if index < self._limits.max_calls
        ]
        for call in pending:
            call.backfilled, call.was_asked = asked.get(call.key, ""), call.key in asked
        refused = await self._refuse(open_[len(pending) :])
        results, awaited = {}, list[PendingCall]()
        for call in pending:
            if call.intended or call.key in begun:  # begun before: settled, never skipped or asked about again
                result = await self._pipeline.run(call)
                if isinstance(result, CallResult):
                    results[call.key] = result
                elif isinstance(result, AwaitedCall):
                    awaited.append(call)
        fresh = [call for call in pending if call.key not in results and call not in awaited]
        round_ = _Round(self._pipeline, fresh, self._adopt(fresh), awaited)
        try:
            results |= await round_.run()
        except BaseExceptionGroup as of_one:  # one error ends the turn: Fenced, a lost store
            raise of_one.exceptions[0] from None
        ended = [results[call.key] for call in pending] + refused
        for result in ended:
            self.timeouts_in_row = self.timeouts_in_row + 1 if result.timed_out else 0
        return ended

    def _pending(self, response: ModelResponded, index: int, intents: Mapping[str, ToolIntended]) -> PendingCall:
        key = self._journal.call_key(response.step, index)
        pending = PendingCall(response.tool_calls[index], response.step, key, intents.get(key))
        pending.response_journaled.set()
        return pending

    async def _refuse(self, surplus: Sequence[tuple[ModelResponded, int]]) -> list[CallResult]:
        """Journal a refusal for each call beyond the limit in one commit; the last one mentions those that were not
        kept.
        """
        refused = [
            _refuse_call(self._pending(response, index, {}), self._limits.max_calls) for response, index in surplus
        ]
        if surplus and (left_out := surplus[-1][0].calls_left_out):
            error = failure_result(
                f"Not run, nor {left_out} more calls: at most {self._limits.max_calls} calls in one response."
            )
            refused[-1] = replace(refused[-1], content=error)
        if refused:
            await self._journal.record(*refused)
        return [CallResult(returned) for returned in refused]


class _Round:
    """The calls of one response, until each has its result."""

    def __init__(
        self,
        pipeline: Pipeline,
        calls: Sequence[PendingCall],
        begun: "dict[asyncio.Task[Ended], PendingCall]",
        awaited: Sequence[PendingCall],
    ) -> None:
        self._pipeline = pipeline
        self._journal = pipeline.scope.journal
        self._ports = pipeline.scope.ports
        self._max_parallel = pipeline.scope.limits.max_parallel_calls
        self._running = begun
        self._order = {call.key: place for place, call in enumerate(calls)}
        self._waiting = deque(calls[len(begun) :])
        for call in self._waiting:
            call.safe = pipeline.admit(call).safe
        self._asked: dict[str, AskedCall] = {}  # by call key: questions to the person once nothing runs
        self._awaited = {call.key: call for call in awaited}  # their results come later
        self._results: dict[str, CallResult] = {}

    async def run(self) -> dict[str, CallResult]:
        """Run the calls and return the results by key; if this is cancelled, the calls end too."""
        if not self._waiting and not self._running and not self._awaited:
            return {}
        stop = self._ports.watchers.until_stopped()
        stop.add_done_callback(self._cut_all)
        try:
            async with asyncio.TaskGroup() as group:
                while self._waiting or self._running or self._awaited:
                    await self._start_or_wait(group)
        finally:
            stop.remove_done_callback(self._cut_all)
            for task in self._running:  # early calls do not belong to the group
                task.cancel()
        return self._results

    async def _start_or_wait(self, group: asyncio.TaskGroup) -> None:
        """Start the next call if it may start; else wait until one ends."""
        running = [call.safe for call in self._running.values()]
        waits = bool(self._asked) or not self._waiting
        if running and (waits or not _fits(self._waiting[0].safe, running, self._max_parallel)):
            done, _ = await asyncio.wait(self._running, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                await self._collect(task)
        elif not await self._overtake():
            left_s = self._pipeline.scope.deadline.remaining_s()
            if self._asked:
                first = min(self._asked, key=self._order.__getitem__)
                await self._ports.consents.park(self._asked[first], left_s)
            if self._awaited and not (self._waiting and self._waiting[0].safe):
                await self._wait(left_s)
            call = self._waiting.popleft()
            self._running[group.create_task(self._pipeline.run(call))] = call

    async def _collect(self, task: "asyncio.Task[Ended]") -> None:
        call, result = self._running.pop(task), task.result()
        if isinstance(result, AwaitedCall):
            self._awaited[call.key] = call
            return
        if isinstance(result, AskedCall):  # parallel calls end first, and no other starts
            self._asked[call.key] = result
            self._waiting.appendleft(call)
            return
        self._results[call.key] = result

    async def _wait(self, left_s: float) -> None:
        """Let the turn wait for its awaited calls; go on with them if one has its result already."""
        awaited = list(self._awaited.values())
        assert self._ports.waits is not None, "else the call was refused"
        await self._ports.waits.wait(awaited[0].step, {call.key: call.call.name for call in awaited}, left_s)
        self._awaited.clear()
        self._waiting.extendleft(reversed(awaited))

    async def _overtake(self) -> bool:
        """Skip the calls that have not started if the person stopped the turn or wrote a message; return True if so.

        What an agent wrote is read between two rounds of calls.
        """
        if self._ports.watchers.stopping() is not None:
            await self._skip()
            return True
        if self._awaited or not self._ports.journal.steering_waits(by_person=True):
            return False  # before a message joins the turn, each call has its result
        skipped = [_skip_call(call, SKIPPED) for call in self._waiting]
        steered = await self._journal.steer(skipped)
        if steered:
            self._take(skipped)
        return steered

    async def _skip(self) -> None:
        skipped = [_skip_call(call, STOPPED) for call in (*self._awaited.values(), *self._waiting)]
        self._awaited.clear()
        if skipped:
            await self._journal.record(*skipped)
        self._take(skipped)

    def _take(self, skipped: Sequence[ToolReturned]) -> None:
        self._results |= {returned.call_key: CallResult(returned) for returned in skipped}
        self._waiting.clear()

    def _cut_all(self, _stop: "asyncio.Future[EndReason]") -> None:
        for call in self._running.values():
            call.cancel()


def _fits(safe: bool, running: Sequence[bool], max_parallel: int) -> bool:
    """Return True if a call may start beside the running ones: alone, or safe among safe ones."""
    return not running or (safe and all(running) and len(running) < max_parallel)


def _refuse_call(pending: PendingCall, most: int) -> ToolReturned:
    error = f"Not run: at most {most} calls in one response. Ask again for this one."
    return pending.to_returned(failure_result(error), CallOutcome.FAILED)


def _skip_call(pending: PendingCall, why: str) -> ToolReturned:
    return pending.to_returned(failure_result(why), CallOutcome.SKIPPED)


def _retrieve(task: "asyncio.Task[Ended]") -> None:
    if not task.cancelled():
        task.exception()  # read in run(), or not needed
