"""The tool `skill` in a turn: the body, and what it changes for the rest of the turn."""

import json
from dataclasses import replace

import pytest

from agent.consent import TurnParked
from agent.loop import run_turn
from agent.models.scripted import Says, ScriptedModel, calls
from agent.permission_rules import PermissionRule, Source, Verdict
from agent.permissions.chain import PermissionChain
from agent.skills.command import run_skill_command
from agent.skills.skill import SkillSource
from agent.skills.tools import skill_tools
from agent.tools.base import Effect
from agent.tools.guards import ChainPermissions
from agent.transcript import EndReason, ModelResponded
from tests.fakes.agents import a_tool, an_agent, double, returned
from tests.fakes.turn_port import FakeTurnPort, a_turn
from tests.unit.skills.shelf import a_library, a_skill

LOADS = calls(("skill", '{"name": "scales", "arguments": "in D"}'))
PAYS = calls(("pay", '{"n": 2}'))


def with_skills(model, *skills, rules=()):
    library = a_library(*skills)
    tools = (*skill_tools(lambda _: library, searchable=True), a_tool("pay", double, effect=Effect.UNSAFE))
    agent = an_agent(model, *tools)
    permissions = ChainPermissions(chain=PermissionChain(rules=rules))
    return replace(agent, permissions=permissions), (lambda _: library)


def results(port):
    return [json.loads(event.content) for event in returned(port)]


async def test_a_skill_gives_its_body_with_the_arguments():
    port, (agent, _) = FakeTurnPort(), with_skills(ScriptedModel([LOADS, "Done."]), a_skill(body="Play $ARGUMENTS."))
    assert EndReason.COMPLETED is await run_turn(a_turn(port), port.ports, agent)
    assert [{"skill": "scales", "instructions": "Play in D."}] == [result["data"] for result in results(port)]


async def test_allowed_tools_need_no_approval_for_the_rest_of_the_turn_and_no_longer():
    port = FakeTurnPort()
    agent, _ = with_skills(ScriptedModel([LOADS, PAYS, "Paid."]), a_skill(allowed_tools="pay(n=2)"))
    assert EndReason.COMPLETED is await run_turn(a_turn(port), port.ports, agent)
    assert 4 == results(port)[1]["data"]
    later = FakeTurnPort()
    agent, _ = with_skills(ScriptedModel([PAYS]), a_skill(allowed_tools="pay"))
    with pytest.raises(TurnParked):
        await run_turn(a_turn(later), later.ports, agent)


async def test_a_turn_that_resumes_still_has_what_was_allowed():
    port = FakeTurnPort()
    agent, _ = with_skills(ScriptedModel([LOADS]), a_skill(allowed_tools="pay"))
    await run_turn(a_turn(port), port.ports, agent)
    port.events = port.events[:-2]  # up to the result of the call
    agent, _ = with_skills(ScriptedModel([PAYS, "Paid."]), a_skill(allowed_tools="pay"))
    assert EndReason.COMPLETED is await run_turn(a_turn(port), port.ports, agent)


async def test_allowed_tools_allow_nothing_that_is_denied_or_asked_for_by_the_operator():
    for verdict in (Verdict.DENY, Verdict.ASK):
        port, rule = FakeTurnPort(), PermissionRule(verdict, Source.LOCAL, "pay")
        agent, _ = with_skills(ScriptedModel([LOADS, PAYS, "No."]), a_skill(allowed_tools="pay"), rules=(rule,))
        if verdict is Verdict.ASK:
            with pytest.raises(TurnParked):
                await run_turn(a_turn(port), port.ports, agent)
        else:
            await run_turn(a_turn(port), port.ports, agent)
            assert "the rules forbid it" in results(port)[1]["error"]


async def test_a_skill_chooses_the_model_for_the_rest_of_the_turn():
    asked = []

    def answer(request):
        asked.append(request.who.model)
        return LOADS if len(asked) == 1 else Says("Done.")

    port = FakeTurnPort()
    agent, _ = with_skills(ScriptedModel(answer), a_skill(model="openai:large"))
    await run_turn(a_turn(port), port.ports, agent)
    assert [None, "openai:large"] == asked


async def test_a_skill_for_people_alone_is_refused_to_the_model():
    port, (agent, _) = FakeTurnPort(), with_skills(ScriptedModel([LOADS, "No."]), a_skill(model_invocable="false"))
    await run_turn(a_turn(port), port.ports, agent)
    assert "Only the person can start scales, with /scales." == results(port)[0]["error"]


async def test_a_command_loads_its_skill_before_the_model_is_asked():
    port = FakeTurnPort()
    agent, library_of = with_skills(
        ScriptedModel(["Now play."]), a_skill("slow-scales", "$1!", model_invocable="false")
    )
    turn = a_turn(port, "/slow_scales D minor")
    assert EndReason.COMPLETED is await run_skill_command(turn, port.ports, agent, library_of=library_of)
    assert [{"skill": "slow-scales", "instructions": "D!"}] == [result["data"] for result in results(port)]
    assert "command" == next(event.model for event in port.events if isinstance(event, ModelResponded))


async def test_a_name_that_is_unknown_says_which_there_are():
    port, (agent, _) = FakeTurnPort(), with_skills(ScriptedModel([LOADS, "No."]), a_skill("gig"))
    await run_turn(a_turn(port), port.ports, agent)
    assert "There is no skill 'scales'. There are: gig." == results(port)[0]["error"]


async def test_a_search_describes_what_it_finds():
    searches = calls(("skill_search", '{"query": "scales"}'))
    port, (agent, _) = (
        FakeTurnPort(),
        with_skills(ScriptedModel([searches, "Ok."]), a_skill(source=SkillSource.BUNDLED)),
    )
    await run_turn(a_turn(port), port.ports, agent)
    assert {"skills": ["scales: Practise scales."]} == results(port)[0]["data"]
