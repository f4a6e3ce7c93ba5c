"""A slow local model: the person waits, and gets the answer."""

from pathlib import Path

from gateway.testing.model import Reply
from tests.journeys.house import house

SLOW = """
[agent]
deadline_s = 0.4
"""


async def test_a_slow_prompt_is_waited_for(tmp_path: Path) -> None:
    async with house(tmp_path, config=SLOW) as here:
        here.model.answers(Reply("Here it is.", delay_s=1.0))
        here.sim.say(1, "how do I practise?")
        await here.told(1, "Here it is.")
        assert 1 == len(here.model.requests) == len(here.texts(1))
