"""Suggested replies: a press says the words once, if nothing else was answered since."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa

from agent.transcript import ModelResponded, SuggestedReply, UserItem
from channels.errors import ChannelError, Permanent, Retryable
from channels.messages import ChatKind, CommandInvoked, Route
from gateway.sessions.presses import HOLDS
from gateway.store.tables.people import users
from tests.fakes.chat import FakeChannel
from tests.fakes.outages import FickleEngine
from tests.fakes.spine import KEY, QuickStore, Spine, quick_store

GONE = "That offer is outdated, and nothing was changed. Please write it again."
VOID = "That button is no longer valid."

ASKED = ModelResponded(0, "Shall I?", replies=(SuggestedReply("Yes", "yes, do it"), SuggestedReply("No", "no")))


def said(spine: Spine) -> list[str]:
    return [item.text for item in spine.model.requests[-1].items if isinstance(item, UserItem)]


def shown_buttons(spine: Spine) -> dict[str, str]:
    return {button.label: button.data for button in spine.channel.parts[-1].buttons}


async def question(spine: Spine, user: str = "p1", chat: str = "c1") -> dict[str, str]:
    await spine.say("hello", user, chat)
    await answer(spine, ASKED)
    return shown_buttons(spine)


async def answer(spine: Spine, text: str | ModelResponded = "Done.") -> None:
    await spine.asked()
    spine.model.give(text)
    await spine.quiet()


async def test_the_same_press_delivered_twice_at_once_is_said_once(spine: Spine) -> None:
    buttons = await question(spine)
    for _ in range(5):
        await spine.press(buttons["No"])
    await answer(spine)
    assert ["hello", "no"] == said(spine)
    assert [*["Already done: No."] * 4, "Done."] == sorted(spine.channel.shown()[1:])


@pytest.mark.parametrize("chat", ["c1", "g1"])
async def test_a34_another_persons_press_says_nothing_for_them_nor_for_the_asker(spine: Spine, chat: str) -> None:
    buttons = await question(spine, chat=chat)
    await spine.press(buttons["Yes"], "p2", chat)
    await spine.quiet()
    assert ["Shall I?", "That question is for someone else. I did nothing."] == spine.channel.shown(chat)
    assert ([], 1) == (spine.channel.unbuttoned, len(spine.model.requests))
    await spine.press(buttons["Yes"], "p1", chat)
    await answer(spine)
    assert ["hello", "yes, do it"] == said(spine)


@pytest.mark.parametrize("chat", ["c2", "g1"])
async def test_a_question_of_one_conversation_is_not_answered_in_another(spine: Spine, chat: str) -> None:
    buttons = await question(spine, chat="g2")
    await spine.press(buttons["Yes"], chat=chat)
    await spine.quiet()
    assert [GONE] == spine.channel.shown(chat)
    assert 1 == len(spine.model.requests)


async def test_a_question_is_answered_by_the_agent_that_asked_it(spine: Spine) -> None:
    buttons = await question(spine)
    await spine.admit(spine.pressed(buttons["Yes"]), agent="finder")  # chosen since
    await answer(spine)
    assert ["hello", "yes, do it"] == said(spine)


async def test_a_question_that_was_passed_over_is_not_answered_any_more(spine: Spine) -> None:
    old = await question(spine)
    new = await question(spine)
    await spine.press(old["Yes"])
    await spine.quiet()
    assert (GONE, ["1", "m1"], 2) == (spine.channel.shown()[-1], spine.channel.unbuttoned, len(spine.model.requests))
    await spine.press(new["Yes"])
    await answer(spine)
    assert ["hello", "hello", "yes, do it"] == said(spine)


async def test_a_new_conversation_has_no_questions(spine: Spine) -> None:
    buttons = await question(spine)
    await spine.say("/new")
    await spine.quiet()
    await spine.press(buttons["Yes"])
    await spine.quiet()
    assert GONE == spine.channel.shown()[-1]
    assert 1 == len(spine.model.requests)


async def test_a_button_holds_for_a_week(spine: Spine) -> None:
    buttons = await question(spine)
    spine.later(days=HOLDS.days)
    await spine.press(buttons["Yes"])
    await spine.quiet()
    assert VOID == spine.channel.shown()[-1]
    spine.later(days=-1)
    await spine.press(buttons["Yes"])
    await answer(spine)
    assert "yes, do it" == said(spine)[-1]


async def test_a_press_outlives_the_process_and_is_said_once(spine: Spine) -> None:
    buttons = await question(spine)
    spine.router.close()
    await spine.admit(spine.pressed(buttons["Yes"]), silently=True)
    await spine.kill()
    await spine.begin()
    spine.router.session("default", KEY).close()
    await spine.quiet()
    assert 1 == len(spine.model.requests)
    await spine.kill()
    await spine.begin()
    await spine.asked()
    await spine.kill()
    await spine.begin()
    await spine.press(buttons["Yes"])
    await answer(spine)
    assert ["hello", "yes, do it"] == said(spine)
    assert ["Shall I?", "Already done: Yes.", "Done."] == spine.channel.shown()


async def test_a_press_whose_commit_held_unheard_is_said_once(tmp_path: Path) -> None:
    engine = FickleEngine(tmp_path / "tenk.db")
    store = await QuickStore(engine).start()
    spine = Spine(store)
    await spine.begin()
    buttons = await question(spine)
    await spine.admit(spine.pressed(buttons["Yes"]), silently=True)
    engine.unheard = 1
    spine.bus.reread()
    await answer(spine)
    assert (0, ["hello", "yes, do it"]) == (engine.unheard, said(spine))
    assert ["Shall I?", "Done."] == spine.channel.shown()
    await spine.kill()
    await store.aclose()


async def test_a_press_that_waited_too_long_is_missed_as_its_words_would_be(spine: Spine) -> None:
    buttons = await question(spine)
    await spine.admit(spine.pressed(buttons["Yes"]), silently=True)
    await spine.kill()
    spine.later(seconds=spine.sessions.missed_after_s + 1)
    await spine.begin()
    await spine.quiet()
    assert "please send it again" in spine.channel.shown()[-1]
    assert 1 == len(spine.model.requests)


async def test_what_only_its_person_sees_stays_so(spine: Spine) -> None:
    asked, again = (Route("interaction", token, spine.now.replace(year=2030), private=True) for token in ("t1", "t2"))
    message = spine.message("", chat="g1")
    await spine.admit(
        CommandInvoked(
            event_id="command:1",
            address=message.address,
            sender=message.sender,
            received_at=spine.now,
            name="coach",
            arguments="hello",
            kind=ChatKind.GROUP,
            route=asked,
        )
    )
    await answer(spine, ASKED)
    await spine.admit(replace(spine.pressed(shown_buttons(spine)["Yes"], chat="g1"), route=again))
    await answer(spine)
    assert ["hello", "yes, do it"] == said(spine)
    assert ["t1", "t2"] == [part.route.token for part in spine.channel.parts if part.route is not None]


@pytest.mark.parametrize(
    ("language", "hint"), [("", "Type the number of your answer."), ("es", "Escribe el número de tu respuesta.")]
)
async def test_where_a_channel_has_no_buttons_the_lines_are_numbered(tmp_path: Path, language: str, hint: str) -> None:

    class WithoutButtons(FakeChannel):
        close_buttons = None  # type: ignore[assignment]  what a runtime check takes for not there

    store = await quick_store(tmp_path / "tenk.db")
    spine = Spine(store, channel=WithoutButtons())
    await spine.begin()
    await spine.say("hello")
    await answer(spine, replace(ASKED, replies=tuple(replace(reply, language=language) for reply in ASKED.replies)))
    assert f"Shall I?\n\n1. Yes\n2. No\n\n{hint}" == spine.channel.shown()[-1]
    await spine.kill()
    await store.aclose()


async def test_where_nothing_is_left_of_an_answer_there_is_nothing_to_reply_to(tmp_path: Path) -> None:
    store = await quick_store(tmp_path / "tenk.db")
    spine = Spine(store, clean=lambda text: text.replace("Shall I?", ""))
    await spine.begin()
    assert {} == await question(spine)
    assert ["My answer came out empty. Please ask me again."] == spine.channel.shown()
    await spine.kill()
    await store.aclose()


LOGS = ModelResponded(0, "Shall I?", replies=(SuggestedReply("Log it", "/log 45m guitar", is_yes=True),))


async def logged(spine: Spine) -> list[int]:
    query = sa.text("SELECT minutes FROM practice_sessions")
    return list(await spine.store.read(lambda connection: connection.execute(query).scalars().all()))


async def offered_log(spine: Spine) -> str:
    person = {
        "id": "p1",
        "tenant_id": "default",
        "role": "owner",
        "display_name": "Ana",
        "timezone": "UTC",
        "week_start": 0,
        "created_at": spine.now,
    }
    await spine.store.commit(lambda connection: connection.execute(users.insert().values(person)))
    await spine.begin()
    await spine.say("hello")
    await answer(spine, LOGS)
    return shown_buttons(spine)["Log it"]


async def test_a_pressed_command_whose_commit_held_unheard_is_done_once(tmp_path: Path) -> None:
    engine = FickleEngine(tmp_path / "tenk.db")
    store = await QuickStore(engine).start()
    spine = Spine(store, practice=True)
    button = await offered_log(spine)
    await spine.admit(spine.pressed(button), silently=True)
    engine.unheard = 1
    spine.bus.reread()
    await spine.until(lambda: len(spine.channel.shown()) > 1)
    await spine.quiet()
    assert (0, [45], 1) == (engine.unheard, await logged(spine), len(spine.model.requests))
    await spine.press(button)
    await spine.quiet()
    assert "Already done: Log it." == spine.channel.shown()[-1]
    assert [45] == await logged(spine)
    await spine.kill()
    await store.aclose()


async def test_a_pressed_command_outlives_the_process(tmp_path: Path) -> None:
    store = await quick_store(tmp_path / "tenk.db")
    spine = Spine(store, practice=True)
    button = await offered_log(spine)
    spine.router.close()
    await spine.admit(spine.pressed(button), silently=True)
    await spine.kill()
    await spine.begin()
    await spine.until(lambda: len(spine.channel.shown()) > 1)
    await spine.quiet()
    assert [45] == await logged(spine)
    await spine.kill()
    await store.aclose()


async def test_words_of_its_person_take_the_buttons_away_and_others_do_not(spine: Spine) -> None:
    buttons = await question(spine)
    await spine.say("hello", "p2", "c1")
    await answer(spine)
    assert [] == spine.channel.unbuttoned
    await spine.say("something else")
    await answer(spine)
    assert ["1"] == spine.channel.unbuttoned
    await spine.press(buttons["Yes"])
    await spine.quiet()
    assert GONE == spine.channel.shown()[-1]


@pytest.mark.parametrize(
    ("failure", "passed", "told"),
    [(Retryable("busy"), timedelta(), 1), (Permanent("no"), timedelta(), 0), (Retryable("busy"), timedelta(days=2), 0)],
)
async def test_buttons_that_a_call_could_not_take_away_are_tried_again_for_a_day(
    spine: Spine, failure: ChannelError, passed: timedelta, told: int
) -> None:
    await question(spine)
    spine.channel.sign_error = failure
    await spine.say("something else")
    await answer(spine)
    spine.now += passed
    await spine.delivery.buttons.look()
    spine.channel.sign_error = None
    await spine.delivery.buttons.look()
    await spine.delivery.buttons.look()
    assert ["1"] * told == spine.channel.unbuttoned


async def test_buttons_go_when_their_time_is_over_also_after_a_kill(spine: Spine) -> None:
    await question(spine)
    await spine.kill()
    await spine.begin()
    spine.now += HOLDS
    await spine.delivery.buttons.look()
    assert ["1"] == spine.channel.unbuttoned
