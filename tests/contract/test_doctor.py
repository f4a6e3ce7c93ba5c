"""`tenk doctor` and the first lines of `tenk run`: model servers as an operator reads of them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from agent.models.known_servers import KnownServers
from channels.chat.probing import Finding
from gateway.config.settings import Settings, load
from gateway.ops.doctor import check_models
from gateway.ops.model_servers import look_ahead
from gateway.testing.model import Answer, Fault, Reply
from tests.fakes.local_servers import LocalServer, Said, llama_cpp, ollama, vllm

TEN = Reply("one two three four five six seven eight nine ten")
KEYLESS = Fault(401, {"error": {"message": "Incorrect API key provided", "code": "invalid_api_key"}})
PAGE = Fault(body=b"<html>Sign in</html>", content_type="text/html")
NO_TOOLS = Fault(400, {"error": {"message": "registry.ollama.ai/library/gemma:2b does not support tools"}})


def settings_of(directory: Path, base_url: str, environ: Mapping[str, str] | None = None) -> Settings:
    file = directory / "gateway.toml"
    file.touch()
    return load(file, {"OPENAI_BASE_URL": base_url} | dict(environ or {}))


async def check(directory: Path, said: Said, answer: Answer, environ: Mapping[str, str] | None = None) -> list[Finding]:

    def brain(body: dict[str, Any]) -> Answer:
        return TEN if answer is NO_TOOLS and not body.get("tools") else answer

    async with LocalServer(said, brain=brain) as server:
        return await check_models(settings_of(directory, server.base_url, environ).model)


@pytest.mark.parametrize(
    ("said", "answer", "words"),
    [
        (
            ollama("llama3:8b"),
            TEN,
            "Ollama with 1 model; answered as openai:llama3:8b; window 4,096 tokens; calls tools",
        ),
        (
            vllm("Q", 12_000),
            NO_TOOLS,
            "vLLM with 1 model; answered as openai:Q; window 12,000 tokens; does not support tools",
        ),
        (llama_cpp(8000), Reply("ten", plain_json=True), "window 8,000 tokens; calls tools by itself; does not stream"),
        ({}, TEN, "window 128,000 tokens; calls tools by itself; streams; sees no pictures; answered in"),
    ],
)
async def test_it_names_what_it_found(tmp_path: Path, said: Said, answer: Answer, words: str) -> None:
    (found,) = await check(tmp_path, said, answer)
    assert words in found.words
    assert ("model", "") == (found.part, found.to_do)


@pytest.mark.parametrize(
    ("said", "answer", "environ", "words", "to_do"),
    [
        (ollama("llama3:8b"), TEN, {"TENK_MODEL": "openai:lama3"}, "lama3; the nearest is llama3:8b", "model.name"),
        (ollama("a:1", "b:1"), TEN, {}, "2 models and none is named: set TENK_MODEL=openai:NAME; it has", "model.name"),
        ({}, KEYLESS, {}, "set OPENAI_API_KEY", "a key that this provider accepts"),
        ({}, KEYLESS, {"OPENAI_API_KEY": "sk-of-test"}, "look at OPENAI_API_KEY (or api_key in", "a key that"),
        ({}, PAGE, {}, "the answer is a web page: look at the base URL", "set model.base_url"),
        (ollama("a"), Fault(500, b""), {}, "server (HTTP 500)", "see what the server says"),
    ],
)
async def test_what_is_wrong_comes_with_what_to_do(
    tmp_path: Path, said: Said, answer: Answer, environ: dict[str, str], words: str, to_do: str
) -> None:
    (found,) = await check(tmp_path, said, answer, environ)
    assert words in found.words
    assert to_do in found.to_do


async def test_a_server_without_its_v1_is_told_of_it(tmp_path: Path) -> None:
    async with LocalServer({}, brain=lambda _: TEN) as server:
        settings = settings_of(tmp_path, server.root_url, {"TENK_MODEL": "openai:m"})
        (found,) = await check_models(settings.model)
    assert "end model.base_url with /v1, where most servers have this API" == found.to_do


async def test_the_key_of_a_file_is_asked_with_and_named_where_it_is_refused(tmp_path: Path) -> None:
    keys = tmp_path / "auth.json"
    keys.write_text('{"login": {"type": "api", "key": "sk-of-a-file"}}')
    async with LocalServer({}, reply=TEN) as server:
        link = f'[model]\nname = "openai:m"\nbase_url = "{server.base_url}"\n'
        (tmp_path / "gateway.toml").write_text(f'{link}[model.key_file]\npath = "{keys}"\nkey = "login"\n')
        model = load(tmp_path / "gateway.toml", {}).model
        (good,) = await check_models(model)
        server.refused_keys.add("sk-of-a-file")
        (refused,) = await check_models(model)
        keys.write_text("{}")
        (unreadable,) = await check_models(model)
    assert "Bearer sk-of-a-file" == server.requests[0].headers["Authorization"]
    assert ("", True) == (good.to_do, f"look at {keys}" in refused.words)
    assert "sk-of-a-file" not in refused.words
    assert "holds no usable key at login" in unreadable.words


async def test_a_server_that_is_not_there_is_a_finding(tmp_path: Path) -> None:
    (tmp_path / "gateway.toml").write_text(
        '[model]\nname = "offline"\n[model.fallback.other]\nname = "openai:x"\nbase_url = "http://127.0.0.1:1/v1"\n'
    )
    first, second = await check_models(load(tmp_path / "gateway.toml", {}).model)
    assert ("model", "") == (first.part, first.to_do)
    assert "model.fallback.other" == second.part
    assert "no connection" in second.words
    assert second.to_do


@pytest.mark.parametrize(
    ("said", "environ", "name", "words"),
    [
        (ollama("llama3:8b"), {}, "openai:llama3:8b", "llama3:8b is used, the only model of Ollama at"),
        (ollama("a:1", "b:1"), {}, "openai:*", "has 2 models and none is named"),
        (ollama("llama3:8b"), {"TENK_MODEL": "openai:lama3"}, "openai:lama3", "the nearest is llama3:8b"),
        (ollama("llama3:8b"), {"TENK_MODEL": "openai:llama3:8b"}, "openai:llama3:8b", ""),
    ],
)
async def test_the_start_says_which_model_answers(
    tmp_path: Path, said: Said, environ: dict[str, str], name: str, words: str
) -> None:
    async with LocalServer(said) as server:
        model, sentences = await look_ahead(settings_of(tmp_path, server.base_url, environ).model, KnownServers())
    assert name == model.name
    assert words in " ".join(sentences)
    assert bool(words) == bool(sentences)


async def test_a_server_that_does_not_answer_stops_no_start(tmp_path: Path) -> None:
    model, sentences = await look_ahead(settings_of(tmp_path, "http://127.0.0.1:1/v1").model, KnownServers())
    assert "openai:*" == model.name
    (sentence,) = sentences
    assert sentence.startswith("model: http://127.0.0.1:1/v1 does not list its models (network: no connection")


async def test_a_server_without_a_list_is_nothing_to_speak_of(tmp_path: Path) -> None:
    async with LocalServer({}) as server:
        servers = KnownServers()
        _, sentences = await look_ahead(settings_of(tmp_path, server.base_url).model, servers)
        await servers.run()
    assert ([], ["GET /v1/models"]) == (sentences, server.looks_at)
