"""A person changes what they wrote."""

from pathlib import Path

from tests.fakes.model_server import Reply
from tests.journeys.house import house, said, slow


async def test_an_edit_of_what_nobody_answered_takes_its_place(tmp_path: Path) -> None:
    """F59: a message that waits is answered as it reads in the end."""
    async with house(tmp_path) as here:
        here.sim.say(1, "/mode followup")
        await here.told(1, "follow")
        here.model.script(slow("One."), Reply("Two."))
        here.sim.say(1, "first")
        await here.asked(1)
        waiting = here.sim.say(1, "secnod")
        here.sim.edit(1, waiting, "second")
        await here.told(1, "Two.")
        await here.settled()
        assert "second" in said(here.model.requests[-1].body)[-1]
        assert "secnod" not in str(here.model.requests[-1].body)


async def test_an_edit_of_what_is_being_answered_joins_the_answer(tmp_path: Path) -> None:
    """F59: the running turn reads the new text."""
    async with house(tmp_path) as here:
        here.model.script(slow("About cats."), Reply("About dogs."))
        asked = here.sim.say(1, "tell me about cats")
        await here.asked(1)
        here.sim.edit(1, asked, "tell me about dogs")
        await here.told(1, "About dogs.")
        assert "dogs" in said(here.model.requests[-1].body)[-1]


async def test_an_edit_of_what_was_answered_is_read_and_not_answered(tmp_path: Path) -> None:
    """An edit that comes later than the answer is context."""
    async with house(tmp_path) as here:
        asked = here.sim.say(1, "tell me about cats")
        await here.told(1, "A short answer.")
        await here.settled()
        here.sim.edit(1, asked, "tell me about dogs")
        await here.until(lambda: not len(here.sim.world.bot().updates), "the edit to be read")
        await here.settled()
        assert 1 == len(here.texts(1))
        outcomes = await here.rows("SELECT outcome FROM inbox ORDER BY id")
        assert ["answered", "context"] == [row["outcome"] for row in outcomes]
