"""What the offline coach shows and corrects of what is logged, asked for in words; and what lacks is asked for."""

from dataclasses import replace
from datetime import timedelta

import pytest

from agent.coach.changes import LogPractice, SaveWeeklyPlan
from agent.coach.practice import PlannedSession
from tests.fakes.offline_conversation import Conversation
from tests.fakes.practice_reader import ANA, TODAY  # a Wednesday

MONDAY = TODAY - timedelta(days=2)


@pytest.fixture
def logged(ana: Conversation) -> Conversation:
    """Ana, with an entry of guitar on Monday and one of piano today."""
    ana.practice.change(LogPractice("guitar", 30, MONDAY, "scales"))
    ana.practice.change(LogPractice("Piano", 20, TODAY))
    return ana


class TestSeveralEntries:
    async def test_two_durations_are_two_entries(self, ana: Conversation):
        """Logged at once, told apart."""
        ana.practice.change(LogPractice("Piano", 10, TODAY - timedelta(days=9)))
        answer = await ana.say("20 minutes of guitar, 15 of piano")
        assert [["get_user_skills"], ["log_practice", "log_practice"]] == ana.calls
        assert [("guitar", 20), ("Piano", 10), ("Piano", 15)] == sorted(
            ana.logged, key=lambda entry: (entry[0].lower(), entry[1])
        )
        assert "**20 min**" in answer and "**15 min**" in answer

    async def test_one_new_name_among_them_is_asked_about_and_then_both_are_logged(self, ana: Conversation):
        """Nothing before the yes."""
        assert "New skill “cello”?" in await ana.say("20 minutes of guitar, 15 minutes of cello")
        assert [] == ana.logged
        await ana.say("yes")
        assert [("cello", 15), ("guitar", 20)] == sorted(ana.logged)

    async def test_steering_between_them_loses_none(self, ana: Conversation):
        """What overtook the second is answered too."""
        ana.practice.change(LogPractice("Piano", 10, TODAY - timedelta(days=9)))
        await ana.say("20 minutes of guitar, 15 of piano", later={"log_practice": "thanks"})
        assert [("Piano", 10), ("Piano", 15), ("guitar", 20)] == sorted(ana.logged)


class TestWhatLacks:
    async def test_a_near_miss_is_asked_about(self, ana: Conversation):
        """And logged after a yes, under the skill's own name."""
        assert "Did you mean guitar?" in await ana.say("I practised gutiar for 45 minutes")
        assert [] == ana.logged
        await ana.say("yes")
        assert [("guitar", 45)] == ana.logged

    async def test_how_long_it_was_is_asked_for(self, ana: Conversation):
        """And then logged, on the day that was said first."""
        assert "How long was it with guitar?" in await ana.say("I practised guitar yesterday")
        assert "Logged **45 min**" in await ana.say("45 minutes")
        assert [("guitar", 45)] == ana.logged
        assert TODAY - timedelta(days=1) == ana.newest.day

    async def test_a_number_alone_answers_how_long_it_was(self, ana: Conversation):
        """Minutes, in the message that the question is answered with; no more than a session has."""
        await ana.say("I practised guitar")
        assert "Logged **20 min**" in await ana.say("20")
        await ana.say("I practised guitar")
        assert "Logged" not in await ana.say("2000")

    @pytest.mark.parametrize(
        "words", ["monday,", "on the,", "el 19", "45m on", "a", "from 7 to", "hora y", "the 16th of", "½"]
    )
    async def test_what_ends_in_the_middle_is_answered(self, ana: Conversation, words: str):
        """A phrase cut off anywhere breaks nothing."""
        assert await ana.say(words)
        assert [] == ana.logged


class TestLookingUp:
    @pytest.mark.parametrize("words", ["what did I do on Monday?", "¿qué hice el lunes?"])
    async def test_the_entries_of_a_day(self, logged: Conversation, words: str):
        """Those and no others."""
        answer = await logged.say(words)
        assert "30 min" in answer and "20 min" not in answer

    @pytest.mark.parametrize("words", ["this month?", "and this month?", "¿este mes?"])
    async def test_the_entries_of_a_month(self, logged: Conversation, words: str):
        """All there are since its first day, with their sum."""
        assert "50 min" in await logged.say(words)

    async def test_words_in_notes(self, logged: Conversation):
        """Found by what was noted."""
        answer = await logged.say("find scales in my notes")
        assert "scales" in answer and "20 min" not in answer

    async def test_one_question_gets_one_number(self, logged: Conversation):
        """A sentence, not a page."""
        answer = await logged.say("how long did I play guitar in total?")
        assert "30 min" in answer
        assert 3 > answer.count("\n\n")


