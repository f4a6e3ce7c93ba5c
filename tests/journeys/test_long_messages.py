"""Very long and very strange messages, both ways."""

from pathlib import Path

from gateway.testing.model import Fault, Reply
from tests.journeys.house import house, said

STRANGE = (
    rb'{"choices": [{"message": {"role": "assistant", "content": "Odd\u0000 characters \udc00 back."},'
    rb' "finish_reason": "stop"}]}'
)


async def test_an_answer_of_many_parts_arrives_whole_and_in_order(tmp_path: Path) -> None:
    """Cover F39."""
    async with house(tmp_path) as here:
        lines = [f"Line {number} of the long answer." for number in range(1, 701)]
        here.model.answers(Reply("\n\n".join(lines), chunk_chars=2000))
        here.sim.say(1, "tell me everything")
        await here.told(1, "Line 700 of")
        await here.settled()
        assert len(here.texts(1)) >= 5
        assert lines == [line for text in here.texts(1) for line in text.split("\n") if line]


async def test_a_message_of_fifty_thousand_characters_is_answered(tmp_path: Path) -> None:
    async with house(tmp_path) as here:
        here.model.answers(Reply("That was long."))
        text = "practice " * 5_556
        here.sim.say(1, text)
        await here.told(1, "That was long.")
        assert len(text.strip()) == len(said(here.model.requests[0].body)[0].strip())


async def test_broken_characters_are_answered_like_any_other(tmp_path: Path) -> None:
    """Cover F40."""
    async with house(tmp_path) as here:
        here.model.answers(Fault(body=STRANGE))
        here.sim.say(1, "a\x00b\ud800c")
        await here.told(1, "characters")
        await here.settled()
        assert "\x00" not in here.texts(1)[0]
        assert ["answered"] == [row["outcome"] for row in await here.rows("SELECT outcome FROM inbox")]


async def test_a_malformed_update_holds_up_no_other(tmp_path: Path) -> None:
    async with house(tmp_path) as here:
        here.sim.say(1, "before")
        here.sim.inject({"message": {"message_id": "no number", "chat": []}})
        here.sim.inject({"edited_message": 17})
        here.sim.say(2, "after")
        await here.told(1, "A short answer.")
        await here.told(2, "A short answer.")
        await here.settled()
        kept = await here.rows("SELECT detail FROM inbox WHERE outcome = 'quarantined'")
        assert 2 == len(kept)
