"""Settings of the model and of the agent's limits; what they mean is carried out elsewhere."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from functools import lru_cache
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator

from agent.answer_gate import read_gate
from agent.credentials import CredentialKind

KEY_NAMES = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY"}
"""By wire: the environment variable of its key."""

UsdPerMtok = Annotated[Decimal, Field(ge=0, le=100_000)]


class PriceConfig(BaseModel):
    """The price of a model's tokens, in USD per million."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    input_usd_per_mtok: UsdPerMtok
    """Of what the model reads."""
    output_usd_per_mtok: UsdPerMtok
    """Of what it writes, thoughts included."""
    cache_read_usd_per_mtok: UsdPerMtok | None = None
    """Of input that the provider had cached; None: as other input."""
    cache_write_usd_per_mtok: UsdPerMtok | None = None
    """Of input that it caches; None: as other input."""


class ProfileConfig(BaseModel):
    """The headers that show credentials of one kind to a server, if they differ from the provider's documentation."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    token_prefixes: tuple[str, ...] = ()
    """A key that begins so is of this kind, where nothing else says."""
    header: str | None = None
    """The header that carries it; None: the provider's own."""
    form: str = "Bearer {secret}"
    """What stands in that header."""
    add_headers: Mapping[str, str] = Field(default_factory=dict)
    """Sent beside; in place of one of the same name."""
    remove_headers: tuple[str, ...] = ()
    """Never sent, even if a setting names them."""
    query: Mapping[str, str] = Field(default_factory=dict)
    """Appended to the address."""
    system: tuple[str, ...] = ()
    """Blocks before the agent's own instructions."""


class KeyringConfig(BaseModel):
    """The entry of the operating system's keyring that holds a key, or a JSON object like that of a key file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    service: str = Field(min_length=1)
    """The entry's service."""
    accounts: tuple[str, ...] = Field(min_length=1)
    """Tried in this order."""
    key: str = ""
    """Where in its JSON the object is, or its secret, names joined by dots; "": it is the entry."""


class KeyFileConfig(BaseModel):
    """A JSON file in which an object has `type` (`api` or `oauth`) and the secret."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    path: Path
    """The file; `~` is the home of the user who runs the gateway."""
    key: str = ""
    """Where in it the object is, or its secret, names joined by dots; "": it is the file."""


class LinkConfig(BaseModel):
    """One model: where it is, what it takes, and how long it is waited for."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = "offline"
    """`offline`, `anthropic:NAME`, `openai:NAME` (`openai:*`: the one model that the server at `base_url` has), or
    `WIRE:NAME` of a wire that another distribution brings."""
    base_url: str | None = None
    """Root of the API (`http://127.0.0.1:11434/v1`; Anthropic's without `/v1`); None: the provider's own."""
    api_key: SecretStr | None = None
    """None is fine with a base URL of one's own."""
    provider: str | None = Field(default=None, pattern=r"^[a-z][a-z0-9_]{0,31}$")
    """Name under which people connect their own keys; None: the wire's name on the provider's own server. On another
    server, which must not get their keys, people cannot connect any."""
    keyring: KeyringConfig | None = None
    """Where the operating system keeps a key, asked after `api_key`."""
    key_file: KeyFileConfig | None = None
    """Where a file has one, asked last."""
    profiles: Mapping[CredentialKind, ProfileConfig] = Field(default_factory=dict)
    """By kind of credential, how it is shown; of a kind that is not here as the provider documents it."""
    output_tokens_field: str | None = None
    """`max_tokens` or `max_completion_tokens`; None: the first with a base URL of one's own, else the second."""
    usage_in_stream: bool = True
    """Ask for token counts of streamed responses; off for servers that refuse `stream_options`."""
    connect_s: float | None = Field(default=None, gt=0)
    """Seconds for a connection; None: 10, or less if a fallback model should still answer in time."""
    local: bool | None = None
    """The server is one's own and may be slow; None: it is where `base_url` names a loopback or private address."""
    first_byte_s: float | None = Field(default=None, gt=0)
    """A streamed response must begin within this; None: 60, and `prefill_s` of a local server. Of one that is not
    local it is then asked again without streaming; a local server's work is not begun anew."""
    prefill_s: float = Field(default=900.0, gt=0)
    """A server that is local, or says that it works on the prompt, must begin its response within this."""
    idle_warn_s: float = Field(default=45.0, gt=0)
    """A stream silent for this long is logged."""
    idle_abort_s: float = Field(default=90.0, gt=0)
    """A stream silent for this long is given up."""
    whole_s: float | None = Field(default=None, gt=0)
    """A response that is not streamed must be there within this; None: 150, and `prefill_s` of a local server."""
    temperature: float | None = Field(default=None, ge=0, le=2)
    """How freely the model chooses its words; None: not sent, the server's own."""
    tries: int = Field(default=3, ge=1, le=10)
    """Calls at most for one response, the first included."""
    context_window_tokens: int | None = Field(default=None, ge=1000)
    """What the model takes in, its output included; None: as its server or a table says, else 128,000."""
    max_output_tokens: int | None = Field(default=None, ge=1)
    """The most tokens of one response; None: unknown, and the `agent` setting decides."""
    sees_images: bool | None = None
    """Whether the model takes pictures; None: the providers' own do, other servers do not."""
    takes_tools: bool | None = None
    """Whether the model calls tools by itself; off: they are described in the prompt, and read out of its text.
    None: as its server says, and until it refuses them."""
    thinking: Literal["adaptive"] | Annotated[int, Field(ge=1024)] | None = None
    """Anthropic's alone: let the model think first, with so many tokens or as it sees fit; None: not asked for."""
    requests_per_min: int | None = Field(default=None, ge=1)
    """The model is asked this often a minute at most; None: no limit of ours."""
    tokens_per_min: int | None = Field(default=None, ge=1)
    """Input and output together; None: no limit of ours."""
    cache_s: float | None = Field(default=None, gt=0)
    """For so long the same request gets the same answer without a call; None: each is asked."""
    service_tier: str | None = Field(default=None, pattern=r"^[a-z_]+$")
    """Sent as `service_tier`, where the provider has tiers; None: not sent."""
    prices: PriceConfig | None = None
    """Goes before the table of prices; None: as that knows the model, and else its cost is unknown."""
    words_per_s: float | None = Field(default=None, gt=0)
    """How fast the offline rules speak; None: at once."""

    @property
    def connects_to(self) -> str | None:
        """Return the provider of which people may connect a key of their own, or None."""
        return self.provider or (self.name.partition(":")[0] if self.base_url is None else None)

    @property
    def has_other_keys(self) -> bool:
        """Return whether the model can take a key other than `api_key`."""
        return bool(self.provider or self.keyring or self.key_file)

    @property
    def is_local(self) -> bool:
        """Return whether the server is one's own."""
        return self.local if self.local is not None else _is_near(self.base_url)

    def begins_within_s(self, *, streams: bool) -> float:
        """Seconds of silence, from the start of a call, after which nothing is expected of it any more."""
        said, usual = (self.first_byte_s, 60.0) if streams else (self.whole_s, 150.0)
        return said or (self.prefill_s if self.is_local else usual)


