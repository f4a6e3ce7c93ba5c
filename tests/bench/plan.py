"""The weekly plan by prefetch beside the loop, with the same delay a model call and the same practice in a real store.

The loop's cost follows from the model: one that asks for one tool a response needs a call for each read, one to store
the plan and one to answer; one that asks for all reads at once needs three. Both are measured. The journal is kept in
memory: commits would add a millisecond or two to each call.
"""

import json
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from statistics import median

from sqlalchemy import Connection

from agent.coach.plan import run_plan_turn
from agent.coach.prompt import coach_prompt
from agent.coach.tools import CoachTools
from agent.loop import Agent, run_turn
from agent.models.scripted import Says, ScriptedModel, calls
from agent.ports import Change, LocalEffect, Principal, Turn, TurnPorts
from agent.tools.base import tools_of
from agent.tools.results import success_result
from agent.transcript import (
    EndReason,
    JournalEvent,
    ModelResponded,
    ToolReturned,
    TurnStarted,
    UserItem,
)
from channels.messages import DEFAULT_TENANT
from gateway.coach import writer
from gateway.coach.practice import StoredPractice
from gateway.coach.product import COACH
from gateway.coach.tables import PRACTICE_TABLES
from gateway.store.agent_tables import bring_up
from gateway.store.engine import Store
from gateway.store.people import Newcomer, enrol
from gateway.texts import HARNESS
from tests.bench.world import LONG_ANSWER
from tests.fakes.turn_port import FakeTurnPort

DELAY_S = 0.3
"""Delay of every model call."""

ROUNDS = 5
DAYS = 60
"""Days of practice in two skills."""

READS = (("get_user_skills", "{}"), ("get_journey_stats", "{}"), ("analyze_practice_patterns", "{}"))
"""Reads of the prefetch, as tools."""

SAVE = ("save_weekly_plan", json.dumps({"content": LONG_ANSWER}))

RunTurn = Callable[[Turn, "PlanPort", Agent], Awaitable[EndReason]]


class PlanPort(FakeTurnPort):
    """The ports of one undisturbed turn: local effects go to the store, the journal is dropped."""

    def __init__(self, store: Store, principal: Principal) -> None:
        super().__init__()
        self.plan = ""
        self.effects = 0
        self._store = store
        self.principal = principal

    async def record(self, *events: JournalEvent) -> None:
        pass

    async def apply(self, effect: LocalEffect, returned: ToolReturned) -> ToolReturned:
        self.effects += 1
        job = partial(_changed, self.principal, effect, returned.call_key)
        return replace(returned, content=await self._store.commit(job))

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
        """Keep the answer."""
        self.plan = text
        return True


def _changed(principal: Principal, effect: LocalEffect, key: str, tx: Connection) -> str:
    return success_result(effect.run(Change(tx, principal, key, datetime.now(UTC))))


async def run() -> dict[str, object]:
    """Print medians of a few plans each way."""
    with tempfile.TemporaryDirectory(prefix="tenk-bench-") as directory:
        store = await Store.open(f"sqlite:///{Path(directory) / 'tenk.db'}")
        try:
            await store.commit(bring_up, agent="coach", tables=PRACTICE_TABLES)
            return await _compared(store, await store.commit(_practised))
        finally:
            await store.aclose()


async def _compared(store: Store, principal: Principal) -> dict[str, object]:
    reader = StoredPractice(store)

    async def prefetched(turn: Turn, ports: TurnPorts, agent: Agent) -> EndReason:
        return await run_plan_turn(turn, ports, agent, reader, writer, run_turn)

    ways: tuple[tuple[str, RunTurn, tuple[Says, ...]], ...] = (
        ("prefetch", prefetched, (Says(LONG_ANSWER),)),
        ("loop, one tool a response", run_turn, (*(calls(read) for read in READS), calls(SAVE), Says(LONG_ANSWER))),
        ("loop, all reads at once", run_turn, (calls(*READS), calls(SAVE), Says(LONG_ANSWER))),
    )
    print(f"\nweekly plan (/plan), every model call takes {DELAY_S:g} s; medians of {ROUNDS}")
    print(f"  {'':28}{'seconds':>9}{'model calls':>13}{'against prefetch':>18}")
    results: dict[str, object] = {}
    short_s = 0.0
    for name, way, script in ways:
        took: list[float] = []
        for number in range(ROUNDS):
            seconds, asked = await _one(way, script, PlanPort(store, principal), reader, f"bench-{name}-{number}")
            took.append(seconds)
        middle_s = median(took)
        short_s = short_s or middle_s
        print(f"  {name:28}{middle_s:9.3f}{asked:13}{middle_s / short_s:17.2f}x")
        results[name] = {"s": round(middle_s, 4), "model_calls": asked, "ratio": round(middle_s / short_s, 2)}
    print("  goal: the loop takes at least 4.7 times as long; the ratio is that of the model calls and little else")
    return results


async def _one(
    way: RunTurn, script: tuple[Says, ...], port: PlanPort, reader: StoredPractice, turn_id: str
) -> tuple[float, int]:
    model = ScriptedModel([replace(says, delay_s=DELAY_S) for says in script])
    tools = tools_of(CoachTools(reader, writer))
    agent = Agent(model=model, prompt=coach_prompt, texts=HARNESS, tools=tools, limits=COACH.limits)
    turn = Turn(turn_id, port.principal, (), (TurnStarted((UserItem("/plan new"),)),), datetime.now(UTC))
    begun_s = time.monotonic()
    ended = await way(turn, port.ports, agent)
    took_s = time.monotonic() - begun_s
    if (ended, port.effects, len(model.requests)) != (EndReason.COMPLETED, 1, len(script)):
        raise RuntimeError(f"no plan: {ended}, {port.effects} effects, {len(model.requests)} calls: {port.plan}")
    return took_s, len(model.requests)


def _practised(connection: Connection) -> Principal:
    now = datetime.now(UTC)
    newcomer = Newcomer(DEFAULT_TENANT, "bench:ana", "", "Ana", "member", "cli", "en")
    person = enrol(connection, newcomer, now)
    principal = Principal(person.user_id, person.tenant, "Ana", locale="en")
    for ago in range(DAYS):
        for skill in ("Guitar", "Piano"):
            change = Change(connection, principal, f"bench:{skill}:{ago}", now)
            writer.log(change, skill, 30 + ago % 20, (now - timedelta(days=ago)).date())
    return principal
