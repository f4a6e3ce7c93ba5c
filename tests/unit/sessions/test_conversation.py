"""What a session keeps between its turns, as the requests of those turns show it."""

from tests.fakes.spine import Spine


async def test_what_was_encoded_stays_with_the_conversation_until_new(spine: Spine) -> None:
    """All requests of one generation share their pieces; the next one begins without any."""
    for words in ("one", "two", "/new", "three"):
        await spine.say(words)
        if words != "/new":
            await spine.asked()
            spine.model.give("yes")
        await spine.quiet()
    one, two, three = (request.pieces for request in spine.model.requests)
    assert one is not None
    assert three is not None
    assert one is two
    assert two is not three