class TestChanging:
    async def test_an_entry_of_a_day_is_deleted_after_a_yes(self, logged: Conversation):
        """The one that is meant, and no other."""
        assert "Shall I take back **30 min of guitar" in await logged.say("delete Monday's guitar")
        assert 2 == len(logged.logged)
        answer = await logged.say("yes")
        assert [("Piano", 20)] == logged.logged
        assert "Taken back" in answer or "30 min" in answer

    async def test_an_entry_of_a_day_is_corrected_after_a_yes(self, logged: Conversation):
        """Its minutes; the day stays."""
        assert "to **40 min**" in await logged.say("change Monday's guitar to 40 minutes")
        await logged.say("yes")
        assert [("Piano", 20), ("guitar", 40)] == logged.logged

    async def test_of_several_none_is_guessed(self, logged: Conversation):
        """They are listed, and nothing is changed."""
        logged.practice.change(LogPractice("guitar", 10, MONDAY))
        answer = await logged.say("delete Monday's guitar")
        assert "30 min" in answer and "10 min" in answer
        await logged.say("yes")
        assert 3 == len(logged.logged)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("I'm so tired and feel useless", "five minutes"),
        ("tell me a joke", "Carnegie Hall"),
        ("how are you?", "only rules"),
        ("I want to practise guitar for 2 hours", "Tell me when it is done"),
        ("my goal is 45 minutes of guitar a day", "A fine goal"),
        ("my sister practised guitar for 45 minutes", "your own practice only"),
        ("I didn't practise my 30 minutes", "nothing is logged"),
        ("the video is 45 minutes long", "took its time"),
        ("I practised guitar for 45 minutes, just kidding", "as a joke"),
    ],
)
async def test_what_it_cannot_do_is_answered_in_one_sentence_that_fits(
    ana: Conversation, words: str, told: str
) -> None:
    """None of it is "I did not understand", and nothing is written."""
    answer = await ana.say(words)
    assert told in answer
    assert "did not understand" not in answer
    assert [] == ana.logged


class TestGoals:
    @pytest.mark.parametrize(
        ("said", "asked", "yes", "set_to"),
        [
            ("my goal is 3 hours a week", "Shall I make **3 h** your goal of the week?", "yes", 180),
            ("mi meta son 5 horas a la semana", "¿Pongo **5 h** como tu meta de la semana?", "sí", 300),
        ],
    )
    async def test_a_goal_of_the_week_is_set_after_a_yes(
        self, ana: Conversation, said: str, asked: str, yes: str, set_to: int
    ):
        """Asked first, with its hours; then it is there to be asked for."""
        assert asked in await ana.say(said)
        await ana.say(yes)
        assert f"{set_to // 60} h" in await ana.say("what's my weekly goal?")

    async def test_a_pace_that_is_supposed_counts(self, logged: Conversation):
        """Fifty hours at half an hour a day, fifty minutes done: 15 weeks."""
        answer = await logged.say("if I practise 30 minutes a day, when will I reach 50 hours?")
        assert "3 h 30 min a week" in answer and "June 2026" in answer


class TestPlans:
    @pytest.mark.parametrize(
        ("asked", "said"),
        [
            (
                "what is my plan for today?",
                "Your plan has nothing for today: a day of rest. Next: Thursday, 5 March, 40 min",
            ),
            (
                "¿cuál es mi plan de hoy?",
                "Tu plan no tiene nada para hoy: día de descanso. Lo próximo: jueves 5 de marzo",
            ),
            ("what's my plan for tomorrow?", "Your plan for tomorrow: 40 min of 🎸 guitar."),
            ("¿qué dice mi plan para mañana?", "Tu plan para mañana: "),
            ("what is my plan for next week?", "There is no plan for next week yet."),
        ],
    )
    async def test_a_plan_is_told_by_the_day(self, logged: Conversation, asked: str, said: str):
        """One day where one is asked for; the next week's where that is."""
        planned = (PlannedSession(TODAY + timedelta(days=1), "guitar", 40),)
        logged.practice.change(SaveWeeklyPlan(MONDAY, "Play.", sessions=planned))
        logged.practice.principal = replace(ANA, locale="es" if "plan " in asked and "¿" in asked else "en")
        assert said in await logged.say(asked)

    async def test_where_there_is_none_it_says_so_first(self, logged: Conversation):
        """What it could be comes behind that."""
        answer = await logged.say("how am I doing with my plan?")
        assert "You have no plan for this week yet. It could be this one:" in answer
