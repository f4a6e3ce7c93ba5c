"""A running turn: its open calls, the checks of its answer, its end; `loop` has the order."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import structlog

from agent import end_texts
from agent.answer_gate import misfit, read_gate
from agent.bounded import Interrupted
from agent.budgets import OverBudget
from agent.calendar import today_of
from agent.definition import Agent
from agent.end_texts import found_text
from agent.errors import FailureKind
from agent.fallbacks import ANSWER_AGAIN, RULES_PREFIX
from agent.journal import open_calls, results_before_hooks
from agent.model_caller import ModelCaller
from agent.ports import ModelFailure, Turn, TurnPorts
from agent.tools.calls import CallResult
from agent.tools.executor import Executor
from agent.tools.pipeline import Pipeline
from agent.tools.toolbox import TOOL_SEARCH, ResultBudget
from agent.transcript import (
    CallOutcome,
    EndReason,
    JournalEvent,
    ModelResponded,
    Nudged,
    NudgeReason,
    StopReason,
    ToolReturned,
    answer_text,
)
from agent.turn import TurnScope

log = structlog.get_logger()


MAX_WHY_CHARS = 300
"""Characters of a model's failure that the journal keeps."""

MAX_FREE_SEARCHES = 10
"""Searches for tools that cost a turn neither a step nor time; more of them do, so that they have an end."""

MAX_STOPS_DENIED = 3
"""Maximum times that hooks make a turn go on."""


