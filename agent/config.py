"""Settings of the model and of the limits of a turn."""

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
from agent.plain_errors import check_url

KEY_NAMES = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY"}
"""Environment variable of the API key, by wire."""

UsdPerMtok = Annotated[Decimal, Field(ge=0, le=100_000)]


class PriceConfig(BaseModel):
    """The price of a model's tokens, in USD per million."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    input_usd_per_mtok: UsdPerMtok
    """Price of input."""
    output_usd_per_mtok: UsdPerMtok
    """Price of output, including thinking."""
    cache_read_usd_per_mtok: UsdPerMtok | None = None
    """Price of input read from the provider's cache; None: as other input."""
    cache_write_usd_per_mtok: UsdPerMtok | None = None
    """Price of input written to the cache for minutes, 1.6 times that for an hour; None: as other input."""


class ProfileConfig(BaseModel):
    """The headers that carry one kind of credential, if they differ from the provider's documentation."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    token_prefixes: tuple[str, ...] = ()
    """Prefixes by which a key without a declared kind is recognised as this kind."""
    header: str | None = None
    """Header that carries the credential; None: the provider's own."""
    form: str = "Bearer {secret}"
    """Value of that header."""
    add_headers: Mapping[str, str] = Field(default_factory=dict)
    """Additional headers; they replace those of the same name."""
    remove_headers: tuple[str, ...] = ()
    """Headers that are never sent, even if a setting names them."""
    query: Mapping[str, str] = Field(default_factory=dict)
    """Query parameters appended to the URL."""
    system: tuple[str, ...] = ()
    """Blocks before the agent's own instructions."""


class KeyringConfig(BaseModel):
    """The entry of the operating system's keyring that holds a key, or a JSON object like that of a key file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    service: str = Field(min_length=1)
    """Service of the entry."""
    accounts: tuple[str, ...] = Field(min_length=1)
    """Accounts, tried in this order."""
    key: str = ""
    """Path in the entry's JSON to the object or secret, names joined by dots; "": the whole entry."""


