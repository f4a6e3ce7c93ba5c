"""Short messages with the offline coach, which mean something only by what was said before them."""

from dataclasses import replace
from datetime import time, timedelta

import pytest

from agent.coach.acts import Act
from agent.coach.answers import is_granted
from agent.coach.changes import CreateSkill
from agent.coach.listener import Listener
from agent.coach.request_view import Exchange
from agent.coach.texts import say
from tests.fakes.offline_conversation import Conversation
from tests.fakes.practice_reader import NOW, TODAY

YESTERDAY = TODAY - timedelta(days=1)


@pytest.fixture
def player(ana: Conversation) -> Conversation:
    """Somebody with three skills and nothing logged."""
    for name in ("piano", "ajedrez"):
        ana.practice.change(CreateSkill(name, None, None, 600_000))
    return ana


async def _talk(player: Conversation, *messages: str) -> str:
    answer = ""
    for text in messages:
        answer = await player.say(text)
    return answer


class TestCorrections:
    @pytest.mark.parametrize(
        "said", ["no wait, that was yesterday", "sorry it was yesterday", "no, eso fue ayer", "perdón, fue ayer"]
    )
    async def test_the_day_of_what_was_just_logged(self, player: Conversation, said: str):
        """It is moved, and nothing is logged twice."""
        await _talk(player, "30 min guitar", said)
        assert [("guitar", 30)] == player.logged
        assert YESTERDAY == player.newest.day

    @pytest.mark.parametrize(
        ("said", "minutes"),
        [
            ("it was more like 25", 25),
            ("sorry that was 25 only", 25),
            ("and it was 40 not 30", 40),
            ("mentira, fueron 45", 45),
            ("pará, eran 20", 20),
        ],
    )
    async def test_the_time(self, player: Conversation, said: str, minutes: int):
        """Without a unit, and with words that only soften it."""
        await _talk(player, "30 min guitar", said)
        assert [("guitar", minutes)] == player.logged

    async def test_hours_are_corrected_in_hours(self, player: Conversation):
        """Nobody practised two and a half minutes."""
        await _talk(player, "ayer hice 3 horas de guitar", "mentira, fueron 2 y media")
        assert [("guitar", 150)] == player.logged

    async def test_of_several_the_one_that_is_named(self, player: Conversation):
        """The last at once; one before it is asked about."""
        await _talk(player, "40 minutes of piano and 30 minutes of guitar", "sorry guitar was 35")
        assert [("guitar", 35), ("piano", 40)] == sorted(player.logged)
        await _talk(player, "40 minutes of piano and 30 minutes of guitar")
        assert "piano" in await player.say("sorry piano was 45")

    async def test_one_correction_after_the_other(self, player: Conversation):
        """Each goes on from what the one before made of it."""
        await _talk(player, "log 50 minutes guitar for sunday", "hmm it was saturday actually", "and it was 40 not 50")
        assert [("guitar", 40)] == player.logged
        assert 5 == player.newest.day.weekday()

    async def test_another_skill_that_was_so_long_is_not_what_was_logged(self, player: Conversation):
        """It is asked about: nothing of what was logged changes without a yes."""
        await _talk(player, "30 min guitar")
        assert "?" in await player.say("the piano was 20")
        assert [("guitar", 30)] == player.logged

    @pytest.mark.parametrize(("said", "yes"), [("no, the guitar was 40", "yes"), ("no, guitar fueron 40", "sí")])
    async def test_an_entry_before_the_last_is_the_one_that_is_changed(self, player: Conversation, said: str, yes: str):
        """What is asked names it as it stands; the last one stays."""
        await _talk(player, "30 min guitar", "20 min piano")
        assert "30 min" in await player.say(said)
        await player.say(yes)
        assert [("guitar", 40), ("piano", 20)] == sorted(player.logged)

    @pytest.mark.parametrize("said", ["maybe 40", "bueno 40"])
    async def test_a_second_thought_is_asked_about(self, player: Conversation, said: str):
        """It changes what was logged after a yes."""
        await _talk(player, "did some guitar", "35")
        assert "40 min" in await player.say(said)
        await player.say("yes")
        assert [("guitar", 40)] == player.logged

    async def test_after_a_no_what_was_meant_is_asked_about(self, player: Conversation):
        """The time stays, the skill is another."""
        await _talk(player, "practised ukulele for 30 min", "no")
        assert "30 min of guitar" in await player.say("it was meant to be guitar, I mistyped")
        await player.say("yes")
        assert [("guitar", 30)] == player.logged

    @pytest.mark.parametrize(
        "said", ["it was fun", "that was hard work", "no, he was 45", "is it 40 degrees?", "was it 20?"]
    )
    async def test_what_has_a_word_more_corrects_nothing(self, player: Conversation, said: str):
        """Neither does a question."""
        await _talk(player, "30 min guitar", said)
        assert [("guitar", 30)] == player.logged
        assert TODAY == player.newest.day


