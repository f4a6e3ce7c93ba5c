"""A tool's progress in the person's language: in its own words, the agent's, or by its name."""

import pytest

from agent.coach.texts import COACH_TEXTS
from agent.turn_progress import ToolProgress, ToolStarted
from gateway.delivery.live_answer import MAX_CHARS, tool_words
from gateway.texts import HARNESS

COACH = COACH_TEXTS.over(HARNESS)


@pytest.mark.parametrize(
    ("locale", "said"),
    [("en", "Reading your last 30 days"), ("es-MX", "Leo tus últimos 30 días"), (None, "Reading your last 30 days")],
)
def test_a_tool_that_says_what_it_does_is_quoted(locale, said):
    event = ToolProgress("get_practice_sessions", "t/0/0", "tool.reading_days", {"days": 30})
    assert said == tool_words(COACH, locale, event)


def test_a_tool_without_words_is_called_by_its_name():
    assert "Working: smell flowers" == tool_words(HARNESS, "en", ToolStarted("smell_flowers"))
    assert MAX_CHARS == len(tool_words(HARNESS, "es", ToolStarted("x" * 500)))
