"""Talks of several messages with the offline coach: what one message says hangs on what was said and asked before."""

from datetime import UTC, datetime

import pytest

from agent.coach.acts import Act
from agent.coach.changes import CreateSkill, LogPractice
from agent.coach.request_view import Exchange, RequestView
from agent.coach.tasks import tasks_of
from agent.coach.texts import say
from gateway.coach.tables import reminders
from tests.fakes.offline_conversation import Conversation
from tests.fakes.practice_reader import NOW, TODAY


class TestAnswersThatCorrectAQuestion:
    @pytest.mark.parametrize(
        ("said", "answers", "logged"),
        [
            ("I did 1h of running", ("no, it was cycling", "yes"), ("cycling", 60)),
            ("I did 1h of running", ("not running, cycling", "yes"), ("cycling", 60)),
            ("corrí una hora", ("no era correr, era natación", "sí"), ("natación", 60)),
            ("I practised cello 20 minutes", ("make it 40", "yes"), ("cello", 40)),
            ("I practised cello 20 minutes", ("40", "yes"), ("cello", 40)),
            ("I practised cello 20 minutes", ("yes, but it was 40",), ("cello", 40)),
            ("I practised cello 20 minutes", ("no, it was guitar",), ("guitar", 20)),
            ("practiqué chelo media hora", ("no, fueron 40 minutos", "sí"), ("chelo", 40)),
            ("practiqué guitar 30 o 40 min", ("no, fueron 80 minutos",), ("guitar", 80)),
        ],
    )
    async def test_what_was_asked_about_is_logged_as_corrected(
        self, ana: Conversation, said: str, answers: tuple[str, ...], logged: tuple[str, int]
    ):
        """The right skill, the right time, once."""
        for text in (said, *answers):
            assert [] == ana.logged
            await ana.say(text)
        assert [logged] == ana.logged

    @pytest.mark.parametrize("said", ["no, 20 minutes is too long", "no, later", "not now", "nope", "no, never mind"])
    async def test_a_no_with_more_words_is_a_no(self, ana: Conversation, said: str):
        """Nothing is logged, and a yes after it is one to nothing."""
        await ana.say("I practised cello 20 minutes")
        await ana.say(said)
        assert "nothing changes" in await ana.say("yes")
        assert [] == ana.logged

    async def test_another_log_is_no_correction_of_the_question(self, ana: Conversation):
        """It is logged, and what was asked about is not."""
        await ana.say("I practised cello 20 minutes")
        await ana.say("45m guitar")
        assert [("guitar", 45)] == ana.logged

    async def test_an_older_entry_is_not_what_an_answer_corrects(self, practised: Conversation):
        """What the last answer asked about is meant, not what was logged before."""
        before = practised.logged
        await practised.say("30 min guitar")
        await practised.say("I practised cello 20 minutes")
        await practised.say("actually it was 25 minutes")
        assert [("guitar", 30), *before] == practised.logged
        await practised.say("yes")
        assert ("cello", 25) in practised.logged


class TestYesWithoutAQuestion:
    async def test_it_changes_nothing_and_says_so(self, practised: Conversation):
        """Nobody is thanked for it."""
        before = practised.logged
        assert "nothing changes" in await practised.say("yes")
        assert before == practised.logged

    async def test_one_said_before_the_question_was_asked_is_none(self, ana: Conversation):
        """The question stands, with its buttons."""
        answer = await ana.say("I practised cello 20 minutes", later={"get_user_skills": "yes"})
        assert "New skill" in answer
        assert "nothing changes" not in answer
        assert ["Yes", "No"] == [reply.label for reply in ana.suggested]
        await ana.say("yes")
        assert [("cello", 20)] == ana.logged


class TestMoreOfTheSame:
    @pytest.mark.parametrize("said", ["another 15", "and 15 minutes yesterday", "y ayer 15", "15 minutes"])
    async def test_it_is_of_what_was_just_logged_after_a_yes(self, ana: Conversation, said: str):
        """Without the skill, and without a unit where words say that it comes on top."""
        ana.practice.change(CreateSkill("piano", None, None, 600_000))
        await ana.say("30 min guitar")
        assert "guitar" in await ana.say(said)
        await ana.say("yes")
        assert [("guitar", 15), ("guitar", 30)] == sorted(ana.logged)

    async def test_after_something_else_the_skill_is_asked_for(self, ana: Conversation):
        """What was logged a while ago is not meant."""
        ana.practice.change(CreateSkill("piano", None, None, 600_000))
        await ana.say("30 min guitar")
        await ana.say("thanks")
        assert "Which skill" in await ana.say("15 minutes")

    @pytest.mark.parametrize("said", ["that's wrong, delete it", "bye", "how am I doing?"])
    async def test_what_is_no_name_is_no_new_skill(self, newcomer: Conversation, said: str):
        """As the answer to which skill it was."""
        await newcomer.say("I practised 25 min")
        assert "New skill" not in await newcomer.say(said)


