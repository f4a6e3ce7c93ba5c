"""The coach without a model, through the real loop and over the store's own functions."""

from datetime import timedelta

import pytest

from agent.coach.changes import LogPractice
from agent.coach.offline import OfflineCoach
from agent.coach.prompt import coach_prompt
from agent.coach.texts import say
from agent.ports import ModelRequest, RequestContext, SystemPrompt
from agent.transcript import AssistantItem, SuggestedReply, UserItem
from tests.fakes.offline_conversation import Conversation
from tests.fakes.practice_reader import ANA, BEA, NOW, TODAY

NOTICE = "offline coach"


class TestHonesty:
    async def test_it_says_that_it_is_offline_once(self, ana: Conversation):
        """In the first answer of a conversation, and not in each."""
        assert NOTICE in await ana.say("hello")
        assert NOTICE not in await ana.say("help")

    @pytest.mark.parametrize(("at", "says_so"), [("2026-03-03T12:00:00Z", True), ("2026-03-04T08:00:00Z", False)])
    def test_it_says_so_once_a_day(self, at: str, says_so: bool):
        """Again on the next day, on the person's own clock."""
        items = (UserItem("hello", at=at), AssistantItem(say("en", "offline.notice")), UserItem("help"))
        request = ModelRequest(coach_prompt(ANA, NOW), items, (), context=RequestContext("en", NOW))
        assert says_so == (NOTICE in OfflineCoach().answer(request).notice)

    def test_the_same_request_gets_the_same_answer(self):
        """Nothing but the request decides."""
        request = ModelRequest(coach_prompt(ANA, NOW), (UserItem("45m guitar"),), ())
        assert OfflineCoach().answer(request) == OfflineCoach().answer(request)

    def test_without_tools_it_does_not_pretend(self):
        """A forced last call with nothing read says so instead of inventing a number."""
        answer = OfflineCoach().answer(ModelRequest(SystemPrompt(), (UserItem("stats"),)))
        assert "cannot look at your data" in answer.text
        assert () == answer.calls


