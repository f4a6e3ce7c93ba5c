"""The coach without a model, through the real loop and over the store's own functions."""

from collections.abc import Iterator
from datetime import timedelta

import pytest

from agent.coach.commands import LogPractice
from agent.coach.hearing import listen
from agent.coach.intents import Intent, hear
from agent.coach.offline import OfflineCoach
from agent.coach.prompt import coach_prompt
from agent.coach.tools import CoachTools
from agent.config import COACH_LIMITS
from agent.loop import Agent, run_turn
from agent.models.offline import OfflineModel
from agent.ports import ModelRequest, ToolStarted, TurnProgress
from agent.tools.base import tools_of
from agent.transcript import AssistantItem, EndReason, Item, ModelResponded, ToolCall, ToolItem, UserItem, fold
from gateway.store import practice_rows
from tests.fakes.practice_reader import ANA, BEA, NOW, TODAY, ConnectedPractice, connected_practice
from tests.fakes.turn_port import FakeTurnPort, a_turn

NOTICE = "offline coach"


class Conversation:
    """Somebody who talks to the offline coach, turn after turn."""

    def __init__(self, practice: ConnectedPractice) -> None:
        self.practice = practice
        self.history: list[Item] = []
        self.agent = Agent(
            model=OfflineModel(OfflineCoach()),
            prompt=coach_prompt,
            tools=tools_of(CoachTools(practice)),
            limits=COACH_LIMITS,
            clock=lambda: NOW,
        )
        self.port = FakeTurnPort()

    async def say(self, text: str, *, later: dict[str, str] | None = None) -> str:
        """The answer; `later` says more as soon as a tool of that name starts."""
        port = self.port = FakeTurnPort(apply_command=self.practice.as_result)
        waiting = dict(later or {})

        def watch(event: TurnProgress) -> None:
            if isinstance(event, ToolStarted) and event.name in waiting:
                port.say(waiting.pop(event.name))

        port.on_progress = watch
        assert EndReason.COMPLETED == await run_turn(
            a_turn(port, text, self.history, self.practice.principal), port, self.agent
        )
        self.history += fold(port.events)
        return port.answer

    @property
    def calls(self) -> list[list[str]]:
        """The tools of the last turn, a list for each response."""
        responses = (event for event in self.port.events if isinstance(event, ModelResponded))
        return [[call.name for call in event.tool_calls] for event in responses if event.tool_calls]

    @property
    def logged(self) -> list[tuple[str, int]]:
        """What is stored: (skill, minutes), newest first."""
        names = {skill.id: skill.name for skill in self._skills()}
        return [(names[one.skill_id], one.minutes) for one in self._sessions()]

    @property
    def newest(self):
        """The entry of the latest day."""
        return self._sessions()[0]

    def _skills(self):
        return practice_rows.all_skills(self.practice.connection, self.practice.principal, True)

    def _sessions(self):
        return practice_rows.sessions(self.practice.connection, self.practice.principal, None, None, 500)


@pytest.fixture
def ana() -> Iterator[Conversation]:
    """Ana, with nothing logged."""
    with connected_practice() as practice:
        yield Conversation(practice)


@pytest.fixture
def practised(ana: Conversation) -> Conversation:
    """Ana, with twenty sessions of guitar."""
    for day in range(0, 40, 2):
        ana.practice.change(LogPractice("Guitar", 30, TODAY - timedelta(days=day), "scales"))
    return ana


class TestHonesty:
    async def test_it_says_that_it_is_offline_once(self, ana: Conversation):
        """In the first answer of a conversation, and not in each."""
        assert NOTICE in await ana.say("hello")
        assert NOTICE not in await ana.say("help")

    def test_the_same_request_gets_the_same_answer(self):
        """Nothing but the request decides."""
        request = ModelRequest(coach_prompt(ANA, NOW), (UserItem("45m guitar"),), ())
        assert OfflineCoach().answer(request) == OfflineCoach().answer(request)

    def test_without_tools_it_does_not_pretend(self):
        """A forced last call with nothing read says so instead of inventing a number."""
        answer = OfflineCoach().answer(ModelRequest("", (UserItem("stats"),)))
        assert "cannot look at your data" in answer.text
        assert () == answer.calls


class TestLogging:
    async def test_practice_is_logged_through_the_tools(self, ana: Conversation):
        """Read the names, log, tell the total."""
        answer = await ana.say("45m guitar scales")
        assert [["get_user_skills"], ["log_practice"]] == ana.calls
        assert [("guitar", 45)] == ana.logged
        assert "**45 min**" in answer
        assert "new skill" in answer

    async def test_spanish_is_answered_in_spanish(self, ana: Conversation):
        """Whatever the person's setting is."""
        assert "Anotado: **30 min**" in await ana.say("ayer media hora de piano")

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

    async def test_a_plan_to_practise_is_not_practice(self, ana: Conversation):
        """Only what was done counts."""
        await ana.say("I will practise 45m guitar tomorrow")
        assert [] == ana.logged

    async def test_a_day_over_24_hours_is_refused_by_the_store(self, ana: Conversation):
        """The refusal reaches the person in words."""
        await ana.say("23h guitar")
        assert "more than 24 hours on 2026-03-04" in await ana.say("2h piano")
        assert [("guitar", 1380)] == ana.logged


class TestCorrections:
    @pytest.mark.parametrize("words", ["actually it was 60 minutes", "no, 60m", "en realidad fueron 60 minutos"])
    async def test_a_correction_changes_the_last_entry(self, ana: Conversation, words: str):
        """It is not logged a second time."""
        await ana.say("45m guitar")
        await ana.say(words)
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
        assert [(skill, minutes), ("Piano", 30), ("Guitar", 30)] == ana.logged
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
        assert "**45 min** in 1 day of practice" in answer

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
        assert 20 == (await practised.say("history")).count("30 min (scales)")

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


class TestIntents:
    @pytest.mark.parametrize(
        ("text", "intent"),
        [
            ("45m guitar", Intent.LOG),
            ("ayer practiqué media hora", Intent.LOG),
            ("should I do 45m guitar?", Intent.UNKNOWN),
            ("no, 50m", Intent.CORRECT),
            ("(I changed my earlier message to:) 50m guitar", Intent.CORRECT),
            ("undo that", Intent.UNDO),
            ("deshaz eso", Intent.UNDO),
            ("make me a plan", Intent.PLAN),
            ("/plan", Intent.PLAN),
            ("hazme un plan", Intent.PLAN),
            ("mis estadísticas", Intent.STATS),
            ("how is it going?", Intent.STATS),
            ("what skills do I have", Intent.SKILLS),
            ("historial", Intent.HISTORY),
            ("any tips?", Intent.GUIDE),
            ("how should I practise?", Intent.GUIDE),
            ("help", Intent.HELP),
            ("¿qué puedes hacer?", Intent.HELP),
            ("gracias por todo", Intent.THANKS),
            ("hola", Intent.GREETING),
            ("create a skill called Bass guitar", Intent.CREATE),
            ("lorem ipsum", Intent.UNKNOWN),
            ("", Intent.UNKNOWN),
        ],
    )
    def test_words_have_an_intent(self, text, intent):
        """English and Spanish; what is unclear is unknown."""
        assert intent == hear(text).intent


def test_f34_results_and_arguments_nested_without_end_are_read_as_nothing() -> None:
    """The rules go on from what they can read."""
    deep = "[" * 100_000
    items = (
        UserItem("stats"),
        AssistantItem("", (ToolCall("c", "get_journey_stats", deep),)),
        ToolItem("c", "a", deep),
    )
    assert listen(ModelRequest("", items)).returned[0].data == {}
