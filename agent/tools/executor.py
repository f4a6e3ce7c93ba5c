"""Which calls of a response run together, and which not at all: safe ones side by side, others alone, order kept."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from agent.journal import Journal
from agent.ports import TurnPort
from agent.tools.pipeline import Asked, Ended, Pipeline
from agent.tools.results import failed
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

    async def run(self, open_: Sequence[tuple[ModelResponded, int]]) -> list[Ended]:
        """What became of these calls; steering or a stop overtakes those not yet started."""
        intents = {event.call_key for event in self._journal.events if isinstance(event, ToolIntended)}
        asked = [self._asked(response, index, intents) for response, index in open_ if index < self._max_calls]
        ended = await self._refuse(open_[len(asked) :])
        begun = [one for one in asked if one.intended or self._pipeline.has_begun(one)]
        fresh = [one for one in asked if one not in begun]
        ended += [await self._one(one) for one in begun]  # also what a dead process began: settled, never skipped
        while fresh:
            if overtaken := await self._overtaken(fresh):
                return ended + overtaken
            batch = self._batch(fresh)
            ended += await self._together(batch)
            fresh = fresh[len(batch) :]
        return ended

    def _asked(self, response: ModelResponded, index: int, intents: set[str]) -> Asked:
        key = self._journal.call_key(response.step, index)
        return Asked(response.tool_calls[index], response.step, key, key in intents)

    def _batch(self, asked: Sequence[Asked]) -> Sequence[Asked]:
        """The calls at the front that run next: as many safe ones as stand together, or one."""
        safe = 0
        while safe < len(asked) and self._is_safe(asked[safe]):
            safe += 1
        return asked[: max(1, safe)]

    def _is_safe(self, asked: Asked) -> bool:
        tool = self._pipeline.tools.find(asked.call.name)
        return tool is not None and tool.concurrency_safe

    async def _overtaken(self, rest: Sequence[Asked]) -> list[Ended]:
        """Skipped results for calls not started, when the person stopped the turn or said something meanwhile."""
        if self._port.stopping() is not None:
            skipped = [_skipped(one, STOPPED) for one in rest]
            await self._journal.record(*skipped)
            return [Ended(returned) for returned in skipped]
        skipped = [_skipped(one, SKIPPED) for one in rest]
        return [Ended(returned) for returned in skipped] if await self._journal.steer(skipped) else []

    async def _together(self, batch: Sequence[Asked]) -> list[Ended]:
        if len(batch) == 1:
            return [await self._one(batch[0])]
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(self._one(one)) for one in batch]
        except ExceptionGroup as group_of_one:  # what ends one ends the turn: Fenced, a store that is gone
            raise group_of_one.exceptions[0] from None
        return [task.result() for task in tasks]

    async def _refuse(self, surplus: Sequence[tuple[ModelResponded, int]]) -> list[Ended]:
        """Results for the calls beyond the bound, in one commit; the last one tells of those that are not even kept."""
        refused = [_refused(self._asked(response, index, set()), self._max_calls) for response, index in surplus]
        if surplus and (left_out := surplus[-1][0].calls_left_out):
            error = failed(f"Not run, nor {left_out} more calls: at most {self._max_calls} calls in one response.")
            refused[-1] = replace(refused[-1], content=error)
        if refused:
            await self._journal.record(*refused)
        return [Ended(returned) for returned in refused]

    async def _one(self, asked: Asked) -> Ended:
        async with self._slots:
            return await self._pipeline.run(asked)


def _refused(asked: Asked, most: int) -> ToolReturned:
    error = failed(f"Not run: at most {most} calls in one response. Ask again for this one.")
    return ToolReturned(asked.step, asked.key, asked.call.id, asked.call.name, error, CallOutcome.FAILED)


def _skipped(asked: Asked, why: str) -> ToolReturned:
    content = failed(why)
    return ToolReturned(asked.step, asked.key, asked.call.id, asked.call.name, content, CallOutcome.SKIPPED)