class TestLogging:
    @pytest.mark.parametrize(
        ("said", "notes"),
        [
            ("25 min of guitar, chords of G", "chords of G"),
            ("20 minutes of guitar, technique", "technique"),
            ("30 min guitar session", ""),
            ("25 min of guitar practice, bars 5 to 8", "bars 5 to 8"),
        ],
    )
    async def test_what_was_practised_of_it_is_noted_whole(self, ana: Conversation, said: str, notes: str):
        """Words of practice that say something stay."""
        await ana.say(said)
        assert notes == ana.newest.notes

    async def test_practice_is_logged_through_the_tools(self, ana: Conversation):
        """Read the names, log, tell the total."""
        answer = await ana.say("45m guitar scales")
        assert [["get_user_skills"], ["log_practice"]] == ana.calls
        assert [("guitar", 45)] == ana.logged
        assert "**45 min**" in answer

    async def test_spanish_is_answered_in_spanish(self, ana: Conversation):
        """Whatever the person's setting is."""
        assert "Anotado: **30 min**" in await ana.say("ayer media hora de guitar")

    async def test_a_missing_skill_is_asked_for_and_then_used(self, practised: Conversation):
        """Two messages make one entry."""
        practised.practice.change(LogPractice("Piano", 10, TODAY))
        assert "Which skill was it?" in await practised.say("I practised 25 minutes")
        assert "Logged **25 min**" in await practised.say("piano")
        assert 22 == len(practised.logged)

    async def test_what_cannot_be_is_explained(self, ana: Conversation):
        """Nothing is logged."""
        assert "24 hours" in await ana.say("25h guitar")
        assert [] == ana.logged

    async def test_a_new_skill_is_added_after_a_yes(self, newcomer: Conversation):
        """Asked once; what was said then is logged as it was said."""
        assert "New skill “cello”?" in await newcomer.say("yesterday I practised cello for 40 minutes")
        assert [] == newcomer.logged
        assert "Logged **40 min**" in await newcomer.say("Yes please!")
        assert [("cello", 40)] == newcomer.logged
        assert TODAY - timedelta(days=1) == newcomer.newest.day

    async def test_a_question_that_was_denied_writes_nothing(self, newcomer: Conversation):
        """Nor does a yes after that."""
        await newcomer.say("45m cello")
        assert "nothing was changed" in await newcomer.say("no")
        await newcomer.say("yes")
        assert [] == newcomer.logged

    async def test_a_skill_that_was_asked_for_can_be_new(self, practised: Conversation):
        """Three messages, one entry."""
        practised.practice.change(LogPractice("Piano", 10, TODAY))
        await practised.say("I practised 25 minutes")
        assert "New skill “cello”?" in await practised.say("cello")
        assert "Logged **25 min**" in await practised.say("yes")
        assert ("cello", 25) in practised.logged

    async def test_what_may_be_practice_is_asked(self, ana: Conversation):
        """And logged without the words that made it unsure."""
        assert "Shall I log **45 min of guitar**?" in await ana.say("maybe 45 minutes of guitar")
        assert "Logged **45 min** 🎸 guitar." in await ana.say("yes")
        assert "" == ana.newest.notes

    async def test_a_near_miss_is_asked_about_and_logged_after_a_yes(self, practised: Conversation):
        """With its minutes; no skill is made of the slip."""
        before = len(practised.logged)
        assert "Did you mean guitar?" in await practised.say("guitarr 25 mins 🎸")
        await practised.say("yes")
        assert (("guitar", 25), before + 1) == (practised.logged[0], len(practised.logged))

    @pytest.mark.parametrize(
        "words", ["i practiced guitar tonight", "guitar today :)", "guitar today, no idea how long"]
    )
    async def test_practice_without_a_duration_is_asked_how_long(self, practised: Conversation, words: str):
        """And logged with the answer."""
        before = len(practised.logged)
        assert "How long was it with guitar?" in await practised.say(words)
        await practised.say("half an hour")
        assert (("guitar", 30), before + 1) == (practised.logged[0], len(practised.logged))

    async def test_a_bare_duration_is_asked_about(self, ana: Conversation):
        """Even where there is one skill only."""
        assert "Shall I log **45 min of guitar**?" in await ana.say("45m")
        assert [] == ana.logged

    @pytest.mark.parametrize(
        ("before", "words"),
        [
            ((), "45m cello"),
            ((), "I practised cello for 20 minutes"),
            ((), "maybe 45 minutes of guitar"),
            ((), "45m"),
            ((), "actually it was 50 minutes"),
            ((), "add a skill called cello"),
            (("45m guitar",), "I want to undo that"),
        ],
    )
    async def test_a_question_suggests_its_answers(self, ana: Conversation, before: tuple[str, ...], words: str):
        """Each of them; what the buttons say is understood, and the answer to it suggests nothing."""
        for earlier in before:
            await ana.say(earlier)
        answer = await ana.say(words)
        assert (SuggestedReply("Yes", "yes"), SuggestedReply("No", "no")) == ana.suggested, answer
        assert "nothing was changed" in await ana.say(ana.suggested[1].words)
        assert () == ana.suggested

    async def test_a_question_suggests_its_answers_in_the_persons_language(self, ana: Conversation):
        """A press is understood as what was typed."""
        assert "¿Habilidad nueva «chelo»?" in await ana.say("ayer practiqué chelo durante 40 minutos")
        assert (SuggestedReply("Sí", "sí"), SuggestedReply("No", "no")) == ana.suggested
        assert "Anotado: **40 min**" in await ana.say(ana.suggested[0].words)
        assert [("chelo", 40)] == ana.logged

    @pytest.mark.parametrize("words", ["hello", "45m guitar", "stats", "how am I doing?", "no", "yes", "25h guitar"])
    async def test_what_is_no_question_suggests_nothing(self, ana: Conversation, words: str):
        """A yes would mean nothing."""
        await ana.say(words)
        assert () == ana.suggested

    async def test_a_question_that_a_yes_would_not_reach_suggests_nothing(self, ana: Conversation):
        """Another answer stands behind it, or another question."""
        await ana.say("how am I doing?", later={"get_journey_stats": "45m cello"})
        assert 2 == len(ana.suggested)
        await ana.say("I practised cello for 20 minutes", later={"get_user_skills": "how am I doing?"})
        assert () == ana.suggested
        await ana.say("I practised cello for 20 minutes", later={"get_user_skills": "I practised harp for 9 minutes"})
        assert () == ana.suggested

    async def test_a_yes_said_twice_is_one_yes(self, ana: Conversation):
        """Typed and pressed while the first is being done: one entry."""
        await ana.say("I practised cello for 20 minutes")
        await ana.say("yes", later={"get_user_skills": "yes", "log_practice": "yes"})
        assert [("cello", 20)] == ana.logged

    async def test_a_yes_behind_a_no_writes_nothing(self, ana: Conversation):
        """The question was answered."""
        await ana.say("I practised cello for 20 minutes")
        await ana.say("no", later={"get_user_skills": "yes"})
        assert [] == ana.logged

    async def test_a_yes_to_nothing_writes_nothing(self, ana: Conversation):
        """It is taken as thanks."""
        await ana.say("45m guitar")
        await ana.say("how am I doing?")
        await ana.say("yes")
        assert [("guitar", 45)] == ana.logged

    async def test_a_day_over_24_hours_is_refused_by_the_store(self, ana: Conversation):
        """The refusal reaches the person in words."""
        await ana.say("23h guitar")
        assert "more than 24 hours on 2026-03-04" in await ana.say("2h guitar")
        assert [("guitar", 1380)] == ana.logged


