"""One turn in this process: its clock, its journal, its open calls, its end. The order of things is the loop's.

`model_caller` asks the model.
"""

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property, partial
from math import inf

import structlog

from agent import answers
from agent.answer_gate import misfit, read_gate
from agent.answers import TellResult, found_text
from agent.bounded import Deadline, Interrupted
from agent.budgets import OverBudget
from agent.calendar import context_of, today_of, utc_now
from agent.catalogue import Catalogue
from agent.config import AgentConfig
from agent.consent import Parked
from agent.context.sections import PromptBuilder
from agent.context.sizes import Calibration, features_of, score
from agent.context.window import ContextWindow
from agent.errors import FailureKind
from agent.journal import Journal, open_calls, unheard_results
from agent.model_caller import ModelCaller
from agent.permissions.chain import PermissionChain
from agent.ports import ChatModel, ModelFailure, ModelRequest, Turn, TurnPort
from agent.rungs import ANSWER_AGAIN, RULES_PREFIX
from agent.tools.base import Tool
from agent.tools.calls import CallResult
from agent.tools.executor import Executor
from agent.tools.guards import ChainPermissions, NoHooks, Permissions, TurnHooks, name_rules
from agent.tools.pipeline import Pipeline
from agent.tools.toolbox import ResultBudget, ToolBox
from agent.transcript import (
    CallOutcome,
    EndReason,
    JournalEvent,
    ModelResponded,
    Nudged,
    NudgeReason,
    StopReason,
    ToolReturned,
    TurnStarted,
    answer_text,
)

log = structlog.get_logger()


MAX_WHY_CHARS = 300
"""Of a model's failure as the journal keeps it."""

MAX_STOPS_DENIED = 3
"""Times a turn goes on because a hook says so."""

LEAST_LEFT_S = 30.0
"""What a turn that waited for its person has at least, so that what they allowed can be done."""


def _left_s(turn: Turn, limits: AgentConfig) -> float:
    """The turn's time; behind a wait what was left then: the clock stood."""
    waited = next((event for event in reversed(turn.events) if isinstance(event, Parked)), None)
    if waited is None:
        return limits.deadline_s
    return min(limits.deadline_s, max(waited.left_s, LEAST_LEFT_S))


def _weight_of(turn: Turn) -> float | None:
    """By what it began with, so that all its steps go to one model."""
    started = next((event for event in turn.events if isinstance(event, TurnStarted)), None)
    return None if started is None else score(features_of(turn.history, started.items))


def _by_names(limits: AgentConfig) -> Permissions:
    return ChainPermissions(chain=PermissionChain(rules=name_rules(limits.allow_tools, limits.deny_tools)))


@dataclass(frozen=True, kw_only=True)
class Agent:
    """An agent as it is wired: a model, tools, a prompt, texts, and what bounds a turn. One for many turns at once."""

    model: ChatModel
    prompt: PromptBuilder
    texts: Catalogue
    tools: Sequence[Tool] = ()
    limits: AgentConfig = field(default_factory=AgentConfig)
    clock: Callable[[], datetime] = utc_now
    tell: TellResult | None = None
    """Its tools' results in words for people, where the model cannot say them; None: in a plain list."""
    hooks: TurnHooks = field(default_factory=NoHooks)
    permissions: Permissions | None = None  # None: the name patterns of the limits

    calibration: Calibration = field(default_factory=Calibration)
    """How the model's provider counts tokens, beside our estimates."""

    @cached_property
    def toolbox(self) -> ToolBox:
        """The tools by name, their schemas built once."""
        return ToolBox(self.tools)


