"""Steering: a person adds something while they are being answered."""

from pathlib import Path

from gateway.testing.model import Reply
from tests.journeys.house import house, said, slow


async def test_a_second_message_joins_the_answer_under_way(tmp_path: Path) -> None:
    """Cover F56."""
    async with house(tmp_path) as here:
        here.model.answers(slow("First thought."), Reply("Second thought."))
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


async def test_the_sign_of_waiting_goes_when_the_wait_is_over(tmp_path: Path) -> None:
    async with house(tmp_path) as here:
        here.sim.say(1, "/mode followup")
        await here.told(1, "follow")
        here.model.answers(slow("First thought."), Reply("Second thought."), slow("Third thought.", 5.0))
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
    async with house(tmp_path) as here:
        here.model.answers(slow("Slowly.", 3.0), Reply("Quickly."))
        here.sim.say(1, "one")
        await here.asked(1)
        here.sim.say(2, "two")
        await here.told(2, "Quickly.")
        assert "Slowly." not in here.texts(1)


async def test_an_interruption_ends_the_answer_and_gets_its_own(tmp_path: Path) -> None:
    async with house(tmp_path) as here:
        here.model.answers(slow("word " * 200, 8.0), slow("other " * 200, 8.0), Reply("In short: yes."))
        here.sim.say(1, "tell me everything")
        await here.told(1, "word")
        here.sim.say(1, "! briefly, please")
        await here.told(1, "other")
        first, *_, last = said(here.model.requests[-1].body)
        assert ("tell me everything", "briefly, please") == (first, last)
        here.sim.say(1, "/mode interrupt")
        await here.told(1, "interrupt")
        here.sim.say(1, "yes or no?")
        await here.told(1, "In short: yes.")
        await here.settled()
        turns = await here.rows("SELECT end_reason FROM turns ORDER BY id")
    assert ["stopped", "stopped", "completed"] == [turn["end_reason"] for turn in turns]


async def test_in_mode_collect_what_came_meanwhile_gets_one_answer(tmp_path: Path) -> None:
    async with house(tmp_path) as here:
        here.sim.say(1, "/language es")
        await here.told(1, "español")
        here.sim.say(1, "/mode collect")
        await here.told(1, "una sola respuesta")
        here.model.answers(slow("Uno."), Reply("Todo junto."))
        here.sim.say(1, "uno")
        await here.asked(1)
        messages = here.sim.world.bot().chats[1].messages
        waiting = [messages[here.sim.say(1, words)] for words in ("dos", "tres")]
        await here.until(lambda: all(message.reactions for message in waiting), "the signs of waiting")
        await here.told(1, "Todo junto.")
        await here.settled()
        assert ["uno", "dos", "tres"] == said(here.model.requests[-1].body)
        await here.until(lambda: not waiting[0].reactions and bool(waiting[1].reactions), "what became of them")


async def test_a_question_beside_the_answer_is_answered_at_once(tmp_path: Path) -> None:
    async with house(tmp_path) as here:
        here.model.answers(slow("word " * 100 + "end.", 4.0), Reply("Beside it: Tuesday."), Reply("Next."))
        here.sim.say(1, "tell me everything")
        await here.told(1, "word")
        here.sim.say(1, "/btw which day is it?")
        await here.told(1, "Beside it: Tuesday.")
        assert "end." not in here.texts(1)[0]
        assert "tell me everything" == said(here.model.requests[1].body)[0]
        await here.told(1, "end.")
        here.sim.say(1, "go on")
        await here.told(1, "Next.")
        await here.settled()
        assert "which day" not in str(here.model.requests[-1].body)
