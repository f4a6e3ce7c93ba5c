"""A background task that asks chat completions servers for their kind and models until all is known.

Only the first request to an unnamed model waits for it, and no request fails by it. `facts` parses the answers.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace

import aiohttp
import structlog

from agent.calendar import utc_now
from agent.config import KEY_NAMES, LinkConfig
from agent.errors import FailureKind
from agent.models.facts import (
    LLAMA_CPP,
    OLLAMA,
    ModelServerFacts,
    ServedModel,
    read_lm_studio,
    read_models,
    read_props,
    read_show,
)
from agent.models.failures import failure, from_answer
from agent.models.http_wire import read_body, trouble_words, usable_key
from agent.models.json_bodies import decode
from agent.ports import ModelFailure

OFFICIAL = "https://api.openai.com/v1"

LOOK_S = 2.0
"""Timeout of all questions together."""


async def ask_server(config: LinkConfig, name: str) -> ModelServerFacts:
    """Ask the server of this link for its models, and for details of the one with this name.

    Raises:
        ModelFailure: there is no usable answer; its message never contains the key.
    """
    base = (config.base_url or OFFICIAL).rstrip("/")
    key = usable_key(config, KEY_NAMES["openai"]).secret
    timeout = aiohttp.ClientTimeout(total=LOOK_S)
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    try:
        async with aiohttp.ClientSession(timeout=timeout, headers=headers) as session:
            questions = _Questions(session, base.removesuffix("/v1"), key)
            server = read_models(await questions.ask("GET", f"{base}/models"))
            is_near = config.is_local or server.kind == LLAMA_CPP
            return await questions.add_details(server, name) if is_near else server
    except aiohttp.InvalidURL:
        raise failure(FailureKind.BAD_REQUEST, "the base URL is not a URL") from None
    except TimeoutError:
        raise failure(FailureKind.NETWORK, f"no answer within {LOOK_S:g} s") from None
    except (aiohttp.ClientError, OSError) as problem:
        raise failure(FailureKind.NETWORK, trouble_words(problem)) from None


class _Questions:
    """The questions to one server."""

    def __init__(self, session: aiohttp.ClientSession, root: str, key: str) -> None:
        self._session = session
        self._root = root
        self._key = key

    async def ask(self, method: str, url: str, body: object = None) -> object:
        """Return the JSON of an answer.

        Raises:
            ModelFailure: the server answers with an error.
        """
        async with self._session.request(method, url, json=body, allow_redirects=False) as answer:
            text = await read_body(answer)
            if answer.status >= 300:
                raise from_answer(answer.status, answer.headers, text.decode(errors="replace"), utc_now(), self._key)
            return decode(text)

    async def add_details(self, server: ModelServerFacts, name: str) -> ModelServerFacts:
        """Return the facts with the details that a local server gives beside its list."""
        if server.kind == LLAMA_CPP:
            return read_props(server, await self._perhaps("GET", "/props"))
        if any(model.window_tokens for model in server.models):
            return server
        version = await self._perhaps("GET", "/api/version")
        if isinstance(version, dict) and "version" in version:
            return await self._ask_ollama(server, name)
        return read_lm_studio(await self._perhaps("GET", "/api/v0/models")) or server

    async def _ask_ollama(self, server: ModelServerFacts, name: str) -> ModelServerFacts:
        model = server.find(name)
        if model is None:
            return replace(server, kind=OLLAMA)
        show = await self._perhaps("POST", "/api/show", {"model": model.id})
        closer = read_show(model, show, await self._perhaps("GET", "/api/ps"))
        models = tuple(closer if each is model else each for each in server.models)
        return ModelServerFacts(OLLAMA, models)

    async def _perhaps(self, method: str, path: str, body: object = None) -> object:
        """Return the JSON answer; None if it is an error or not JSON."""
        try:
            return await self.ask(method, self._root + path, body)
        except ModelFailure:
            return None


log = structlog.get_logger()

LOOK_AGAIN_S = 30.0

NO_LIST = frozenset({404, 405, 501})
"""Statuses of a server that is up but lists no models: nothing more can be learned."""

Look = Callable[[LinkConfig, str], Awaitable[ModelServerFacts]]


@dataclass(slots=True)
class _Known:
    server: ModelServerFacts | None = None  # None: no answer yet
    problem: ModelFailure | None = None  # of the last look; None: it answered
    looked_s: float = float("-inf")
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class KnownServers:
    """The servers of all links of one gateway."""

    def __init__(self, look: Look = ask_server, now_s: Callable[[], float] = time.monotonic) -> None:
        self._look = look
        self._now_s = now_s
        self._known: dict[tuple[str, str], _Known] = {}
        self._links: dict[tuple[str, str], LinkConfig] = {}  # by server and model

    def register(self, config: LinkConfig, name: str) -> None:
        """Add this link's server to those that `run` asks."""
        self._links[config.base_url or "", name] = config

    async def run(self) -> None:
        """Ask all servers repeatedly until there is nothing more to learn."""
        while True:
            async with asyncio.TaskGroup() as looks:
                for (_, name), config in self._links.items():
                    looks.create_task(self.learn(config, name))
            if all(self._is_known(config, name) for (_, name), config in self._links.items()):
                return
            await asyncio.sleep(LOOK_AGAIN_S)

    def server(self, config: LinkConfig, name: str) -> ModelServerFacts | None:
        """Return the server's facts, or None if it never answered."""
        known = self._known.get((config.base_url or "", name))
        return None if known is None else known.server

    def problem(self, config: LinkConfig, name: str) -> ModelFailure | None:
        """Return the problem of the last look, or None if the server answered."""
        known = self._known.get((config.base_url or "", name))
        return None if known is None else known.problem

    def model(self, config: LinkConfig, name: str) -> ServedModel | None:
        """Return the model with this name on its server, or None if it is unknown."""
        server = self.server(config, name)
        return None if server is None else server.find(name)

    async def learn(self, config: LinkConfig, name: str) -> ModelServerFacts | None:
        """Ask the server if that can help; return its facts, or None."""
        known = self._known.setdefault((config.base_url or "", name), _Known())
        async with known.lock:
            if not self._is_known(config, name) and self._now_s() - known.looked_s >= LOOK_AGAIN_S:
                known.looked_s = self._now_s()
                try:
                    known.server = await self._look(config, name)
                except ModelFailure as problem:
                    known.problem = problem
                    if problem.status in NO_LIST:
                        known.server = ModelServerFacts()
                    log.debug("model_server_silent", base_url=config.base_url, error=str(problem))
        return known.server

    def _is_known(self, config: LinkConfig, name: str) -> bool:
        """Return True if another look could not tell more."""
        server = self.server(config, name)
        if server is None or server.lacks(name):
            return False
        model = server.find(name)
        return model is None or model.is_sure
