"""Encouraging, true numbers: more data, more prose."""

from datetime import timedelta

import pytest

from agent.coach.journey import journey_report
from agent.coach.patterns import patterns_report
from agent.coach.prose import skill_stats_text, stats_text
from agent.coach.reports import Trend
from agent.coach.texts import say_date
from tests.fakes.practice_reader import ANA, TODAY, FakePractice

DAY = timedelta(days=1)


async def stats(practice: FakePractice, language: str = "en", skill: str | None = None) -> str:
    skills, days = await practice.skills(ANA), await practice.days(ANA)
    journey = journey_report(skills, days, TODAY, 0)
    patterns = patterns_report(await practice.sessions(ANA), TODAY)
    if skill is None:
        return stats_text(language, journey, patterns)
    one_journey = next(each for each in journey.skills if each.skill.name == skill)
    return skill_stats_text(language, one_journey, TODAY, patterns)


def practised(*days_ago: int, minutes: int = 30) -> FakePractice:
    practice = FakePractice()
    for ago in days_ago:
        practice.log("Guitar", TODAY - ago * DAY, minutes)
    return practice


class TestBeginning:
    @pytest.mark.parametrize(("language", "begun"), [("en", "you have begun"), ("es", "has empezado")])
    async def test_day_one_reads_like_a_beginning(self, language: str, begun: str):
        text = await stats(practised(0), language)
        assert begun in text
        assert "📘" in text
        for word in ("average", "media", "Best", "Mejor", "Trend", "Tendencia", "hundred", "cien años", " 0 "):
            assert word not in text
        assert len(text.splitlines()) <= 5

    async def test_the_first_week_compares_nothing(self):
        text = await stats(practised(0, 1, 2))
        assert "This week **1 h 30 min**" in text
        assert "**3 days** in a row, your longest so far" in text
        for word in ("last week", "average", "Trend", "Best week"):
            assert word not in text

    def test_there_is_no_trend_before_there_is_something_to_compare(self):
        practice = practised(0, 27)
        assert Trend.TOO_EARLY is patterns_report(practice.logged, TODAY).trend
        assert Trend.IMPROVING is patterns_report([*practice.logged, *practised(28, minutes=1).logged], TODAY).trend


class TestGoal:
    async def test_no_goal_is_over_a_hundred_years_away(self):
        text = await stats(practised(*range(0, 60, 3)), skill="Guitar")
        assert "- 🌱 Seed, 10 h of 100 h to 📘 Apprentice" == text.splitlines()[2]
        assert "On the way to your goal: 10 h of 10\u202f000 h" in text
        assert "year" not in text

    async def test_a_goal_within_a_lifetime_has_a_month(self):
        assert "you reach it around" in await stats(practised(*range(60), minutes=240), skill="Guitar")

    async def test_a_broken_streak_invites(self):
        text = await stats(practised(9, 10))
        assert "Your longest streak was 2 days; a few minutes today begin the next one" in text
        assert "0 days" not in text


class TestDates:
    @pytest.mark.parametrize(
        ("ago", "english", "spanish"),
        [
            (0, "today", "hoy"),
            (1, "yesterday", "ayer"),
            (2, "Monday", "lunes"),
            (7, "25 February", "25 de febrero"),
            (365, "4 March 2025", "4 de marzo de 2025"),
        ],
    )
    def test_dates_are_said_as_people_say_them(self, ago: int, english: str, spanish: str):
        said = [say_date(language, TODAY - ago * DAY, TODAY).lower() for language in ("en", "es")]
        assert [english.lower(), spanish] == said

    async def test_in_a_spanish_sentence_a_date_has_its_article(self):
        text = await stats(practised(2, 9), "es")
        assert "la primera, el 23 de febrero" in text
        assert "Mejor día: el " in text
        assert "la primera, ayer" in await stats(practised(0, 1), "es")

    async def test_once_is_no_habit(self):
        assert "Habits" not in await stats(practised(0, 1, 2))
        assert "Most on Wednesday" in await stats(practised(0, 1, 2, 7))
