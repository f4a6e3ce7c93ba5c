"""The weekly plan by prefetch, and every fallback to the loop."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

import pytest

from agent.coach.plan import run_plan_turn
from agent.coach.plan_conditions import NO_CONDITIONS, PlanConditions
from agent.coach.plan_data import PlanWish, prefetch, read_wish
from agent.coach.practice import PlannedSession
from agent.coach.prompt import coach_prompt
from agent.coach.reader.reader import OfflineReader
from agent.coach.reader.requests import wants_plan
from agent.coach.tools import CoachTools
from agent.errors import FailureKind
from agent.loop import Agent, run_turn
from agent.models.offline import OfflineModel
from agent.models.scripted import Says, ScriptedModel
from agent.ports import ChatModel, LocalEffect, ModelFacts, ModelFailure, ModelRequest, Principal, RequestContext
from agent.tools.base import tools_of
from agent.transcript import (
    AssistantItem,
    EndReason,
    ModelResponded,
    Steered,
    StopReason,
    ToolCall,
    ToolItem,
    ToolReturned,
    TurnEnded,
    UserItem,
)
from gateway.coach import writer
from gateway.coach.product import COACH
from gateway.texts import HARNESS
from tests.fakes.practice_reader import ANA, NOW, TODAY, ConnectedPractice, FakePractice, a_skill, connected_practice
from tests.fakes.turn_port import Died, FakeTurnPort, a_turn

SKILLS = (a_skill("Guitar"), a_skill("Piano"), a_skill("Piano duets"))


@pytest.mark.parametrize(
    ("text", "wish"),
    [
        ("/plan", PlanWish(shows=True)),
        ("  /PLAN  ", PlanWish(shows=True)),
        ("/plan new", PlanWish()),
        ("/plan nuevo", PlanWish()),
        ("/plan next", PlanWish(shows=True, is_next=True)),
        ("/plan próxima", PlanWish(shows=True, is_next=True)),
        ("/plan new next", PlanWish(is_next=True)),
        ("/plan piano", PlanWish(skill="Piano")),
        ("/plan gui", PlanWish(skill="Guitar")),
        ("/plan Piano duets", PlanWish(skill="Piano duets")),
        ("/plan next guitar", PlanWish(is_next=True, skill="Guitar")),
        ("/plan less on Monday", PlanWish()),
        ("plan my week", PlanWish()),
        ("plan next week", PlanWish(is_next=True)),
        ("planifica la próxima semana", PlanWish(is_next=True)),
        ("make me a plan", PlanWish()),
    ],
)
def test_the_words_behind_the_command_and_a_wish_in_words(text: str, wish: PlanWish) -> None:
    assert wish == read_wish(text, SKILLS)


@pytest.mark.parametrize("text", ["plan my week", "haz mi plan semanal", "make me a weekly plan, please"])
def test_a_wish_for_a_plan_and_nothing_else(text: str) -> None:
    assert wants_plan(text)


@pytest.mark.parametrize(
    "text", ["what was my plan this week?", "I plan to travel", "plan my week around my exam", "hi"]
)
def test_a_question_is_no_wish(text: str) -> None:
    assert not wants_plan(text)


MONDAY = TODAY - timedelta(days=2)
PLAN = "## Summary\n\nTwo hours.\n\n## Plan\n\n- Monday: 20 min"


class Script:
    def __init__(self, *says: Says | ModelFailure | str) -> None:
        self.requests: list[ModelRequest] = []
        self._model = ScriptedModel(says)
        self.name = "scripted"
        self.facts = ModelFacts()

    async def respond(self, request, on_event):
        self.requests.append(request)
        return await self._model.respond(request, on_event)

    async def aclose(self) -> None:
        pass


@pytest.fixture
def practice() -> Iterator[ConnectedPractice]:
    with connected_practice() as connected:
        for day in range(7):
            connected.change(LocalEffect(writer.log, "Guitar", 30, TODAY - timedelta(days=day)))
        yield connected


def agent_of(model: ChatModel, practice: ConnectedPractice) -> Agent:
    tools = tools_of(CoachTools(practice, writer))
    return Agent(model=model, prompt=coach_prompt, texts=HARNESS, tools=tools, limits=COACH.limits, clock=lambda: NOW)


async def run(model: ChatModel, practice: ConnectedPractice, port: FakeTurnPort, text: str = "/plan", history=()):
    turn = a_turn(port, text, history)
    return await run_plan_turn(turn, port.ports, agent_of(model, practice), practice, writer, run_turn)


class TestPrefetch:
    async def test_three_reads_run_at_once(self):

        class Slow(FakePractice):
            asked = asyncio.Barrier(3)

            async def skills(self, principal, *, include_archived=False):
                await self.asked.wait()
                return await super().skills(principal)

            async def days(self, principal):
                await self.asked.wait()
                return await super().days(principal)

            async def sessions(self, principal, *, skill_id=None, since=None, limit=500):
                await self.asked.wait()
                return await super().sessions(principal, limit=limit)

        async with asyncio.timeout(30):
            assert 0 == (await prefetch(Slow(), ANA, NOW, PlanWish())).journey.overall.total_minutes

    async def test_the_offline_coach_plans_from_what_a_model_is_shown(self, practice: ConnectedPractice):
        model, data = Script(PLAN), await prefetch(practice, ANA, NOW, PlanWish())
        await run(model, practice, FakeTurnPort(run_effect=practice.as_result), "/plan mi semana, por favor")
        (request,) = model.requests
        assert RequestContext("es", NOW, data) == request.context
        assert data.model_dump_json() in request.items[-1].text
        assert "## Resumen" in OfflineReader().answer(request).text
        assert "## " not in OfflineReader().answer(replace(request, context=None)).text


class TestPlanTurn:
    async def test_one_model_call_without_tools_makes_the_plan(self, practice: ConnectedPractice):
        model, port = Script(PLAN), FakeTurnPort(run_effect=practice.as_result)
        assert EndReason.COMPLETED == await run(model, practice, port)
        assert PLAN == port.shown
        assert port.answer.startswith(f"{PLAN}\n\n### What I noticed\n\n- **7 days in a row**")
        (request,) = model.requests
        assert () == request.tools
        assert '"total_minutes":210' in request.items[-1].text
        kept = await practice.plan(ANA, MONDAY)
        assert kept is not None
        assert PLAN == kept.content
        assert "7 days in a row" in [insight.title for insight in kept.insights]
        assert 2 == port.commits

    async def test_the_model_hears_what_was_said_lately(self, practice: ConnectedPractice):
        call = ToolCall("c", "get_user_skills", "{}")
        history = (
            UserItem("I travel until Friday"),
            AssistantItem("", (call,)),
            ToolItem("c", "get_user_skills", "{}"),
            AssistantItem("Noted."),
        )
        model = Script(PLAN)
        await run(model, practice, FakeTurnPort(run_effect=practice.as_result), "/plan short", history)
        assert (UserItem("I travel until Friday"), AssistantItem("Noted.")) == tuple(model.requests[0].items[:2])
        assert model.requests[0].items[2].text.startswith("/plan short\n")

    async def test_the_offline_coach_plans_the_same_way(self, practice: ConnectedPractice):
        port = FakeTurnPort(run_effect=practice.as_result)
        principal = replace(ANA, locale="es")
        turn = a_turn(port, "/plan", principal=principal)
        agent = agent_of(OfflineModel(OfflineReader()), practice)
        assert EndReason.COMPLETED == await run_plan_turn(turn, port.ports, agent, practice, writer, run_turn)
        assert "## Resumen" in port.answer

    async def test_conditions_for_one_skill_hold_in_its_plan_alone(self, practice: ConnectedPractice):
        port = FakeTurnPort(run_effect=practice.as_result)
        await run(Script(PLAN), practice, port, "/plan guitar only on Fridays")
        assert "in this plan alone" in port.answer
        assert NO_CONDITIONS == await practice.plan_conditions(ANA)
        await run(Script(PLAN), practice, port := FakeTurnPort(run_effect=practice.as_result), "/plan not on Fridays")
        assert "It holds for coming plans" in port.answer
        assert PlanConditions((4,)) == await practice.plan_conditions(ANA)


class TestOwnFindings:
    async def test_the_models_own_findings_are_kept_and_shown(self, practice: ConnectedPractice):
        block = (
            '```plan\n{"insights": [{"type": "milestone", "title": "Bar 8 holds", "description": "Since Monday.",'
            f' "skill": "guitar"}}], "sessions": [{{"date": "{TODAY}", "skill": "guitar", "minutes": 30}}]}}\n```'
        )
        port = FakeTurnPort(run_effect=practice.as_result)
        assert EndReason.COMPLETED == await run(Script(f"{PLAN}\n\n{block}"), practice, port)
        assert PLAN == port.shown
        assert f"{PLAN}\n\n### What I noticed\n\n- **Bar 8 holds**: Since Monday." == port.answer
        kept = await practice.plan(ANA, MONDAY)
        assert kept is not None
        assert PLAN == kept.content
        assert ["Bar 8 holds"] == [insight.title for insight in kept.insights]
        assert (PlannedSession(TODAY, "Guitar", 30),) == kept.sessions

    async def test_a_plan_that_asks_too_much_says_where_to_stop(self, practice: ConnectedPractice):
        block = f'```plan\n{{"sessions": [{{"date": "{TODAY}", "skill": "guitar", "minutes": 90}}]}}\n```'
        port = FakeTurnPort(run_effect=practice.as_result)
        await run(Script(f"{PLAN}\n{block}"), practice, port)
        assert "Where the plan says more, stop at 36 min (guitar)." in port.answer


class TestKept:
    async def test_a_kept_plan_is_shown_with_what_was_done_of_it(self, practice: ConnectedPractice):
        offline = OfflineModel(OfflineReader())
        await run(offline, practice, FakeTurnPort(run_effect=practice.as_result))
        kept = await practice.plan(ANA, MONDAY)
        assert kept is not None
        model, port = Script(PLAN), FakeTurnPort(run_effect=practice.as_result)
        await run(model, practice, port)
        assert [] == model.requests
        assert kept.content in port.answer
        assert "offline" not in port.answer
        assert "Done so far: **1 h 30 min**, and of this plan 0 min of 1 h 10 min (0 of 2 sessions)." in port.answer
        assert "to come" not in port.answer  # nothing is done or missed: the plan itself says it
        assert kept == await practice.plan(ANA, MONDAY)
        await run(model, practice, again := FakeTurnPort(run_effect=practice.as_result), "/plan new")
        assert "takes the place of the plan" in again.answer

    async def test_a_plan_for_one_skill_offline(self, practice: ConnectedPractice):
        practice.change(LocalEffect(writer.log, "Piano", 20, TODAY))
        port = FakeTurnPort(run_effect=practice.as_result)
        await run(OfflineModel(OfflineReader()), practice, port, "/plan piano")
        assert "Piano" in port.answer
        assert "Guitar" not in port.answer

    async def test_nothing_to_plan_from_is_not_kept(self):
        with connected_practice() as practice:
            await run(OfflineModel(OfflineReader()), practice, port := FakeTurnPort(run_effect=practice.as_result))
            assert "begin small" in port.answer
            assert await practice.plan(ANA, MONDAY) is None


class TestHandOver:
    @pytest.mark.parametrize(
        "first",
        [
            ModelFailure(FailureKind.SERVER, "broken", 500),
            Says(""),
            Says("half a pl", stop=StopReason.LENGTH),
            Says(calls=(ToolCall("c", "get_user_skills", "{}"),)),
        ],
    )
    async def test_what_gives_no_text_goes_to_the_loop(self, practice: ConnectedPractice, first):
        model, port = Script(first, "From the loop"), FakeTurnPort(run_effect=practice.as_result)
        assert EndReason.COMPLETED == await run(model, practice, port)
        assert "From the loop" == port.answer == port.shown
        assert model.requests[1].tools
        assert await practice.plan(ANA, MONDAY) is None

    async def test_a_stop_ends_the_plan(self, practice: ConnectedPractice):
        port = FakeTurnPort(run_effect=practice.as_result)
        port.on_progress = lambda _: port.stop()
        assert EndReason.STOPPED == await run(Script(Says("word " * 50, word_s=0.01)), practice, port)
        assert await practice.plan(ANA, MONDAY) is None

    async def test_what_came_in_meanwhile_is_read_and_the_plan_stands(self, practice: ConnectedPractice):
        port = FakeTurnPort(run_effect=practice.as_result)
        port.on_progress = lambda _: port.say("less on Monday") if not port.waiting and port.commits == 0 else None
        model = Script(PLAN, "Then ten minutes.")
        assert EndReason.COMPLETED == await run(model, practice, port)
        assert port.answer.startswith(PLAN)
        assert port.answer.endswith("\n\nThen ten minutes.")
        assert 1 == sum(isinstance(event, Steered) for event in port.events)
        assert "less on Monday" == model.requests[1].items[-1].text


class TestCrashes:
    @pytest.mark.parametrize("dies_after", [False, True])
    @pytest.mark.parametrize("dies_at", [0, 1])
    async def test_a_killed_plan_goes_on(self, practice: ConnectedPractice, dies_at: int, dies_after: bool):
        port = FakeTurnPort(run_effect=practice.as_result, dies_at=dies_at, dies_after=dies_after)
        with pytest.raises(Died):
            await run(Script(PLAN), practice, port)
        port.dies_at = None
        model = Script("Another plan")
        if not any(isinstance(event, TurnEnded) for event in port.events):
            assert EndReason.COMPLETED == await run(model, practice, port)
        kept = await practice.plan(ANA, MONDAY)
        assert kept is not None
        assert port.answer.startswith(kept.content)
        assert 1 == sum(isinstance(event, ToolReturned) for event in port.events)
        was_kept = (dies_at, dies_after) != (0, False)
        assert (0 if was_kept else 1) == len(model.requests)

    async def test_a_turn_the_loop_had_begun_stays_with_the_loop(self, practice: ConnectedPractice):
        port = FakeTurnPort(run_effect=practice.as_result)
        a_turn(port, "/plan")
        port.events.append(ModelResponded(0, "", (ToolCall("c", "get_user_skills", "{}"),)))
        assert EndReason.COMPLETED == await run(Script("From the loop"), practice, port)
        assert "From the loop" == port.answer


class TestWeeks:
    @pytest.mark.parametrize(("week_start", "first"), [(0, MONDAY), (6, TODAY - timedelta(days=3)), (2, TODAY)])
    async def test_a_plan_is_kept_under_the_persons_own_week(self, week_start: int, first):
        principal: Principal = replace(ANA, week_start=week_start)
        with connected_practice(principal) as practice:
            port = FakeTurnPort(run_effect=practice.as_result)
            turn = a_turn(port, "/plan", principal=principal)
            await run_plan_turn(turn, port.ports, agent_of(Script(PLAN), practice), practice, writer, run_turn)
            assert await practice.plan(principal, first) is not None
