"""Local model servers: their facts, and models without tools or streams."""

import pytest
import structlog

from agent.config import LinkConfig, ModelConfig
from agent.errors import FailureKind
from agent.models.known_servers import LOOK_AGAIN_S, KnownServers, ask_server
from agent.models.select import ModelDeps, build_model
from agent.ports import ModelFailure, ModelRequest, SystemPrompt, ToolSpec
from agent.transcript import ToolCall, UserItem
from gateway.testing.model import Fault, Reply
from tests.fakes.local_servers import LocalServer, llama_cpp, lm_studio, ollama, openrouter, vllm
from tests.fakes.model_server import ModelServer

SPEC = ToolSpec("double", "Doubles.", {"type": "object", "properties": {"n": {"type": "integer"}}})
REQUEST = ModelRequest(SystemPrompt("be kind"), (UserItem("double 21"),), (SPEC,))
MARKED = '<tool_call>{"name": "double", "arguments": {"n": 21}}</tool_call>'


def link(server, name="*", **more):
    return LinkConfig(name=f"openai:{name}", base_url=server.base_url, **more)


async def look(said, name="*"):
    async with LocalServer(said) as server:
        return await ask_server(link(server), name)


@pytest.mark.parametrize(
    ("said", "name", "kind", "window", "tools", "images"),
    [
        (ollama("llama3:8b"), "llama3:8b", "Ollama", 4096, True, False),
        (ollama("llama3:latest", num_ctx=16_384), "llama3", "Ollama", 16_384, True, False),
        (ollama("llama3:latest", loaded=32_768), "llama3", "Ollama", 32_768, True, False),
        (ollama("gemma:2b", tools=False), "*", "Ollama", 4096, False, False),
        (llama_cpp(8192, vision=True), "whatever", "llama.cpp", 8192, None, True),
        (vllm("Qwen/Qwen3-8B", 12_000), "*", "vLLM", 12_000, None, None),
        (lm_studio("gemma-3", 6000), "gemma-3", "LM Studio", 6000, True, True),
        (openrouter("a/b", 33_000), "a/b", "OpenRouter", 33_000, False, True),
    ],
)
async def test_a_server_says_what_its_model_takes(said, name, kind, window, tools, images):
    server = await look(said, name)
    model = server.find(name)
    assert (kind, window, tools, images) == (server.kind, model.window_tokens, model.takes_tools, model.sees_images)


@pytest.mark.parametrize("said", [None, 7, [], {"data": 3}, {"data": [{"id": 3}, "x", {"id": "a", "owned_by": []}]}])
async def test_a_list_that_is_none_tells_nothing(said):
    server = await look({"GET /v1/models": said})
    assert {model.window_tokens for model in server.models} <= {None}
    assert not server.lacks("a")


@pytest.mark.parametrize(
    ("names", "chosen"),
    [(["llama3:8b"], "llama3:8b"), (["llama3:8b", "qwen3:8b"], None), (["a", "gpt-5-mini"], "gpt-5-mini")],
)
async def test_an_unnamed_model_is_the_only_one(names, chosen):
    model = (await look(ollama(*names))).find("*")
    assert chosen == (model and model.id)


# ---------------------------------------------------------------- in use


async def ask(config, servers=None, request=REQUEST):
    model = build_model(config, ModelDeps(servers=servers))
    try:
        return await model.respond(request, lambda _event: None), model
    finally:
        await model.aclose()


