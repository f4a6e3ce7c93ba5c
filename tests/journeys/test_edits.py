"""A person changes what they wrote, or takes it back."""

from collections.abc import Callable
from pathlib import Path

import pytest

from gateway.testing.model import Fault, Reply
from tests.journeys.house import house, said, slow
from tests.journeys.streets import DiscordStreet, PlatformStreet, SlackStreet, TelegramStreet, street


async def test_an_edit_of_an_unanswered_message_replaces_it(tmp_path: Path) -> None:
    """Cover F59."""
    async with house(tmp_path) as here:
        here.sim.say(1, "/mode followup")
        await here.told(1, "follow")
        here.model.answers(slow("One."), Reply("Two."))
        here.sim.say(1, "first")
        await here.asked(1)
        waiting = here.sim.say(1, "secnod")
        here.sim.edit(1, waiting, "second")
        await here.told(1, "Two.")
        await here.settled()
        assert "second" in said(here.model.requests[-1].body)[-1]
        assert "secnod" not in str(here.model.requests[-1].body)


async def test_an_edit_of_what_is_being_answered_joins_the_answer(tmp_path: Path) -> None:
    """Cover F59."""
    async with house(tmp_path) as here:
        here.model.answers(slow("About cats."), Reply("About dogs."))
        asked = here.sim.say(1, "tell me about cats")
        await here.asked(1)
        here.sim.edit(1, asked, "tell me about dogs")
        await here.told(1, "About dogs.")
        assert "dogs" in said(here.model.requests[-1].body)[-1]


async def test_an_edit_that_changes_no_word_of_what_was_answered_is_not_answered(tmp_path: Path) -> None:
    async with house(tmp_path) as here:
        asked = here.sim.say(1, "tell me about cats")
        await here.told(1, "A short answer.")
        await here.settled()
        here.sim.edit(1, asked, "tell me about cats")
        await here.until(lambda: not len(here.sim.world.bot().updates), "the edit to be read")
        await here.settled()
        assert 1 == len(here.texts(1))
        outcomes = await here.rows("SELECT outcome FROM inbox ORDER BY id")
        assert ["answered", "context"] == [row["outcome"] for row in outcomes]


@pytest.mark.parametrize("kind", [TelegramStreet, DiscordStreet, SlackStreet])
async def test_an_edit_of_what_was_answered_is_answered(tmp_path: Path, kind: Callable[[], PlatformStreet]) -> None:
    async with street(kind, tmp_path, people=1) as here:
        assert isinstance(here, PlatformStreet)
        chat = here.side.direct(1)
        await here.let_in(1)
        here.here.model.answers(Reply("About cats."), Reply("About dogs."))
        asked = here.side.say(chat, "tell me about cats")
        await here.reads(1, "About cats.")
        await here.here.settled()
        here.side.edit(chat, asked, "tell me about dogs")
        await here.reads(1, "About dogs.")


@pytest.mark.gate
@pytest.mark.timeout(60)
@pytest.mark.parametrize("kind", [DiscordStreet, SlackStreet])
async def test_what_is_deleted_while_it_is_answered_or_waits_is_answered_no_more(
    tmp_path: Path, kind: Callable[[], PlatformStreet]
) -> None:
    """Cover F59."""
    async with street(kind, tmp_path, people=1) as here:
        assert isinstance(here, PlatformStreet)
        side, chat, model = here.side, here.side.direct(1), here.here.model
        await here.let_in(1)
        side.say(chat, "/mode followup") if kind is DiscordStreet else side.say(chat, "/coach mode followup")
        await here.reads(1, "follow")
        model.answers(slow("word " * 200, 8.0), Fault(hang=True), Reply("Here again."))
        answered = side.say(chat, "tell me everything")
        await here.reads(1, "word")
        waits = side.say(chat, "and more")
        side.delete(chat, waits)
        side.delete(chat, answered)
        await here.here.settled()
        silent = side.say(chat, "what is a scale?")
        await here.here.asked(2)
        side.delete(chat, silent)
        await here.here.settled()
        side.say(chat, "still there?")
        await here.reads(1, "Here again.")
        assert ["still there?"] == said(model.requests[-1].body)[-1:]
        assert 3 == len(model.requests) and not any(text.endswith("…") for _, text, _ in here.seen(1))
