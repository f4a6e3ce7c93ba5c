"""The coach without a model: entries, offers and questions."""

from datetime import timedelta
from pathlib import Path

import pytest

from agent.coach.plan_data import read_wish
from agent.coach.reader.entries import read_practice
from agent.coach.vocabulary.words import languages
from agent.ports import LocalEffect
from agent.transcript import EDITED
from gateway.coach import writer
from tests.fakes.offline_conversation import Conversation
from tests.fakes.practice_reader import ANA, TODAY

SKILLS = ("guitar", "piano", "guitarra", "ear training")
GOLDEN = Path(__file__).parents[2] / "golden"
MOST_DATA_LINES = 400


def offers(conversation: Conversation) -> dict[str, str]:
    return {reply.label: reply.words for reply in conversation.suggested}


@pytest.mark.parametrize(
    ("text", "minutes", "days_ago"),
    [
        ("45m guitar", 45, 0),
        ("I practised guitar for an hour and a half yesterday", 90, 1),
        ("guitar: 1h15", 75, 0),
        ("ayer 20 min guitar", 20, 1),
        ("please log 20 min guitar, thanks", 20, 0),
    ],
)
async def test_what_has_the_shape_of_a_log_line_is_written_at_once(
    ana: Conversation, text: str, minutes: int, days_ago: int
) -> None:
    assert (f"{minutes // 60} h" if minutes > 59 else f"{minutes} min") in await ana.say(text)
    assert [("guitar", minutes)] == ana.logged
    assert TODAY - timedelta(days=days_ago) == ana.newest.day
    assert {} == offers(ana)


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("45m gitar", f"/log {TODAY} 45m guitar"),
        ("45m guitar before the kids woke up", f"/log {TODAY} 45m guitar"),
        ("guitar 45", f"/log {TODAY} 45m guitar"),
        ("45 guitar", f"/log {TODAY} 45m guitar"),
        ("45m guitar on 28 december", f"/log {TODAY.year - 1}-12-28 45m guitar"),
        ("45m guitar on the 10th", "/log 2026-02-10 45m guitar"),
        ("my coach played guitar for 45m", f"/log {TODAY} 45m guitar"),
        ("tonight 45m guitar", f"/log {TODAY} 45m guitar"),
        ("from 7 to 8:30 guitar", f"/log {TODAY} 90m guitar"),
        ("25 minutes of ear training", f'/log {TODAY} 25m "ear training"'),
        ("45m guitar and 20m piano", f"/log {TODAY} 45m guitar; {TODAY} 20m piano"),
    ],
)
async def test_everything_else_with_an_amount_is_offered(ana: Conversation, text: str, command: str) -> None:
    await ana.say(text)
    assert [] == ana.logged
    assert command == ana.suggested[0].words


async def test_an_offer_says_what_will_be_written_and_quotes_the_rest(ana: Conversation) -> None:
    answer = await ana.say("30 minutes of guitar before the kids woke up")
    assert "Shall I log **30 min guitar, today**? I could not read “before the kids woke up”." in answer
    assert {
        "Log 30 min guitar, today": f"/log {TODAY} 30m guitar",
        "The same, with the note “before the kids woke up”": f"/log {TODAY} 30m guitar before the kids woke up",
    } == offers(ana)


async def test_a_name_like_a_skill_may_be_a_new_one(ana: Conversation) -> None:
    await ana.say("45m gitarr")
    assert ["Log 45 min guitar, today", "Log 45 min gitarr (new skill), today"] == list(offers(ana))
    assert [True, False] == [reply.is_yes for reply in ana.suggested]


async def test_a_time_without_a_skill_may_be_of_each(ana: Conversation) -> None:
    ana.practice.change(LocalEffect(writer.create_skill, "piano", None, None, 600_000))
    assert "What shall I log?" in await ana.say("did 45 minutes today")
    assert {"Log 45 min guitar, today", "Log 45 min piano, today"} == set(offers(ana))
    assert not any(reply.is_yes for reply in ana.suggested)


async def test_a_condition_for_one_skill_is_none_for_all(ana: Conversation) -> None:
    ana.practice.change(LocalEffect(writer.create_skill, "piano", None, None, 600_000))
    assert "Shall I plan piano alone" in await ana.say("piano only on Fridays")
    wish = read_wish(ana.suggested[0].words, await ana.practice.skills(ANA))
    assert ("piano", (0, 1, 2, 3, 5, 6)) == (wish.skill, wish.conditions.conditions.weekdays_off)


