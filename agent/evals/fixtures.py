"""Results of tools from a case, in place of their runs."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

from agent.definition import Agent
from agent.evals.case import Fixture
from agent.evals.rules import is_part
from agent.permission_rules import Mode, TurnPermissions
from agent.replay.record import RecordedCall, RecordedResults, arguments_of, canonical
from agent.replay.run import with_prompt
from agent.tools.base import Allow, Tool
from agent.tools.guards import Ask, EarlyJudgement, Permissions, ToolUse, Verdict, without_judge
from agent.tools.results import failure_result, success_result
from agent.tools.schema import Arguments


class FixtureResults(RecordedResults):
    """The results of a case's fixtures: the n-th call that fits several gets the n-th of them, later ones the last.

    Fixtures with arguments go before those for any call.
    """

    def __init__(self, fixtures: Sequence[Fixture]) -> None:
        super().__init__(())
        self._fixtures = fixtures
        self._used: set[int] = set()

    @property
    def names(self) -> frozenset[str]:
        """Return the names of the tools that they are about."""
        return frozenset(fixture.tool for fixture in self._fixtures)

    def answers(self, tool: Tool) -> bool:
        """Return True if calls of this tool are answered here: it has a fixture, or effects outside the database."""
        return tool.effect.is_outside or not self.names.isdisjoint({tool.name, *tool.aliases})

    def take(self, tool: Tool, arguments: Arguments) -> RecordedCall | None:
        """Return the result of the fixture for this call; None if there is none."""
        wanted = canonical(arguments)
        fitting = [
            index
            for index, fixture in enumerate(self._fixtures)
            if fixture.tool in {tool.name, *tool.aliases} and _fits(fixture, tool, wanted)
        ]
        fitting = [index for index in fitting if self._fixtures[index].arguments is not None] or fitting
        if not fitting:
            return None
        index = next((index for index in fitting if index not in self._used), fitting[-1])
        self._used.add(index)
        return _as_record(self._fixtures[index])


def _fits(fixture: Fixture, tool: Tool, wanted: str) -> bool:
    if fixture.arguments is None or is_part(fixture.arguments, json.loads(wanted)):
        return True
    return arguments_of(_as_record(fixture), tool) == wanted


def _as_record(fixture: Fixture) -> RecordedCall:
    content = success_result(fixture.result) if fixture.error is None else failure_result(fixture.error)
    arguments = {} if fixture.arguments is None else dict(fixture.arguments)
    return RecordedCall(fixture.tool, json.dumps(arguments), content)


def on_fixtures(agent: Agent, results: FixtureResults, prompt: str | None) -> Agent:
    """Return the agent with these results in place of tools' runs, and with this text as its identity, if there is one.

    No person is asked for approval: the outside is never changed.
    """
    tools = [each for tool in agent.tools for each in (results.answer_for([tool]) if results.answers(tool) else [tool])]
    on_tasks = None if agent.for_tasks is None else on_fixtures(agent.for_tasks, results, prompt)
    shaped = replace(
        agent, tools=tuple(tools), permissions=ApprovedPermissions(without_judge(agent.permits)), for_tasks=on_tasks
    )
    return shaped if prompt is None else with_prompt(shaped, prompt)


@dataclass(frozen=True, slots=True)
class ApprovedPermissions:
    """The permissions of an agent whose person approves each call."""

    permits: Permissions

    @property
    def mode(self) -> Mode:
        return self.permits.mode

    def of_turn(self, own: TurnPermissions) -> Self:
        return replace(self, permits=self.permits.of_turn(own))

    def judge_early(self, use: ToolUse, *, was_asked: bool = False) -> EarlyJudgement | None:
        return None

    async def decide(self, use: ToolUse, hooked: Verdict | None, early: EarlyJudgement | None = None) -> Verdict:
        """Return the agent's decision; allow what its person would have to approve."""
        verdict = await self.permits.decide(use, hooked)
        return Allow() if isinstance(verdict, Ask) else verdict
