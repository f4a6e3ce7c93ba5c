"""TenK Coach is this: one agent product, put together of what `agent.coach` says and what is kept for it here."""

from collections.abc import Callable, Mapping
from functools import cache, partial
from pkgutil import resolve_name

from agent.coach.changes import change_content
from agent.coach.plan import run_plan_turn
from agent.coach.prompt import coach_prompt
from agent.coach.prose import tell_result
from agent.coach.texts import COACH_TEXTS
from agent.coach.tools import CoachTools
from agent.config import AgentConfig
from agent.loop import run_turn
from agent.models.offline import OfflineRulesOnDemand
from agent.tools.base import tools_of
from gateway.coach.api import coach_routes
from gateway.coach.commands import PLAN, coach_commands
from gateway.coach.practice import StoredPractice, apply
from gateway.coach.practice_changes import join_practice, part_practice
from gateway.coach.reminder_rows import next_due_at, take_due
from gateway.coach.tables import PRACTICE_TABLES
from gateway.ops.scheduler import Schedule
from gateway.product import AgentProduct
from gateway.sessions.deps import RunTurn
from gateway.store.engine import Store


def _plan_turns(store: Store) -> Mapping[str, RunTurn]:
    return {PLAN: partial(run_plan_turn, reader=StoredPractice(store), run_turn=run_turn)}


def _kind_of_words(text: str) -> str | None:
    """A plan asked for in words is prefetched as one asked for by its command."""
    return PLAN if _asks_for_plan()(text) else None


@cache
def _asks_for_plan() -> Callable[[str], bool]:
    asks: Callable[[str], bool] = resolve_name("agent.coach.intents:asks_for_plan")  # its patterns are for who talks
    return asks


COACH = AgentProduct(
    name="coach",
    title="TenK Coach",
    description="menu.description",
    prompt=coach_prompt,
    tools=lambda store: tools_of(CoachTools(StoredPractice(store))),
    commands=lambda store: coach_commands(StoredPractice(store)),
    turns=_plan_turns,
    routes=coach_routes,
    kind_of_words=_kind_of_words,
    schedule=Schedule(next_due_at, take_due),
    tables=PRACTICE_TABLES,
    join=join_practice,
    part=part_practice,
    apply=apply,
    content=change_content,
    tell=tell_result,
    texts=COACH_TEXTS,
    limits=AgentConfig(max_steps=5, deadline_s=150.0),
    offline=OfflineRulesOnDemand("agent.coach.offline:OfflineCoach"),
)
