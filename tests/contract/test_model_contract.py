"""The contract of every ChatModel, on both wires."""

import asyncio
import json
from contextlib import asynccontextmanager

import pytest

from agent.config import AgentConfig, ModelConfig
from agent.loop import Agent, run_turn
from agent.models.anthropic import AnthropicModel
from agent.models.link import ModelLink
from agent.models.offline import OfflineModel, RuleAnswer, RuleCall
from agent.models.openai import OpenAIModel
from agent.models.prompted_tools import PromptedTools
from agent.models.scripted import Says, ScriptedModel
from agent.ports import CallStreamed, ModelRequest, SystemPrompt, TextDelta, ToolSpec
from agent.transcript import EndReason, StopReason, ToolCall, UserItem
from gateway.testing.model import Call, Reply
from gateway.texts import HARNESS
from tests.fakes.model_server import ModelServer
from tests.fakes.turn_port import NOW, FakeTurnPort, a_turn

TEXT = "Three hours of guitar, señora 👩‍🎤."
SPEC = ToolSpec("double", "Doubles.", {"type": "object", "properties": {"n": {"type": "integer"}}})


class Rules:
    def answer(self, request):
        return RuleAnswer(calls=(RuleCall("double", {"n": 1}),)) if request.tools else RuleAnswer(TEXT)


def wants(body_or_request):
    tools = body_or_request.get("tools") if isinstance(body_or_request, dict) else body_or_request.tools
    return bool(tools)


@asynccontextmanager
async def scripted():
    calling = Says(calls=(ToolCall("c", "double", '{"n":1}'),))
    yield ScriptedModel(lambda request: calling if wants(request) else Says(TEXT))


@asynccontextmanager
async def offline():
    yield OfflineModel(Rules())


@asynccontextmanager
async def openai(**reply):
    def brain(body):
        return Reply(calls=(Call("double", '{"n":1}'),), **reply) if wants(body) else Reply(TEXT, **reply)

    async with ModelServer(brain) as server:
        config = ModelConfig(base_url=server.base_url)
        yield ModelLink(OpenAIModel("test", config), config)


@asynccontextmanager
async def openai_plain():
    async with openai(plain_json=True) as model:
        yield model


@asynccontextmanager
async def anthropic(**reply):
    def brain(body):
        return Reply(calls=(Call("double", '{"n":1}'),), **reply) if wants(body) else Reply(TEXT, **reply)

    async with ModelServer(brain) as server:
        config = ModelConfig(base_url=server.root_url)
        yield ModelLink(AnthropicModel("test", config), config)


@asynccontextmanager
async def anthropic_plain():
    async with anthropic(plain_json=True) as model:
        yield model


@asynccontextmanager
async def prompted():
    def brain(body):
        told = body["messages"][0]["content"]
        return Reply('<tool_call>{"name": "double", "arguments": {"n": 1}}</tool_call>' if "# Tools" in told else TEXT)

    async with ModelServer(brain) as server:
        config = ModelConfig(base_url=server.base_url)
        yield ModelLink(PromptedTools(OpenAIModel("test", config)), config)


@pytest.fixture(params=[scripted, offline, openai, openai_plain, anthropic, anthropic_plain, prompted])
async def model(request):
    async with request.param() as model:
        yield model
        await model.aclose()
        await model.aclose()


class TestChatModel:
    @pytest.mark.parametrize("stream", [True, False])
    async def test_the_text_told_is_the_text_of_the_response(self, model, stream):
        events = []
        response = await model.respond(ModelRequest(SystemPrompt(), (UserItem("hi"),), stream=stream), events.append)
        told = "".join(event.text for event in events if isinstance(event, TextDelta))
        assert TEXT == response.text
        assert told in ({TEXT} if stream else {TEXT, ""})
        assert (0, StopReason.END, ()) == (response.step, response.stop, response.tool_calls)
        assert model.name.partition(":")[0] == response.model.partition(":")[0]
        assert 1000 <= model.facts.context_window_tokens

    async def test_the_calls_told_are_the_calls_of_the_response(self, model):
        events = []
        response = await model.respond(ModelRequest(SystemPrompt(), (UserItem("hi"),), (SPEC,)), events.append)
        told = [event for event in events if isinstance(event, CallStreamed)]
        assert [*range(len(response.tool_calls))] == [event.index for event in told]
        assert list(response.tool_calls) == [event.call for event in told]
        assert [("double", {"n": 1})] == [(call.name, json.loads(call.arguments)) for call in response.tool_calls]
        assert StopReason.TOOLS is response.stop

    async def test_calls_beside_each_other_do_not_mix(self, model):
        async with asyncio.TaskGroup() as group:
            asked = [
                group.create_task(model.respond(ModelRequest(SystemPrompt(), (UserItem("hi"),)), lambda _event: None))
                for _ in range(20)
            ]
        assert {TEXT} == {one.result().text for one in asked}


@pytest.mark.parametrize("wire", ["openai", "anthropic"])
@pytest.mark.parametrize("how", ["stop", "deadline"])
async def test_f55_a_stop_closes_the_connection_at_once(how, wire):
    port = FakeTurnPort()
    if how == "stop":
        port.on_progress = lambda event: port.stop() if isinstance(event, TextDelta) else None
    endless = Reply("word " * 2000, chunk_chars=5, chunk_delay_s=0.005)
    async with ModelServer(reply=endless) as server:
        kind = OpenAIModel if wire == "openai" else AnthropicModel
        model = kind("test", ModelConfig(base_url=server.base_url))
        agent = Agent(
            texts=HARNESS,
            model=model,
            prompt=lambda *_: {},
            limits=AgentConfig(deadline_s=2.0 if how == "deadline" else 60.0),
            clock=lambda: NOW,
        )
        reason = await run_turn(a_turn(port), port.ports, agent)
        async with asyncio.timeout(30):
            while not server.closed_early:
                await asyncio.sleep(0)
        await model.aclose()
    assert {"stop": EndReason.STOPPED, "deadline": EndReason.TIMEOUT}[how] is reason
    assert port.answer.startswith("word")


async def test_a_stream_that_says_goodbye_and_does_not_end_is_closed():
    closed = asyncio.Event()

    async def speak(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        chunk = b'data: {"choices":[{"delta":{"content":"hi"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
        head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
        writer.write(head + b"%x\r\n%b\r\n" % (len(chunk), chunk))
        while await reader.read(10_000):
            pass
        writer.close()
        closed.set()

    async with await asyncio.start_server(speak, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        model = OpenAIModel("m", ModelConfig(base_url=f"http://127.0.0.1:{port}/v1"))
        request = ModelRequest(SystemPrompt(), (UserItem("hello"),))
        assert "hi" == (await model.respond(request, lambda _event: None)).text
        async with asyncio.timeout(30):
            await closed.wait()
        await model.aclose()
