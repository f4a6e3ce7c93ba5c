"""Levels by minutes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.coach.practice import LEVELS, level_of, next_level

HOURS = 60


class TestLevels:
    @pytest.mark.parametrize(
        ("minutes", "emoji"),
        [
            (0, "🌱"),
            (100 * HOURS - 1, "🌱"),
            (100 * HOURS, "📘"),
            (500 * HOURS - 1, "📘"),
            (500 * HOURS, "⚡"),
            (2_000 * HOURS - 1, "⚡"),
            (2_000 * HOURS, "🔥"),
            (5_000 * HOURS - 1, "🔥"),
            (5_000 * HOURS, "👑"),
            (10_000 * HOURS, "👑"),
            (99_999 * HOURS, "👑"),
        ],
    )
    def test_the_lower_bound_belongs_to_a_level(self, minutes, emoji):
        assert emoji == level_of(minutes).emoji

    @given(st.integers(0, 2_000_000))
    def test_the_next_level_is_the_one_after(self, minutes):
        level, following = level_of(minutes), next_level(minutes)
        assert level.from_minutes <= minutes
        if following is None:
            assert LEVELS[-1] == level
        else:
            assert LEVELS.index(level) + 1 == LEVELS.index(following)
            assert following.from_minutes > minutes
