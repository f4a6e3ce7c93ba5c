"""A person adds something while they are being answered."""

from pathlib import Path

from tests.fakes.model_server import Reply
from tests.journeys.house import house, said, slow


async def test_a_second_message_joins_the_answer_under_way(tmp_path: Path) -> None:
    """F56: one turn reads both, the first answer stands, and the message that joined is merged."""
    async with house(tmp_path) as here:
        here.model.script(slow("First thought."), Reply("Second thought."))
        here.sim.say(1, "one")
        await here.asked(1)
        joined = here.sim.say(1, "two")
        shown = await here.told(1, "Second thought.")
        await here.settled()
        assert "First thought.\n\nSecond thought." == shown.text
        assert ["one", "two"] == said(here.model.requests[-1].body)[-2:]
        outcomes = await here.rows("SELECT outcome FROM inbox ORDER BY id")
        assert ["answered", "merged"] == [row["outcome"] for row in outcomes]
        assert here.sim.world.bot().chats[1].messages[joined].reactions


async def test_in_mode_followup_it_waits_for_its_own_answer(tmp_path: Path) -> None:
    """`/mode followup`: one after the other, each with its own answer."""
    async with house(tmp_path) as here:
        here.sim.say(1, "/mode followup")
        await here.told(1, "follow")
        here.model.script(slow("First thought."), Reply("Second thought."))
        here.sim.say(1, "one")
        await here.asked(1)
        here.sim.say(1, "two")
        await here.told(1, "Second thought.")
        assert ["First thought.", "Second thought."] == here.texts(1)[1:]


async def test_the_sign_of_waiting_goes_when_the_wait_is_over(tmp_path: Path) -> None:
    """A queued message is marked until its own turn has ended, or `/stop` cleared it."""
    async with house(tmp_path) as here:
        here.sim.say(1, "/mode followup")
        await here.told(1, "follow")
        here.model.script(slow("First thought."), Reply("Second thought."), slow("Third thought.", 5.0))
        here.sim.say(1, "one")
        await here.asked(1)
        messages = here.sim.world.bot().chats[1].messages
        queued = messages[here.sim.say(1, "two")]
        await here.until(lambda: bool(queued.reactions), "the sign of waiting")
        await here.told(1, "Second thought.")
        await here.until(lambda: not queued.reactions, "its end")
        here.sim.say(1, "three")
        await here.asked(3)
        cleared = messages[here.sim.say(1, "four")]
        await here.until(lambda: bool(cleared.reactions), "the sign of waiting")
        here.sim.say(1, "/stop")
        await here.until(lambda: not cleared.reactions, "its end")


async def test_another_person_in_a_chat_of_their_own_is_not_held_up(tmp_path: Path) -> None:
    """Sessions run side by side: a slow answer to one delays nobody else."""
    async with house(tmp_path) as here:
        here.model.script(slow("Slowly.", 3.0), Reply("Quickly."))
        here.sim.say(1, "one")
        await here.asked(1)
        here.sim.say(2, "two")
        await here.told(2, "Quickly.")
        assert "Slowly." not in here.texts(1)
