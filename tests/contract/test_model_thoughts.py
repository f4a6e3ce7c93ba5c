"""What a model thought aloud over the openai wire is kept, and goes back where servers want it."""

import pytest

from agent.config import ModelConfig
from agent.models.openai import OpenAIModel
from agent.ports import ModelRequest, SystemPrompt, TextDelta
from agent.transcript import AssistantItem, ToolCall, ToolItem, UserItem
from tests.fakes.model_server import Call, ModelServer, Reply


@pytest.fixture
async def server():
    async with ModelServer() as server:
        yield server


@pytest.fixture
async def model(server):
    model = OpenAIModel("test", ModelConfig(base_url=server.base_url))
    yield model
    await model.aclose()


ITEMS = (UserItem("go"),)


async def ask(model, *, stream=True, items=ITEMS):
    events = []
    return await model.respond(ModelRequest(SystemPrompt("be kind"), items, (), 100, stream), events.append), events


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("calls", [(), (Call("double", '{"n": 1}', id="c1"),)])
async def test_what_was_thought_goes_back_where_it_led_to_calls(server, model, stream, calls):
    """`reasoning_content` is kept as it came; servers want it back beside calls, and nowhere else."""
    server.script(Reply("Hm.", calls, thinking="First …\nthen.", chunk_chars=4))
    response, events = await ask(model, stream=stream)
    assert ({"wire": "openai", "name": "reasoning_content", "text": "First …\nthen."},) == response.thinking
    assert "Hm." == "".join(event.text for event in events if isinstance(event, TextDelta))
    said = AssistantItem(response.text, response.tool_calls, response.thinking)
    results = tuple(ToolItem(call.id, call.name, "{}") for call in response.tool_calls)
    await ask(model, items=(UserItem("go"), said, *results, UserItem("and?")))
    sent = server.requests[-1].body["messages"][2]
    assert ("First …\nthen." if calls else None) == sent.get("reasoning_content")


async def test_another_wires_thoughts_are_not_sent(server, model):
    """A provider refuses fields that it does not know."""
    thought = {"wire": "anthropic", "block": {"type": "thinking", "thinking": "x", "signature": "s"}}
    said = AssistantItem("", (ToolCall("c", "double", "{}"),), (thought, "old"))
    await ask(model, items=(UserItem("go"), said, ToolItem("c", "double", "{}")))
    assert {"role", "content", "tool_calls"} == set(server.requests[0].body["messages"][2])
