"""The Anthropic Messages wire on aiohttp, for any server that speaks this API.

One call gives one answer or one `ModelFailure`; `link` retries, `anthropic_format` and `anthropic_answer` convert.
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
from agent.models.picture_fit import encode_shown
from agent.ports import ModelFacts, ModelRequest, OnModelEvent
from agent.transcript import ModelResponded

OFFICIAL = "https://api.anthropic.com"
KEY_NAME = KEY_NAMES["anthropic"]
VERSION = "2026-10-21"
"""The newest version of the API (read 2026-11)."""

VERSION_WITH_TEMPERATURE = "2023-06-01"
"""The newest version refuses a request with a temperature."""


class AnthropicModel:
    """One model of one Messages server, with one connection pool, opened by the first call."""

    def __init__(self, model: str, config: LinkConfig, *, clock: Callable[[], datetime] = utc_now) -> None:
        """Raise ValueError if key or model can never work; the message does not contain the key."""
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
        """Return one whole response; text and calls are passed to `on_event` as they stream in.

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
        """List the models with this credential, as a cheap check.

        Raises:
            ModelFailure: the credential is refused, or there is no usable answer.
        """
        await self._wire.check(
            self._base + "/v1/models", access_of(credential, self._config, self._headers, _headers_of)
        )

    async def aclose(self) -> None:
        """Close the connections."""
        await self._wire.aclose()

    def _to_body(self, request: ModelRequest) -> dict[str, Any]:
        return request_body(request, self._model, self._config)


def _headers_of(credential: Credential) -> dict[str, str]:
    """Return a key in both header forms: the API takes either, compatible servers may know only one."""
    bearer = {"Authorization": f"Bearer {credential.secret}"}
    return bearer if credential.kind is CredentialKind.OAUTH else {"x-api-key": credential.secret, **bearer}


def make_model(name: str, config: LinkConfig, *, servers: object) -> AnthropicModel:  # noqa: ARG001  the arguments of every wire of ours
    """Make the model for the entry point `tenk.models`."""
    return AnthropicModel(name, config)
