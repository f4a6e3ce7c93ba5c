"""Replays of recorded turns in a running gateway: as they ran, or with another model, prompt or agent.

A replay writes nothing of a person's and tells no one. Only the usage of its model calls is kept, as no person's.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from agent.context.history import remember
from agent.definition import Agent
from agent.loop import run_turn
from agent.ports import Principal, Turn
from agent.read_only_turn import run_read_only
from agent.replay.record import RecordedResults, recorded_calls
from agent.replay.run import run_on_record, with_prompt
from agent.replay.steps import steps_of
from agent.retry_command import run_retry_command
from agent.transcript import Steered
from channels.messages import Address
from gateway.commands.session import RETRY
from gateway.errors import GatewayError
from gateway.operators.process import ReplayedRun
from gateway.operators.replay_models import ReplayWish
from gateway.replay import checks
from gateway.sessions.budgets import note_spender
from gateway.sessions.deps import RunTurn, run_scheduled
from gateway.sessions.inbox_rules import CHAT
from gateway.sessions.surroundings import StoredSurroundings
from gateway.shared import Shared
from gateway.store import recorded
from gateway.store.children import READING
from gateway.store.journal import TurnRow
from gateway.store.recorded import StoredPast, StoredTurn
from gateway.store.schedules import HEARTBEAT, SCHEDULED
from gateway.store.tables.base import new_id
from gateway.store.usage import REPLAY_USER
from gateway.tenant import Tenant

RUNS: Mapping[str, RunTurn] = {
    CHAT: run_turn,
    READING: run_read_only,
    RETRY: run_retry_command,
    SCHEDULED: run_scheduled,
    HEARTBEAT: run_scheduled,
}
"""Kinds of turns that can run again."""


class Replays:
    """The replays of all tenants' turns."""

    def __init__(self, shared: Shared, tenants: Mapping[str, Tenant]) -> None:
        self._shared = shared
        self._tenants = tenants

    async def run(self, turn: StoredTurn, wish: ReplayWish) -> ReplayedRun:
        """Run a recorded turn again.

        Raises:
            GatewayError: it cannot run again, something that the wish names is unknown, or the model did not answer.
        """
        tenant = self._tenants[turn.row.tenant]
        checks.check_kind(turn, tenant.settings.agent.product, RUNS)
        name = wish.agent or turn.agent
        agent = tenant.find_agent(name)
        if agent is None:
            raise GatewayError(f"there is no agent {name!r}; name one by --agent: {', '.join(tenant.agent_names)}")
        calls = recorded_calls(turn.row.id, turn.events)
        gone = checks.tools_gone(agent, calls)
        if wish.agent is None:
            checks.check_tools(gone, name)
        model_name = wish.model or agent.model_name or checks.model_that_answered(turn, tenant.lone_models)
        read = partial(recorded.read_past, turn=turn.row, limit=tenant.settings.sessions.history_events)
        past = await tenant.store.read(read)
        begun = await self._begin(turn, past, tenant)
        results, model = RecordedResults(calls), tenant.make_alone(model_name)
        try:
            events = await run_on_record(
                begun,
                _prepare(replace(agent, model=model, model_name=None), turn, wish),
                results,
                self._surround(turn, tenant),
                steered=[event for event in turn.events if isinstance(event, Steered)],
                run=RUNS[turn.row.kind],
            )
        finally:
            await model.aclose()
        checks.check_answered(events, model_name, wish.wait_s)
        lacks_account = self._shared.channels.now_loaded(turn.row.address) is None
        notes = (*checks.record_gaps(turn, past, lacks_account=lacks_account), *checks.tool_notes(gone, name))
        return ReplayedRun(name, model_name, notes, steps_of(turn.row.id, events, results.missing))

    async def _begin(self, turn: StoredTurn, past: StoredPast, tenant: Tenant) -> Turn:
        """Return a turn as it began, with the conversation before it."""
        row, deps, channels = turn.row, tenant.sessions, self._shared.channels
        known = remember(past.turns, row.user_id, past.summary, row.id)
        principal = deps.principal_of(row, turn.session_key)
        return Turn(
            row.id,
            principal,
            known.history,
            (turn.events[0],),
            row.started_at,
            "" if channels.now_loaded(row.address) is None else channels.hints(row.address),
            known.starts,
            known.summary,
            memory=await deps.memory_of(turn.session_key).read_memory(principal),
        )

    def _surround(self, turn: StoredTurn, tenant: Tenant) -> StoredSurroundings:
        """Count the calls of a replay as those of a user who is no person, and return what it reads."""
        user, nowhere = REPLAY_USER, Address("system", REPLAY_USER, "")
        counted_as = TurnRow(new_id(), tenant.name, user, user, user, nowhere, None, turn.row.started_at)
        note_spender(counted_as, Principal(user, tenant.name))
        scrub = self._shared.secrets.scrubber.scrub
        return StoredSurroundings(tenant.store, turn.row, counted_as, self._shared.clocks.now, scrub)


def _prepare(agent: Agent, turn: StoredTurn, wish: ReplayWish) -> Agent:
    """Return the agent with the wished prompt, at the time of the turn; a wished model is asked in all steps."""
    limits = agent.limits.model_copy(update={"deadline_s": wish.wait_s, "working_s": 0.0})
    agent = replace(agent, limits=limits, clock=lambda: turn.row.started_at)
    if wish.model is not None:  # else a tool may choose one
        agent = replace(agent, tools=[replace(tool, grants=None) for tool in agent.tools])
    return agent if wish.prompt is None else with_prompt(agent, wish.prompt)
