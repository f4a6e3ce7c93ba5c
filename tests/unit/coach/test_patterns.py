"""Habits in the last sessions."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.coach.patterns import Gaps, consistency_of, gaps_of, patterns_report, trend_of
from agent.coach.practice import PracticeSession
from agent.coach.reports import Consistency, Trend
from tests.fakes.practice_reader import TODAY


def sessions(*ago_and_minutes: tuple[int, int]) -> list[PracticeSession]:
    return [
        PracticeSession(str(at), "guitar", minutes, TODAY - timedelta(days=day))
        for at, (day, minutes) in enumerate(ago_and_minutes)
    ]


class TestTrend:
    @pytest.mark.parametrize(
        ("recent", "before", "trend"),
        [
            (111, 100, Trend.IMPROVING),
            (110, 100, Trend.STABLE),
            (100, 100, Trend.STABLE),
            (90, 100, Trend.STABLE),
            (89, 100, Trend.DECLINING),
            (0, 1, Trend.DECLINING),
            (1, 0, Trend.IMPROVING),
            (0, 0, Trend.STABLE),
        ],
    )
    def test_a_tenth_more_or_less_is_stable(self, recent, before, trend):
        assert trend == trend_of(recent, before)

    def test_four_weeks_are_28_days_with_today(self):
        patterns = patterns_report(sessions((0, 1), (27, 10), (28, 100), (55, 1000), (56, 1440)), TODAY)
        assert (11, 1100) == (patterns.last_4_weeks_minutes, patterns.the_4_before_minutes)

    def test_both_averages_stand_beside_the_trend(self):
        patterns = patterns_report(sessions((0, 90), (27, 310), (28, 200), (55, 1000)), TODAY)
        assert (100, 300) == (patterns.recent_weekly_average_minutes, patterns.older_weekly_average_minutes)
        early = patterns_report(sessions((0, 90), (8, 110)), TODAY)
        assert (100, 0) == (early.recent_weekly_average_minutes, early.older_weekly_average_minutes)


class TestConsistency:
    @pytest.mark.parametrize(
        ("days", "consistency"),
        [
            (30, Consistency.EXCELLENT),
            (25, Consistency.EXCELLENT),
            (24, Consistency.GOOD),
            (18, Consistency.GOOD),
            (17, Consistency.REGULAR),
            (10, Consistency.REGULAR),
            (9, Consistency.LOW),
            (0, Consistency.LOW),
        ],
    )
    def test_active_days_have_a_word(self, days, consistency):
        assert consistency == consistency_of(days)

    def test_thirty_days_are_counted_with_today(self):
        assert 2 == patterns_report(sessions((0, 5), (0, 5), (29, 5), (30, 5)), TODAY).active_days_of_30


class TestGaps:
    def test_no_practice_has_no_gaps(self):
        assert Gaps(0, 0.0, 0, 0) == gaps_of(set(), TODAY)

    def test_gaps_are_days_without_practice(self):
        days = {TODAY - timedelta(days=day) for day in (10, 8, 2)}
        assert Gaps(5, 2.3, 1, 1) == gaps_of(days, TODAY)

    def test_three_days_are_not_over_three(self):
        days = {TODAY - timedelta(days=day) for day in (4, 0)}
        assert Gaps(3, 3.0, 0, 0) == gaps_of(days, TODAY)

    def test_today_is_not_missed_yet(self):
        assert 0 == gaps_of({TODAY - timedelta(days=1)}, TODAY).current_days

    @given(st.sets(st.integers(0, 200), min_size=1))
    def test_gaps_and_days_make_up_the_time(self, ago):
        days = {TODAY - timedelta(days=day) for day in ago}
        missing = [day for day in range(1, max(ago)) if day not in ago]
        gaps = gaps_of(days, TODAY)
        assert gaps.longest_days <= len(missing)
        assert (gaps.average_days > 0) == bool(missing)
        assert gaps.current_days == max(min(ago) - 1, 0)


class TestDays:
    def test_minutes_fall_on_their_weekday(self):
        patterns = patterns_report(sessions((0, 10), (7, 20), (1, 5)), TODAY)
        assert (0, 5, 30, 0, 0, 0, 0) == patterns.minutes_by_weekday
        assert (0, 1, 2, 0, 0, 0, 0) == patterns.sessions_by_weekday