class TurnRun:
    """One turn in this process. Nothing here outlives it; what must, is in the journal."""

    def __init__(self, turn: Turn, port: TurnPort, agent: Agent) -> None:
        limits = agent.limits
        self.port = port
        self.limits = limits
        self.journal = Journal(turn.id, turn.events, port)
        self._turn = turn
        self._texts = agent.texts
        self._tell = agent.tell
        self._clock = agent.clock
        self._hooks = agent.hooks
        self._timeouts_in_row = 0
        self._deadline = Deadline(_left_s(turn, limits), limits.working_s, asyncio.get_running_loop().time)
        now, calibration = agent.clock(), agent.calibration
        prompt = turn.prefix.latch(agent.prompt(turn.principal, now, turn.hints))
        fixed_tokens = calibration.sizes.estimate_fixed(prompt, agent.toolbox.specs)
        window = ContextWindow(turn, port, agent.model, limits, self.journal, self._deadline, fixed_tokens, calibration)
        window.pre_compact = partial(agent.hooks.pre_compact, turn.principal)
        pipeline = Pipeline(
            tools=agent.toolbox,
            permissions=agent.permissions or _by_names(limits),
            hooks=agent.hooks,
            budget=ResultBudget.of(
                (*turn.history, *self.journal.items), limits.max_results_chars, window.facts.context_window_tokens
            ),
            principal=turn.principal,
            port=port,
            journal=self.journal,
            clock=agent.clock,
            tool_timeout_s=limits.tool_timeout_s or inf,
            remaining_s=self._deadline.remaining_s,
        )
        self._executor = Executor(
            pipeline,
            self.journal,
            port,
            max_calls=limits.max_calls,
            max_parallel=limits.max_parallel_calls,
        )
        request = partial(
            ModelRequest,
            prompt,
            context=context_of(turn.principal, now),
            pieces=turn.pieces,
            weight=_weight_of(turn),
            who=turn.principal,
            load_pictures=port.load_pictures,
        )
        self.model = ModelCaller(
            window, port, agent.model, request, limits, self.journal, self._executor, self._deadline
        )

    async def stop_denied(self, response: ModelResponded) -> bool:
        """Whether a hook wants the turn to go on although this answers it; the model is told why, a few times."""
        if self.journal.nudges(NudgeReason.STOP) >= MAX_STOPS_DENIED:
            return False
        why = await self._hooks.stop(self._turn.principal, self._turn.id, self.answer(response))
        if why:
            before = [] if response is self.journal.last else [response]
            await self.journal.record(*before, Nudged(response.step, why, NudgeReason.STOP))
        return bool(why)

    async def gate_refused(self, response: ModelResponded) -> bool:
        """Whether the answer does not fit the operator's schema; the model is told how, once a turn."""
        problem, schema = self._misfit(response)
        if not problem or self.journal.nudges(NudgeReason.GATE):
            return False
        await self.model.discard(response)
        words = ANSWER_AGAIN.format(problem=problem, schema=json.dumps(schema, ensure_ascii=False))
        await self.journal.record(Nudged(response.step, words, NudgeReason.GATE))
        return True

    def _misfit(self, response: ModelResponded) -> tuple[str, Mapping[str, object]]:
        """What of an answer does not fit the operator's schema, and that; rules are not asked to fit it."""
        gate = self.limits.gate
        if gate is None or response.model.startswith(RULES_PREFIX):
            return "", {}
        schema = read_gate(gate)
        return misfit(response.text, schema), schema

    def close(self) -> None:
        """Let nothing outlive the turn."""
        self._executor.expect(None)

    def check(self) -> None:
        """Raise Interrupted when the turn should end now."""
        if (reason := self.port.stopping()) is not None:
            raise Interrupted(reason)
        if self._deadline.remaining_s() <= 0 or self._timeouts_in_row >= self.limits.max_timeouts_in_row:
            raise Interrupted(EndReason.TIMEOUT)

    async def run_open_calls(self) -> list[CallResult]:
        """Every call of the last response has its result after this, also those a dead process left open."""
        await self._executor.hear_hooks(unheard_results(self.journal.events))
        results = await self._executor.run(open_calls(self.journal.events))
        for result in results:
            self._timeouts_in_row = self._timeouts_in_row + 1 if result.timed_out else 0
        return results

    def said_so_far(self) -> str:
        """What this turn has answered so far, with what streamed of a response that was cut short."""
        return answer_text(self.journal.events) + self.model.streamed_text()

    def answer(self, response: ModelResponded) -> str:
        """What the turn has answered with this response, whether it is journaled yet or not."""
        events = self.journal.events
        if response is self.journal.last:
            return answer_text(events)
        return answer_text([*events, _without_calls(response)])

    async def end(self, reason: EndReason, said: str, response: ModelResponded | None = None) -> EndReason | None:
        """End the turn with an answer the person can read; None when it should read on instead."""
        if len(said) > self.limits.max_answer_chars:
            said, reason = said[: self.limits.max_answer_chars], EndReason.MAX_TOKENS
        refused = response is not None and response.stop is StopReason.REFUSED
        note = answers.end_note(self._texts, reason, said, self._turn.principal.locale, refused=refused)
        if response is not None and not refused and said.strip() and self._misfit(response)[0]:
            note = answers.with_note(note, self._texts.text(self._turn.principal.locale, "answer.of_another_form"))
        if response is not None:
            response = None if response is self.journal.last else _without_calls(response)
        told = bool(said.strip()) or (reason in {EndReason.COMPLETED, EndReason.STOPPED} and not refused)
        note = self._with_open_ends(note if told else self._with_findings(note))
        return reason if await self.port.finish(reason, answers.with_note(said, note), response, note) else None

    async def end_failed(self, failure: ModelFailure) -> EndReason | None:
        """End the turn because the model failed; what was said before stands, what was found is told."""
        log.warning("turn_failed", kind=failure.kind.value, error=str(failure))
        context = failure.kind is FailureKind.CONTEXT
        reason = EndReason.CONTEXT_EXHAUSTED if context else EndReason.MODEL_ERROR
        note = answers.failure_text(self._texts, failure, self._turn.principal.locale)
        note = self._with_open_ends(self._with_findings(note))
        text = answers.with_note(self.said_so_far(), note)
        busy_s = answers.busy_for_s(failure)
        why = f"{self.model.asked}: {failure}"[:MAX_WHY_CHARS]
        return reason if await self.port.finish(reason, text, None, note, busy_s=busy_s, why=why) else None

    async def end_over_budget(self, over: OverBudget) -> EndReason | None:
        """End the turn because a cap is reached; what was said before stands, and `/retry` asks again."""
        now, principal = self._clock(), self._turn.principal
        note = answers.over_budget_text(self._texts, over, now, principal)
        note = self._with_open_ends(self._with_findings(note))
        text = answers.with_note(self.said_so_far(), note)
        waits_s = None if over.resets_at is None else max(0.0, (over.resets_at - now).total_seconds())
        why = f"over the cap of {over.scope}"
        return over.reason if await self.port.finish(over.reason, text, None, note, busy_s=waits_s, why=why) else None

    def _with_findings(self, note: str) -> str:
        """The words of an end without an answer, behind what the tools had found or done until then."""
        principal = self._turn.principal
        today = today_of(principal, self._clock())
        found = found_text(self._texts, self.journal.events, self._tell, principal.locale, today)
        return answers.with_note(found, note)

    def _with_open_ends(self, note: str) -> str:
        """The words of an end, behind it calls that nobody knows the outcome of, or confirmed, and unseen pictures."""
        texts, locale = self._texts, self._turn.principal.locale
        if expired := _names(self.journal.events, CallOutcome.EXPIRED):
            note = answers.with_note(note, answers.expired_calls_text(texts, expired, locale))
        if unknown := _names(self.journal.events, CallOutcome.UNKNOWN):
            note = answers.with_note(note, answers.unknown_calls_text(texts, unknown, locale))
        unseen = answers.pictures_text(texts, self.journal.items, self._turn.history, locale)
        return answers.with_note(note, unseen)


def _without_calls(response: ModelResponded) -> ModelResponded:
    """Calls of a last response never run."""
    return replace(response, tool_calls=()) if response.tool_calls else response


def _names(events: Sequence[JournalEvent], outcome: CallOutcome) -> list[str]:
    """The tools whose calls came to this."""
    return sorted({event.name for event in events if isinstance(event, ToolReturned) and event.outcome is outcome})