class ModelConfig(LinkConfig):
    """Which model answers, and who else when it does not."""

    fallback: Mapping[str, LinkConfig] = Field(default_factory=dict)
    """By a name of the operator's choice: models that are asked, in this order, when those before give no response."""
    with_tools: LinkConfig | None = None
    """Asked in place of the model where it is given tools; None: the model itself."""
    with_images: LinkConfig | None = None
    """Asked in place of both where the conversation has pictures in it; None: no other than without."""
    light: LinkConfig | None = None
    """Asked first in turns that ask little, see `agent.context.sizes`; None: the model itself."""
    offline_when_down: bool = True
    """When every provider is down the agent's offline rules answer, and say so; off: the person is told to wait."""

    def links(self) -> Sequence[LinkConfig]:
        """Every model that may be asked, this one first."""
        beside = (self.with_images, self.with_tools, self.light)
        return (self, *self.fallback.values(), *(link for link in beside if link is not None))


@lru_cache(64)  # every call of a model asks for its own
def _is_near(base_url: str | None) -> bool:
    """Return whether a URL names this machine or one of its own network: an address that is not public, or a bare
    name.
    """
    try:
        host = urlsplit(base_url or "").hostname or ""
    except ValueError:
        return False
    try:
        return not ip_address(host).is_global
    except ValueError:
        return bool(host) and ("." not in host.rstrip(".") or host.rstrip(".").endswith(_NEAR))


_NEAR = (".localhost", ".local", ".internal", ".lan", ".home.arpa")
"""Ends of names that are never public (RFC 6761, 6762, 8375; ICANN 2024 for .internal)."""


class AgentConfig(BaseModel):
    """The limits of a turn."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    max_steps: int = Field(default=25, ge=1, le=1000)
    """Model responses a turn may take before one last call without tools."""
    deadline_s: float = Field(default=150.0, gt=0)
    """Seconds from the start of the turn, or from its resumption after a crash."""
    working_s: float = Field(default=1800.0, ge=0)
    """Seconds, in all, that do not count for `deadline_s` because a model works that is local or says so."""
    tool_timeout_s: float | None = Field(default=None, gt=0)
    """Bound of a tool's own timeout; None: it takes as long as it says, 60 where it says nothing."""
    max_timeouts_in_row: int = Field(default=5, ge=1)
    """Tool calls that time out one after the other before the turn ends."""
    max_calls: int = Field(default=50, ge=1)
    """Tool calls of one response that are run; more are refused."""
    max_parallel_calls: int = Field(default=10, ge=1)
    """Tool calls that run at the same time."""
    max_results_chars: int = Field(default=400_000, ge=1000)
    """Characters of tool results that a conversation takes, at most half the model's window; the rest is read on."""
    max_output_tokens: int = Field(default=8192, ge=1)
    """Output cap of a response."""
    raised_output_tokens: int = Field(default=65_536, ge=1)
    """Output cap after a response was cut, for the rest of the turn."""
    patience_s: float = Field(default=60.0, ge=0)
    """Seconds a turn may sleep, all in all, for a provider that is busy."""
    max_answer_chars: int = Field(default=1_000_000, ge=1)
    """An answer longer than this is cut."""
    context_window_tokens: int | None = Field(default=None, ge=1000)
    """Of the model's window, so much is used, output included; None: all of it."""
    history_items: int = Field(default=50, ge=2)
    """Items of earlier turns after which the older ones are summarised, once a turn is over."""
    summary_s: float = Field(default=30.0, gt=0)
    """Seconds that a summary may take; then the conversation goes on without it."""
    allow_tools: tuple[str, ...] = ()
    """Name patterns of tools that may change the outside world unasked."""
    deny_tools: tuple[str, ...] = ()
    """Name patterns of tools that never run; goes before `allow_tools`."""
    gate: str | None = None
    """A JSON schema, as JSON text, that final answers have to fit; None: any answer will do."""

    @field_validator("gate")
    @classmethod
    def _can_be_checked(cls, gate: str | None) -> str | None:
        if gate is not None:
            read_gate(gate)
        return gate
