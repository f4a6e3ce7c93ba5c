"""Findings by rules."""

from datetime import timedelta

from agent.coach.journey import journey_report
from agent.coach.patterns import patterns_report
from agent.coach.practice import InsightType
from agent.coach.rule_plan import insights_of
from tests.fakes.practice_reader import ANA, TODAY, FakePractice


async def found(practice: FakePractice, language: str = "en"):
    skills, days = await practice.skills(ANA), await practice.days(ANA)
    journey = journey_report(skills, days, TODAY, 0)
    insights = insights_of(language, journey, patterns_report(await practice.sessions(ANA), TODAY))
    return {insight.type: insight for insight in reversed(insights)}


class TestInsights:
    async def test_nothing_logged_tells_nothing(self):
        assert {} == await found(FakePractice())

    async def test_a_streak_is_told_from_three_days(self):
        practice = FakePractice()
        for day in range(3):
            practice.log("Guitar", TODAY - timedelta(days=day), 30)
        assert "3 days in a row" == (await found(practice))[InsightType.STREAK].title
        assert "3 días seguidos" == (await found(practice, "es"))[InsightType.STREAK].title

    async def test_more_is_progress_and_less_a_plateau(self):
        practice = FakePractice()
        practice.log("Guitar", TODAY - timedelta(days=30), 60)
        practice.log("Guitar", TODAY - timedelta(days=3), 120)
        assert (
            "2 h in the last four weeks against 1 h in the four before."
            == (await found(practice))[InsightType.PROGRESS].description
        )
        practice.log("Guitar", TODAY - timedelta(days=31), 1000)
        assert InsightType.PLATEAU in await found(practice)

    async def test_a_level_just_reached_is_a_milestone(self):
        practice = FakePractice()
        for day in range(10):
            practice.log("Guitar", TODAY - timedelta(days=100 + day), 595)
        practice.log("Guitar", TODAY, 60)
        milestone = (await found(practice))[InsightType.MILESTONE]
        assert ("📘 Apprentice in Guitar", "guitar") == (milestone.title, milestone.skill_id)

    async def test_a_near_level_is_a_milestone(self):
        practice = FakePractice()
        for day in range(10):
            practice.log("Guitar", TODAY - timedelta(days=100 + day), 560)
        assert "6 h 40 min are left" in (await found(practice))[InsightType.MILESTONE].description

    async def test_one_long_break_is_no_finding_but_two_are_a_suggestion(self):
        practice = FakePractice()
        practice.log("Guitar", TODAY - timedelta(days=12), 30)
        practice.log("Guitar", TODAY, 30)
        assert InsightType.SUGGESTION not in await found(practice)
        practice.log("Guitar", TODAY - timedelta(days=5), 30)
        practice.log("Guitar", TODAY - timedelta(days=17), 30)
        assert "the longest was 6 days" in (await found(practice))[InsightType.SUGGESTION].description
