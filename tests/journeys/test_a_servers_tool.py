"""A tool that a server describes by a JSON Schema: the model sees it unchanged, and the tool gets what fits it."""

from pathlib import Path

from agent.tools.base import Effect, Tool, ToolContext
from gateway.testing.model import Call, Reply
from tests.journeys.house import house, results

SCHEMA = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "type": "object",
    "properties": {"town": {"type": "string", "minLength": 2, "title": "Town"}},
    "required": ["town"],
}


async def forecast(_context: ToolContext, arguments: dict[str, object]) -> object:
    """Tell the weather of a town."""
    return {"weather": f"sunny in {arguments['town']}"}


async def test_a_servers_tool_is_called_by_its_own_schema(tmp_path: Path) -> None:
    tool = Tool(name="forecast", description="The weather.", arguments=SCHEMA, run=forecast, effect=Effect.NONE)
    async with house(tmp_path, tools=(tool,)) as here:
        calls = Call("forecast", '{"town": 3}'), Call("forecast", '{"town": "Lima", "unit": "C"}')
        here.model.answers(Reply(calls=calls), Reply("It is sunny."))
        here.sim.say(1, "What is the weather in Lima?")
        await here.told(1, "It is sunny.")
        (shown,) = [each["function"] for each in here.model.requests[0].body["tools"] if "forecast" in str(each)]
        assert SCHEMA == shown["parameters"]
        refused, found = results(here)
        assert "town: has to be string" in refused["error"]
        assert {"weather": "sunny in Lima"} == found["data"]
