"""Tool calls of programs: the steps of `agent.tools.pipeline`, without a turn, a model, or a person to ask."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from agent.definition import Agent
from agent.ports import Change, LocalEffect, Principal, Spent, Summary, Turn, TurnPorts
from agent.tools.base import Tool
from agent.tools.calls import CallResult, PendingCall
from agent.tools.guards import UnaskedPermissions, without_judge
from agent.tools.pipeline import Pipeline
from agent.tools.results import fit_result, success_result
from agent.tools.toolbox import ResultBudget, ToolBox
from agent.transcript import EndReason, JournalEvent, ModelResponded, ToolCall, ToolReturned, UserItem
from agent.turn import TurnScope
from agent.unattended import NoConsents, NoWatchers
from gateway.product import ApplyOnce
from gateway.store.engine import Connection, Store

CALL_S = 60.0
"""Time limit of a call."""

UNASKED = (
    "needs its person's approval, and a program cannot ask for it. Ask the agent in the chat to do it, or let the "
    "operator allow it under [permissions]."
)


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
            permissions=UnaskedPermissions(without_judge(self.agent.permits), UNASKED),
            hooks=self.agent.hooks,
            texts=self.agent.texts,
            budget=_OneResult(),
        )
        pending = PendingCall(call, 0, key)
        pending.response_journaled.set()
        done = await pipeline.run(pending)
        if not isinstance(done, CallResult):
            raise TypeError("permissions that deny instead of asking never ask, and nothing waits here")
        return done.returned


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

    def steering_waits(self, *, by_person: bool = False) -> bool:
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