class TestMore:
    @pytest.mark.parametrize("said", ["same for piano", "piano same", "and piano likewise", "y lo mismo de piano"])
    async def test_the_same_of_another_skill(self, player: Conversation, said: str):
        """So long, on that day."""
        await _talk(player, "yesterday 30 min guitar", said)
        assert [("guitar", 30), ("piano", 30)] == sorted(player.logged)
        assert YESTERDAY == player.newest.day

    async def test_the_same_of_several_days(self, player: Conversation):
        """Each of them."""
        await _talk(player, "guitar 20 min today and also 20 min yesterday", "piano also same")
        assert [("guitar", 20), ("guitar", 20), ("piano", 20), ("piano", 20)] == sorted(player.logged)

    @pytest.mark.parametrize("said", ["and 20 of piano", "plus 20 piano", "y otros 20 de piano", "and piano 20"])
    async def test_a_number_of_another_skill_is_minutes_there(self, player: Conversation, said: str):
        """Behind a log nothing is left to ask."""
        await _talk(player, "30 min guitar", said)
        assert [("guitar", 30), ("piano", 20)] == sorted(player.logged)

    async def test_after_a_skill_that_is_new_too(self, player: Conversation):
        """It is known by then."""
        await _talk(player, "did 40 minutes of cello", "yes", "and 20 of piano")
        assert [("cello", 40), ("piano", 20)] == sorted(player.logged)

    async def test_what_came_before_it(self, player: Conversation):
        """No habit is meant."""
        await _talk(player, "acabo de hacer media hora de guitar", "y antes 15 minutos de piano")
        assert [("guitar", 30), ("piano", 15)] == sorted(player.logged)

    async def test_the_same_on_another_day_is_asked_about(self, player: Conversation):
        """Of the same skill."""
        await player.say("30 min guitar")
        assert "30 min of guitar, yesterday" in await player.say("same yesterday")

    async def test_another_day_is_asked_about(self, player: Conversation):
        """It may be meant so, or as a correction."""
        await _talk(player, "yesterday 30 min guitar")
        assert "15 min of guitar" in await player.say("today was only 15")
        await player.say("yes")
        assert [("guitar", 15), ("guitar", 30)] == sorted(player.logged)

    @pytest.mark.parametrize("said", ["same here", "same for you", "and 20 of my friends played piano", "and piano?"])
    async def test_anything_else_logs_nothing(self, player: Conversation, said: str):
        """A word more, or a question."""
        await _talk(player, "30 min guitar", said)
        assert [("guitar", 30)] == player.logged


class TestYesWithMoreWords:
    @pytest.mark.parametrize(
        "text",
        [
            "yep add it",
            "yes please",
            "yeah, cello obviously",
            "dale, agregalo",
            "sí, con el cello",
            "ok do it",
            "both, yes",
        ],
    )
    async def test_it_is_a_yes(self, player: Conversation, text: str):
        """Words of the question, and of granting it."""
        await _talk(player, "did 40 minutes of cello", text)
        assert [("cello", 40)] == player.logged

    @pytest.mark.parametrize(
        "text",
        [
            "yes but not today",
            "yes, tomorrow",
            "sí, mañana",
            "ok, later",
            "yes or no?",
            "yes I went home",
            "no, sure",
            "ok no",
        ],
    )
    def test_with_others_it_is_none(self, text: str):
        """Nothing is written on it."""
        assert not is_granted(text, "Shall I log **40 min of cello**? Say yes or no.")


