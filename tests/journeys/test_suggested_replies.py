"""The coach without a model asks back with buttons, and a press is a yes."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.journeys.house import house
from tests.journeys.streets import STREETS, Street, street

LOGGED = "SELECT minutes FROM practice_sessions"
GROUP = -1001234567890
ALLOWED = f'[access.accounts."telegram:main"]\ngroups = "open"\nallow_groups = ["telegram:{GROUP}"]\n'


@pytest.mark.parametrize("kind", STREETS, ids=[kind.name for kind in STREETS])
async def test_a_pressed_yes_logs_what_was_asked_about_once(tmp_path: Path, kind: Callable[[], Street]) -> None:
    """The buttons go; who presses again, as an old screen may let them, hears that it means nothing."""
    async with street(kind, tmp_path, 1, model=None) as here:
        await here.let_in(1)
        await here.say(1, "I practised cello for 20 minutes")
        asked, _, buttons = await here.reads(1, "New skill “cello”?")
        assert ["Yes", "No"] == list(buttons)
        assert [] == await here.here.rows(LOGGED)
        await here.press(1, asked, buttons["Yes"])
        await here.reads(1, "Logged")
        await here.here.until(lambda: {} == {id_: keys for id_, _, keys in here.seen(1)}[asked], "no buttons")
        await here.press(1, asked, buttons["Yes"])
        await here.reads(1, "means nothing any more")
        await here.here.settled()
        assert [{"minutes": 20}] == await here.here.rows(LOGGED)


async def test_in_a_group_only_the_asker_answers_with_a_button(tmp_path: Path) -> None:
    """A34: somebody else's press writes nothing for anybody, leaves the button where it is, and is told why.

    What others are answered meanwhile takes nothing from the question: two people may speak at once.
    """
    async with house(tmp_path, model=None, config=ALLOWED) as here:
        here.sim.add_chat(GROUP, "supergroup")
        here.sim.say(2, "/stats")
        await here.told(2, "Nothing is logged yet")
        here.sim.say(GROUP, "/coach I practised cello for 20 minutes", person=1)
        asked = await here.told(GROUP, "New skill “cello”?")
        here.sim.press(GROUP, asked.message_id, dict(asked.buttons)["Yes"], person=2)
        await here.told(GROUP, "That question is for somebody else. Nothing was done.")
        assert [] == await here.rows(LOGGED)
        here.sim.say(GROUP, "/coach I practised chess for 30 minutes", person=2)
        await here.told(GROUP, "New skill “chess”?")
        here.sim.press(GROUP, asked.message_id, dict(asked.buttons)["Yes"], person=1)
        await here.told(GROUP, "Logged")
        await here.settled()
        assert [{"minutes": 20}] == await here.rows(LOGGED)