class KeyFileConfig(BaseModel):
    """A JSON file in which an object has `type` (`api` or `oauth`) and the secret."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    path: Path
    """Path of the file; `~` is the home of the user who runs the gateway."""
    key: str = ""
    """Path in its JSON to the object or secret, names joined by dots; "": the whole file."""


class LinkConfig(BaseModel):
    """One model: its address, abilities, timeouts and prices."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = "offline"
    """`offline`, `anthropic:NAME`, `openai:NAME` (`openai:*`: the only model of the server at `base_url`), or
    `WIRE:NAME` for a wire of another distribution.
    """
    base_url: str | None = None
    """Root of the API (`http://127.0.0.1:11434/v1`; Anthropic's without `/v1`); None: the provider's own."""
    api_key: SecretStr | None = None
    """API key; a server of one's own may need none."""
    provider: str | None = Field(default=None, pattern=r"^[a-z][a-z0-9_]{0,31}$")
    """Name under which people connect their own keys; None: the wire's name on the provider's own server. People cannot
    connect keys to another server, which must not get them.
    """
    keyring: KeyringConfig | None = None
    """Keyring entry with the key, tried after `api_key`."""
    key_file: KeyFileConfig | None = None
    """File with the key, tried last."""
    profiles: Mapping[CredentialKind, ProfileConfig] = Field(default_factory=dict)
    """Form in which each kind of credential is sent; a missing kind is sent as the provider documents it."""
    output_tokens_field: str | None = None
    """`max_tokens` or `max_completion_tokens`; None: the first if `base_url` is set, else the second."""
    usage_in_stream: bool = True
    """Ask for token counts of streamed responses; turn it off for servers that refuse `stream_options`."""
    connect_s: float | None = Field(default=None, gt=0)
    """Seconds for a connection; None: 10, or less if a fallback model should still answer in time."""
    local: bool | None = None
    """True if the server is one's own and may be slow; None: True if `base_url` names a loopback or private address."""
    first_byte_s: float | None = Field(default=None, gt=0)
    """Seconds until a streamed response begins; None: 60, or `prefill_s` for a local server. After that, a remote
    server is asked again without streaming; a local server is not, since it would start its work anew.
    """
    prefill_s: float = Field(default=900.0, gt=0)
    """Seconds until a local server, or one that reports progress on the prompt, begins its response."""
    idle_warn_s: float = Field(default=45.0, gt=0)
    """Seconds of silence after which a stream is logged."""
    idle_abort_s: float = Field(default=90.0, gt=0)
    """Seconds of silence after which a stream is abandoned."""
    whole_s: float | None = Field(default=None, gt=0)
    """Seconds for a response that is not streamed; None: 150, or `prefill_s` for a local server."""
    temperature: float | None = Field(default=None, ge=0, le=2)
    """Sampling temperature; None: not sent, the server's default."""
    tries: int = Field(default=3, ge=1, le=10)
    """Maximum number of calls for one response, the first included."""
    context_window_tokens: int | None = Field(default=None, ge=1000)
    """Context window in tokens, output included; None: as the server or a table says, else 128,000."""
    max_output_tokens: int | None = Field(default=None, ge=1)
    """Maximum tokens of one response; None: unknown, and the `agent` setting decides."""
    sees_images: bool | None = None
    """True if the model accepts pictures; None: True for the providers' own models, False for other servers."""
    takes_tools: bool | None = None
    """False: tools are described in the prompt and calls are parsed from the text. None: as the server says, or until
    it refuses tools.
    """
    thinking: Literal["adaptive"] | Annotated[int, Field(ge=1024)] | None = None
    """Anthropic only: thinking with this many tokens, or `adaptive`; None: no thinking."""
    requests_per_min: int | None = Field(default=None, ge=1)
    """Maximum requests a minute; None: no limit of ours."""
    tokens_per_min: int | None = Field(default=None, ge=1)
    """Maximum tokens a minute, input and output together; None: no limit of ours."""
    cache_s: float | None = Field(default=None, gt=0)
    """Seconds for which an identical request is answered from a cache; None: no cache."""
    service_tier: str | None = Field(default=None, pattern=r"^[a-z_]+$")
    """Sent as `service_tier` to providers that have tiers; None: not sent."""
    prices: PriceConfig | None = None
    """Overrides the table of prices; None: the table's, and unknown for a model that is not in it."""
    words_per_s: float | None = Field(default=None, gt=0)
    """Speed of the offline rules in words a second; None: at once."""

    @field_validator("base_url")
    @classmethod
    def _is_a_url(cls, url: str | None) -> str | None:
        return None if url is None else check_url(url)

    @property
    def connects_to(self) -> str | None:
        """Return the provider for which people may connect their own key, or None."""
        return self.provider or (self.name.partition(":")[0] if self.base_url is None else None)

    @property
    def has_other_keys(self) -> bool:
        """Return True if the model can take a key other than `api_key`."""
        return bool(self.provider or self.keyring or self.key_file)

    @property
    def is_local(self) -> bool:
        """Return True if the server is one's own."""
        return self.local if self.local is not None else _is_near(self.base_url)

    def begins_within_s(self, *, streams: bool) -> float:
        """Return the seconds of silence after the start of a call after which the call is abandoned."""
        said, usual = (self.first_byte_s, 60.0) if streams else (self.whole_s, 150.0)
        return said or (self.prefill_s if self.is_local else usual)


