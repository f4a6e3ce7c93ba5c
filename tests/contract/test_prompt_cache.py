"""The prompt cache of a provider: what is the same for all people is kept for an hour, a conversation for minutes."""

from datetime import UTC, datetime, timedelta

from pydantic import SecretStr

from agent.config import ModelConfig
from agent.models.anthropic import AnthropicModel
from agent.models.openai import OpenAIModel
from agent.ports import ModelRequest, Principal, SystemPrompt, ToolSpec
from agent.transcript import AssistantItem, UserItem
from tests.fakes.model_server import ModelServer
from tests.fakes.prompt_cache import PromptCache

NOON = datetime(2026, 3, 4, 12, 0, tzinfo=UTC)
KEY = SecretStr("sk-test-0123456789abcdef")
TOOLS = tuple(ToolSpec(f"tool_{n}", "Does a thing. " * 20, {"type": "object", "properties": {}}) for n in range(5))
STATIC = "Be kind, and say what you know. " * 100
ANA, BEN = Principal("u-ana", "t1"), Principal("u-ben", "t1")


def talk(who, turns, minute):
    said = [item for n in range(turns) for item in (UserItem(f"{n} " + "chat " * 200), AssistantItem("Yes."))]
    system = SystemPrompt(STATIC, f"{who.user_id} speaks at 12:{minute}.")
    return ModelRequest(system, (*said, UserItem(f"{turns} " + "chat " * 200)), TOOLS, who=who)


async def test_what_is_the_same_for_all_people_is_read_for_an_hour_and_a_conversation_for_minutes():
    time = [NOON]
    async with ModelServer(PromptCache(lambda: time[0])) as server:
        model = AnthropicModel("m", ModelConfig(name="anthropic:m", base_url=server.root_url, api_key=KEY))

        async def ask(who, turns, minutes):
            time[0] = NOON + timedelta(minutes=minutes)
            used = (await model.respond(talk(who, turns, "00"), lambda _event: None)).usage
            return used.cache_read_tokens, used.cache_write_tokens, used.cache_write_hour_tokens

        read, written, for_an_hour = await ask(ANA, 2, 0)
        assert 0 == read < for_an_hour < written, "all of it is written, tools and instructions for an hour"
        fixed = for_an_hour
        read, written, for_an_hour = await ask(BEN, 2, 30)
        assert (fixed, 0) == (read, for_an_hour) and written > 0, "Ben reads what Ana's request wrote half an hour ago"
        read, _, _ = await ask(BEN, 3, 32)
        assert read > fixed, "his conversation is there two minutes later"
        read, _, _ = await ask(BEN, 4, 45)
        assert fixed == read, "and gone after thirteen; the instructions are not"
        assert 0 == (await ask(ANA, 4, 120))[0]
        await model.aclose()


async def test_openai_itself_is_told_whose_requests_begin_alike_and_no_other_server_is():
    async with ModelServer() as server:
        sent = []
        for provider, who in ((None, ANA), ("openai", ANA), ("openai", ANA), ("openai", BEN)):
            config = ModelConfig(name="openai:m", base_url=server.base_url, api_key=KEY, provider=provider)
            model = OpenAIModel("m", config)
            await model.respond(talk(who, 1, "00"), lambda _event: None)
            sent.append(server.requests[-1].body.get("prompt_cache_key"))
            await model.aclose()
    none, ana, again, ben = sent
    assert none is None and ana == again != ben
    assert "ana" not in ana
