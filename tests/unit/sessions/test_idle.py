"""An idle chat: nothing of its conversation is in memory."""

import gc
from collections.abc import Iterator

import pytest

from gateway.sessions.conversation import Conversation
from gateway.sessions.mailbox import Mailbox
from gateway.sessions.session import Session
from tests.fakes.spine import GatedModel, Spine


@pytest.fixture
def without_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("without_collector")
async def test_an_idle_session_is_freed_without_the_collector(spine: Spine) -> None:
    kept = _count_sessions()
    for words in ("one", "two"):
        await spine.say(words)
        await spine.asked()
        spine.model.give("yes")
        await spine.quiet()
    await spine.say("/help")
    await spine.quiet()
    spine.model = GatedModel()  # the old one keeps every request
    assert kept + 3 == _count_sessions()
    spine.later(seconds=spine.sessions.idle_s + 1)
    spine.router.drop_idle()
    assert kept == _count_sessions()


def _count_sessions() -> int:
    return sum(isinstance(each, Session | Conversation | Mailbox) for each in gc.get_objects())