@pytest.mark.parametrize("text", ["plan next week", "plan para la próxima semana"])
async def test_a_plan_of_the_next_week_is_offered_as_such(ana: Conversation, text: str) -> None:
    answer = await ana.say(text)
    assert ["/plan next"] == list(offers(ana).values())
    assert "could not read" not in answer and "No he entendido" not in answer


async def test_a_correction_names_the_entry(ana: Conversation) -> None:
    ana.practice.change(LocalEffect(writer.log, "guitar", 45, TODAY))
    ana.practice.change(LocalEffect(writer.log, "piano", 30, TODAY))
    ana.practice.change(LocalEffect(writer.log, "chess", 25, TODAY))
    await ana.say("actually the piano was 40")
    (offer,) = ana.suggested
    assert "piano, 30 min, today → 40 min" == offer.label
    assert offer.words.startswith("/edit ") and offer.words.endswith(" 40m")
    await ana.say("undo")
    assert ["Delete chess, 25 min, today"] == list(offers(ana))


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("no, it was 25", f"/log {TODAY - timedelta(days=1)} 25m guitar"),
        ("no, eran 25", f"/log {TODAY - timedelta(days=1)} 25m guitar"),
        ("no, it's piano", f"/log {TODAY - timedelta(days=1)} 45m piano"),
        ("oops that was today", f"/log {TODAY} 45m guitar"),
    ],
)
async def test_a_correction_of_an_offer_is_offered_and_changes_no_other_entry(
    ana: Conversation, text: str, command: str
) -> None:
    ana.practice.change(LocalEffect(writer.log, "guitar", 20, TODAY))
    ana.practice.change(LocalEffect(writer.log, "piano", 20, TODAY))
    assert "Shall I log" in await ana.say("45 of guitar yesterday")
    await ana.say(text)
    assert command == ana.suggested[0].words
    await ana.say("no, it was 35")
    assert command.replace("25m", "35m").replace("45m", "35m") == ana.suggested[0].words
    assert "Nothing is logged yet" in await ana.say("forget that")
    await ana.say("45 of guitar yesterday")
    ana.practice.change(LocalEffect(writer.log, "guitar", 45, TODAY - timedelta(days=1)))
    await ana.say("no, it was 25")
    assert all(reply.words.startswith("/edit ") for reply in ana.suggested)


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("start a timer for guitar", "/start guitar"),
        ("habla en inglés", "/language en"),
        ("my timezone is new york", "/timezone America/New_York"),
        ("mi zona horaria es madrid", "/timezone Europe/Madrid"),
        ("set my goal to 5 hours a week", "/goal 300m"),
        ("goal for guitar: 500 hours", "/skill guitar goal 30000m"),
        ("remind me every weekday at 7pm", "/remind 19:00 mon,tue,wed,thu,fri"),
        ("recuérdame de lunes a viernes a las siete de la tarde", "/remind 19:00 mon,tue,wed,thu,fri"),
        ("export my data", "/export"),
    ],
)
async def test_a_request_that_changes_something_is_offered(ana: Conversation, text: str, command: str) -> None:
    await ana.say(text)
    assert [(command, True)] == [(reply.words, reply.is_yes) for reply in ana.suggested]


@pytest.mark.parametrize(
    ("text", "begins", "unread"),
    [
        ("30m guitar today and yesterday", "/log", "yesterday"),
        ("start a timer for bass", "/start guitar", "bass"),
        ("delete the guitar and log 30m", "/delete ", "30m"),
        ("make it 50 minutes because I miscounted", "/edit ", "because I miscounted"),
        ("50m guitar and set my goal to 5 hours a week", "/goal 300m", "50m guitar"),
        ("cancel my 7pm reminder", "/remind off", "7pm"),
        ("borra la guitarra y mañana más", "/delete ", "mañana"),
    ],
)
async def test_an_offer_quotes_what_it_leaves_out(ana: Conversation, text: str, begins: str, unread: str) -> None:
    ana.practice.change(LocalEffect(writer.log, "guitar", 45, TODAY))
    answer = await ana.say(text)
    assert f"“{unread}”" in answer or f"«{unread}»" in answer
    assert ana.suggested[0].words.startswith(begins)


@pytest.mark.parametrize(
    "text", ["make it 50 minutes", "set my goal to 5 hours a week", "delete the last guitar one", "stop the timer"]
)
async def test_an_offer_of_all_that_was_said_quotes_nothing(ana: Conversation, text: str) -> None:
    ana.practice.change(LocalEffect(writer.log, "guitar", 45, TODAY))
    assert "could not read" not in await ana.say(text)
    assert ana.suggested


