"""TenK Coach is this: one agent product, put together of what `agent.coach` says and what is kept for it here."""

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType

from agent.coach.changes import change_content
from agent.coach.offline import OfflineCoach
from agent.coach.plan import run_plan_turn
from agent.coach.prompt import coach_prompt
from agent.coach.tools import CoachTools
from agent.config import AgentConfig
from agent.loop import run_turn
from agent.tools.base import tools_of
from gateway.coach.commands import PLAN, coach_commands
from gateway.coach.practice import StoredPractice, apply
from gateway.coach.tables import PRACTICE_TABLES
from gateway.product import AgentProduct
from gateway.sessions.deps import RunTurn
from gateway.store.engine import Store

TEXTS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "en": {
            "start": "Hello{name}! I am **TenK Coach**. I help you put 10,000 hours of deliberate practice into a "
            "skill.\n\n- Log practice: `/log 45m guitar scales`, or just write “45m guitar scales”\n"
            "- See how it goes: /stats\n- Get a plan for your week: /plan\n\n"
            "Your days are counted in the zone {timezone}; /timezone changes it. /help lists everything.",
            "help_tail": "Everything else goes to the coach: write as you would to a person. What you send while I "
            "answer, I read before I go on.",
            "new": "A new conversation. I have put the old one away; your practice data is all still there.",
            "timezone_set": "Your zone is **{timezone}** now; it is {time} there. Practice already logged keeps its "
            "date.",
        },
        "es": {
            "start": "¡Hola{name}! Soy **TenK Coach**. Te ayudo a poner 10.000 horas de práctica deliberada en una "
            "habilidad.\n\n- Anota práctica: `/log 45m guitarra escalas`, o escribe sin más «45m guitarra escalas»\n"
            "- Mira cómo vas: /stats\n- Pide un plan para tu semana: /plan\n\n"
            "Tus días se cuentan en la zona {timezone}; /timezone la cambia. /help lo muestra todo.",
            "help_tail": "Todo lo demás va al entrenador: escribe como a una persona. Lo que mandes mientras respondo, "
            "lo leo antes de seguir.",
            "new": "Conversación nueva. La anterior queda guardada; tus datos de práctica siguen todos ahí.",
            "timezone_set": "Tu zona es ahora **{timezone}**; allí son las {time}. La práctica ya anotada conserva su "
            "fecha.",
        },
    }
)
"""What commands that every agent has say of this one."""


def _plan_turns(store: Store) -> Mapping[str, RunTurn]:
    return {PLAN: partial(run_plan_turn, reader=StoredPractice(store), run_turn=run_turn)}


COACH = AgentProduct(
    name="coach",
    title="TenK Coach",
    description="Helps you put 10,000 hours of deliberate practice into a skill",
    talk={"en": "Talk with your coach", "es": "Habla con tu coach"},
    prompt=coach_prompt,
    tools=lambda store: tools_of(CoachTools(StoredPractice(store))),
    commands=lambda store: coach_commands(StoredPractice(store)),
    turns=_plan_turns,
    tables=PRACTICE_TABLES,
    apply=apply,
    content=change_content,
    texts=TEXTS,
    limits=AgentConfig(max_steps=5, deadline_s=150.0),
    offline=OfflineCoach(),
)
