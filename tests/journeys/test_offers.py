"""Offers of the coach without a model: a button is a command, done once, for the person it was offered to."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.journeys.house import House, house
from tests.journeys.streets import STREETS, Street, street

ENTRIES = "SELECT minutes FROM practice_sessions WHERE undone_at IS NULL ORDER BY minutes"
OUTDATED = "That offer is outdated"


async def offered(here: House, words: str, says: str, person: int = 1, chat: int = 1) -> dict[str, str]:
    """Say something; the buttons under the answer that says this, by their labels."""
    here.sim.say(chat, words, person=person)
    return dict((await here.told(chat, says)).buttons)


async def minutes(here: House) -> list[int]:
    await here.settled()
    return [row["minutes"] for row in await here.rows(ENTRIES)]


async def press(here: House, says: str, label: str, person: int = 1, chat: int = 1, data: str | None = None) -> None:
    """Press a button under the newest message that says this."""
    shown = [each for each in here.sim.answers(chat) if says in each.text][-1]
    here.sim.press(chat, shown.message_id, data or dict(shown.buttons)[label], person=person)


@pytest.mark.parametrize("kind", STREETS, ids=[kind.name for kind in STREETS])
async def test_every_platform_takes_a_press_once(tmp_path: Path, kind: Callable[[], Street]) -> None:
    async with street(kind, tmp_path, 1, model=None) as here:
        await here.let_in(1)
        await here.say(1, "I practised cello for 20 minutes")
        asked, _, buttons = await here.reads(1, "Shall I log")
        assert ["Log 20 min cello (new skill), today"] == list(buttons)
        (data,) = buttons.values()
        assert [] == await here.here.rows(ENTRIES)
        await here.press(1, asked, data)
        await here.reads(1, "Logged")
        await here.here.until(lambda: {} == {id_: keys for id_, _, keys in here.seen(1)}[asked], "no buttons")
        await here.press(1, asked, data)
        await here.reads(1, "Already done: Log 20 min cello")
        await here.here.settled()
        assert [{"minutes": 20}] == await here.here.rows(ENTRIES)


async def test_a_pressed_offer_is_done_once_and_its_buttons_go(tmp_path: Path) -> None:
    async with house(tmp_path, model=None) as here:
        buttons = await offered(here, "45m guitar and 20m piano", "Shall I log")
        label = "Log 45 min guitar (new skill) + 20 min piano (new skill), today"
        assert label in buttons
        await press(here, "Shall I log", label)
        await press(here, "Shall I log", label, data=buttons[label])
        await here.told(1, "Already done: Log 45 min guitar")
        assert [20, 45] == await minutes(here)
        assert 1 == len(
            {row["cause"] for row in await here.rows("SELECT cause FROM outbox WHERE plain LIKE 'Logged%'")}
        )
        await here.until(lambda: not here.sim.answers(1)[-3].buttons, "an offer without buttons")


async def test_a_yes_or_a_number_is_the_press_of_the_offer_it_follows(tmp_path: Path) -> None:
    async with house(tmp_path, model=None) as here:
        await offered(here, "media hora de violín", "¿Anoto")
        here.sim.say(1, "sí")
        await here.told(1, "30 min")
        await here.until(lambda: any("violín" in text and "Total" in text for text in here.texts(1)), "the entry")
        here.sim.say(1, "yes")  # of no language: the person's last one holds
        await here.told(1, "ninguna pregunta mía se contesta")
        here.sim.say(1, "thanks")
        await here.told(1, "You are welcome")
        here.sim.say(1, "yes")
        await here.told(1, "takes a typed yes")
        await offered(here, "10m violn", "Shall I log")
        here.sim.say(1, "/skills")
        await here.told(1, "Your skills")
        here.sim.say(1, "yes")
        await here.until(lambda: sum("takes a typed yes" in text for text in here.texts(1)) == 2, "the second refusal")
        assert [30] == await minutes(here)
        await offered(here, "15m violn", "Shall I log 15 min")
        here.sim.say(1, "2")
        await here.told(1, "Logged 15 min")
        assert [15, 30] == await minutes(here)


async def test_a_press_is_answered_in_the_language_of_its_offer(tmp_path: Path) -> None:
    async with house(tmp_path, model=None) as here:
        await offered(here, "media hora de violín", "¿Anoto")
        assert any("Soy el entrenador sin conexión" in text for text in here.texts(1))
        await press(here, "¿Anoto", "Anotar 30 min violín (habilidad nueva), hoy")
        await here.told(1, "Anotado: 30 min")


async def test_an_offer_that_a_newer_one_overtakes_loses_its_buttons(tmp_path: Path) -> None:
    async with house(tmp_path, model=None) as here:
        old = await offered(here, "45m guitar", "Shall I log 45 min guitar")
        await offered(here, "20m piano", "Shall I log 20 min piano")
        await here.until(lambda: not here.sim.answers(1)[-2].buttons, "the old offer without buttons")
        await press(here, "Shall I log 45", "", data=next(iter(old.values())))
        await here.told(1, OUTDATED)
        assert [] == await minutes(here)
        await press(here, "Shall I log 20", "Log 20 min piano (new skill), today")
        await here.told(1, "Logged 20 min")
        assert await offered(here, "10m cello", "Shall I log 10 min cello")
        here.sim.say(1, "no")
        await here.told(1, "I changed nothing")
        await here.until(lambda: not here.sim.answers(1)[-2].buttons, "the refused offer without buttons")
        assert [20] == await minutes(here)


async def test_a_typed_yes_or_no_answers_a_commands_question(tmp_path: Path) -> None:
    async with house(tmp_path, model=None) as here:
        here.sim.say(1, "/log 45m guitar")
        await here.told(1, "Logged 45 min")
        assert await offered(here, "/forget practice", "deletes all your entries")
        here.sim.say(1, "no")
        await here.told(1, "nothing was changed")
        await here.until(lambda: not here.sim.answers(1)[-2].buttons, "the refused question without buttons")
        await offered(here, "/log 20m guitr", "Did you mean")
        here.sim.say(1, "yes")  # it has two buttons
        await here.told(1, "takes a typed yes")
        assert await offered(here, "/forget talk", "deletes all our conversations")
        here.sim.say(1, "/skills")
        await here.told(1, "Your skills")
        here.sim.say(1, "yes")  # another message came between
        await here.until(lambda: 2 == sum("takes a typed yes" in text for text in here.texts(1)), "a second answer")
        assert [45] == await minutes(here)
        here.sim.say(1, "/forget practice")
        await here.until(lambda: "deletes all your entries" in here.texts(1)[-1], "the question again")
        here.sim.say(1, "Sí.")
        await here.told(1, "1 entry is deleted")


async def test_in_a_group_an_offer_is_its_persons(tmp_path: Path) -> None:
    group = -1001234567890
    config = f'[access.accounts."telegram:main"]\ngroups = "open"\nallow_groups = ["telegram:{group}"]\n'
    async with house(tmp_path, model=None, config=config) as here:
        here.sim.add_chat(group, "supergroup")
        bot = here.sim.world.bot().username
        buttons = await offered(here, f"@{bot} 45m guitar", "Shall I log", chat=group)
        label = next(iter(buttons))
        here.sim.say(group, f"@{bot} hello", person=2)
        await here.told(group, "Hello")
        await press(here, "Shall I log", label, person=2, chat=group)
        await here.told(group, "for someone else")
        here.sim.say(group, f"@{bot} yes", person=2)
        await here.told(group, "takes a typed yes")
        assert [] == await minutes(here)
        await press(here, "Shall I log", label, chat=group)
        await here.told(group, "Logged 45 min")
        assert [45] == await minutes(here)


async def test_commands_speak_the_language_of_the_talk_until_one_is_chosen(tmp_path: Path) -> None:
    async with house(tmp_path, model=None) as here:
        here.sim.say(1, "hola, ¿cómo estás?")
        await here.told(1, "¡Hola!")
        here.sim.say(1, "/stats")
        await here.told(1, "Aún no hay nada anotado")
        here.sim.say(1, "habla en inglés")
        await here.told(1, "I answer you in English from now on")
        here.sim.say(1, "gracias, muchas gracias")
        await here.told(1, "You are welcome")
        here.sim.say(1, "/language auto")
        await here.told(1, "I answer in the language you write in")
        here.sim.say(1, "gracias, muchas gracias")
        await here.told(1, "De nada")
        here.sim.say(1, "/skills")
        await here.until(lambda: sum("Aún no hay" in text for text in here.texts(1)) == 2, "the skills in Spanish")
