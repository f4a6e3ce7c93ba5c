"""Buttons under replies of commands: each gives a whole command, once, also after a kill."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from agent.errors import FailureKind
from agent.ports import ModelFailure
from channels.messages import Address
from tests.fakes.chat import FakeChannel
from tests.fakes.spine import Spine, practising

OVER = "That offer is outdated, and nothing was changed. Please write it again."


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[Spine]:
    async with practising(tmp_path) as spine:
        yield spine


async def asked(here: Spine, text: str, **more: str) -> str:
    before = len(here.channel.shown())
    await here.say(text, **more)
    await here.quiet()
    return "\n".join(here.channel.shown()[before:])


def buttons(here: Spine) -> dict[str, str]:
    return {button.label: button.data for button in here.channel.parts[-1].buttons}


async def press(here: Spine, data: str, user: str = "p1") -> str:
    before = len(here.channel.shown())
    await here.press(data, user)
    await here.quiet()
    return "\n".join(here.channel.shown()[before:])


async def test_a_misspelled_skill_is_asked_about_and_a_new_one_can_be_meant(here: Spine) -> None:
    await asked(here, "/log 45m guitar")
    assert "Did you mean **guitar**?" in await asked(here, "/log 20m guitr scales")
    assert ["Log 20 min guitar, today", "Log 20 min guitr (new skill), today"] == list(shown := buttons(here))
    assert "(scales)" in await press(here, shown["Log 20 min guitar, today"])
    await asked(here, "/log 20m guitr")
    assert "is a new skill" in await press(here, buttons(here)["Log 20 min guitr (new skill), today"])
    assert "is a new skill" in await asked(here, '/log 20m "guitarr"')
    await asked(here, "/log 10m guitr; 5m pianoo; 5m guita")
    assert "**10 min**" in await press(here, next(iter(buttons(here).values())))


@pytest.mark.parametrize(
    ("said", "labels"),
    [
        ("/log guitar 45", ["Log 45 min guitar, today"]),
        ("/log guitr 2", ["Log 2 min guitar, today", "Log 2 h guitar, today"]),
        ("/log 2", ["Log 2 min guitar, today", "Log 2 h guitar, today"]),
        ("/log guitar 9999", []),
        ("/log guitar", []),
        ("/start guitr", ["guitar"]),
        ("/goal guitr 3h", ["guitar"]),
        ("/stats guitr", ["guitar"]),
        ("/stats tuba", []),
        ("/chart guitr", ["guitar"]),
        ("/skill guitr archive", ["guitar"]),
        ("/edit today guitr 30m", ["guitar"]),
    ],
)
async def test_what_is_unclear_about_a_skill_or_a_time_has_buttons(here: Spine, said: str, labels: list[str]) -> None:
    await asked(here, "/log 45m guitar")
    await asked(here, said)
    assert labels == list(buttons(here))


async def test_a_button_acts_once_and_only_for_its_person_also_after_a_kill(here: Spine) -> None:
    await asked(here, "/log 45m guitar")
    await asked(here, "/log 20m guitar")
    assert "Which one do you mean?" in await asked(here, "/edit today guitar 30m")
    (first, second), data = list(buttons(here)), buttons(here)
    assert ("guitar, 20 min, today", "guitar, 45 min, today") == (first, second)
    await here.kill()
    await here.begin()
    assert "No entry" not in await press(here, data[second], "p2")
    assert "it was 45 min" in await press(here, data[second])
    assert OVER == await press(here, data[second])
    assert OVER == await press(here, data[first])
    assert "50 min** in 2 entries" in await asked(here, "/delete today guitar")
    assert "Took back 20 min" in await press(here, buttons(here)["Delete guitar, 20 min, today"])


async def test_a_file_is_imported_with_a_button_also_after_a_kill(here: Spine) -> None:
    rows = f"date,skill,minutes\n{date(2026, 2, 1)},guitar,45\n{date(2026, 2, 2)},piano,30"
    assert "Nothing is added yet." in await asked(here, f"/import {rows}")
    data = buttons(here)["Import"]
    await here.kill()
    await here.begin()
    assert "2 entries are added." in await press(here, data)
    assert OVER == await press(here, data)
    assert "The first line names the columns" in await asked(here, f"/import now #{'0' * 36}")


async def test_another_command_or_a_day_ends_a_buttons_time(here: Spine) -> None:
    await asked(here, "/forget practice")
    data = buttons(here)["Yes, delete it"]
    await asked(here, "/skills")
    assert [str(len(here.channel.messages) - 1)] == here.channel.unbuttoned
    assert OVER == await press(here, data)
    await asked(here, "/log 45m guitar")
    await asked(here, "/forget practice")
    assert "1 entry is deleted" in await press(here, buttons(here)["Yes, delete it"])


async def test_help_is_walked_through_with_buttons(here: Spine) -> None:
    assert "**Practice**: /log" in await asked(here, "/help")
    assert ["Practice", "Chat", "Account"] == list(buttons(here))
    assert "/new: Begin a new conversation" in await press(here, buttons(here)["Chat"])
    assert ["Practice", "Account"] == list(buttons(here))


async def test_an_answer_that_failed_offers_to_try_again(here: Spine) -> None:
    await here.say("how do I tune a lute?")
    await here.asked()
    here.model.give(ModelFailure(FailureKind.AUTH, "no key"))
    await here.quiet()
    data = buttons(here)["Try again"]
    await here.press(data)
    await here.press(data)
    await here.asked()
    here.model.give("By ear.")
    await here.quiet()
    assert "By ear." in here.channel.shown()
    assert 2 == len(here.model.requests)


async def test_words_in_another_thread_leave_the_buttons(here: Spine) -> None:
    await here.admit(replace(here.message("/help", chat="g1"), address=Address("sim", "main", "g1", "t1")), "p1")
    await here.quiet()
    await here.admit(replace(here.message("/skills", chat="g1"), address=Address("sim", "main", "g1", "t2")), "p1")
    await here.quiet()
    assert [] == here.channel.unbuttoned


async def test_a_channel_without_buttons_says_what_to_type(tmp_path: Path) -> None:
    class Terminal(FakeChannel):
        close_buttons = None  # type: ignore[assignment]  what a runtime check takes for not there

    async with practising(tmp_path, channel=Terminal()) as here:
        await asked(here, "/log 45m guitar")
        assert "Log 20 min guitar, today: `/log 2026-03-04 20m guitar`" in await asked(here, "/log 20m guitr")
        assert "What each does: `/help practice`" in await asked(here, "/help")
        assert () == here.channel.parts[-1].buttons
