"""Words what the servers of the configured models say, for an operator; and names the model that nobody named."""

import asyncio
from collections.abc import Mapping

from agent.config import LinkConfig, ModelConfig
from agent.models.facts import ONLY_MODEL, ModelServerFacts
from agent.models.known_servers import KnownServers

OPENAI = "openai"


def links_of(model: ModelConfig) -> Mapping[str, LinkConfig]:
    """Every model that may be asked, by its key in the configuration."""
    links: dict[str, LinkConfig | None] = {
        "model": model, "model.light": model.light, "model.with_tools": model.with_tools,
        "model.with_images": model.with_images,
    }  # fmt: skip
    links |= {f"model.fallback.{name}": link for name, link in model.fallback.items()}
    return {key: link for key, link in links.items() if link is not None}


async def look_ahead(model: ModelConfig, servers: KnownServers) -> tuple[ModelConfig, list[str]]:
    """The model's settings, it named where its server has but one; and what an operator should know of the servers."""
    sentences = []
    links = {key: link for key, link in links_of(model).items() if link.base_url and link.name.startswith(f"{OPENAI}:")}
    async with asyncio.TaskGroup() as looks:
        for link in links.values():
            looks.create_task(servers.learn(link, link.name.partition(":")[2]))
    for key, link in links.items():
        name = link.name.partition(":")[2]
        server = await servers.learn(link, name)
        found = None if server is None else server.find(name)
        if server is None:
            problem = servers.problem(link, name)
            sentences.append(f"{key}: {link.base_url} does not say what it has ({problem}); it is asked all the same.")
        elif server.lacks(name):
            sentences.append(f"{key}: {missing_words(link, server, name)}")
        elif name == ONLY_MODEL and found is not None:
            sentences.append(f"{found.id} answers, the model that {server.kind} at {link.base_url} has.")
            await servers.learn(link, found.id)
            model = model if key != "model" else model.model_copy(update={"name": f"{OPENAI}:{found.id}"})
    return model, sentences


def missing_words(link: LinkConfig, server: ModelServerFacts, name: str) -> str:
    """A model is named that its server does not have, or of several none is."""
    if name == ONLY_MODEL:
        return (
            f"{server.kind} at {link.base_url} has {len(server.models)} models and none is named: "
            f"set TENK_MODEL=openai:NAME; {server.advice(name)}"
        )
    return f"{server.kind} at {link.base_url} has no model {name}; {server.advice(name)}"
