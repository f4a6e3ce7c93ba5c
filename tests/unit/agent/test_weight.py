"""Difficulty of a turn: features, score, and the model for it."""

import pytest

from agent.context.sizes import HEAVY_FROM, TurnFeatures, features_of, score
from agent.errors import FailureKind
from agent.loop import run_turn
from agent.models.chain import Chain
from agent.models.scripted import ScriptedModel, calls
from agent.ports import ModelRequest, SystemPrompt
from agent.transcript import AssistantItem, EndReason, ToolItem, UserItem
from tests.fakes.agents import a_tool, an_agent, double
from tests.fakes.model_chain import REQUEST, answering, ask, failing
from tests.fakes.turn_port import FakeTurnPort, a_turn

PLAIN = TurnFeatures(attached=False, code=False, tokens=5, recent_tools=0, depth=0)


@pytest.mark.parametrize(
    ("points", "features"),
    [
        (0.0, PLAIN),
        (1.0, TurnFeatures(attached=True, code=False, tokens=5, recent_tools=0, depth=0)),
        (0.4, TurnFeatures(attached=False, code=True, tokens=5, recent_tools=0, depth=0)),
        (0.0, TurnFeatures(attached=False, code=False, tokens=50, recent_tools=0, depth=10)),
        (0.25, TurnFeatures(attached=False, code=False, tokens=51, recent_tools=0, depth=11)),
        (0.15, TurnFeatures(attached=False, code=False, tokens=200, recent_tools=0, depth=0)),
        (0.35, TurnFeatures(attached=False, code=False, tokens=201, recent_tools=0, depth=0)),
        (0.1, TurnFeatures(attached=False, code=False, tokens=5, recent_tools=3, depth=0)),
        (0.35, TurnFeatures(attached=False, code=False, tokens=5, recent_tools=4, depth=11)),
        (0.35, TurnFeatures(attached=False, code=False, tokens=60, recent_tools=1, depth=11)),
        (2.1, TurnFeatures(attached=True, code=True, tokens=900, recent_tools=9, depth=90)),
    ],
)
def test_the_score_is_the_sum_of_what_makes_a_turn_heavy(points, features):
    assert points == score(features)


@pytest.mark.parametrize(
    ("words", "looks"),
    [("from 7 to 8 (piano; scales)", False), ("```\nx\n```", True), ("int x;\n", True), ("why does f() fail", True)],
)
def test_a_program_is_told_from_words(words, looks):
    assert looks is features_of((), (UserItem(words),)).code


def test_features_are_read_from_the_turns_beginning():
    history = [UserItem("a"), *[ToolItem(str(n), "t", "{}") for n in range(12)], AssistantItem("b"), UserItem("c")]
    asked = (UserItem("x" * 350, data="[a file is attached]"), UserItem("more"))
    assert TurnFeatures(attached=True, code=False, tokens=101, recent_tools=8, depth=3) == features_of(history, asked)


async def test_a_light_turn_stays_with_the_light_model_in_all_its_steps():
    light = ScriptedModel([calls(("double", '{"n": 1}')), "2"], name="light:m")
    main = ScriptedModel(["long answer"], name="main:m")
    agent = an_agent(Chain([main], light=light), a_tool("double", double))
    port = FakeTurnPort()
    assert EndReason.COMPLETED is await run_turn(a_turn(port), port.ports, agent)
    assert (2, 0) == (len(light.requests), len(main.requests))
    heavy = FakeTurnPort()
    await run_turn(a_turn(heavy, "word " * 200), heavy.ports, agent)
    assert (2, 1) == (len(light.requests), len(main.requests))


@pytest.mark.parametrize("kind", [FailureKind.BAD_REQUEST, FailureKind.AUTH, FailureKind.SERVER])
async def test_where_the_light_model_gives_nothing_the_model_answers(kind):
    light, main = failing(kind, "light:m"), answering("ok", "main:m")
    chain = Chain([main], light=light)
    weighed = ModelRequest(SystemPrompt(), REQUEST.items, weigh=lambda: HEAVY_FROM - 0.01)
    assert "main:m" == (await ask(chain, weighed))[0].model
    for request in (REQUEST, ModelRequest(SystemPrompt(), REQUEST.items, weigh=lambda: HEAVY_FROM)):
        await ask(chain, request)
    assert (1, 3) == (len(light.requests), len(main.requests))