async def test_a_model_that_is_not_loaded_is_looked_at_again():
    now_s = [0.0]
    async with LocalServer(ollama("a")) as server:
        servers = KnownServers(now_s=lambda: now_s[0])
        config = link(server, "a")
        windows = []
        for said in (ollama("a"), ollama("a", loaded=32_768), ollama("a", loaded=5)):
            server.said = said
            await servers.learn(config, "a")
            windows.append(servers.model(config, "a").window_tokens)
            now_s[0] += LOOK_AGAIN_S
        assert [4096, 32_768, 32_768] == windows


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "registry.ollama.ai/library/gemma:2b does not support tools"),
        (400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'),
        (500, "tools param requires --jinja flag"),
        (404, "No endpoints found that support tool use."),
    ],
    ids=["Ollama", "vLLM", "llama.cpp", "OpenRouter"],
)
async def test_a_server_that_refuses_tools_is_asked_in_words(status, message):
    refusal = Fault(status, {"error": {"message": message, "type": "api_error"}})
    async with ModelServer() as server:
        server.answers(refusal, Reply(MARKED), Reply(MARKED))
        config = ModelConfig(name="openai:gemma", base_url=server.base_url, tries=1)
        model = build_model(config)
        with structlog.testing.capture_logs() as logs:
            first = await model.respond(REQUEST, lambda _event: None)
            again = await model.respond(REQUEST, lambda _event: None)
        await model.aclose()
        assert [[("double", '{"n": 21}')]] * 2 == [_named(first.tool_calls), _named(again.tool_calls)]
        assert [True, False, False] == ["tools" in each.body for each in server.requests]
        assert ["model_takes_no_tools"] == [each["event"] for each in logs]
        assert not model.facts.takes_tools


def _named(calls: tuple[ToolCall, ...]) -> list[tuple[str, str]]:
    return [(call.name, call.arguments) for call in calls]


async def test_a_model_known_to_take_no_tools_is_never_given_any():
    async with LocalServer(ollama("gemma:2b", tools=False), reply=Reply(MARKED)) as server:
        servers = KnownServers()
        config = ModelConfig(name="openai:gemma:2b", base_url=server.base_url)
        await servers.learn(config, "gemma:2b")
        response, _ = await ask(config, servers)
        await ask(config.model_copy(update={"takes_tools": True}), servers)
        assert [("double", '{"n": 21}')] == _named(response.tool_calls)
        assert [False, True] == ["tools" in each.body for each in server.requests]


@pytest.mark.parametrize("part", ["stream", "stream_options"])
async def test_a_server_that_refuses_to_stream_is_asked_without(part):
    refusal = Fault(400, {"error": {"message": f"{part}: extra fields not permitted"}})
    async with ModelServer() as server:
        server.answers(refusal)
        config = ModelConfig(name="openai:some", base_url=server.base_url, tries=1)
        model = build_model(config)
        for _ in range(2):
            assert "A short answer." == (await model.respond(REQUEST, lambda _event: None)).text
        await model.aclose()
        sent = [("stream_options" in each.body, each.body["stream"]) for each in server.requests]
        assert [(True, True), *[(False, part != "stream")] * 2] == sent


async def test_a_server_that_ignores_the_stream_is_understood():
    async with LocalServer(llama_cpp(8192), reply=Reply("Hello.", plain_json=True)) as server:
        response, _ = await ask(ModelConfig(name="openai:*", base_url=server.base_url))
        assert ("Hello.", "openai:qwen3-8b.gguf") == (response.text, response.model)
        assert "Authorization" not in server.requests[0].headers
        assert "qwen3-8b.gguf" == server.requests[0].body["model"]


async def test_an_unknown_model_is_told_with_the_nearest_name():
    """Cover F11."""
    missing = Fault(404, {"error": {"message": 'model "lama3" not found, try pulling it first', "type": "api_error"}})
    async with LocalServer(ollama("llama3:8b"), reply=missing) as server:
        servers = KnownServers()
        config = ModelConfig(name="openai:lama3", base_url=server.base_url)
        await servers.learn(config, "lama3")
        with pytest.raises(ModelFailure) as caught:
            await ask(config, servers)
        assert (FailureKind.SERVER, False) == (caught.value.kind, caught.value.retryable)
        assert "the nearest is llama3:8b" in caught.value.message
        assert 1 == len(server.requests)


async def test_several_models_and_none_named_is_told():
    async with LocalServer(ollama("llama3:8b", "qwen3:8b")) as server:
        with pytest.raises(ModelFailure, match="TENK_MODEL=openai:NAME; it has: llama3:8b, qwen3:8b"):
            await ask(ModelConfig(name="openai:*", base_url=server.base_url))
        assert [] == server.requests
