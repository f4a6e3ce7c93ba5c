"""Each kind of credential over both wires; a refused one falls to the next within the answer."""

import pytest
from pydantic import SecretStr

from agent.config import LinkConfig, ModelConfig
from agent.credentials import Credential, CredentialKind
from agent.models.credentials import ConfiguredKey, CredentialSource
from agent.models.select import ModelDeps, build_model
from agent.ports import ModelFailure, ModelRequest, Principal, SystemPrompt
from agent.transcript import UserItem
from gateway.testing.model import Fault, Reply
from tests.fakes.model_server import ModelServer

ANA = Principal("ana", "default")
REQUEST = ModelRequest(SystemPrompt("be kind", "Ana speaks"), (UserItem("hello"),), who=ANA)
PROFILE = {
    "header": "X-Auth",
    "form": "Token {secret}",
    "add_headers": {"x-beta": "on"},
    "remove_headers": ["User-Agent"],
    "query": {"beta": "true"},
    "system": ["You are TenK Coach."],
}
WIRES = ("openai", "anthropic")


class Own:
    name = "own"

    async def find(self, who: Principal | None) -> Credential | None:
        return Credential("canary-own-token", CredentialKind.OAUTH) if who == ANA else None


def sources(link: LinkConfig) -> tuple[CredentialSource, ...]:
    assert link.api_key is not None
    return Own(), ConfiguredKey(Credential(link.api_key.get_secret_value()))


def config_of(wire: str, server: ModelServer, **more: object) -> ModelConfig:
    base = server.root_url if wire == "anthropic" else server.base_url
    given = {"name": f"{wire}:m", "base_url": base, "api_key": SecretStr("settings-key"), "offline_when_down": False}
    return ModelConfig.model_validate(given | more)


@pytest.mark.parametrize("wire", WIRES)
async def test_a_profile_shapes_the_whole_request(wire: str) -> None:
    async with ModelServer() as server:
        model = build_model(config_of(wire, server, profiles={"oauth": PROFILE}), ModelDeps(sources=sources))
        await model.respond(REQUEST, lambda _event: None)
        await model.aclose()
        (request,) = server.requests
    headers = {name.lower(): value for name, value in request.headers.items()}
    assert ("Token canary-own-token", "on") == (headers["x-auth"], headers["x-beta"])
    assert set() == {"authorization", "x-api-key", "user-agent"} & set(headers)
    assert "beta=true" == request.query
    if wire == "anthropic":
        assert ["You are TenK Coach.", "be kind", "Ana speaks"] == [block["text"] for block in request.body["system"]]
        assert [False, True, False] == ["cache_control" in block for block in request.body["system"]]
    else:
        assert request.body["messages"][0]["content"].startswith("You are TenK Coach.")
    assert "canary" not in str(request.body)


@pytest.mark.parametrize("wire", WIRES)
async def test_without_one_a_token_is_a_bearer_and_a_key_as_documented(wire: str) -> None:
    refusal = Fault(status=401, body={"error": {"message": "invalid canary-own-token settings-key"}})
    async with ModelServer() as server:
        server.answers(refusal, Reply("hello"), refusal)
        model = build_model(config_of(wire, server, tries=1), ModelDeps(sources=sources))
        assert "hello" == (await model.respond(REQUEST, lambda _event: None)).text
        with pytest.raises(ModelFailure) as failed:
            await model.respond(REQUEST, lambda _event: None)
        await model.aclose()
        first, second, third = ({name.lower(): value for name, value in one.headers.items()} for one in server.requests)
    assert ("Bearer canary-own-token", None) == (first["authorization"], first.get("x-api-key"))
    assert "Bearer settings-key" == second["authorization"] == third["authorization"]
    assert ("settings-key" if wire == "anthropic" else None) == second.get("x-api-key")
    assert "canary-own" not in str(failed.value)
