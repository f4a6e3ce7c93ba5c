"""Archived skills: in no analysis, but in the export."""

from collections.abc import Iterator
from datetime import timedelta

import pytest

from agent.coach.plan_data import PlanWish, prefetch
from agent.coach.practice import SkillEdit
from agent.coach.tools import CoachTools
from agent.ports import LocalEffect
from agent.tools.base import ToolContext, tools_of
from gateway.coach import writer
from tests.fakes.practice_reader import ANA, NOW, TODAY, ConnectedPractice, connected_practice


@pytest.fixture
def practice() -> Iterator[ConnectedPractice]:
    with connected_practice() as connected:
        connected.change(LocalEffect(writer.log, "Guitar", 30, TODAY))
        connected.change(LocalEffect(writer.log, "Chess", 500, TODAY - timedelta(days=1)))
        connected.change(LocalEffect(writer.edit_skill, "Chess", SkillEdit(archived=True)))
        yield connected


async def call(practice: ConnectedPractice, name: str):
    tool = next(tool for tool in tools_of(CoachTools(practice, writer)) if tool.name == name)
    return await tool.run(ToolContext(ANA, NOW, "t/0/0"), tool.arguments.model_validate({}))


async def test_the_journey_is_without_it(practice: ConnectedPractice) -> None:
    overall = (await call(practice, "get_journey_stats"))["overall"]
    assert (30, 1, 1) == (overall["total_minutes"], overall["current_streak_days"], overall["practice_days"])


async def test_the_patterns_are_without_it(practice: ConnectedPractice) -> None:
    patterns = await call(practice, "analyze_practice_patterns")
    assert 1 == patterns["sessions_analysed"]
    assert [{"week": "2026-03-02", "minutes": 30}] == patterns["weeks"]


async def test_so_is_a_plan(practice: ConnectedPractice) -> None:
    assert {"guitar": 36} == (await prefetch(practice, ANA, NOW, PlanWish())).frame.most_minutes


async def test_skills_have_their_colour_level_and_number_of_sessions(practice: ConnectedPractice) -> None:
    (guitar,) = (await call(practice, "get_user_skills"))["skills"]
    assert ("#4f46e5", 1, "🌱") == (guitar["colour"], guitar["session_count"], guitar["level_emoji"])
