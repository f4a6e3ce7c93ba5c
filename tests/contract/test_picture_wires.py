"""Pictures on both wires: the official SDKs send the same."""

import base64

import anthropic
import pytest
from openai import AsyncOpenAI
from pydantic import SecretStr

from agent.config import LinkConfig, ModelConfig
from agent.models.anthropic import AnthropicModel
from agent.models.openai import OpenAIModel
from agent.models.select import build_model
from agent.pictures import SHOWN, Picture, Unseen
from agent.ports import ModelRequest, SystemPrompt
from agent.transcript import AssistantItem, UserItem
from gateway.testing.model import Reply
from tests.fakes.model_server import ModelServer

KEY = "sk-test-0123456789abcdef"
CONTENT = {"p1": b"\x89PNG one", "p2": b"\xff\xd8\xff two"}
SEEN = (Picture("p1", "image/png", 9), Picture("p2", "image/jpeg", 7))
ITEMS = (
    UserItem("which is higher?", sender="Ana", pictures=SEEN),
    AssistantItem("The first."),
    UserItem("and this?", pictures=(Picture("", "image/heic", 2_000_000, unseen=Unseen.OTHER_KIND),)),
)
WORDS = f"Ana: which is higher?\n{SHOWN}"
REST = "and this?\n[a picture, 2.0 MB, image/heic: it is no PNG, JPEG, GIF or WebP and was not opened]"
ENCODED = {id_: base64.b64encode(content).decode() for id_, content in CONTENT.items()}


async def load(ids):
    return {id_: CONTENT[id_] for id_ in ids}


@pytest.fixture
async def server():
    async with ModelServer() as server:
        server.answers(Reply("The first."), Reply("The first."))
        yield server


async def send(model):
    request = ModelRequest(SystemPrompt(), ITEMS, max_output_tokens=100, stream=False, load_pictures=load)
    assert "The first." == (await model.respond(request, lambda _event: None)).text
    await model.aclose()


async def test_openai_is_sent_data_urls(server):
    urls = [f"data:image/png;base64,{ENCODED['p1']}", f"data:image/jpeg;base64,{ENCODED['p2']}"]
    parts = [{"type": "image_url", "image_url": {"url": url}} for url in urls]
    messages = [
        {"role": "user", "content": [*parts, {"type": "text", "text": WORDS}]},
        {"role": "assistant", "content": "The first."},
        {"role": "user", "content": REST},
    ]
    async with AsyncOpenAI(api_key=KEY, base_url=server.base_url, max_retries=0) as client:
        await client.chat.completions.create(model="m", max_tokens=100, messages=messages, stream=False)
    await send(OpenAIModel("m", ModelConfig(base_url=server.base_url, api_key=SecretStr(KEY))))
    theirs, ours = (received.body for received in server.requests)
    assert theirs == ours


async def test_anthropic_is_sent_base64_blocks(server):
    mark = {"cache_control": {"type": "ephemeral"}}
    images = [
        {"type": "image", "source": {"type": "base64", "media_type": seen.mime, "data": ENCODED[seen.id]}}
        for seen in SEEN
    ]
    messages = [
        {"role": "user", "content": [*images, {"type": "text", "text": WORDS, **mark}]},
        {"role": "assistant", "content": [{"type": "text", "text": "The first."}]},
        {"role": "user", "content": [{"type": "text", "text": REST, **mark}]},
    ]
    async with anthropic.AsyncAnthropic(api_key=KEY, base_url=server.root_url, max_retries=0) as client:
        await client.messages.create(model="m", max_tokens=100, messages=messages, stream=False)
    await send(AnthropicModel("m", ModelConfig(base_url=server.root_url, api_key=SecretStr(KEY))))
    theirs, ours = (received.body for received in server.requests)
    assert theirs == ours


async def test_a_route_and_a_model_without_tools_or_eyes(server):
    own = {"base_url": server.base_url, "offline_when_down": False, "takes_tools": False}
    eyes = LinkConfig(name="openai:eyes", base_url=server.base_url, sees_images=True)
    for config in (ModelConfig(name="openai:main", **own, with_images=eyes), ModelConfig(name="openai:main", **own)):
        await send(build_model(config))
    routed, blind = (received.body for received in server.requests)
    assert ["eyes", "main"] == [routed["model"], blind["model"]]
    assert "image_url" == routed["messages"][0]["content"][0]["type"]
    line = "[a picture, 1 kB, image/png: this model sees no pictures]"
    assert blind["messages"][0]["content"].startswith(f"Ana: which is higher?\n{line}")
