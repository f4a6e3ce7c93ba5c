"""A plan by rules aims at a little more than what somebody does, however short they have been doing it."""

from datetime import timedelta

import pytest

from agent.coach.patterns import patterns_report
from agent.coach.practice import PracticeSession
from agent.coach.rule_plan import weekly_minutes
from tests.fakes.practice_reader import TODAY


def practised(*entries: tuple[int, int]) -> list[PracticeSession]:
    """Sessions of (days ago, minutes)."""
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
    """A tenth more than the average of the last four weeks, or of as many as there have been since the first entry."""
    assert minutes == weekly_minutes(patterns_report(practised(*entries), TODAY))