@dataclass(frozen=True, slots=True)
class TurnRun:
    """The parts of a running turn: its state, its agent, the model caller, the tool executor."""

    scope: TurnScope
    agent: Agent
    model: ModelCaller
    tools: Executor

    @classmethod
    def begin(cls, turn: Turn, ports: TurnPorts, agent: Agent) -> "TurnRun":
        """Begin a turn, or resume it from its journal."""
        scope = TurnScope.begin(turn, ports, agent.limits, agent.clock)
        tools = Executor(
            Pipeline(
                scope=scope,
                tools=agent.toolbox,
                permissions=agent.permits.of_turn(turn.permissions),
                hooks=agent.hooks,
                texts=agent.texts,
                budget=ResultBudget.of(
                    (*turn.history, *scope.journal.items),
                    agent.limits.max_results_chars,
                    agent.model.facts.context_window_tokens,
                ),
            )
        )
        return cls(scope, agent, ModelCaller(scope, agent, tools), tools)

    async def stop_denied(self, response: ModelResponded) -> bool:
        """Return True if a hook wants the turn to go on although this answers it; the model is told why."""
        if self.scope.journal.nudges(NudgeReason.STOP) >= MAX_STOPS_DENIED:
            return False
        why = await self.agent.hooks.stop(self.scope.turn.principal, self.scope.turn.id, self.answer(response))
        if why:
            before = [] if response is self.scope.journal.last else [response]
            await self.scope.journal.record(*before, Nudged(response.step, why, NudgeReason.STOP))
        return bool(why)

    async def gate_refused(self, response: ModelResponded) -> bool:
        """Return True if the answer does not fit the operator's schema; the model is told how, once a turn."""
        problem, schema = self._misfit(response)
        if not problem or self.scope.journal.nudges(NudgeReason.GATE):
            return False
        await self.model.discard(response)
        words = ANSWER_AGAIN.format(problem=problem, schema=json.dumps(schema, ensure_ascii=False))
        await self.scope.journal.record(Nudged(response.step, words, NudgeReason.GATE))
        return True

    def _misfit(self, response: ModelResponded) -> tuple[str, Mapping[str, object]]:
        """Return why an answer does not fit the operator's schema, and the schema; answers of rules need not fit it."""
        gate = self.scope.limits.gate
        if gate is None or response.model.startswith(RULES_PREFIX):
            return "", {}
        schema = read_gate(gate)
        return misfit(response.text, schema), schema

    @property
    def is_out_of_steps(self) -> bool:
        """Return True if no step is left; a response that only searches for tools does not count."""
        steps, most = self.scope.journal.steps, self.scope.limits.max_steps
        return steps >= most and steps - min(self._free_searches(), MAX_FREE_SEARCHES) >= most

    def _free_searches(self) -> int:
        return sum(isinstance(event, ModelResponded) and _only_searches(event) for event in self.scope.journal.events)

    async def ask(self) -> ModelResponded:
        """Ask the model for the next step. The time of a response that only searches for tools is given back.

        Raises:
            Interrupted: the turn should end.
            ModelFailure: there is no response, and no fallback is left.
        """
        deadline = self.scope.deadline
        left_s = deadline.remaining_s()
        response = await self.model.ask()
        if _only_searches(response) and self._free_searches() < MAX_FREE_SEARCHES:
            deadline.give_back(left_s - deadline.remaining_s())
        return response

    def check(self) -> None:
        """Raise Interrupted if the turn should end now."""
        if (reason := self.scope.ports.watchers.stopping()) is not None:
            raise Interrupted(reason)
        late = self.scope.deadline.remaining_s() <= 0
        if late or self.tools.timeouts_in_row >= self.scope.limits.max_timeouts_in_row:
            raise Interrupted(EndReason.TIMEOUT)

    async def run_open_calls(self) -> list[CallResult]:
        """Run the calls of the last response that have no result yet, also those that a crashed process left open."""
        await self.tools.run_pending_hooks(results_before_hooks(self.scope.journal.events))
        return await self.tools.run(open_calls(self.scope.journal.events))

    def said_so_far(self) -> str:
        """Return the turn's answer so far, with the text of a response that was cut short."""
        return answer_text(self.scope.journal.events) + self.model.streamed_text()

    def answer(self, response: ModelResponded) -> str:
        """Return the turn's answer with this response, which need not be journaled yet."""
        events = self.scope.journal.events
        if response is self.scope.journal.last:
            return answer_text(events)
        return answer_text([*events, _without_calls(response)])

    async def end(self, reason: EndReason, said: str, response: ModelResponded | None = None) -> EndReason | None:
        """End the turn with an answer for the person; return None if it should read new messages instead."""
        if len(said) > self.scope.limits.max_answer_chars:
            said, reason = said[: self.scope.limits.max_answer_chars], EndReason.MAX_TOKENS
        refused = response is not None and response.stop is StopReason.REFUSED
        note = end_texts.end_note(self.agent.texts, reason, said, self.scope.turn.principal.locale, refused=refused)
        if response is not None and not refused and said.strip() and self._misfit(response)[0]:
            note = end_texts.with_note(
                note, self.agent.texts.text(self.scope.turn.principal.locale, "answer.of_another_form")
            )
        if response is not None:
            response = None if response is self.scope.journal.last else _without_calls(response)
        told = bool(said.strip()) or (reason in {EndReason.COMPLETED, EndReason.STOPPED} and not refused)
        note = self._with_open_ends(note if told else self._with_findings(note))
        return (
            reason
            if await self.scope.ports.journal.finish(reason, end_texts.with_note(said, note), response, note)
            else None
        )

    async def end_failed(self, failure: ModelFailure) -> EndReason | None:
        """End the turn because the model failed; keep the answer so far, and list the results of tools."""
        log.warning("turn_failed", kind=failure.kind.value, error=str(failure))
        context = failure.kind is FailureKind.CONTEXT
        reason = EndReason.CONTEXT_EXHAUSTED if context else EndReason.MODEL_ERROR
        note = end_texts.failure_text(self.agent.texts, failure, self.scope.turn.principal.locale)
        note = self._with_open_ends(self._with_findings(note))
        text = end_texts.with_note(self.said_so_far(), note)
        busy_s = end_texts.busy_for_s(failure)
        why = f"{self.model.asked}: {failure}"[:MAX_WHY_CHARS]
        return (
            reason if await self.scope.ports.journal.finish(reason, text, None, note, busy_s=busy_s, why=why) else None
        )

    async def end_over_budget(self, over: OverBudget) -> EndReason | None:
        """End the turn because a cap is reached; keep the answer so far. `/retry` asks again."""
        now, principal = self.scope.clock(), self.scope.turn.principal
        note = end_texts.over_budget_text(self.agent.texts, over, now, principal)
        note = self._with_open_ends(self._with_findings(note))
        text = end_texts.with_note(self.said_so_far(), note)
        waits_s = None if over.resets_at is None else max(0.0, (over.resets_at - now).total_seconds())
        why = f"over the cap of {over.scope}"
        return (
            over.reason
            if await self.scope.ports.journal.finish(over.reason, text, None, note, busy_s=waits_s, why=why)
            else None
        )

    def _with_findings(self, note: str) -> str:
        """Return the note of an end without an answer, after the results of the tools."""
        principal = self.scope.turn.principal
        today = today_of(principal, self.scope.clock())
        found = found_text(self.agent.texts, self.scope.journal.events, self.agent.tell, principal.locale, today)
        return end_texts.with_note(found, note)

    def _with_open_ends(self, note: str) -> str:
        """Add calls of unknown outcome, expired questions and unseen pictures to the note of an end."""
        texts, locale = self.agent.texts, self.scope.turn.principal.locale
        if expired := _names(self.scope.journal.events, CallOutcome.EXPIRED):
            note = end_texts.with_note(note, end_texts.expired_calls_text(texts, expired, locale))
        if unknown := _names(self.scope.journal.events, CallOutcome.UNKNOWN):
            note = end_texts.with_note(note, end_texts.unknown_calls_text(texts, unknown, locale))
        unseen = end_texts.pictures_text(texts, self.scope.journal.items, self.scope.turn.history, locale)
        return end_texts.with_note(note, unseen)


def _only_searches(response: ModelResponded) -> bool:
    return bool(response.tool_calls) and all(call.name == TOOL_SEARCH for call in response.tool_calls)


def _without_calls(response: ModelResponded) -> ModelResponded:
    """Return a last response without its calls, which never run."""
    return replace(response, tool_calls=()) if response.tool_calls else response


def _names(events: Sequence[JournalEvent], outcome: CallOutcome) -> list[str]:
    """Return the names of the tools with a call of this outcome."""
    return sorted({event.name for event in events if isinstance(event, ToolReturned) and event.outcome is outcome})
