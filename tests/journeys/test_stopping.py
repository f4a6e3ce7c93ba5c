"""/stop and /new."""

from pathlib import Path

from gateway.testing.model import Fault, Reply
from tests.journeys.house import house, said, slow


async def test_stop_ends_the_answer_under_way_and_closes_its_placeholder(tmp_path: Path) -> None:
    """Cover F55."""
    async with house(tmp_path) as here:
        here.model.answers(slow("word " * 200, 8.0))
        here.sim.say(1, "tell me everything")
        await here.told(1, "word")
        here.sim.say(1, "/stop")
        await here.told(1, "Stopped")
        await here.settled()
        assert 0 == sum(text.endswith("…") for text in here.texts(1))
        here.model.answers(Reply("Here again."))
        here.sim.say(1, "still there?")
        await here.told(1, "Here again.")


async def test_stop_clears_what_waits_and_says_what_it_was(tmp_path: Path) -> None:
    async with house(tmp_path) as here:
        here.sim.say(1, "/mode followup")
        await here.told(1, "follow")
        here.model.answers(Fault(hang=True))
        here.sim.say(1, "one")
        await here.asked(1)
        here.sim.say(1, "what about scales?")
        await here.until(lambda: not len(here.sim.world.bot().updates), "the message to be read")
        await here.told(1, "…")
        here.sim.say(1, "/stop")
        await here.told(1, "what about scales?")
        await here.settled()
        assert 1 == sum("Stopped" in text for text in here.texts(1))
        outcomes = await here.rows("SELECT outcome FROM inbox WHERE payload LIKE '%scales%'")
        assert ["cleared"] == [row["outcome"] for row in outcomes]
        assert 1 == len(here.model.requests)


async def test_a_new_conversation_forgets_the_old_one_and_ends_its_turn(tmp_path: Path) -> None:
    """Cover F60."""
    async with house(tmp_path) as here:
        here.model.answers(Reply("Noted: blue."), slow("word " * 200, 8.0), Reply("I know of no colour."))
        here.sim.say(1, "my colour is blue")
        await here.told(1, "Noted: blue.")
        here.sim.say(1, "go on")
        await here.told(1, "word")
        here.sim.say(1, "/new")
        await here.settled()
        here.sim.say(1, "which colour?")
        await here.told(1, "I know of no colour.")
        assert ["which colour?"] == said(here.model.requests[-1].body)
        turns = await here.rows("SELECT id FROM turns")
        ends = await here.rows("SELECT turn_id FROM events WHERE kind = 'turn_ended'")
        assert sorted(turn["id"] for turn in turns) == sorted(end["turn_id"] for end in ends)


async def test_in_a_group_a_member_hears_that_another_persons_turn_runs(tmp_path: Path) -> None:
    group = -1001234567890
    config = f'[access.accounts."telegram:main"]\ngroups = "open"\nallow_groups = ["telegram:{group}"]\n'
    async with house(tmp_path, config=config) as here:
        here.sim.add_chat(group, "supergroup")
        here.model.answers(Fault(hang=True))
        here.sim.say(group, "/coach tell me everything", person=1)
        await here.asked(1)
        here.sim.say(group, "/stop", person=2)
        await here.told(group, "Someone else asked for what I am doing here")
        here.sim.say(group, "/stop", person=1)
        await here.told(group, "Stopped")
        await here.settled()
