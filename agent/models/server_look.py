"""Asks a server of chat completions what it is and serves: its list, and where that says too little, its own API.

What the answers mean is `served`'s matter; when a server is asked is `known_servers`'. Nothing is kept here.
"""

from dataclasses import replace

import aiohttp

from agent.config import KEY_NAMES, LinkConfig
from agent.errors import FailureKind
from agent.models.failures import failure, from_answer
from agent.models.http_wire import read_body, trouble_words, usable_key, utc_now
from agent.models.json_bodies import decode
from agent.models.served import (
    LLAMA_CPP,
    OLLAMA,
    ModelServerFacts,
    read_lm_studio,
    read_models,
    read_props,
    read_show,
)
from agent.ports import ModelFailure

OFFICIAL = "https://api.openai.com/v1"

LOOK_S = 2.0
"""All questions together take no longer."""


async def look_at_server(config: LinkConfig, name: str) -> ModelServerFacts:
    """The server of this link, and of its models the one of this name as well as it can be known.

    Raises:
        ModelFailure: it does not answer, or not as such a server; its message never holds the key.
    """
    base = (config.base_url or OFFICIAL).rstrip("/")
    key = usable_key(config, KEY_NAMES["openai"]).secret
    timeout = aiohttp.ClientTimeout(total=LOOK_S)
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    try:
        async with aiohttp.ClientSession(timeout=timeout, headers=headers) as session:
            looking = _Looking(session, base.removesuffix("/v1"), key)
            server = read_models(await looking.ask("GET", f"{base}/models"))
            is_near = config.is_local or server.kind == LLAMA_CPP
            return await looking.look_closer(server, name) if is_near else server
    except aiohttp.InvalidURL:
        raise failure(FailureKind.BAD_REQUEST, "the base URL is no URL") from None
    except TimeoutError:
        raise failure(FailureKind.NETWORK, f"no answer within {LOOK_S:g} s") from None
    except (aiohttp.ClientError, OSError) as problem:
        raise failure(FailureKind.NETWORK, trouble_words(problem)) from None


class _Looking:
    """One look."""

    def __init__(self, session: aiohttp.ClientSession, root: str, key: str) -> None:
        self._session = session
        self._root = root
        self._key = key

    async def ask(self, method: str, url: str, body: object = None) -> object:
        """The JSON that is answered.

        Raises:
            ModelFailure: an error is.
        """
        async with self._session.request(method, url, json=body, allow_redirects=False) as answer:
            text = await read_body(answer)
            if answer.status >= 300:
                raise from_answer(answer.status, answer.headers, text.decode(errors="replace"), utc_now(), self._key)
            return decode(text)

    async def look_closer(self, server: ModelServerFacts, name: str) -> ModelServerFacts:
        """The same with what a server of one's own says beside the list."""
        if server.kind == LLAMA_CPP:
            return read_props(server, await self._perhaps("GET", "/props"))
        if any(model.window_tokens for model in server.models):
            return server
        version = await self._perhaps("GET", "/api/version")
        if isinstance(version, dict) and "version" in version:
            return await self._look_at_ollama(server, name)
        return read_lm_studio(await self._perhaps("GET", "/api/v0/models")) or server

    async def _look_at_ollama(self, server: ModelServerFacts, name: str) -> ModelServerFacts:
        model = server.find(name)
        if model is None:
            return replace(server, kind=OLLAMA)
        show = await self._perhaps("POST", "/api/show", {"model": model.id})
        closer = read_show(model, show, await self._perhaps("GET", "/api/ps"))
        models = tuple(closer if each is model else each for each in server.models)
        return ModelServerFacts(OLLAMA, models)

    async def _perhaps(self, method: str, path: str, body: object = None) -> object:
        """What is answered; None: an error, or no JSON."""
        try:
            return await self.ask(method, self._root + path, body)
        except ModelFailure:
            return None
