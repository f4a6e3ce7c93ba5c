"""What is wanted of a plan."""

import pytest

from agent.coach.plan_data import PlanWish, read_wish
from agent.coach.reader.requests import wants_plan
from tests.fakes.practice_reader import a_skill

SKILLS = (a_skill("Guitar"), a_skill("Piano"), a_skill("Piano duets"))


@pytest.mark.parametrize(
    ("text", "wish"),
    [
        ("/plan", PlanWish(shows=True)),
        ("  /PLAN  ", PlanWish(shows=True)),
        ("/plan new", PlanWish()),
        ("/plan nuevo", PlanWish()),
        ("/plan next", PlanWish(shows=True, is_next=True)),
        ("/plan próxima", PlanWish(shows=True, is_next=True)),
        ("/plan new next", PlanWish(is_next=True)),
        ("/plan piano", PlanWish(skill="Piano")),
        ("/plan gui", PlanWish(skill="Guitar")),
        ("/plan Piano duets", PlanWish(skill="Piano duets")),
        ("/plan next guitar", PlanWish(is_next=True, skill="Guitar")),
        ("/plan less on Monday", PlanWish()),
        ("plan my week", PlanWish()),
        ("plan next week", PlanWish(is_next=True)),
        ("planifica la próxima semana", PlanWish(is_next=True)),
        ("make me a plan", PlanWish()),
    ],
)
def test_the_words_behind_the_command_and_a_wish_in_words(text: str, wish: PlanWish) -> None:
    """Alone the command shows what is kept; everything else makes a plan, of that week and that skill."""
    assert wish == read_wish(text, SKILLS)


@pytest.mark.parametrize("text", ["plan my week", "haz mi plan semanal", "make me a weekly plan, please"])
def test_a_wish_for_a_plan_and_nothing_else(text: str) -> None:
    """It is answered as the command is."""
    assert wants_plan(text)


@pytest.mark.parametrize(
    "text", ["what was my plan this week?", "I plan to travel", "plan my week around my exam", "hi"]
)
def test_a_question_is_no_wish(text: str) -> None:
    """What is kept is not written over by it."""
    assert not wants_plan(text)
