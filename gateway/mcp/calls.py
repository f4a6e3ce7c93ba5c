"""Tool calls of programs: the steps of `agent.tools.pipeline`, without a turn, a model, or a person to ask."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Self

from agent.consent import AskedCall
from agent.definition import Agent
from agent.permission_rules import Mode, TurnPermissions
from agent.ports import Change, LocalEffect, Principal, Spent, Summary, Turn, TurnPorts
from agent.tools.base import Deny, Tool
from agent.tools.calls import PendingCall
from agent.tools.guards import Ask, ChainPermissions, EarlyJudgement, Permissions, ToolUse, Verdict
from agent.tools.pipeline import Pipeline
from agent.tools.results import fit_result, success_result
from agent.tools.toolbox import ResultBudget, ToolBox
from agent.transcript import EndReason, JournalEvent, ModelResponded, ToolCall, ToolReturned, UserItem
from agent.turn import TurnScope
from gateway.product import ApplyOnce
from gateway.sessions.aside import NoConsents, NoWatchers
from gateway.store.engine import Connection, Store

CALL_S = 60.0
"""Time limit of a call."""


@dataclass(frozen=True, slots=True)
class ProgramCalls:
    """The calls of one agent's own tools by programs."""

    agent: Agent
    tools: Sequence[Tool]
    store: Store
    apply_once: ApplyOnce
    scrub: Callable[[str], str]
    now: Callable[[], datetime]

    async def run(self, principal: Principal, call: ToolCall, key: str) -> ToolReturned:
        """Run one call for a person. A repeated key changes nothing and gives the first result."""
        limits = self.agent.limits.model_copy(update={"deadline_s": min(CALL_S, self.agent.limits.deadline_s)})
        turn = Turn(key, principal, (), (), self.now())
        ports = TurnPorts(_CallJournal(self, principal), NoConsents(), NoWatchers())
        pipeline = Pipeline(
            scope=TurnScope.begin(turn, ports, limits, self.agent.clock),
            tools=ToolBox(self.tools),
            permissions=UnaskedPermissions(_without_judge(self.agent.permits)),
            hooks=self.agent.hooks,
            budget=_OneResult(),
        )
        pending = PendingCall(call, 0, key)
        pending.response_journaled.set()
        done = await pipeline.run(pending)
        if isinstance(done, AskedCall):
            raise TypeError("permissions that deny instead of asking never ask")
        return done.returned


@dataclass(frozen=True, slots=True)
class UnaskedPermissions:
    """The permissions of an agent, where no one can be asked: neither its person nor a model that judges."""

    permits: Permissions

    @property
    def mode(self) -> Mode:
        return self.permits.mode

    def of_turn(self, own: TurnPermissions) -> Self:
        return replace(self, permits=self.permits.of_turn(own))

    def judge_early(self, use: ToolUse, *, was_asked: bool = False) -> EarlyJudgement | None:
        return None

    async def decide(self, use: ToolUse, hooked: Verdict | None, early: EarlyJudgement | None = None) -> Verdict:
        """Return the agent's decision; deny what its person would have to approve."""
        verdict = await self.permits.decide(use, hooked)
        if not isinstance(verdict, Ask):
            return verdict
        return Deny(
            f"{use.tool.name} needs its person's approval, and a program cannot ask for it. Ask the agent in the chat "
            "to do it, or let the operator allow it under [permissions]."
        )


def _without_judge(permits: Permissions) -> Permissions:
    return replace(permits, judge=None) if isinstance(permits, ChainPermissions) else permits


class _OneResult(ResultBudget):
    """The budget of a result that no later call can read on."""

    def fit(self, tool: Tool, handle: str, content: str) -> str:
        return fit_result(content, self.room_chars(tool))


@dataclass(frozen=True, slots=True)
class _CallJournal:
    """The journal of a call outside of any turn: only its effect is durable."""

    calls: ProgramCalls
    principal: Principal

    async def record(self, *events: JournalEvent) -> None:
        pass

    async def apply(self, effect: LocalEffect, returned: ToolReturned) -> ToolReturned:
        def run(connection: Connection) -> object:
            change = Change(connection, self.principal, returned.call_key, self.calls.agent.clock())
            return self.calls.apply_once(change, effect)

        return replace(returned, content=self.scrub(success_result(await self.calls.store.commit(run))))

    def scrub(self, text: str) -> str:
        return self.calls.scrub(text)

    async def whole_result(self, handle: str) -> str | None:
        return None

    async def load_pictures(self, ids: Sequence[str]) -> Mapping[str, bytes]:
        return {}

    async def note_cost(self, response: Spent) -> None:
        pass

    async def keep_summary(self, summary: Summary, responses: Sequence[Spent]) -> None:
        pass

    def steering_waits(self) -> bool:
        return False

    async def steer(self, step: int, overtaken: Sequence[ToolReturned]) -> tuple[UserItem, ...]:
        return ()

    async def finish(
        self,
        reason: EndReason,
        text: str,
        response: ModelResponded | None,
        note: str = "",
        *,
        busy_s: float | None = None,
        why: str = "",
    ) -> bool:
        return True
