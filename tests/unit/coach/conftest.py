"""People at different points of their practice who talk to the offline coach."""

from collections.abc import Iterator
from datetime import timedelta

import pytest

from agent.ports import LocalEffect
from gateway.coach import writer
from tests.fakes.offline_conversation import Conversation
from tests.fakes.practice_reader import TODAY, connected_practice


@pytest.fixture
def newcomer() -> Iterator[Conversation]:
    """Return Ana without any skill or session."""
    with connected_practice() as practice:
        yield Conversation(practice)


@pytest.fixture
def ana(newcomer: Conversation) -> Conversation:
    """Return Ana with guitar on her list and nothing logged."""
    newcomer.practice.change(LocalEffect(writer.create_skill, "guitar", None, None, 600_000))
    return newcomer


@pytest.fixture
def practised(ana: Conversation) -> Conversation:
    """Return Ana with twenty sessions of guitar."""
    for day in range(0, 40, 2):
        ana.practice.change(LocalEffect(writer.log, "Guitar", 30, TODAY - timedelta(days=day), "scales"))
    return ana
