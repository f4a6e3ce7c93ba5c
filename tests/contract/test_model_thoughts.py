"""A model's thoughts: kept, and sent back to servers that want them."""

import pytest

from agent.config import ModelConfig
from agent.models.anthropic import AnthropicModel
from agent.models.openai import OpenAIModel
from agent.ports import ModelRequest, SystemPrompt, TextDelta
from agent.transcript import AssistantItem, ToolCall, ToolItem, UserItem
from gateway.testing.model import Call, Reply
from tests.fakes.model_server import ModelServer


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
    server.answers(Reply("Hm.", calls, thinking="First …\nthen.", chunk_chars=4))
    response, events = await ask(model, stream=stream)
    assert ({"wire": "openai", "name": "reasoning_content", "text": "First …\nthen."},) == response.thinking
    assert "Hm." == "".join(event.text for event in events if isinstance(event, TextDelta))
    said = AssistantItem(response.text, response.tool_calls, response.thinking)
    results = tuple(ToolItem(call.id, call.name, "{}") for call in response.tool_calls)
    await ask(model, items=(UserItem("go"), said, *results, UserItem("and?")))
    sent = server.requests[-1].body["messages"][2]
    assert ("First …\nthen." if calls else None) == sent.get("reasoning_content")


async def test_a_turn_that_another_model_began_goes_on_without_thinking(server):
    model = AnthropicModel("test", ModelConfig(base_url=server.root_url, thinking=2048))

    def called(id_, thinking=()):
        return AssistantItem("", (ToolCall(id_, "double", "{}"),), thinking), ToolItem(id_, "double", "{}")

    server.answers(Reply("42."), Reply("", (Call("double", id="c3"),), thinking="Hm."))
    foreign = (UserItem("go"), *called("c1"), *called("c2"))
    await ask(model, items=foreign)
    again = (*foreign, AssistantItem("42."), UserItem("again"))
    asked, _ = await ask(model, items=again)
    await ask(model, items=(*again, *called("c3", asked.thinking)))
    await model.aclose()
    sent = [request.body.get("thinking", {}).get("budget_tokens") for request in server.requests]
    assert [None, 2048, 2048] == sent
    assert [100, 2148, 2148] == [request.body["max_tokens"] for request in server.requests]
