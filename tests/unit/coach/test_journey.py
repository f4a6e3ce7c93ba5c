"""Averages, bests and projections."""

from datetime import date, timedelta

from hypothesis import given
from hypothesis import strategies as st

from agent.coach.journey import average_a_week, journey_of, minutes_by_day, project
from agent.coach.practice import DayTotal
from agent.coach.reports import BestReport, GoalReport
from tests.fakes.practice_reader import TODAY

_days = st.dictionaries(st.integers(0, 400), st.integers(1, 1440), max_size=60)


def days_ago(minutes: dict[int, int]) -> dict[date, int]:
    return {TODAY - timedelta(days=day): spent for day, spent in minutes.items()}


def best(day: date, minutes: int) -> BestReport:
    return BestReport(date=day, minutes=minutes)


def goal(minutes: int, left: int, pace: int, weeks: int | None, day: date | None) -> GoalReport:
    return GoalReport(goal_minutes=minutes, minutes_left=left, pace_minutes_a_week=pace, weeks=weeks, date=day)


class TestJourney:
    def test_nothing_logged_is_a_journey_of_zeros(self):
        journey = journey_of({}, TODAY)
        assert (0, 0, None, 0, None, None) == (
            journey.total_minutes,
            journey.practice_days,
            journey.first_day,
            journey.weekly_average_minutes,
            journey.best_day,
            journey.best_week,
        )

    def test_skills_of_one_day_are_summed(self):
        totals = [DayTotal("a", TODAY, 30), DayTotal("b", TODAY, 45)]
        assert {TODAY: 75} == minutes_by_day(totals)

    def test_the_best_week_is_the_persons_own(self):
        days = {date(2026, 3, 1): 60, date(2026, 3, 2): 60}
        assert best(date(2026, 3, 1), 120) == journey_of(days, TODAY, week_start=6).best_week
        assert best(date(2026, 2, 23), 60) == journey_of(days, TODAY, week_start=0).best_week

    def test_the_first_week_is_not_blown_up(self):
        assert 45 == average_a_week({TODAY: 45}, TODAY)

    @given(_days, st.integers(0, 6))
    def test_the_numbers_agree_with_each_other(self, minutes, week_start):
        days = days_ago(minutes)
        journey = journey_of(days, TODAY, week_start)
        assert sum(minutes.values()) == journey.total_minutes
        if journey.best_day is not None and journey.best_week is not None:
            assert journey.best_day.minutes <= journey.best_week.minutes <= journey.total_minutes
            assert week_start == journey.best_week.date.weekday()


class TestProjection:
    def test_the_goal_is_reached_at_the_recent_pace(self):
        """After an hour a day for eight weeks, 44 h of 100 are left: seven weeks at 7 h a week."""
        days = days_ago(dict.fromkeys(range(56), 60))
        assert goal(6000, 44 * 60, 7 * 60, 7, TODAY + timedelta(weeks=7)) == project(days, 6000, TODAY)

    def test_no_practice_lately_names_no_date(self):
        assert goal(600, 540, 0, None, None) == project(days_ago({100: 60}), 600, TODAY)

    def test_a_reached_goal_is_reached_today(self):
        assert goal(60, 0, 60, 0, TODAY) == project(days_ago({0: 60}), 60, TODAY)

    def test_a_minute_a_year_has_no_date(self):
        assert project(days_ago({0: 1}), 6_000_000, TODAY).date is None

    @given(_days, st.integers(1, 6_000_000))
    def test_a_projected_date_is_enough_and_not_too_much(self, minutes, goal):
        found = project(days_ago(minutes), goal, TODAY)
        if found.weeks:
            assert found.weeks * found.pace_minutes_a_week >= found.minutes_left
            assert (found.weeks - 1) * found.pace_minutes_a_week < found.minutes_left
