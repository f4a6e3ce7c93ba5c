"""When somebody wants to be reminded, in their words."""

from datetime import UTC, date, datetime, time

import pytest

from agent.coach.changes import change_text
from agent.coach.reminder_changes import ReminderSet
from agent.coach.understanding.wishes import RemindWish, read_remind_wish
from tests.fakes.offline_conversation import Conversation

NOW = datetime(2026, 11, 18, 20, 30, tzinfo=UTC)  # a Wednesday
TODAY, TOMORROW = date(2026, 11, 18), date(2026, 11, 19)
DAILY = (0, 1, 2, 3, 4, 5, 6)


@pytest.mark.parametrize(
    ("text", "wish"),
    [
        ("remind me tomorrow at seven", RemindWish(time(7), (), TOMORROW, "")),
        (
            "remind me to play guitar on Mondays, Wednesdays and Fridays at 7pm",
            RemindWish(time(19), (0, 2, 4), None, "play guitar"),
        ),
        ("recuérdame tocar los lunes y jueves a las siete de la tarde", RemindWish(time(19), (0, 3), None, "tocar")),
        ("remind me to stretch every weekday at 9am", RemindWish(time(9), (0, 1, 2, 3, 4), None, "stretch")),
        (
            "recuérdame llamar a la profesora mañana a las ocho",
            RemindWish(time(8), (), TOMORROW, "llamar a la profesora"),
        ),
        ("remind me to call Dr. Friday tomorrow at 9", RemindWish(time(9), (), TOMORROW, "call Dr. Friday")),
        ("Can you remind me tomorrow at 8pm to do violin?", RemindWish(time(20), (), TOMORROW, "do violin")),
        ("remind me in 30 minutes", RemindWish(time(21), (), TODAY, "")),
        ("remind me on mondays and fridays at 18:00", RemindWish(time(18), (0, 4), None, "")),
        ("remind me every day at 6:30 pm to play piano", RemindWish(time(18, 30), DAILY, None, "play piano")),
        ("remind me to practise at 9", RemindWish(time(9), (), TOMORROW, "practise")),
        ("recuérdame los lunes a las 19", RemindWish(time(19), (0,), None, "")),
        ("recuérdame mañana a las siete hacer inglés", RemindWish(time(7), (), TOMORROW, "hacer inglés")),
        ("¿me puedes recordar mañana a las 8 tocar?", RemindWish(time(8), (), TOMORROW, "tocar")),
        ("recuérdame cada día a las siete de la tarde la guitarra", RemindWish(time(19), DAILY, None, "guitarra")),
        ("recuérdame el viernes a las ocho y media de la tarde", RemindWish(time(20, 30), (), date(2026, 11, 20), "")),
        ("remind me on wednesday at 7pm", RemindWish(time(19), (), date(2026, 11, 25), "")),
        ("remind me every friday at 7pm", RemindWish(time(19), (4,), None, "")),
        ("recuérdame ayer a las 7", RemindWish(time(7), (), date(2026, 11, 17), "")),
        ("remind me on 28 March 2027 at 02:30 to practise", RemindWish(time(2, 30), (), date(2027, 3, 28), "practise")),
        ("remind me to play on Dec 3 at 7pm", RemindWish(time(19), (), date(2026, 12, 3), "play")),
        ("remind me at 7pm on 2027-01-05", RemindWish(time(19), (), date(2027, 1, 5), "")),
        ("remind me on March 3 at 7pm", RemindWish(time(19), (), date(2027, 3, 3), "")),
        ("remind me on 3 March 2020 at 7pm", RemindWish(time(19), (), date(2020, 3, 3), "")),
        (
            "recuérdame el 5 de mayo a las 19:00 tocar el piano",
            RemindWish(time(19), (), date(2027, 5, 5), "tocar el piano"),
        ),
        ("avísame dentro de una hora", RemindWish(time(21, 30), (), TODAY, "")),
    ],
)
def test_a_wish_to_be_reminded_is_read(text: str, wish: RemindWish) -> None:
    """The time, once or on which days, and of what."""
    assert wish == read_remind_wish(text, NOW)


@pytest.mark.parametrize(
    "text",
    ["remind me to practise", "don't remind me at 7", "did you remind me at 9?", "my sister reminds me at 9", ""],
)
def test_what_is_no_wish_or_has_no_time_is_none(text: str) -> None:
    """Nothing is guessed."""
    assert read_remind_wish(text, NOW) is None


async def test_a_reminder_is_set_by_words(ana: Conversation) -> None:
    """At once; in a group it says where that can be asked for."""
    assert "direct chat" in await ana.say("remind me tomorrow at seven")
    assert [["set_reminder"]] == ana.calls


@pytest.mark.parametrize(
    ("language", "when"),
    [
        ("en", "at **19:00**, Mondays and Saturdays; the first time Saturday, 21 November."),
        ("es", "a las **19:00**, los lunes y los sábados; la primera vez el sábado 21 de noviembre."),
    ],
)
def test_weekdays_are_said_as_what_comes_again(language: str, when: str) -> None:
    """With the article that Spanish wants."""
    made = ReminderSet(
        reminder_id="r", at="19:00", weekdays=(0, 5), day=None, about="", next_day=date(2026, 11, 21), zone="UTC",
        now="20:30",
    )  # fmt: skip
    assert when in change_text(language, made, TODAY)