class TestQuestionsThatGoOn:
    @pytest.mark.parametrize(
        ("asked", "said", "told"),
        [
            ("how much guitar this week?", "and piano?", "20 min"),
            ("how much guitar this week?", "what about last week?", "0 min"),
            ("how much guitar did I do this month?", "and piano?", "piano"),
            ("¿cuánto guitar esta semana?", "¿y la pasada?", "0 min"),
            ("how far am I from 100 hours?", "and 500?", "500 h"),
        ],
    )
    async def test_of_another_skill_or_another_time(self, player: Conversation, asked: str, said: str, told: str):
        """What is not said again stays."""
        await _talk(player, "30 min guitar", "20 min piano", asked)
        assert told in await player.say(said)

    async def test_as_often_as_somebody_likes(self, player: Conversation):
        """The third goes on from the second."""
        await _talk(player, "30 min guitar", "20 min piano", "how much guitar today?", "and piano?")
        assert "30 min" in await player.say("and guitar?")


class TestWhatIsLacking:
    async def test_skill_and_time_are_asked_for_one_after_the_other(self, player: Conversation):
        """As the person says them."""
        assert "What was it" in await player.say("so I practised yesterday")
        assert "How long" in await player.say("guitar")
        await player.say("about an hour")
        assert [("guitar", 60)] == player.logged
        assert YESTERDAY == player.newest.day

    async def test_the_time_first(self, player: Conversation):
        """Then the skill."""
        await _talk(player, "hoy practiqué")
        assert "habilidad" in await player.say("una hora")
        await player.say("piano")
        assert [("piano", 60)] == player.logged

    async def test_of_a_skill_that_is_about_to_be_created(self, player: Conversation):
        """What was not answered is granted with the log."""
        await _talk(player, "add viola as a new skill")
        assert "viola" in await player.say("30 min of it today")
        await player.say("yes")
        assert [("viola", 30)] == player.logged


class TestWhatWasNotDoneYet:
    async def test_what_somebody_meant_to_practise_is_done(self, player: Conversation):
        """The time comes behind it; it is asked about."""
        assert "when it is done" in await _talk(player, "what should I practise?", "ok I'll do piano")
        assert "25 min of piano" in await player.say("done! did 25 in the end")

    async def test_a_name_behind_a_time_without_one(self, player: Conversation):
        """After words that could have been about anything."""
        assert "nothing is logged" in await player.say("Today I didn't touch it, was in the workshop 25 min instead")
        assert "25 min of piano" in await player.say("yes, piano")
        assert [] == player.logged


class TestMoreInPlaceOfAYes:
    async def test_it_joins_what_was_asked_about(self, player: Conversation):
        """One yes is for both."""
        await _talk(player, "add viola as a new skill", "30 min of it today")
        assert "30 min of piano" in await player.say("and the same for piano")
        await player.say("yes")
        assert [("piano", 30), ("viola", 30)] == sorted(player.logged)

    async def test_what_is_sure_by_itself_is_logged(self, player: Conversation):
        """What was asked about is not."""
        await _talk(player, "I practised cello 20 minutes", "and yesterday I practised piano for 40 minutes")
        assert [("piano", 40)] == player.logged

    @pytest.mark.parametrize("said", ["hmm, that's not right", "uy no, así no era"])
    async def test_that_it_is_wrong_is_a_no(self, player: Conversation, said: str):
        """And behind a log the way to correct it."""
        await _talk(player, "I practised cello 20 minutes")
        assert "yes or no" not in await player.say(said)
        await player.say("30 min guitar")
        assert "/edit" in await player.say(said)


