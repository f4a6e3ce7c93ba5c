"""A plan by rules: a little more than the person does, however short their history."""

from collections import Counter
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pytest

from agent.coach.patterns import patterns_report
from agent.coach.plan_data import PlanWish, Prefetched, plan_week, prefetch
from agent.coach.practice import KINDS_OF_PRACTICE, PlannedSession, PracticeSession
from agent.coach.rule_plan import EXERCISES, plan_sessions, plan_text, weekly_minutes
from agent.coach.texts import say
from tests.fakes.practice_reader import ANA, NOW, TODAY, FakePractice

SUNDAY = date(2026, 3, 8)


def practised(*entries: tuple[int, int]) -> list[PracticeSession]:
    days = ((TODAY - timedelta(days=ago), minutes) for ago, minutes in entries)
    return [PracticeSession(str(at), "s1", minutes, day) for at, (day, minutes) in enumerate(days)]


@pytest.mark.parametrize(
    ("entries", "minutes"),
    [
        pytest.param([(0, 60), (2, 60), (6, 60)], 198, id="begun this week"),
        pytest.param([(0, 60), (2, 60), (7, 60)], 99, id="begun last week"),
        pytest.param([(0, 120), (20, 180)], 110, id="begun three weeks ago"),
        pytest.param([(0, 400), (300, 60)], 110, id="begun long ago"),
        pytest.param([(0, 10)], 60, id="an hour at least"),
    ],
)
def test_a_week_is_measured_by_the_weeks_there_were(entries: list[tuple[int, int]], minutes: int) -> None:
    """The aim is a tenth more than the average of the last four weeks, or of the weeks since the first entry."""
    assert minutes == weekly_minutes(patterns_report(practised(*entries), TODAY))


async def planned(practice: FakePractice, now: datetime = NOW, wish: PlanWish | None = None) -> Prefetched:
    return await prefetch(practice, ANA, now, wish or PlanWish())


def sessions_of(data: Prefetched) -> tuple[PlannedSession, ...]:
    return plan_sessions(data.journey, data.patterns, data.frame)


class TestFit:
    async def test_no_session_is_longer_than_the_longest_and_a_fifth(self):
        practice = FakePractice()
        for day in range(20):
            for _ in range(4):
                practice.log("Guitar", TODAY - timedelta(days=day), 25)
        sessions = sessions_of(await planned(practice))
        assert {30} == {session.minutes for session in sessions}

    async def test_each_skill_is_bounded_by_its_own_longest(self):
        practice = FakePractice()
        for day in range(28):
            practice.log("Guitar", TODAY - timedelta(days=day), 120)
            practice.log("Piano", TODAY - timedelta(days=day), 10)
        practice.goal = 900
        data = await planned(practice, NOW - timedelta(days=2))
        assert {"guitar": 144, "piano": 12} == data.frame.most_minutes
        assert all(each.minutes <= data.frame.most_of(each.skill) for each in sessions_of(data))
        only = await planned(practice, NOW - timedelta(days=2), wish=PlanWish(skill="Piano"))
        assert {10} == {each.minutes for each in sessions_of(only)}

    async def test_a_high_goal_does_not_double_a_week(self):
        """The plan grows by a fifth at most and says that the goal lies further on."""
        practice = FakePractice()
        practice.goal = 300
        for day in range(3, 31, 2):
            practice.log("Guitar", TODAY - timedelta(days=day), 40)
        data = await planned(practice, NOW - timedelta(days=2))
        sessions = sessions_of(data)
        assert 140 <= sum(session.minutes for session in sessions) <= 168
        text = plan_text("en", data.journey, data.patterns, data.frame, sessions)
        assert "Your goal of 5 h a week is further on" in text

    async def test_time_is_split_as_they_practise(self):
        practice = FakePractice()
        for day in range(28):
            practice.log("Guitar" if day % 4 else "Piano", TODAY - timedelta(days=day), 30)
        monday = await planned(practice, NOW - timedelta(days=2))
        names = Counter(session.skill for session in sessions_of(monday))
        assert {"Guitar": 4, "Piano": 1} == names

    async def test_a_skill_has_exercises_of_its_own(self):
        practice = FakePractice()
        practice.log("Spanish", TODAY, 30)
        data = await planned(practice)
        text = plan_text("en", data.journey, data.patterns, data.frame, sessions_of(data))
        assert "speak aloud for five minutes" in text
        assert "passage" not in text

    async def test_a_plan_for_one_skill_has_no_other(self):
        practice = FakePractice()
        practice.log("Guitar", TODAY, 60)
        practice.log("Piano", TODAY, 20)
        data = await planned(practice, wish=PlanWish(skill="Piano"))
        assert {("Piano", 20)} == {(session.skill, session.minutes) for session in sessions_of(data)}

    @pytest.mark.parametrize("kind", KINDS_OF_PRACTICE)
    @pytest.mark.parametrize("language", ["en", "es"])
    def test_every_kind_of_practice_has_its_exercises(self, language: str, kind: str):
        keys = [f"exercise.{kind}_{turn}" for turn in range(EXERCISES)]
        assert [] == [key for key in keys if say(language, key) == key]

    @pytest.mark.parametrize(("ago", "said"), [((0, 1, 2), True), ((3, 4, 5), False), ((0, 3), False)])
    async def test_a_streak_is_told_of_where_there_is_one(self, ago: tuple[int, ...], said: bool):
        practice = FakePractice()
        for days in ago:
            practice.log("Guitar", TODAY - timedelta(days=days), 25)
        data = await planned(practice)
        text = plan_text("es", data.journey, data.patterns, data.frame, sessions_of(data))
        assert said == ("Tu racha es de 3 días." in text)
        assert said == ("Tu racha" in text)


class TestWeek:
    async def test_the_running_week_is_planned_from_today(self):
        practice = FakePractice()
        practice.log("Guitar", TODAY, 30)
        data = await planned(practice)
        assert TODAY == data.frame.days[0]
        assert 5 == len(data.frame.days)
        assert TODAY not in {session.day for session in sessions_of(data)}
        text = plan_text("en", data.journey, data.patterns, data.frame, sessions_of(data))
        assert "- **Wednesday, 4 March**: done for today" in text
        assert "With what is done already" in text

    @pytest.mark.parametrize(("hour", "first"), [(9, SUNDAY), (20, SUNDAY + timedelta(days=1))])
    async def test_on_a_sunday_evening_the_next_week_is_planned(self, hour: int, first: date):
        practice = FakePractice()
        practice.log("Guitar", TODAY, 30)
        data = await planned(practice, datetime(2026, 3, 8, hour, tzinfo=UTC))
        assert first == data.frame.days[0]
        assert (hour == 20) == data.frame.is_next

    def test_the_persons_own_zone_and_week_decide(self):
        now = datetime(2026, 3, 7, 20, tzinfo=UTC)
        assert date(2026, 3, 8) == plan_week(replace(ANA, week_start=6), now)
        assert date(2026, 3, 2) == plan_week(ANA, now)
        assert date(2026, 3, 9) == plan_week(replace(ANA, timezone="Pacific/Auckland"), now + timedelta(days=1))