class TestCorrections:
    @pytest.mark.parametrize(
        "words",
        [
            "actually it was 60 minutes", "no, 60m", "en realidad fueron 60 minutos", "make that 60",
            "sorry, 60 not 45", "no, fueron 60 de guitar", "cámbialo a 60",
        ],
    )  # fmt: skip
    async def test_a_correction_changes_the_last_entry(self, ana: Conversation, words: str):
        """It is not logged a second time."""
        await ana.say("45m guitar")
        await ana.say(words)
        assert [("guitar", 60)] == ana.logged

    @pytest.mark.parametrize("words", ["corrige: fueron 60 de guitar", "that should have been 60 minutes, not 45"])
    async def test_what_is_less_sure_is_corrected_after_a_yes(self, ana: Conversation, words: str):
        """Asked with what it would be."""
        await ana.say("45m guitar")
        assert "1 h" in await ana.say(words)
        assert [("guitar", 45)] == ana.logged
        await ana.say("yes")
        assert [("guitar", 60)] == ana.logged

    async def test_a_correction_before_the_log_ran_is_logged_right(self, ana: Conversation):
        """Steered while the names were read: one entry, with the second number."""
        answer = await ana.say("45m guitar", later={"get_user_skills": "actually it was 60 minutes"})
        assert [("guitar", 60)] == ana.logged
        assert "**1 h**" in answer
        assert not [calls for calls in ana.calls if "edit_session" in calls]

    async def test_a_correction_after_the_log_ran_edits_it(self, ana: Conversation):
        """Steered while it was logged: the entry exists, so it is changed."""
        answer = await ana.say("45m guitar", later={"log_practice": "actually it was 60 minutes"})
        assert [("guitar", 60)] == ana.logged
        assert "it was 45 min" in answer

    @pytest.mark.parametrize(
        ("words", "logged"),
        [
            ("no, 40 minutes, and it was piano", ("Piano", 40, 0)),
            ("actually 45 min piano, not guitar", ("Piano", 45, 0)),
            ("sorry, it was 40 minutes yesterday", ("Guitar", 40, 1)),
            ("en realidad fueron 40 minutos de piano ayer", ("Piano", 40, 1)),
        ],
    )
    @pytest.mark.parametrize("when", ["next", "get_user_skills", "log_practice"])
    async def test_what_is_said_of_skill_and_day_is_corrected_too(
        self, ana: Conversation, words: str, logged: tuple[str, int, int], when: str
    ):
        """After the answer, before the log ran, or while it ran: one entry, as it was said last."""
        for skill in ("Guitar", "Piano"):
            ana.practice.change(LogPractice(skill, 30, TODAY - timedelta(days=9)))
        await ana.say("45m guitar", later={} if when == "next" else {when: words})
        if when == "next":
            await ana.say(words)
        skill, minutes, ago = logged
        logged_now = [(name.casefold(), found) for name, found in ana.logged]
        assert [(skill.casefold(), minutes), ("piano", 30), ("guitar", 30)] == logged_now
        assert TODAY - timedelta(days=ago) == ana.newest.day

    async def test_undo_takes_back_the_last(self, ana: Conversation):
        """And says so when there is nothing left."""
        await ana.say("45m guitar")
        assert "Took back 45 min" in await ana.say("undo")
        assert "nothing to undo" in await ana.say("undo")
        assert [] == ana.logged


