"""A Telegram group with topics: each is a conversation."""

from pathlib import Path

from gateway.testing.model import Reply
from tests.journeys.house import house, said

GROUP = -1001234567890
ALLOWED = f'[access.accounts."telegram:main"]\ngroups = "open"\nallow_groups = ["telegram:{GROUP}"]\n'


async def test_a_mention_in_a_topic_is_answered_in_that_topic(tmp_path: Path) -> None:
    async with house(tmp_path, config=ALLOWED) as here:
        here.sim.add_chat(GROUP, "supergroup", forum=True)
        here.model.answers(Reply("About guitars."), Reply("About chess."))
        bot = f"@{here.sim.world.bot().username}"
        here.sim.say(GROUP, f"{bot} guitars?", person=1, thread=7)
        await here.told(GROUP, "About guitars.")
        here.sim.say(GROUP, "Nobody asked you", person=2, thread=8)
        here.sim.say(GROUP, f"{bot} chess?", person=2, thread=8)
        await here.told(GROUP, "About chess.")
        await here.settled()
        assert [(7, "About guitars."), (8, "About chess.")] == [
            (shown.thread, shown.text) for shown in here.sim.answers(GROUP)
        ]
        assert "guitars" not in "".join(said(here.model.requests[-1].body))
