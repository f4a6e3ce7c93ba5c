"""What one running turn works with: its journal, its time, its model calls, its end. The order is the loop's."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import TypeGuard

import structlog

from agent import answers
from agent.bounded import Interrupted, bounded
from agent.config import AgentConfig
from agent.context import PromptBuilder, estimated_tokens, trimmed, with_old_results_blanked
from agent.errors import FailureKind
from agent.journal import Journal
from agent.permissions import Permissions
from agent.ports import (
    Alive,
    CallStreamed,
    ChatModel,
    ModelEvent,
    ModelFailure,
    ModelRequest,
    TextDelta,
    TextDiscarded,
    ToolSpec,
    Turn,
    TurnPort,
    Waiting,
)
from agent.responses import at_most, with_own_ids
from agent.tools.base import Tool
from agent.tools.executor import Executor
from agent.tools.pipeline import Asked, Ended, Pipeline, ToolBox
from agent.transcript import (
    AssistantItem,
    CallOutcome,
    EndReason,
    Item,
    JournalEvent,
    ModelResponded,
    ToolReturned,
    fold,
    joint,
    open_calls,
    spoken,
)

log = structlog.get_logger()


TOLD_CALLS = 2
"""So many times the calls that may run are kept, each with a result; of more, only their number."""


def _utc_now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, kw_only=True)
class Agent:
    """An agent as it is wired: a model, tools, a prompt, and what bounds a turn. One for many turns at once."""

    model: ChatModel
    prompt: PromptBuilder
    tools: Sequence[Tool] = ()
    limits: AgentConfig = field(default_factory=AgentConfig)
    clock: Callable[[], datetime] = _utc_now

    @cached_property
    def toolbox(self) -> ToolBox:
        """The tools by name, their schemas built once."""
        return ToolBox(self.tools)


class RunningTurn:
    """One turn in this process. Nothing here outlives it; what must, is in the journal."""

    def __init__(self, turn: Turn, port: TurnPort, agent: Agent) -> None:
        self.port = port
        self.agent = agent
        self.limits = agent.limits
        self.journal = Journal(turn.id, turn.events, port)
        self.timeouts_in_row = 0
        self._turn = turn
        self._system = agent.prompt(turn.principal, agent.clock(), turn.hints)
        self._ends_at = asyncio.get_running_loop().time() + agent.limits.deadline_s
        self._patience_s = agent.limits.patience_s
        self._cap = agent.limits.max_output_tokens
        self._cap_was_raised = False
        self._slim = False  # old tool results are left out
        self._streamed: list[str] = []  # of the response under way
        self._joint = ""  # stands between what was answered before and the response under way
        limits = agent.limits
        self._pipeline = Pipeline(
            tools=agent.toolbox,
            permissions=Permissions(limits.deny_tools, limits.allow_tools),
            principal=turn.principal,
            port=port,
            journal=self.journal,
            clock=agent.clock,
            tool_timeout_s=limits.tool_timeout_s,
            remaining_s=self.remaining_s,
        )
        self._executor = Executor(
            self._pipeline,
            self.journal,
            port,
            max_calls=limits.max_calls,
            max_parallel=limits.max_parallel_calls,
        )

    def close(self) -> None:
        """Let nothing outlive the turn."""
        self._pipeline.drop_begun()

    def remaining_s(self) -> float:
        """Seconds until the turn's deadline; below 0 when it has passed."""
        return self._ends_at - asyncio.get_running_loop().time()

    def check(self) -> None:
        """Raise Interrupted when the turn should end now."""
        if (reason := self.port.stopping()) is not None:
            raise Interrupted(reason)
        if self.remaining_s() <= 0 or self.timeouts_in_row >= self.limits.max_timeouts_in_row:
            raise Interrupted(EndReason.TIMEOUT)

    async def run_open_calls(self) -> list[Ended]:
        """Every call of the last response has its result after this, also those a dead process left open."""
        ended = await self._executor.run(open_calls(self.journal.events))
        for one in ended:
            self.timeouts_in_row = self.timeouts_in_row + 1 if one.timed_out else 0
        return ended

    async def ask(self, *, with_tools: bool = True) -> ModelResponded:
        """One whole response to everything so far; cut short by a stop or the deadline.

        Raises:
            Interrupted: the turn should end; what had streamed is in `said`.
            ModelFailure: there is no response; the ladder's own remedies are used up.
        """
        self._streamed.clear()
        self._joint = joint(self.journal.events)
        tools: tuple[ToolSpec, ...] = self.agent.toolbox.specs if with_tools else ()
        try:
            response = await self._respond(tools)
        except ModelFailure as failure:
            if not self._remedied(failure):
                raise
            self.void_streamed()
            return await self.ask(with_tools=with_tools)
        if response.tool_calls:
            self.void_streamed()  # said beside a call: no answer
        self._streamed.clear()
        used = self._used_ids() if response.tool_calls else frozenset()
        kept = at_most(response, TOLD_CALLS * self.limits.max_calls)
        return with_own_ids(kept, self.journal.steps, used, self._turn.id)

    def void_streamed(self) -> None:
        """Tell whoever watches that what was streamed of this response does not count."""
        if self._streamed:
            self.port.progress(TextDiscarded())
        self._streamed.clear()

    def raise_cap(self) -> bool:
        """Ask the same again with the higher output cap; False when that was tried in this turn. Begun calls end."""
        self._pipeline.drop_begun()
        if self._cap_was_raised or self.limits.raised_output_tokens <= self._cap:
            return False
        self._cap_was_raised, self._cap = True, self.limits.raised_output_tokens
        self.port.progress(TextDiscarded())
        return True

    async def _respond(self, tools: tuple[ToolSpec, ...]) -> ModelResponded:
        request = ModelRequest(self._system, self._items(), tools, self._cap, patience_s=self._patience_s)
        try:
            responding = self.agent.model.respond(request, self._hear)
            return await bounded(responding, self.remaining_s(), self.port.until_stopped)
        except TimeoutError:
            raise Interrupted(EndReason.TIMEOUT) from None

    def _remedied(self, failure: ModelFailure) -> bool:
        """Whether something was changed that makes it worth asking again; each remedy serves once a turn."""
        if failure.kind is FailureKind.CONTEXT and not self._slim:
            self._slim = True
            return True
        if failure.kind is FailureKind.BAD_REQUEST and self._cap > self.limits.max_output_tokens:
            self._cap = self.limits.max_output_tokens  # the model's own cap is lower than the raised one
            return True
        return False

    def _hear(self, event: ModelEvent) -> None:
        match event:
            case Alive():
                return
            case TextDelta():
                if self._joint and not self._streamed:
                    self.port.progress(TextDelta(self._joint))
                self._streamed.append(event.text)
            case TextDiscarded():
                self._streamed.clear()
                self._pipeline.drop_begun()
            case CallStreamed() if event.index < self.limits.max_parallel_calls:
                step = self.journal.steps
                self._pipeline.begin(Asked(event.call, step, self.journal.call_key(step, event.index)))
            case Waiting():
                self._patience_s = max(0.0, self._patience_s - event.seconds)
            case _:
                pass
        self.port.progress(event)

    def _items(self) -> list[Item]:
        own = fold(self.journal.events)
        room = self.limits.context_window_tokens - self.limits.max_output_tokens
        room -= estimated_tokens(own) + int(len(self._system) / 3)
        items: list[Item] = [*trimmed(self._turn.history, self.limits.history_items, room), *own]
        return with_old_results_blanked(items) if self._slim else items

    def _used_ids(self) -> set[str]:
        items = (*self._turn.history, *fold(self.journal.events))
        return {call.id for item in items if isinstance(item, AssistantItem) for call in item.tool_calls}

    def said(self) -> str:
        """What this turn has answered so far, with what streamed of a response that was cut short."""
        now = "".join(self._streamed)
        return spoken(self.journal.events) + (self._joint + now if now.strip() else "")

    def answer(self, response: ModelResponded) -> str:
        """What the turn has answered with this response, whether it is journaled yet or not."""
        events = self.journal.events
        if response is self.journal.last:
            return spoken(events)
        return spoken([*events, replace(response, tool_calls=())])  # calls of a last response never run

    async def end(self, reason: EndReason, said: str, response: ModelResponded | None = None) -> EndReason | None:
        """End the turn with an answer the person can read; None when it should read on instead."""
        if len(said) > self.limits.max_answer_chars:
            said, reason = said[: self.limits.max_answer_chars], EndReason.MAX_TOKENS
        return await self._finish(reason, answers.ended(reason, said, self._turn.principal.locale), response)

    async def end_failed(self, failure: ModelFailure) -> EndReason | None:
        """End the turn because the model failed; what was said before stands."""
        log.warning("turn_failed", turn=self._turn.id, kind=failure.kind.value, error=str(failure))
        context = failure.kind is FailureKind.CONTEXT
        reason = EndReason.CONTEXT_EXHAUSTED if context else EndReason.MODEL_ERROR
        return await self._finish(reason, answers.failed(failure, self.said(), self._turn.principal.locale), None)

    async def _finish(self, reason: EndReason, text: str, response: ModelResponded | None) -> EndReason | None:
        unknown = sorted({event.name for event in self.journal.events if _is_unknown(event)})
        if unknown:
            text = f"{text}\n\n{answers.unknown(unknown, self._turn.principal.locale)}"
        if response is not None:
            journaled = response is self.journal.last
            response = None if journaled else replace(response, tool_calls=())
        return reason if await self.port.finish(reason, text, response) else None


def _is_unknown(event: JournalEvent) -> TypeGuard[ToolReturned]:
    return isinstance(event, ToolReturned) and event.outcome is CallOutcome.UNKNOWN
