"""The end of a turn: its answer with the notes of the harness, after a success, a failure, a stop or a cap."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import structlog

from agent import end_texts
from agent.answer_gate import misfit, read_gate
from agent.budgets import OverBudget
from agent.calendar import today_of
from agent.definition import Agent
from agent.end_texts import found_text
from agent.errors import FailureKind
from agent.fallbacks import RULES_PREFIX
from agent.ports import ModelFailure
from agent.transcript import (
    CallOutcome,
    EndReason,
    JournalEvent,
    ModelResponded,
    StopReason,
    ToolReturned,
    answer_text,
)
from agent.turn import TurnScope

log = structlog.get_logger()

MAX_WHY_CHARS = 300
"""Characters of a model's failure that the journal keeps."""


@dataclass(frozen=True, slots=True)
class TurnEnding:
    """The ends that a turn of this agent can have."""

    scope: TurnScope
    agent: Agent

    def misfit_of(self, response: ModelResponded) -> tuple[str, Mapping[str, object]]:
        """Return why an answer does not fit the operator's schema, and the schema; answers of rules need not fit it."""
        gate = self.scope.limits.gate
        if gate is None or response.model.startswith(RULES_PREFIX):
            return "", {}
        schema = read_gate(gate)
        return misfit(response.text, schema), schema

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
        if response is not None and not refused and said.strip() and self.misfit_of(response)[0]:
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

    async def end_failed(self, failure: ModelFailure, said: str, asked: str) -> EndReason | None:
        """End the turn because `asked`, a model or an agent, failed; keep the answer so far, list results of tools."""
        log.warning("turn_failed", kind=failure.kind.value, error=str(failure))
        context = failure.kind is FailureKind.CONTEXT
        reason = EndReason.CONTEXT_EXHAUSTED if context else EndReason.MODEL_ERROR
        note = self._with_open_ends(self._with_findings(self.failure_note(failure)))
        text = end_texts.with_note(said, note)
        busy_s = end_texts.busy_for_s(failure)
        why = f"{asked}: {failure}"[:MAX_WHY_CHARS]
        return (
            reason if await self.scope.ports.journal.finish(reason, text, None, note, busy_s=busy_s, why=why) else None
        )

    def failure_note(self, failure: ModelFailure) -> str:
        """Return the sentence that tells the person why the model failed."""
        return end_texts.failure_text(self.agent.texts, failure, self.scope.turn.principal.locale)

    async def end_over_budget(self, over: OverBudget, said: str) -> EndReason | None:
        """End the turn because a cap is reached; keep the answer so far. `/retry` asks again."""
        now, principal = self.scope.clock(), self.scope.turn.principal
        note = end_texts.over_budget_text(self.agent.texts, over, now, principal)
        note = self._with_open_ends(self._with_findings(note))
        text = end_texts.with_note(said, note)
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


def _without_calls(response: ModelResponded) -> ModelResponded:
    """Return a last response without its calls, which never run."""
    return replace(response, tool_calls=()) if response.tool_calls else response


def _names(events: Sequence[JournalEvent], outcome: CallOutcome) -> list[str]:
    """Return the names of the tools with a call of this outcome."""
    return sorted({event.name for event in events if isinstance(event, ToolReturned) and event.outcome is outcome})
