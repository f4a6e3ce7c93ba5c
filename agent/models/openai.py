"""The OpenAI chat completions wire on aiohttp; also Ollama, llama.cpp, vLLM and OpenRouter by base URL.

One call, one answer or one `ModelFailure`: trying again is `resilience`'s work, the format is `openai_format`'s.
"""

from collections.abc import Callable
from datetime import datetime
from functools import cached_property
from typing import Any

from agent.config import LinkConfig
from agent.credentials import Credential
from agent.models.access import access_of, lead_with
from agent.models.facts import facts_of
from agent.models.http_wire import ALWAYS, HttpWire, usable_key, utc_now
from agent.models.openai_format import WIRE, CompletionAssembly, request_body
from agent.models.seeing import encode_shown
from agent.ports import ModelFacts, ModelRequest, OnModelEvent
from agent.transcript import ModelResponded

OFFICIAL = "https://api.openai.com/v1"


class OpenAIModel:
    """One model behind one chat completions server. One connection pool, opened with the first call."""

    def __init__(self, model: str, config: LinkConfig, *, clock: Callable[[], datetime] = utc_now) -> None:
        """Raise ValueError where key or model can never work; the message does not hold the key."""
        self.name = f"openai:{model}"
        self._model = model
        self._config = config
        self._tokens_field = config.output_tokens_field or (
            "max_tokens" if config.base_url else "max_completion_tokens"
        )
        self._key = usable_key(config, "OPENAI_API_KEY")
        url = (config.base_url or OFFICIAL).rstrip("/") + "/chat/completions"
        self._wire = HttpWire(url, config, clock)

    @cached_property
    def facts(self) -> ModelFacts:
        """What the model takes, by config and table."""
        return facts_of(self.name, self._config)

    async def respond(self, request: ModelRequest, on_event: OnModelEvent) -> ModelResponded:
        """One whole response; text and calls are told as they stream in.

        Raises:
            ModelFailure: there is no usable response. Its message never holds the key.
        """
        credential = request.credential or self._key
        access = access_of(credential, self._config, ALWAYS, _headers_of)
        body = await encode_shown(lead_with(request, credential, self._config), WIRE, self._to_body)
        return await self._wire.ask(body, CompletionAssembly(on_event, self.name, access.secret), access)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._wire.aclose()

    def _to_body(self, request: ModelRequest) -> dict[str, Any]:
        config = self._config
        return request_body(
            request,
            self._model,
            self._tokens_field,
            usage_in_stream=config.usage_in_stream,
            temperature=config.temperature,
            service_tier=config.service_tier,
        )


def _headers_of(credential: Credential) -> dict[str, str]:
    return {"Authorization": f"Bearer {credential.secret}"}