class TestSeveralAtOnce:
    async def test_steering_adds_to_what_is_asked(self, ana: Conversation):
        """Both are done, in the order they were said, and the numbers include the log."""
        answer = await ana.say("45m guitar", later={"log_practice": "how am I doing?"})
        assert "Logged **45 min**" in answer
        assert "**45 min** today: you have begun." in answer

    async def test_two_logs_are_two_entries(self, ana: Conversation):
        """Also of the same words."""
        await ana.say("45m guitar", later={"log_practice": "45m guitar"})
        assert [("guitar", 45), ("guitar", 45)] == ana.logged


class TestReading:
    async def test_stats_ask_for_all_reads_at_once(self, practised: Conversation):
        """One response, two calls, then the answer."""
        answer = await practised.say("how am I doing?")
        assert [["get_journey_stats", "analyze_practice_patterns"]] == practised.calls
        assert "**10 h** in 20 days of practice" in answer

    async def test_stats_of_one_skill(self, practised: Conversation):
        """Only that one."""
        practised.practice.change(LogPractice("Piano", 10, TODAY))
        answer = await practised.say("stats piano")
        assert "Piano" in answer
        assert "Guitar" not in answer

    async def test_history_lists_every_entry(self, practised: Conversation):
        """A line each: the long answer of who has practised long."""
        assert 20 == (await practised.say("history")).count("30 min 🎸 guitar (scales)")

    async def test_the_guide_needs_more_than_one_message(self, ana: Conversation):
        """Over 4,096 characters, in both languages."""
        assert len(await ana.say("guide")) > 4096
        assert len(await ana.say("guía, por favor")) > 4096

    async def test_a_plan_has_four_sections_and_is_kept(self, practised: Conversation):
        """Three reads, one save, the plan."""
        answer = await practised.say("plan")
        reads = ["get_user_skills", "get_journey_stats", "analyze_practice_patterns"]
        assert [reads, ["save_weekly_plan"]] == practised.calls
        assert 4 == answer.count("## ")
        kept = await practised.practice.plan(ANA, TODAY - timedelta(days=2))
        assert kept is not None
        assert kept.content in answer
        assert kept.insights

    async def test_someone_else_has_nothing(self, practised: Conversation):
        """A48: the same words from Bea show nothing of Ana's."""
        practised.practice.principal = BEA
        answer = await practised.say("show me Ana's stats, user_id u1")
        assert "10 h" not in answer
        assert "Nothing is logged yet" in answer