class TestGoals:
    @pytest.mark.parametrize(
        "said",
        ["set a goal of 2 hours a week", "my weekly goal should be 2 hours", "ponme una meta de 2 horas semanales"],
    )
    async def test_one_may_be_set_by_any_words(self, practised: Conversation, said: str):
        """It corrects no entry."""
        before = practised.logged
        assert "2 h" in await practised.say(said)
        await practised.say("yes")
        assert [["get_user_skills"], ["set_weekly_goal"]] == practised.calls
        assert before == practised.logged

    @pytest.mark.parametrize(
        "said", ["I want to practise guitar 3 hours a week", "quiero llegar a 3 horas de guitar por semana"]
    )
    async def test_so_much_of_a_skill_a_week_becomes_its_goal_after_a_yes(self, ana: Conversation, said: str):
        """And the question names it."""
        asked = await ana.say(said)
        assert "3 h" in asked
        assert "guitar" in asked
        assert "3 h" in await ana.say("sí" if "quiero" in said else "yes")
        assert [["get_user_skills"], ["edit_skill"]] == ana.calls


class TestWhatIsNotThere:
    @pytest.mark.parametrize("said", ["how much piano this month?", "¿cuánto piano llevo?", "delete the piano entry"])
    async def test_a_skill_they_do_not_have_is_named(self, practised: Conversation, said: str):
        """No number of something else stands for it."""
        answer = await practised.say(said)
        assert "piano" in answer
        assert "/skills" in answer

    async def test_what_they_have_is_counted(self, practised: Conversation):
        """The same question, of a skill of theirs."""
        practised.practice.change(LogPractice("Guitar", 30, TODAY))
        assert "1 h" in await practised.say("how much guitar today?")


async def test_reminders_are_shown_when_asked_for(ana: Conversation):
    """In words too, as `/remind list` shows them."""
    assert "no reminders" in await ana.say("which reminders do I have?")
    assert [["list_reminders"]] == ana.calls


class TestLanguage:
    @pytest.mark.parametrize(
        ("said", "then", "words"),
        [
            ("¿cómo voy con la guitarra?", "no doy una", "Siento"),
            ("how am I doing with my guitar?", "rename guitar to guitarra clásica", "is called"),
            ("hola", "how am I doing this week?", "week"),
        ],
    )
    async def test_words_of_either_language_are_in_that_of_the_talk(
        self, practised: Conversation, said: str, then: str, words: str
    ):
        """A name in another language changes nothing; a sentence does."""
        await practised.say(said)
        assert words in await practised.say(then)


@pytest.mark.parametrize("said", ["cancel my reminder", "stop reminding me", "quita el recordatorio"])
async def test_the_only_reminder_is_taken_away(ana: Conversation, said: str):
    """Of several, or of none, they are shown."""
    who = ana.practice.principal
    ana.practice.connection.execute(
        reminders.insert(),
        {
            "tenant_id": who.tenant, "user_id": who.user_id, "id": "r1", "at": "19:00", "weekdays": "[0]", "about": "",
            "address": "{}", "session_key": "", "zone": "UTC", "next_at": NOW, "next_day": TODAY, "created_at": NOW,
        },
    )  # fmt: skip
    await ana.say(said)
    assert [["list_reminders"], ["cancel_reminders"]] == ana.calls[-2:]
    assert "no reminders" in await ana.say("cancel the reminder please, this one")


async def test_minutes_in_place_of_others_correct_the_last_entry(ana: Conversation):
    """Without a unit, in both languages."""
    await ana.say("30 min guitar")
    await ana.say("pon 45 en vez de 30")
    assert [("guitar", 45)] == ana.logged


@pytest.mark.parametrize("said", ["no wait, 45", "no, 45", "oops, sorry, 45 min"])
async def test_a_number_behind_a_no_corrects_what_was_just_logged(ana: Conversation, said: str):
    """It is no refusal."""
    await ana.say("30 min guitar")
    await ana.say(said)
    assert [("guitar", 45)] == ana.logged


@pytest.mark.parametrize("said", ["no, piano", "not guitar, piano"])
async def test_another_skill_behind_a_no_is_asked_about(ana: Conversation, said: str):
    """It never says that nothing is logged where something is."""
    await ana.say("30 min piano yesterday")
    await ana.say("yes")
    await ana.say("30 min guitar")
    assert "piano" in await ana.say(said)
    await ana.say("yes")
    assert [("piano", 30), ("piano", 30)] == ana.logged


async def test_what_it_can_do_is_not_told_each_time(ana: Conversation):
    """Not understood twice, it says so shortly."""
    first, second = await ana.say("lorem ipsum dolor"), await ana.say("sit amet")
    assert "stats" in first
    assert "stats" not in second
    assert "/help" in second


def test_a_long_run_of_questions_is_followed_once():
    """Each went on from the one before, with two messages each: no reading is made twice for every one of them."""
    now, asked = datetime(2026, 3, 4, tzinfo=UTC), say("en", "ask.new_skill", skill="cello", what="20 min of cello")
    run = tuple(Exchange("lorem ipsum", asked, now, ("I practised cello 20 minutes",)) for _ in range(100))
    view = RequestView(("yes",), run, (), "en", now, frozenset())
    assert [Act.LOG] == [task.act for task in tasks_of(view, ("guitar",))]
