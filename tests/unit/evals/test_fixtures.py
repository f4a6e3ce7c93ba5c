"""Fixtures in place of tools: which calls they answer, and that nothing else changes the outside."""

import json

from pydantic import BaseModel

from agent.evals.case import Fixture
from agent.evals.fixtures import FixtureResults, on_fixtures
from agent.loop import run_turn
from agent.models.scripted import Says, ScriptedModel, calls
from agent.permission_rules import Mode, PermissionRule, Source, Verdict
from agent.permissions.chain import PermissionChain
from agent.tools.base import Effect
from agent.tools.guards import ChainPermissions
from tests.fakes.agents import a_tool, an_agent, double, returned
from tests.fakes.turn_port import FakeTurnPort, a_turn


class Asked(BaseModel):
    """Arguments of a tool with a default."""

    city: str
    days: int = 1


async def never(_context: object, _arguments: object) -> object:
    raise AssertionError("a tool ran")


async def results(*asked: str, fixtures: list[dict[str, object]], **changes: object) -> list[object]:
    """Let a model call `weather`, which changes the outside, with these arguments; return data or error of each."""
    model = ScriptedModel(
        [calls(*(("weather", arguments) for arguments in asked), ("double", '{"n": 2}')), Says("Ok.")]
    )
    known = FixtureResults([Fixture.model_validate({"tool": "weather"} | each) for each in fixtures])
    weather = a_tool("weather", never, Asked, Effect.UNSAFE, aliases=("forecast",))
    agent = an_agent(model, weather, a_tool("double", double))
    port = FakeTurnPort()
    for name, value in changes.items():
        object.__setattr__(agent, name, value)
    await run_turn(a_turn(port), port.ports, on_fixtures(agent, known, None))
    contents = [json.loads(event.content) for event in returned(port)]
    return [content["data"] if content["success"] else content["error"] for content in contents]


async def test_equal_calls_get_their_results_in_order_and_later_ones_the_last():
    oslo = '{"city": "Oslo"}'
    fixtures = [
        {"result": "any"},
        {"arguments": {"city": "Oslo"}, "result": 1},
        {"arguments": {"city": "Oslo"}, "result": 2},
    ]
    assert [1, 2, 2, "any", 4] == await results(oslo, oslo, oslo, '{"city": "Lima"}', fixtures=fixtures)


async def test_arguments_are_compared_as_the_tool_reads_them():
    fixtures = [{"tool": "forecast", "arguments": {"city": "Oslo", "days": "3"}, "error": "no such day"}]
    assert ["no such day", 4] == await results('{"days": 3, "city": "Oslo"}', fixtures=fixtures)


async def test_a_call_without_a_fixture_does_not_run_and_tools_that_only_read_do():
    (missing, doubled) = await results('{"city": "Oslo"}', fixtures=[{"arguments": {"city": "Lima"}, "result": 1}])
    assert (True, 4) == ("not in the record" in str(missing), doubled)


async def test_no_person_is_asked_and_what_is_denied_stays_denied():
    rules = [
        PermissionRule(Verdict.ASK, Source.LOCAL, "weather"),
        PermissionRule(Verdict.DENY, Source.LOCAL, "double"),
    ]
    permissions = ChainPermissions(chain=PermissionChain(rules=rules, mode=Mode.DEFAULT))
    (answered, denied) = await results('{"city": "Oslo"}', fixtures=[{"result": 1}], permissions=permissions)
    assert (1, True) == (answered, "double" in str(denied))
