"""Conditions of a plan: parsed from words, kept, and respected by plans of rules and of models."""

from datetime import date, datetime

import pytest

from agent.coach.plan_conditions import NO_CONDITIONS, PlanConditions, conditions_text, read_conditions
from agent.coach.plan_data import PlanWish, prefetch, read_wish
from agent.coach.practice import WeeklyPlan
from agent.coach.reader.requests import unread_wish, wants_plan
from agent.coach.rule_plan import plan_sessions, plan_text
from agent.coach.texts import detect
from agent.ports import LocalEffect
from gateway.coach import writer
from tests.fakes.practice_reader import ANA, NOW, TODAY, FakePractice, connected_practice


@pytest.mark.parametrize(
    ("text", "off", "most"),
    [
        ("not on Wednesday, I have 30 minutes a day", (2,), 30),
        ("plan my week, not on Wednesdays and Fridays", (2, 4), None),
        ("only weekends", (0, 1, 2, 3, 4), None),
        ("weekdays only, at most half an hour", (5, 6), 30),
        ("I can't on Monday or Thursday", (0, 3), None),
        ("Wednesdays off", (2,), None),
        ("any day but Sunday", (6,), None),
        ("20 to 30 minutes a day, not monday, tuesday, and sunday", (0, 1, 6), 30),
        ("no los miércoles, 30 minutos al día", (2,), 30),
        ("solo lunes y jueves, media hora al día", (1, 2, 4, 5, 6), 30),
        ("los domingos no puedo", (6,), None),
        ("menos el viernes y los fines de semana", (4, 5, 6), None),
        ("how was Wednesday? 30 min guitar", (), None),
        ("everything on Monday", (), None),
        ("not on Sunday and only 30 minutes on Wednesday", (6,), None),
        ("solo 30 minutos el miércoles", (), None),
        ("only on weekends, at least 3 hours a day", (0, 1, 2, 3, 4), None),
        ("3 days, not the weekend, 2 hours each", (5, 6), None),
        ("al menos 3 horas al día", (), None),
    ],
)
def test_conditions_are_read(text: str, off: tuple[int, ...], most: int | None) -> None:
    assert PlanConditions(off, most) == read_conditions(text).conditions


@pytest.mark.parametrize(
    "text",
    [
        "make me a plan for next week",
        "hazme un plan para la próxima semana",
        "plan my week, not on Wednesday, I have 30 minutes a day",
        "hazme un plan, los miércoles no, tengo 30 minutos al día",
        "make me a plan with at most 20 min a day please",
    ],
)
def test_a_wish_with_conditions_asks_for_a_plan(text: str) -> None:
    assert wants_plan(text)


@pytest.mark.parametrize(
    "text", ["I don't plan to practise on Wednesday", "the plan was not on Wednesday but I did 30 min"]
)
def test_talk_about_days_asks_for_no_plan(text: str) -> None:
    assert not wants_plan(text)


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("nor on Sundays", PlanConditions((2, 6), 30)),
        ("not on Sundays", PlanConditions((2, 6), 30)),
        ("only weekends", PlanConditions((0, 1, 2, 3, 4), 30)),
        ("any day but Sunday", PlanConditions((6,))),
        ("at most 45 min", PlanConditions((2,), 45)),
        ("any day", NO_CONDITIONS),
        ("new", PlanConditions((2,), 30)),
    ],
)
def test_a_further_condition_forgets_none_of_the_earlier(text: str, after: PlanConditions) -> None:
    assert after == read_conditions(text).over(PlanConditions((2,), 30))


@pytest.mark.parametrize("language", ["en", "es"])
def test_the_offline_coach_offers_to_plan_by_a_condition_and_its_button_says_the_same(language: str) -> None:
    conditions = PlanConditions((0, 4), 30)
    words = f"new {conditions_text(language, conditions)}"
    assert conditions == read_conditions(f"/plan {words}").conditions
    assert "" == unread_wish(read_wish(f"/plan {words}", ()).rest, ())
    assert "" == unread_wish(read_wish(f"/plan violin {words}", ()).rest, ())
    assert language == detect(words)