class ModelConfig(LinkConfig):
    """The model that answers, and its fallbacks."""

    fallback: Mapping[str, LinkConfig] = Field(default_factory=dict)
    """Fallback models by a name of the operator's choice, tried in this order if the ones before fail."""
    with_tools: LinkConfig | None = None
    """Model for requests with tools; None: the main model."""
    with_images: LinkConfig | None = None
    """Model for conversations with pictures, with or without tools; None: the same as without pictures."""
    light: LinkConfig | None = None
    """Model that is tried first in simple turns, see `agent.context.sizes`; None: the main model."""
    offline_when_down: bool = True
    """The agent's offline rules answer, and say so, if every provider is down; off: the person is asked to wait."""

    @property
    def names_to_choose(self) -> list[str]:
        """Return the names by which a person or an agent may choose a model."""
        return [link.name for link in (self, *self.fallback.values(), self.light) if link is not None]

    def links(self) -> Sequence[LinkConfig]:
        """Return every configured model, this one first."""
        beside = (self.with_images, self.with_tools, self.light)
        return (self, *self.fallback.values(), *(link for link in beside if link is not None))


@lru_cache(64)  # each model call asks for its URL
def _is_near(base_url: str | None) -> bool:
    """Return True if a URL names this machine or its network: a non-public address or a bare name."""
    try:
        host = urlsplit(base_url or "").hostname or ""
    except ValueError:
        return False
    try:
        return not ip_address(host).is_global
    except ValueError:
        return bool(host) and ("." not in host.rstrip(".") or host.rstrip(".").endswith(_NEAR))


_NEAR = (".localhost", ".local", ".internal", ".lan", ".home.arpa")
"""Suffixes of names that are never public (RFC 6761, 6762, 8375; ICANN 2024 for .internal)."""


class AgentConfig(BaseModel):
    """The limits of a turn."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    max_steps: int = Field(default=25, ge=1, le=1000)
    """Maximum model responses of a turn; one last call without tools follows."""
    deadline_s: float = Field(default=150.0, gt=0)
    """Seconds from the start of the turn, or from its resumption after a crash."""
    working_s: float = Field(default=1800.0, ge=0)
    """Seconds in all that do not count for `deadline_s` while a model works that is local or reports progress."""
    tool_timeout_s: float | None = Field(default=None, gt=0)
    """Upper bound of a tool's own timeout; None: the tool's own, 60 if it declares none."""
    max_timeouts_in_row: int = Field(default=5, ge=1)
    """Consecutive tool timeouts after which the turn ends."""
    max_calls: int = Field(default=50, ge=1)
    """Tool calls of one response that are run; the others are refused."""
    max_parallel_calls: int = Field(default=10, ge=1)
    """Maximum parallel tool calls."""
    max_results_chars: int = Field(default=400_000, ge=1000)
    """Maximum characters of tool results in a conversation, at most half the window; the model reads the rest in parts.
    """
    max_output_tokens: int = Field(default=8192, ge=1)
    """Output cap of a response in tokens."""
    raised_output_tokens: int = Field(default=65_536, ge=1)
    """Output cap after a response was cut off, for the rest of the turn."""
    patience_s: float = Field(default=60.0, ge=0)
    """Seconds that a turn may sleep in all for a busy provider."""
    max_answer_chars: int = Field(default=1_000_000, ge=1)
    """Characters after which an answer is cut."""
    context_window_tokens: int | None = Field(default=None, ge=1000)
    """Tokens of the model's window that a conversation may use, output included; None: all."""
    history_items: int = Field(default=50, ge=2)
    """Number of earlier items above which the older ones are summarised after a turn."""
    summary_s: float = Field(default=30.0, gt=0)
    """Seconds for a summary; then the conversation continues without it."""
    sees_images: bool = False
    """True: an agent of another framework gets people's pictures; False: their description."""
    allow_tools: tuple[str, ...] = ()
    """Name patterns of tools that may change the outside world without approval."""
    deny_tools: tuple[str, ...] = ()
    """Name patterns of tools that never run; they go before `allow_tools`."""
    gate: str | None = None
    """JSON schema, as JSON text, that final answers must fit; None: no check."""

    @field_validator("gate")
    @classmethod
    def _can_be_checked(cls, gate: str | None) -> str | None:
        if gate is not None:
            read_gate(gate)
        return gate
