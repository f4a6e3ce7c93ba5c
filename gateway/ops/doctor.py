"""The checks of `tenk doctor` over the network: each model gets a short question, and the public URL a request."""

import asyncio
import re
import time
from dataclasses import replace
from http import HTTPStatus

from agent.config import KEY_NAMES, LinkConfig, ModelConfig
from agent.errors import FailureKind
from agent.models.credentials import settings_key
from agent.models.facts import ModelServerFacts
from agent.models.known_servers import KnownServers
from agent.models.select import UnknownModel, bare_model
from agent.ports import ChatModel, ModelEvent, ModelFailure, ModelRequest, SystemPrompt, TextDelta, ToolSpec
from agent.transcript import UserItem
from channels.chat.probing import Asker, Finding, NoAnswer
from gateway.credentials.levels import stored_credential
from gateway.errors import GatewayError
from gateway.ops.model_servers import OPENAI, links_of, missing_words

ASKED_S = 60.0
"""Seconds for a model's short answer; a local one may have to load first."""

QUESTION = ModelRequest(
    SystemPrompt("Answer in plain words. You need no tool."),
    (UserItem("Count from one to ten in words."),),
    (ToolSpec("note", "Keeps a note.", {"type": "object", "properties": {"text": {"type": "string"}}}),),
    max_output_tokens=1000,
)


async def check_models(model: ModelConfig) -> list[Finding]:
    """Check each configured model: its server, and its answer to a short question."""
    return [await check_link(part, link) for part, link in links_of(model).items()]


async def check_public_url(url: str, asker: Asker) -> Finding:
    """Check that a gateway answers at the public URL. It cannot be told whether it is this one."""
    part, key = "http.public_url", ("http", "public_url")
    to_do = "start the gateway, and let the proxy pass this name on to http.listen; docs/install.md shows how"
    try:
        answer = await asker.ask("GET", f"{url}/healthz")
    except NoAnswer as problem:
        return Finding(part, f"{url} {problem}", to_do, key)
    if answer.body.get("status") != "alive":
        return Finding(part, f"something else answers at {url} ({answer.status})", to_do, key)
    return Finding(part, f"a gateway answers at {url}")


_VERSION = re.compile(r"/v\d")
"""A version in the path of a server's address."""

_TO_DO = {
    FailureKind.AUTH: "set a key that this provider accepts as {part}.api_key, or in {variable}",
    FailureKind.QUOTA: "top up the provider's account",
    FailureKind.NETWORK: "start the server, or set {part}.base_url to where it is",
    FailureKind.RATE_LIMIT: "wait, or ask for a higher limit",
    FailureKind.TIMEOUT: "check that the server is running, and try again",
}


async def check_link(part: str, link: LinkConfig, asked_s: float = ASKED_S) -> Finding:
    """Check one model, configured at this key, by a short question that it has so many seconds for."""
    wire, _, name = link.name.partition(":")
    if link.name == "offline":
        return Finding(part, "no model is set: the agent answers by rules, or asks models of its own")
    where = link.base_url or f"{wire}'s own server"
    server, servers = None, KnownServers()
    if wire == OPENAI:
        server = await servers.learn(link, name)
        problem = servers.problem(link, name)
        if server is None and problem is not None:
            return Finding(part, f"{link.name} at {where}: {problem}", _to_do(problem, part, link))
        if server is not None and server.lacks(name) and link.base_url is not None:
            return Finding(part, missing_words(link, server, name), f"set {part}.name to one that is there")
    try:
        model = bare_model(link, servers)
    except UnknownModel as unknown:
        return Finding(part, str(unknown), f"set {part}.name")
    try:
        question = replace(QUESTION, credential=None if settings_key(link).secret else await stored_credential(link))
        return Finding(
            part, "; ".join((f"{link.name} at {where}", *_of(server), *await _ask(model, question, asked_s)))
        )
    except GatewayError as unreadable:
        return Finding(part, str(unreadable), "correct it, or remove it from the configuration")
    except ModelFailure as problem:
        return Finding(
            part, "; ".join((f"{link.name} at {where}", *_of(server), str(problem))), _to_do(problem, part, link)
        )
    finally:
        await model.aclose()


def _to_do(problem: ModelFailure, part: str, link: LinkConfig) -> str:
    words = _TO_DO.get(problem.kind, "see what the server says")
    is_openai = link.name.partition(":")[0] == OPENAI
    if problem.status == HTTPStatus.NOT_FOUND and is_openai and link.base_url and not _VERSION.search(link.base_url):
        words = "end {part}.base_url with /v1, where most servers have this API"
    return words.format(part=part, variable=KEY_NAMES.get(link.name.partition(":")[0], "the environment"))


def _of(server: ModelServerFacts | None) -> list[str]:
    """Return the server's kind and number of models, if known."""
    count = 0 if server is None else len(server.models)
    return [f"{server.kind} with {count} model{'' if count == 1 else 's'}"] if server is not None and count else []


async def _ask(model: ChatModel, question: ModelRequest, asked_s: float) -> list[str]:
    """Ask the model the question. Return facts about it and its answer.

    Raises:
        ModelFailure: it gives no answer.
    """
    pieces: list[ModelEvent] = []

    def hear(event: ModelEvent) -> None:
        if isinstance(event, TextDelta):
            pieces.append(event)

    begun_s = time.monotonic()
    try:
        async with asyncio.timeout(asked_s):
            response = await model.respond(question, hear)
    except TimeoutError:
        raise ModelFailure(FailureKind.TIMEOUT, f"no answer within {asked_s:g} s") from None
    facts = model.facts
    return [
        *([] if response.model == model.name else [f"answered as {response.model}"]),
        f"window {facts.context_window_tokens:,} tokens",
        "calls tools by itself" if facts.takes_tools else "does not support tools: the prompt describes them",
        "streams" if len(pieces) > 1 else "does not stream",
        "sees pictures" if facts.sees_images else "sees no pictures",
        f"answered in {time.monotonic() - begun_s:.1f} s",
    ]
