"""Days in a row."""

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from agent.coach.journey import Streaks, streaks_of
from tests.fakes.practice_reader import TODAY


def ago(*days: int):
    return [TODAY - timedelta(days=day) for day in days]


class TestStreaks:
    def test_nothing_practised_is_no_streak(self):
        assert Streaks(0, 0, False) == streaks_of([], TODAY)

    def test_a_today_without_practice_yet_does_not_break(self):
        assert Streaks(2, 2, False) == streaks_of(ago(1, 2), TODAY)

    def test_a_missed_yesterday_breaks(self):
        assert Streaks(0, 3, False) == streaks_of(ago(2, 3, 4), TODAY)

    def test_a_day_counts_once(self):
        assert Streaks(2, 2, True) == streaks_of(ago(0, 0, 1), TODAY)

    def test_who_flies_west_keeps_the_streak(self):
        assert Streaks(3, 3, True) == streaks_of(ago(-1, 0, 1), TODAY)

    @given(st.sets(st.integers(0, 60)))
    def test_the_current_streak_is_counted_by_hand(self, days):
        """The check walks back a day at a time from today or yesterday."""
        at = 0 if 0 in days else 1
        walked = 0
        while at in days:
            walked, at = walked + 1, at + 1
        streaks = streaks_of(ago(*days), TODAY)
        assert walked == streaks.current_days
        assert walked <= streaks.longest_days <= len(days)

    @given(st.sets(st.integers(0, 60), min_size=1), st.integers(0, 60))
    def test_practising_more_never_shortens(self, days, another):
        before, after = streaks_of(ago(*days), TODAY), streaks_of(ago(*days, another), TODAY)
        assert before.current_days <= after.current_days
        assert before.longest_days <= after.longest_days
