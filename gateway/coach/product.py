"""The description of TenK Coach as an agent product."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from agent.coach.plan import run_plan_turn
from agent.coach.prompt import coach_prompt
from agent.coach.prose import tell_result
from agent.coach.reader.reader import OfflineReader
from agent.coach.reader.requests import spoken_language, wants_plan
from agent.coach.texts import COACH_TEXTS
from agent.coach.tools import CoachTools
from agent.config import AgentConfig
from agent.loop import run_turn
from agent.tools.base import Tool, tools_of
from gateway.coach import check_ins, writer
from gateway.coach.api import coach_routes
from gateway.coach.check_ins import PLAN
from gateway.coach.commands import coach_commands
from gateway.coach.practice import StoredPractice
from gateway.coach.tables import PRACTICE_TABLES
from gateway.ops.scheduler import Schedule
from gateway.product import AgentProduct
from gateway.sessions.deps import RunTurn
from gateway.store.engine import Store


def _plan_turns(store: Store) -> Mapping[str, RunTurn]:
    return {PLAN: partial(run_plan_turn, reader=StoredPractice(store), writer=writer, run_turn=run_turn)}


def _coach_tools(store: Store) -> Sequence[Tool]:
    """Return the tools; their results hold the person's own practice."""
    return tuple(replace(each, own_words=True) for each in tools_of(CoachTools(StoredPractice(store), writer)))


def _kind_of_words(text: str) -> str | None:
    """Return the kind of turn that prefetches a plan, if the words ask for one."""
    return PLAN if wants_plan(text) else None


COACH = AgentProduct(
    name="coach",
    title="TenK Coach",
    description="menu.description",
    prompt=coach_prompt,
    tools=_coach_tools,
    commands=lambda store: coach_commands(StoredPractice(store)),
    turns=_plan_turns,
    routes=coach_routes,
    apply_once=writer.once,
    kind_of_words=_kind_of_words,
    language_of_words=spoken_language,
    schedule=Schedule(lambda connection, _now: check_ins.next_due_at(connection), check_ins.take_due),
    tables=PRACTICE_TABLES,
    tell=tell_result,
    texts=COACH_TEXTS,
    limits=AgentConfig(max_steps=5, deadline_s=150.0),
    offline=OfflineReader(),
)
