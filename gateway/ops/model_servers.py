"""Inspection of the configured models' servers at the start: missing models, and the name of a server's only model."""

import asyncio
from collections.abc import Mapping

from agent.config import LinkConfig, ModelConfig
from agent.models.facts import ONLY_MODEL, ModelServerFacts
from agent.models.known_servers import KnownServers

OPENAI = "openai"


def links_of(model: ModelConfig) -> Mapping[str, LinkConfig]:
    """Return every configured model by its configuration key."""
    links: dict[str, LinkConfig | None] = {
        "model": model,
        "model.light": model.light,
        "model.with_tools": model.with_tools,
        "model.with_images": model.with_images,
    }
    links |= {f"model.fallback.{name}": link for name, link in model.fallback.items()}
    return {key: link for key, link in links.items() if link is not None}


async def look_ahead(model: ModelConfig, servers: KnownServers) -> tuple[ModelConfig, list[str]]:
    """Ask the servers for their models. Return the settings, with an unnamed only model named, and hints to print."""
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
            sentences.append(
                f"{key}: {link.base_url} does not list its models ({problem}); the gateway uses it anyway."
            )
        elif server.lacks(name):
            sentences.append(f"{key}: {missing_words(link, server, name)}")
        elif name == ONLY_MODEL and found is not None:
            sentences.append(f"{found.id} is used, the only model of {server.kind} at {link.base_url}.")
            await servers.learn(link, found.id)
            model = model if key != "model" else model.model_copy(update={"name": f"{OPENAI}:{found.id}"})
    return model, sentences


def missing_words(link: LinkConfig, server: ModelServerFacts, name: str) -> str:
    """Return a hint that the server lacks this model, or that one of its several models must be named."""
    if name == ONLY_MODEL:
        return (
            f"{server.kind} at {link.base_url} has {len(server.models)} models and none is named: "
            f"set TENK_MODEL=openai:NAME; {server.advice(name)}"
        )
    return f"{server.kind} at {link.base_url} has no model {name}; {server.advice(name)}"
