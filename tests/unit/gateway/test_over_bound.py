"""Who writes more than they may is told so, a chat once a minute; each message that was not taken carries a sign."""

from channels.base import Reaction
from gateway.access.config import AccessConfig
from tests.unit.gateway.test_intake import Door, door

__all__ = ["door"]  # a fixture


async def test_a_chat_is_told_once_a_minute_whoever_is_over(door: Door) -> None:
    """Each message that was not accepted has its sign all the same."""
    limits = {"burst_messages": 1, "messages_per_min": 1}
    account = {"direct": "open", "groups": "open", "allow_groups": ["sim:g1"]}
    door.under(AccessConfig.model_validate({"limits": limits, "accounts": {"sim:main": account}}))
    said = [door.spine.message(words, user, "g1") for words in ("one", "two", "three") for user in ("p1", "p2")]
    for message in said:
        await door.receive(message)
    await door.spine.quiet()
    assert 1 == len(door.spine.channel.shown("g1"))
    over = [(message.message_id, Reaction.REFUSED) for message in said[4:]]
    ids = {message.message_id for message in said[4:]}  # the spine's own poll may find the others meanwhile
    assert over == [reaction for reaction in door.spine.channels.reactions if reaction[0] in ids]
