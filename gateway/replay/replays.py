"""Replays of recorded turns in a running gateway: as they ran, or with another model, prompt or agent.

A replay writes nothing of a person's and tells no one. Only the usage of its model calls is kept, as no person's.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from agent.context.history import remember
from agent.loop import run_turn
from agent.ports import Principal, Spent, Turn
from agent.read_only_turn import run_read_only
from agent.replay.record import RecordedResults, recorded_calls
from agent.replay.run import RunTurn, run_on_record, with_prompt
from agent.replay.steps import steps_of
from agent.retry_command import run_retry_command
from agent.transcript import (
    Steered,
)
from channels.clocks import Clock
from channels.messages import Address
from gateway.commands.session import RETRY
from gateway.errors import GatewayError
from gateway.operators.process import ReplayedRun
from gateway.operators.replay_models import ReplayWish
from gateway.replay.checks import check_answered, check_kind, model_that_answered, record_gaps, tools_gone
from gateway.sessions.budgets import note_spender
from gateway.sessions.deps import run_scheduled
from gateway.sessions.inbox_rules import CHAT
from gateway.shared import Shared
from gateway.store import journal, recorded, usage
from gateway.store.children import READING
from gateway.store.engine import Connection, Store
from gateway.store.journal import TurnRow
from gateway.store.outbox import files_of
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
        check_kind(turn, tenant.settings.agent.product, RUNS)
        name = wish.agent or turn.agent
        agent = tenant.find_agent(name)
        if agent is None:
            raise GatewayError(f"there is no agent {name!r}; name one by --agent: {', '.join(tenant.agent_names)}")
        calls = recorded_calls(turn.row.id, turn.events)
        gone = tools_gone(agent, calls)
        if gone and wish.agent is None:
            raise GatewayError(
                f"this turn called {', '.join(gone)}, which the agent {name} does not have any more: install it again, "
                "or name an agent by --agent"
            )
        model_name = wish.model or agent.model_name or model_that_answered(turn, tenant.lone_models)
        model = tenant.make_alone(model_name)
        limits = agent.limits.model_copy(update={"deadline_s": wish.wait_s, "working_s": 0.0})
        agent = replace(agent, model=model, model_name=None, limits=limits, clock=lambda: turn.row.started_at)
        if wish.prompt is not None:
            agent = with_prompt(agent, wish.prompt)
        if wish.model is not None:  # else a tool may choose one
            agent = replace(agent, tools=[replace(tool, grants=None) for tool in agent.tools])
        try:
            past, begun = await self._begin(turn, tenant)
            results = RecordedResults(calls)
            around = StoredSurroundings(tenant.store, turn.row, self._shared.clocks.now)
            note_spender(around.counted_as, Principal(REPLAY_USER, tenant.name))
            steered = [event for event in turn.events if isinstance(event, Steered)]
            events = await run_on_record(begun, agent, results, around, steered=steered, run=RUNS[turn.row.kind])
        finally:
            await model.aclose()
        check_answered(events, model_name, wish.wait_s)
        notes = (
            *record_gaps(turn, past),
            *(f"The agent {name} has no tool {tool}, which this turn called." for tool in gone),
        )
        return ReplayedRun(name, model_name, notes, steps_of(turn.row.id, events, results.missing))

    async def _begin(self, turn: StoredTurn, tenant: Tenant) -> tuple[StoredPast, Turn]:
        """Return what stood before a turn, and the turn as it began."""
        row, deps = turn.row, tenant.sessions
        read = partial(recorded.read_past, turn=row, limit=tenant.settings.sessions.history_events)
        past = await tenant.store.read(read)
        known = remember(past.turns, row.user_id, past.summary, row.id)
        principal = deps.principal_of(row, turn.session_key)
        channels = self._shared.channels
        begun = Turn(
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
        return past, begun


class StoredSurroundings:
    """The parts of a replay that the store keeps; the usage of its calls is counted to no person."""

    def __init__(self, store: Store, turn: TurnRow, clock: Clock) -> None:
        self._store = store
        self._turn = turn
        self._clock = clock
        nowhere = Address("system", REPLAY_USER, "")
        self.counted_as = TurnRow(
            new_id(), turn.tenant, REPLAY_USER, REPLAY_USER, REPLAY_USER, nowhere, None, turn.started_at
        )

    async def note_cost(self, response: Spent) -> None:
        """Count a model call."""

        def note(connection: Connection) -> None:
            placed = replace(response, step=usage.step_beside(connection, self.counted_as.id))
            usage.note_call(connection, self.counted_as, placed, self._clock())

        await self._store.commit(note)

    async def whole_result(self, handle: str) -> str | None:
        """Return the whole result of a call of an earlier turn of this conversation and person."""
        turn = self._turn
        look = partial(journal.whole_result, session_id=turn.session_id, user_id=turn.user_id, call_key=handle)
        return await self._store.read(look)

    async def load_pictures(self, ids: Sequence[str]) -> Mapping[str, bytes]:
        """Return the bytes of those of these pictures that are still kept."""
        return await self._store.read(partial(files_of, ids=ids))
