"""A turn that runs on recorded results: it changes nothing, asks no person, and only the models that it asks cost."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from agent.context.sections import PromptBuilder, Section
from agent.context.sizes import Calibration
from agent.definition import Agent
from agent.loop import run_turn
from agent.permission_rules import Mode, TurnPermissions
from agent.ports import Principal, Turn, TurnPorts
from agent.replay.record import RecordedResults
from agent.tools.base import Allow
from agent.tools.guards import EarlyJudgement, NoHooks, ToolUse, Verdict
from agent.transcript import EndReason, JournalEvent, ModelResponded, Steered, ToolReturned, UserItem
from agent.unattended import MemoryJournal, NoConsents, NoWatchers, Surroundings


async def run_on_record(
    turn: Turn,
    agent: Agent,
    results: RecordedResults,
    around: Surroundings,
    *,
    steered: Sequence[Steered] = (),
    run: Callable[[Turn, TurnPorts, Agent], Awaitable[EndReason]] = run_turn,
) -> tuple[JournalEvent, ...]:
    """Run a turn on recorded results and return its events; `results.missing` has the calls without a result.

    `steered` are messages that joined the recorded turn: they join at the same step, or at the latest at the answer.
    """
    journal = ReplayJournal(turn.events, around, steered)
    await run(turn, TurnPorts(journal, NoConsents(), NoWatchers()), without_effects(agent, results))
    return tuple(journal.events)


def without_effects(agent: Agent, results: RecordedResults) -> Agent:
    """Return the agent with tools that answer from a record; no hook runs, and rules never answer."""
    return replace(
        agent,
        tools=results.answer_for(agent.tools),
        hooks=NoHooks(),
        permissions=AllAllowed(),
        for_tasks=None,
        is_products=False,
        calibration=Calibration(),
    )


def with_prompt(agent: Agent, text: str) -> Agent:
    """Return the agent with this text in place of its identity and persona; the other sections of its prompt stay."""
    return replace(agent, prompt=OtherIdentity(agent.prompt, text))


@dataclass(frozen=True, slots=True)
class OtherIdentity:
    """A prompt with another text in place of the agent's identity and persona."""

    prompt: PromptBuilder
    text: str

    def __call__(self, principal: Principal, now: datetime, hints: str) -> Mapping[Section, str]:
        """Return the sections."""
        return {**self.prompt(principal, now, hints), Section.IDENTITY: self.text, Section.PERSONA: ""}


class AllAllowed:
    """The permissions of tools that only answer from a record."""

    mode = Mode.BYPASS

    def of_turn(self, own: TurnPermissions) -> "AllAllowed":
        return self

    def judge_early(self, use: ToolUse, *, was_asked: bool = False) -> EarlyJudgement | None:
        return None

    async def decide(self, use: ToolUse, hooked: Verdict | None, early: EarlyJudgement | None = None) -> Verdict:
        return Allow()


class ReplayJournal(MemoryJournal):
    """The journal of a run on a record, in memory."""

    def __init__(self, events: Sequence[JournalEvent], around: Surroundings, joins: Sequence[Steered]) -> None:
        """Begin with the events of the turn so far; `joins` are messages of the record that join the run."""
        super().__init__(events, around)
        self._joins = list(joins)
        self._has_answered = False

    def steering_waits(self, *, by_person: bool = False) -> bool:
        """Return True if a message is to join; none skips a call, whose result is in the record."""
        steps = sum(isinstance(event, ModelResponded) for event in self.events)
        return not by_person and bool(self._joins) and (self._has_answered or self._joins[0].step <= steps)

    async def steer(self, step: int, overtaken: Sequence[ToolReturned]) -> tuple[UserItem, ...]:
        joined = self._joins.pop(0)
        self.events.append(replace(joined, step=step))
        return joined.items

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
        """End the run, unless messages of the record have not joined yet."""
        if reason is EndReason.COMPLETED and self._joins:
            self._has_answered = True
            return False
        return await super().finish(reason, text, response, note, busy_s=busy_s, why=why)
