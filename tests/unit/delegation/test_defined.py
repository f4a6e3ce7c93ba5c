"""The agent that is made of a definition and of its tenant's own agent."""

from dataclasses import replace

from agent.context.sections import Section, add_nothing
from agent.delegation.defined import make_defined
from agent.delegation.definitions import AgentDefinition
from agent.errors import FailureKind
from agent.loop import run_turn
from agent.models.chain import Chain
from agent.models.scripted import ScriptedModel, calls
from agent.permission_rules import Mode
from agent.ports import Prefix
from agent.transcript import EndReason
from tests.fakes.agents import a_tool, an_agent, double, returned
from tests.fakes.model_chain import answering, chain_of, failing
from tests.fakes.turn_port import ANA, NOW, FakeTurnPort, a_turn


def defined(answers, prompt="You find things out.", **said):
    base = an_agent(answers, a_tool("double", double), a_tool("web_search", double), a_tool("web_fetch", double))
    return make_defined(base, AgentDefinition(name="finder", description="Finds", prompt=prompt, **said), add_nothing)


def test_it_has_its_own_prompt_tools_mode_and_steps():
    agent = defined(answering(), tools=("web_*",), mode=Mode.PLAN, steps=3)
    assert ["web_search", "web_fetch"] == [tool.name for tool in agent.tools]
    assert (Mode.PLAN, 3) == (agent.permits.mode, agent.limits.max_steps)
    prompt = agent.system_prompt(ANA, NOW, "Plain text.")
    assert prompt.static.startswith("You find things out.") and "be kind" not in prompt.static
    assert "Ana" in prompt.dynamic and "2026-03-04" in prompt.dynamic and "Plain text." in prompt.dynamic


def test_what_it_leaves_out_is_its_tenants():
    agent = defined(answering())
    assert (3, Mode.DEFAULT, 25) == (len(agent.tools), agent.permits.mode, agent.limits.max_steps)
    assert agent.prompt(ANA, NOW, "")[Section.IDENTITY] == "You find things out."


async def test_its_model_is_asked_first_whatever_the_person_chose():
    first, second = answering("one", "first:m"), answering("two", "second:m")
    port = FakeTurnPort()
    assert EndReason.COMPLETED is await run_turn(
        a_turn(port), port.ports, defined(Chain([first, second]), model="second:m")
    )
    assert (0, 1) == (len(first.requests), len(second.requests))


async def test_the_products_rules_never_answer_in_its_place():
    port = FakeTurnPort()
    assert EndReason.MODEL_ERROR is await run_turn(
        a_turn(port), port.ports, defined(chain_of(failing(FailureKind.AUTH)))
    )


async def test_a_changed_prompt_holds_from_the_next_turn_on():
    prefix, asked = Prefix(), ScriptedModel(["one", "two"])
    for prompt in ("You find things out.", "You look things up."):
        port = FakeTurnPort()
        await run_turn(replace(a_turn(port), prefix=prefix), port.ports, defined(asked, prompt))
    assert [request.system.static.split("\n")[0] for request in asked.requests] == [
        "You find things out.",
        "You look things up.",
    ]


async def test_a_tool_that_it_lacks_does_not_run_if_its_model_calls_it():
    ran = []

    async def note(_context, arguments):
        ran.append(arguments)

    base = an_agent(ScriptedModel([calls(("double", '{"n": 1}')), "done"]), a_tool("double", note))
    agent = make_defined(base, AgentDefinition(name="x", description="x", prompt="x", tools=()), add_nothing)
    port = FakeTurnPort()
    assert EndReason.COMPLETED is await run_turn(a_turn(port), port.ports, agent)
    assert [] == ran and "double" in returned(port)[0].content
