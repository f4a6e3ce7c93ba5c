"""A session's memory between turns, as its requests show it."""

from agent.context.sizes import RequestSizes
from tests.fakes.spine import Spine


async def test_a_request_is_held_for_as_long_as_it_is_though_its_history_was_measured_before(spine: Spine) -> None:
    for words in ("one, and some words more", "two", "three"):
        await spine.say(words)
        await spine.asked()
        spine.model.give("yes, and as many words as that")
        await spine.quiet()
    *_, last = spine.model.requests
    assert last.estimated_tokens is not None
    assert 0 <= RequestSizes().estimate(last) - last.estimated_tokens <= 3
