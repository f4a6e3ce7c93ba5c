"""A list of steps that ticks in the chat while the model works."""

from pathlib import Path

from gateway.testing.model import Call, Reply
from tests.journeys.house import house

WORKS_S = 2.5  # longer than two edits of a message are apart


def listed(*states: str, delay_s: float = 0.0) -> Reply:
    steps = ", ".join(f'{{"text": "step {number}", "state": "{state}"}}' for number, state in enumerate(states))
    return Reply(calls=(Call("todo", f'{{"steps": [{steps}]}}'),), delay_s=delay_s)


async def test_a_list_ticks_in_one_message_that_becomes_the_answer(tmp_path: Path) -> None:
    async with house(tmp_path, config="[tools]\ntodo = true\n") as here:
        ticked = listed("done", "doing", delay_s=WORKS_S)
        here.model.answers(listed("doing", "open"), ticked, Reply("All done.", delay_s=WORKS_S))
        here.sim.say(1, "tidy up")
        first = await here.told(1, "▸ step 0\n• ☐ step 1")
        await here.told(1, "☑ step 0\n• ▸ step 1")
        last = await here.told(1, "All done.")
        assert (first.message_id, 1) == (last.message_id, len(here.texts(1)))
