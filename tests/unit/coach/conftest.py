"""People at different points of their way who talk to the offline coach."""

from collections.abc import Iterator
from datetime import timedelta

import pytest

from agent.coach.changes import CreateSkill, LogPractice
from tests.fakes.offline_conversation import Conversation
from tests.fakes.practice_reader import TODAY, connected_practice


@pytest.fixture
def newcomer() -> Iterator[Conversation]:
    """Ana, with nothing at all."""
    with connected_practice() as practice:
        yield Conversation(practice)


@pytest.fixture
def ana(newcomer: Conversation) -> Conversation:
    """Ana, who has guitar on her list and nothing logged."""
    newcomer.practice.change(CreateSkill("guitar", None, None, 600_000))
    return newcomer


@pytest.fixture
def practised(ana: Conversation) -> Conversation:
    """Ana, with twenty sessions of guitar."""
    for day in range(0, 40, 2):
        ana.practice.change(LogPractice("Guitar", 30, TODAY - timedelta(days=day), "scales"))
    return ana
