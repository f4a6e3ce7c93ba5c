"""A running turn: its open calls and the checks of its answer; `loop` has the order."""

import json
from dataclasses import dataclass

from agent.bounded import Interrupted
from agent.definition import Agent
from agent.fallbacks import ANSWER_AGAIN, RULES_PREFIX
from agent.journal import open_calls, results_before_hooks
from agent.model_caller import ModelCaller
from agent.ports import Turn, TurnPorts
from agent.tools.calls import CallResult
from agent.tools.executor import Executor
from agent.tools.pipeline import Pipeline
from agent.tools.toolbox import TOOL_SEARCH, ResultBudget
from agent.transcript import (
    EndReason,
    ModelResponded,
    Nudged,
    NudgeReason,
    answer_text,
)
from agent.turn import TurnScope
from agent.turn_ending import TurnEnding

MAX_FREE_SEARCHES = 10
"""Searches for tools that cost a turn neither a step nor time; more of them do, so that they have an end."""

MAX_FREE_RULES = 60
"""Responses of rules that cost a turn no step: they cost nothing, and may answer many messages at once."""

MAX_STOPS_DENIED = 3
"""Maximum times that hooks make a turn go on."""


@dataclass(frozen=True, slots=True)
class TurnRun(TurnEnding):
    """The parts of a running turn: its state, its agent, the model caller, the tool executor."""

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
        problem, schema = self.misfit_of(response)
        if not problem or self.scope.journal.nudges(NudgeReason.GATE):
            return False
        await self.model.discard(response)
        words = ANSWER_AGAIN.format(problem=problem, schema=json.dumps(schema, ensure_ascii=False))
        await self.scope.journal.record(Nudged(response.step, words, NudgeReason.GATE))
        return True

    @property
    def is_out_of_steps(self) -> bool:
        """Return True if no step is left; a response that only searches for tools, or of rules, does not count."""
        steps, most = self.scope.journal.steps, self.scope.limits.max_steps
        if steps < most:
            return False
        by_rules = sum(
            isinstance(event, ModelResponded) and event.model.startswith(RULES_PREFIX)
            for event in self.scope.journal.events
        )
        return steps - min(self._free_searches(), MAX_FREE_SEARCHES) - min(by_rules, MAX_FREE_RULES) >= most

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


def _only_searches(response: ModelResponded) -> bool:
    return bool(response.tool_calls) and all(call.name == TOOL_SEARCH for call in response.tool_calls)
