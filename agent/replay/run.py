"""A turn that runs on recorded results: it changes nothing, asks no person, and only the models that it asks cost."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Protocol

from agent.context.sections import PromptBuilder, Section
from agent.context.sizes import Calibration
from agent.definition import Agent
from agent.fallbacks import ResponseDiscarded
from agent.journal import whole_result
from agent.loop import run_turn
from agent.permission_rules import Mode, TurnPermissions
from agent.ports import LocalEffect, Principal, Spent, Summary, Turn, TurnPorts
from agent.replay.record import RecordedResults
from agent.tools.base import Allow
from agent.tools.guards import EarlyJudgement, NoHooks, ToolUse, Verdict
from agent.transcript import EndReason, JournalEvent, ModelResponded, Steered, ToolReturned, TurnEnded, UserItem
from agent.unattended import NoConsents, NoWatchers

RunTurn = Callable[[Turn, TurnPorts, Agent], Awaitable[EndReason]]


class Surroundings(Protocol):
    """The parts of a run that are not in its record."""

    async def note_cost(self, response: Spent) -> None:
        """Count a model call."""
        ...

    async def whole_result(self, handle: str) -> str | None:
        """Return the whole result of a call of an earlier turn; None if it is gone."""
        ...

    async def load_pictures(self, ids: Sequence[str]) -> Mapping[str, bytes]:
        """Return the bytes of those of these pictures that are still kept."""
        ...


async def run_on_record(
    turn: Turn,
    agent: Agent,
    results: RecordedResults,
    around: Surroundings,
    *,
    steered: Sequence[Steered] = (),
    run: RunTurn = run_turn,
) -> tuple[JournalEvent, ...]:
    """Run a turn on recorded results and return its events; `results.missing` has the calls without a result.

    `steered` are messages that joined the recorded turn: they join at the same step, or at the latest at the answer.
    """
    journal = ReplayJournal(list(turn.events), around, list(steered))
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


@dataclass(slots=True)
class ReplayJournal:
    """The journal of a run in memory."""

    events: list[JournalEvent]
    around: Surroundings
    joins: list[Steered]  # messages that have not joined yet
    has_answered: bool = field(default=False, init=False)

    async def record(self, *events: JournalEvent) -> None:
        """Keep the events, and count those that cost."""
        self.events += events
        for event in events:
            if isinstance(event, ModelResponded | ResponseDiscarded):
                await self.around.note_cost(event)

    async def apply(self, effect: LocalEffect, returned: ToolReturned) -> ToolReturned:
        """Refuse: no tool that answers from a record has an effect."""
        raise RuntimeError(f"a turn on recorded results changes nothing: {effect}")

    def steering_waits(self, *, by_person: bool = False) -> bool:
        """Return True if a message is to join; none skips a call, whose result is in the record."""
        steps = sum(isinstance(event, ModelResponded) for event in self.events)
        return not by_person and bool(self.joins) and (self.has_answered or self.joins[0].step <= steps)

    async def steer(self, step: int, overtaken: Sequence[ToolReturned]) -> tuple[UserItem, ...]:
        joined = self.joins.pop(0)
        self.events.append(replace(joined, step=step))
        return joined.items

    async def keep_summary(self, summary: Summary, responses: Sequence[Spent]) -> None:
        """Count what the notes cost; they are not kept."""
        for response in responses:
            await self.around.note_cost(response)

    async def note_cost(self, response: Spent) -> None:
        await self.around.note_cost(response)

    def scrub(self, text: str) -> str:
        return text

    async def whole_result(self, handle: str) -> str | None:
        """Return the whole result of a call of this run or of an earlier turn."""
        return whole_result(self.events, handle) or await self.around.whole_result(handle)

    async def load_pictures(self, ids: Sequence[str]) -> Mapping[str, bytes]:
        return await self.around.load_pictures(ids)

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
        if reason is EndReason.COMPLETED and self.joins:
            self.has_answered = True
            return False
        await self.record(*([] if response is None else [response]), TurnEnded(reason, text, note, busy_s, why))
        return True
