"""The OpenAI chat completions wire on aiohttp; also Ollama, llama.cpp, vLLM and OpenRouter by base URL.

One call gives one answer or one `ModelFailure`; `link` retries, `openai_format` converts.
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from functools import partial
from hashlib import blake2b
from typing import Any

import structlog

from agent.calendar import utc_now
from agent.config import KEY_NAMES, LinkConfig
from agent.credentials import Credential
from agent.errors import FailureKind
from agent.models.credentials import access_of, lead_with
from agent.models.facts import ONLY_MODEL, USUAL_MODEL, ModelServerFacts, facts_of
from agent.models.failures import refused_field
from agent.models.http_wire import ALWAYS, HttpWire, usable_key
from agent.models.known_servers import KnownServers
from agent.models.openai_format import WIRE, CompletionAssembly, request_body
from agent.models.picture_fit import encode_shown
from agent.ports import ModelFacts, ModelFailure, ModelRequest, OnModelEvent, Principal
from agent.transcript import ModelResponded

log = structlog.get_logger()

OFFICIAL = "https://api.openai.com/v1"
KEY_NAME = KEY_NAMES["openai"]


class OpenAIModel:
    """One model of one chat completions server, with one connection pool, opened by the first call.

    Streaming fields that the server refuses are left out from then on.
    """

    def __init__(
        self,
        model: str,
        config: LinkConfig,
        *,
        servers: KnownServers | None = None,
        clock: Callable[[], datetime] = utc_now,
    ) -> None:
        """Raise ValueError if key or model can never work; the message does not contain the key."""
        self.name = f"openai:{model}"
        self._model = model
        self._config = config
        self._tokens_field = config.output_tokens_field or (
            "max_tokens" if config.base_url else "max_completion_tokens"
        )
        self._servers = servers or KnownServers()
        self._left_out = frozenset[str]() if config.usage_in_stream else frozenset({"stream_options"})
        self._facts: tuple[ModelServerFacts | None, ModelFacts] | None = None  # with their source
        self._key = usable_key(config, KEY_NAME)
        self._access = access_of(self._key, config, ALWAYS, _headers_of)
        self._base = (config.base_url or OFFICIAL).rstrip("/")
        self._wire = HttpWire(self._base + "/chat/completions", config, clock, KEY_NAME, self._key.secret)

    @property
    def facts(self) -> ModelFacts:
        """Return the model's limits from the configuration, its server's answers and the table of known models."""
        server = self._servers.server(self._config, self._model)
        if self._facts is None or self._facts[0] is not server:
            served = None if server is None else server.find(self._model)
            self._facts = (server, facts_of(f"openai:{served.id}" if served else self.name, self._config, served))
        return self._facts[1]

    async def respond(self, request: ModelRequest, on_event: OnModelEvent) -> ModelResponded:
        """Return one whole response; text and calls are passed to `on_event` as they stream in.

        Raises:
            ModelFailure: there is no usable response. Its message never holds the key.
        """
        name = self._model if self._model != ONLY_MODEL else await self._served_name()
        credential = request.credential or self._key
        access = self._access if credential is self._key else access_of(credential, self._config, ALWAYS, _headers_of)
        request = lead_with(request, credential, self._config)
        assembly = CompletionAssembly(on_event, f"openai:{name}", access.secret)
        left_out = self._left_out
        while True:
            request = replace(request, stream=False) if "stream" in left_out else request
            body = await encode_shown(request, WIRE, partial(self._to_body, name, left_out))
            try:
                response = await self._wire.ask(body, assembly, access)
            except ModelFailure as problem:
                refused = {refused_field(problem)} - {""} - left_out if request.stream else frozenset[str]()
                if not refused:
                    raise replace(problem, message=problem.message + self._advice(problem)) from None
                left_out |= refused
                continue
            if left_out != self._left_out:
                log.warning("model_refuses_fields", model=self.name, fields=sorted(left_out))
                self._left_out = left_out
            return response

    async def connect(self) -> None:
        """Open a connection before the first call; do nothing if the server is away."""
        await self._wire.connect()

    async def check(self, credential: Credential) -> None:
        """List the models with this credential, as a cheap check.

        Raises:
            ModelFailure: the credential is refused, or there is no usable answer.
        """
        await self._wire.check(self._base + "/models", access_of(credential, self._config, ALWAYS, _headers_of))

    async def aclose(self) -> None:
        """Close the connections."""
        await self._wire.aclose()

    async def _served_name(self) -> str:
        """Return the server's name of a model that the configuration does not name.

        Raises:
            ModelFailure: the server has several models.
        """
        server = await self._servers.learn(self._config, ONLY_MODEL)
        if server is None:
            return USUAL_MODEL
        if server.lacks(ONLY_MODEL):
            words = f"no model is named: set TENK_MODEL=openai:NAME; {server.advice(ONLY_MODEL)}"
            raise ModelFailure(FailureKind.SERVER, words)
        served = server.find(ONLY_MODEL)
        return served.id if served is not None else USUAL_MODEL

    def _advice(self, problem: ModelFailure) -> str:
        """Return a hint with the server's model names if the configured one is missing."""
        server = self._servers.server(self._config, self._model)
        is_lacking = problem.status in {400, 404} and server is not None and server.lacks(self._model)
        return f"; {server.advice(self._model)}" if server is not None and is_lacking else ""

    def _to_body(self, name: str, left_out: frozenset[str], request: ModelRequest) -> dict[str, Any]:
        config = self._config
        return request_body(
            request,
            name,
            self._tokens_field,
            usage_in_stream="stream_options" not in left_out,
            temperature=config.temperature,
            service_tier=config.service_tier,
            cache_key=_cache_key(request.who) if config.connects_to == WIRE else None,
        )


def _cache_key(who: Principal | None) -> str | None:
    """Return a name for this person's requests, which mostly begin alike, that tells the provider nothing of them."""
    return None if who is None else blake2b(f"{who.tenant}/{who.user_id}".encode(), digest_size=16).hexdigest()


def _headers_of(credential: Credential) -> dict[str, str]:
    return {"Authorization": f"Bearer {credential.secret}"}


def make_model(name: str, config: LinkConfig, *, servers: KnownServers | None) -> OpenAIModel:
    """Make the model for the entry point `tenk.models`; with a base URL, have its server asked for its models."""
    if servers is not None and config.base_url is not None:
        servers.register(config, name)
    return OpenAIModel(name, config, servers=servers)