class TestWhatWasNotSaidOfIt:
    async def test_a_copied_time_is_asked_about_with_another_skill(self, player: Conversation):
        """Nobody said that it was so long."""
        await _talk(player, "guitar 30, piano 2h", "and yesterday the same")
        before = player.logged
        await player.say("no wait, yesterday only guitar")
        assert before == player.logged

    async def test_the_same_on_another_day_is_all_of_it(self, player: Conversation):
        """Of a log of two."""
        await player.say("guitar 30 min, piano 2h")
        answer = await player.say("y ayer lo mismo")
        assert "guitar" in answer
        assert "piano" in answer

    async def test_time_and_skill_among_other_words_answer_how_long(self, player: Conversation):
        """They are asked about, the skill may be another."""
        assert "How long" in await player.say("did some piano today")
        assert "1 h 30 min" in await player.say("about an hour and a half I think, with the radio on")

    async def test_nothing_is_made_of_words_that_take_it_back(self, player: Conversation):
        """The time alone does not grant it."""
        await _talk(player, "did some piano today", "10 minutes but don't log it")
        await player.say("yes")
        assert [] == player.logged


class TestGoalsAndReminders:
    def test_a_time_may_come_after_the_reminder(self):
        """Asked for by the answer before."""
        asked = Exchange("recuérdame estudiar piano mañana", say("es", "twist.reminder"), NOW)
        task = Listener(("piano",), "es").task("a las 19", (asked,), NOW, after_log=False)
        assert task.reminder is not None
        assert (time(19), TODAY + timedelta(days=1)) == (task.reminder.at, task.reminder.day)

    @pytest.mark.parametrize(
        "said", ["that's a lot. make it 2", "mejor 2", "no, 2 hours", "make it 120 minutes instead"]
    )
    async def test_a_goal_is_changed_in_its_own_unit(self, player: Conversation, said: str):
        """It is asked about again, and nothing is logged."""
        await player.say("my goal is 3 hours of guitar a week")
        assert "**2 h**" in await player.say(said)
        assert [] == player.logged

    @pytest.mark.parametrize(
        ("said", "at"),
        [
            ("make it 19:30", time(19, 30)),
            ("mejor a las 20", time(20)),
            ("actually make that 20:15", time(20, 15)),
            ("actually 7pm", time(19)),
            ("hmm, 8pm is better", time(20)),
        ],
    )
    def test_a_reminder_is_moved(self, said: str, at: time):
        """It keeps its day and what it is about."""
        before = Exchange("remind me tomorrow at 18:00 to practise guitar", "Good.", NOW)
        task = Listener(("guitar",), "en").task(said, (before,), NOW, after_log=False)
        assert Act.MOVE_REMINDER is task.act
        assert task.moved is not None
        assert replace(task.moved, at=at) == task.reminder


class TestTheOther:
    @pytest.mark.parametrize(
        "said", ["the other way round", "no, the other way around", "perdón, al revés", "swap them", "vice versa"]
    )
    async def test_two_that_were_just_logged_are_swapped(self, player: Conversation, said: str):
        """Each has the other's time, on its own entry."""
        await _talk(player, "30 min guitar and 20 min piano", said)
        assert {("guitar", 20), ("piano", 30)} == set(player.logged)

    async def test_swapped_twice_they_are_as_they_were(self, player: Conversation):
        """What was corrected is what the next correction goes by."""
        await _talk(player, "30 min guitar and 20 min piano", "al revés", "no, al revés")
        assert {("guitar", 30), ("piano", 20)} == set(player.logged)

    @pytest.mark.parametrize("said", ["the other way round", "al revés"])
    async def test_of_one_nothing_is_swapped(self, player: Conversation, said: str):
        """There is no other."""
        await _talk(player, "30 min guitar", said)
        assert [("guitar", 30)] == player.logged

    @pytest.mark.parametrize("said", ["sorry, the other one", "no, era la otra"])
    async def test_of_two_skills_the_other_is_meant(self, ana: Conversation, said: str):
        """Whoever has two means the one that was not named."""
        ana.practice.change(CreateSkill("piano", None, None, 600_000))
        await _talk(ana, "30 min guitar", said)
        assert [("piano", 30)] == ana.logged

    async def test_of_three_it_is_not_guessed(self, player: Conversation):
        """Either of two could be meant."""
        await _talk(player, "30 min guitar", "sorry, the other one")
        assert [("guitar", 30)] == player.logged

    async def test_the_other_is_asked_about(self, ana: Conversation):
        """The same number, of the other skill."""
        ana.practice.change(CreateSkill("piano", None, None, 600_000))
        assert "piano" in await _talk(ana, "30 min guitar", "how much guitar this week?", "and the other one?")