async def test_a_correction_of_several_things_is_one_command(ana: Conversation) -> None:
    ana.practice.change(LocalEffect(writer.log, "guitar", 45, TODAY))
    await ana.say("make it 50 minutes and move it to yesterday")
    (offer,) = ana.suggested
    assert "guitar, 45 min, today → 50 min, yesterday" == offer.label
    assert offer.words.endswith(f" 50m on {TODAY - timedelta(days=1)}")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("how am I doing?", "Your journey"),
        ("mis habilidades", "Tus habilidades"),
        ("what did I do yesterday", "30 min"),
        ("what can u do", "What I can do"),
        ("it hurts", "stop, and see a doctor"),
        ("thanks!", "You are welcome"),
        ("no thanks", "I changed nothing"),
        ("yes", "Name the one you mean"),
    ],
)
async def test_a_request_that_only_reads_is_answered(practised: Conversation, text: str, says: str) -> None:
    assert says in await practised.say(text)
    assert {} == offers(practised)


async def test_what_is_not_understood_gets_one_sentence_and_four_buttons(ana: Conversation) -> None:
    assert "I did not understand that" in await ana.say("purple monkey dishwasher")
    assert ["/help", "/stats", "/plan", "/skills"] == list(offers(ana).values())
    assert "A time cannot be negative" in await ana.say("-5m guitar")


@pytest.mark.parametrize(
    ("text", "unread"),
    [
        ("only on weekends, at least 3 hours a day", "at least 3 hours a day"),
        ("no más de 20 minutos los lunes y nada los miércoles", "20 minutos"),
    ],
)
async def test_a_condition_that_no_plan_keeps_is_said(ana: Conversation, text: str, unread: str) -> None:
    answer = await ana.say(text)
    assert unread in answer.partition("?")[2]
    assert unread not in ana.suggested[0].words


async def test_a_month_is_answered_by_its_command(practised: Conversation) -> None:
    assert "/stats octubre" in await practised.say("cuánto practiqué en octubre")
    assert ["/stats octubre"] == [reply.words for reply in practised.suggested]
    await practised.say("compare october and november")
    assert ["/stats october", "/stats november"] == [reply.words for reply in practised.suggested]


async def test_of_several_messages_only_the_last_has_an_offer(ana: Conversation) -> None:
    answer = await ana.say("45m gitar", later={"get_user_skills": "30m piano"})
    assert "please send “45m gitar” once more" in answer
    assert f"/log {TODAY} 30m piano" == ana.suggested[0].words


@pytest.mark.parametrize("language", ["en", "es"])
def test_what_was_not_done_is_never_written_at_once(language: str) -> None:
    for text in (GOLDEN / f"logs_nothing.{language}.txt").read_text("utf-8").splitlines():
        draft = read_practice(text, TODAY, SKILLS)
        assert draft is None or not draft.is_sure, text


def test_a_language_is_one_file_of_words() -> None:
    one, other = languages()
    assert one.lists.keys() == other.lists.keys() and one.groups.keys() == other.groups.keys()
    for file in Path("agent/coach/vocabulary").glob("*.toml"):
        text = file.read_text("utf-8")
        assert MOST_DATA_LINES >= text.count("\n") and "\\" not in text


async def test_totals_in_one_answer_never_run_backwards(ana: Conversation) -> None:
    ana.practice.change(LocalEffect(writer.log, "guitar", 20, TODAY))
    answer = await ana.say("how am I doing?", later={"get_journey_stats": "30m guitar"})
    assert [("guitar", 30), ("guitar", 20)] == ana.logged
    assert answer.count("50 min") >= 2 and "20 min" not in answer


async def test_many_messages_at_once_are_all_answered(ana: Conversation) -> None:
    answer = await ana.say(
        "5m guitar", "6m guitar", "no, it was 7", "7m guitar", "oops that was yesterday", "8m guitar"
    )
    assert [("guitar", 8), ("guitar", 7), ("guitar", 6), ("guitar", 5)] == ana.logged
    assert all(f"Logged **{minutes} min**" in answer for minutes in (5, 6, 7, 8))
    assert all(f"please send “{said}” once more" in answer for said in ("no, it was 7", "oops that was yesterday"))
    assert "cannot look" not in answer


async def test_an_edited_message_corrects_what_was_logged_and_logs_nothing(ana: Conversation) -> None:
    await ana.say("20m guitar")
    answer = await ana.say(f"{EDITED} 25 minutos de guitar")
    assert [("guitar", 20)] == ana.logged
    assert answer.startswith("¿")
    assert f"/edit {ana.newest.id} 25m" in offers(ana).values()
    assert not any(words.startswith("/log") for words in offers(ana).values())
    assert "Your journey" in await ana.say(f"{EDITED} how am I doing?")