@pytest.mark.parametrize(
    ("text", "unread"),
    [
        ("/plan next week 3 days, not the weekend, 2 hours each", "3 days … 2 hours each"),
        ("/plan next not on Wednesday, 30 minutes a day please", ""),
        ("/plan new guitar", ""),
        ("make me a plan for next week", ""),
    ],
)
def test_what_a_plan_cannot_keep_is_known(text: str, unread: str) -> None:
    assert unread == unread_wish(read_wish(text, ()).rest, ("guitar",))


def a_regular() -> FakePractice:
    practice = FakePractice()
    for ago in range(1, 28):
        practice.log("Guitar", date.fromordinal(TODAY.toordinal() - ago), 60)
    return practice


async def days_and_minutes(practice: FakePractice, wish: PlanWish, now: datetime = NOW) -> tuple[set[int], int]:
    data = await prefetch(practice, ANA, now, wish)
    sessions = plan_sessions(data.journey, data.patterns, data.frame)
    return {session.day.weekday() for session in sessions}, max(session.minutes for session in sessions)


async def test_a_plan_of_rules_keeps_the_conditions_of_the_wish_and_those_kept_before() -> None:
    practice = a_regular()
    practice.conditions = PlanConditions(weekdays_off=(5,))
    weekdays, longest = await days_and_minutes(practice, read_wish("/plan next at most 30 min a day", ()))
    assert 5 not in weekdays
    assert longest <= 30
    weekdays, longest = await days_and_minutes(practice, read_wish("/plan next any day but Monday", ()))
    assert 0 not in weekdays
    assert longest > 30


async def test_a_week_without_a_free_day_left_is_planned_for_the_next() -> None:
    left = tuple(range(TODAY.weekday(), 7))
    practice = a_regular()
    practice.conditions = PlanConditions(weekdays_off=left)
    data = await prefetch(practice, ANA, NOW, PlanWish())
    assert data.frame.is_next
    assert data.frame.free_days


async def test_seven_days_off_are_said() -> None:
    practice = a_regular()
    practice.conditions = PlanConditions(weekdays_off=tuple(range(7)))
    data = await prefetch(practice, ANA, NOW, PlanWish())
    sessions = plan_sessions(data.journey, data.patterns, data.frame)
    assert "ruled out all seven days" in plan_text("en", data.journey, data.patterns, data.frame, sessions)


async def test_conditions_are_kept_with_the_plan_and_lifted() -> None:
    conditions = PlanConditions((2,), 30)
    with connected_practice() as practice:
        practice.change(LocalEffect(writer.save_plan, WeeklyPlan(TODAY, "Plan", conditions=conditions)))
        assert conditions == await practice.plan_conditions(ANA)
        practice.change(LocalEffect(writer.save_plan, WeeklyPlan(TODAY, "Another")))
        assert conditions == await practice.plan_conditions(ANA)
        practice.change(LocalEffect(writer.set_plan_conditions, NO_CONDITIONS))
        assert NO_CONDITIONS == await practice.plan_conditions(ANA)


async def test_the_reason_for_less_than_the_goal_is_true() -> None:
    practice = a_regular()
    practice.goal = 6 * 60
    practice.conditions = PlanConditions(most_day_minutes=30)
    data = await prefetch(practice, ANA, NOW, PlanWish(is_next=True))
    text = plan_text(
        "en", data.journey, data.patterns, data.frame, plan_sessions(data.journey, data.patterns, data.frame)
    )
    assert "With your conditions" in text
    assert "a fifth more" not in text


async def test_a_person_who_practises_almost_daily_is_not_told_about_breaks() -> None:
    practice = a_regular()
    practice.log("Guitar", date.fromordinal(TODAY.toordinal() - 60), 60)
    data = await prefetch(practice, ANA, NOW, PlanWish(is_next=True))
    assert data.patterns.gaps_over_3_days
    text = plan_text(
        "en", data.journey, data.patterns, data.frame, plan_sessions(data.journey, data.patterns, data.frame)
    )
    assert "break" not in text


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "not on Tuesdays and Wednesdays; at most 30 min a day"),
        ("es", "no los martes y los miércoles; como mucho 30 min al día"),
    ],
)
def test_conditions_read_as_a_person_says_them(language: str, text: str) -> None:
    assert text == conditions_text(language, PlanConditions((1, 2), 30))
