"""The Anthropic Messages wire on aiohttp; also whatever speaks that API, by base URL.

One call, one answer or one `ModelFailure`: trying again is `attempts`'s work, the format is `anthropic_format`'s and
`anthropic_answer`'s.
"""

from collections.abc import Callable
from datetime import datetime
from functools import cached_property
from typing import Any

from agent.calendar import utc_now
from agent.config import KEY_NAMES, LinkConfig
from agent.credentials import Credential, CredentialKind
from agent.models.anthropic_answer import MessageAssembly
from agent.models.anthropic_format import WIRE, request_body
from agent.models.credentials import access_of, lead_with
from agent.models.facts import facts_of
from agent.models.http_wire import ALWAYS, HttpWire, usable_key
from agent.models.seeing import encode_shown
from agent.ports import ModelFacts, ModelRequest, OnModelEvent
from agent.transcript import ModelResponded

OFFICIAL = "https://api.anthropic.com"
KEY_NAME = KEY_NAMES["anthropic"]
VERSION = "2026-10-21"
"""Of the API, the newest (read 2026-11)."""

VERSION_WITH_TEMPERATURE = "2023-06-01"
"""The newest refuses a request that sets one."""


class AnthropicModel:
    """One model behind one Messages server. One connection pool, opened with the first call."""

    def __init__(self, model: str, config: LinkConfig, *, clock: Callable[[], datetime] = utc_now) -> None:
        """Raise ValueError where key or model can never work; the message does not hold the key."""
        self.name = f"anthropic:{model}"
        self._model = model
        self._config = config
        self._key = usable_key(config, KEY_NAME)
        self._base = (config.base_url or OFFICIAL).rstrip("/").removesuffix("/v1")
        version = VERSION if config.temperature is None else VERSION_WITH_TEMPERATURE
        self._headers = {**ALWAYS, "anthropic-version": version}
        self._access = access_of(self._key, config, self._headers, _headers_of)
        self._wire = HttpWire(self._base + "/v1/messages", config, clock, KEY_NAME, self._key.secret)

    @cached_property
    def facts(self) -> ModelFacts:
        """Return the model's limits from the configuration and the table of known models."""
        return facts_of(self.name, self._config)

    async def respond(self, request: ModelRequest, on_event: OnModelEvent) -> ModelResponded:
        """One whole response; text and calls are told as they stream in.

        Raises:
            ModelFailure: there is no usable response. Its message never holds the key.
        """
        credential = request.credential or self._key
        ours = credential is self._key
        access = self._access if ours else access_of(credential, self._config, self._headers, _headers_of)
        body = await encode_shown(lead_with(request, credential, self._config), WIRE, self._to_body)
        return await self._wire.ask(body, MessageAssembly(on_event, self.name, access.secret), access)

    async def connect(self) -> None:
        """Open a connection before the first call; do nothing if the server is away."""
        await self._wire.connect()

    async def check(self, credential: Credential) -> None:
        """One cheap call with this credential: the list of models.

        Raises:
            ModelFailure: it is refused, or there is no usable answer.
        """
        await self._wire.look(
            self._base + "/v1/models", access_of(credential, self._config, self._headers, _headers_of)
        )

    async def aclose(self) -> None:
        """Close the connections."""
        await self._wire.aclose()

    def _to_body(self, request: ModelRequest) -> dict[str, Any]:
        return request_body(request, self._model, self._config)


def _headers_of(credential: Credential) -> dict[str, str]:
    """Return a key in both forms: the API takes either, servers that stand in for it may know one alone."""
    bearer = {"Authorization": f"Bearer {credential.secret}"}
    return bearer if credential.kind is CredentialKind.OAUTH else {"x-api-key": credential.secret, **bearer}


def make_model(name: str, config: LinkConfig, *, servers: object) -> AnthropicModel:  # noqa: ARG001  a wire of ours is given them
    """As `tenk.models` finds it; its server is asked for nothing but answers."""
    return AnthropicModel(name, config)
