"""Models from configured names; the wire is found by an entry point and imported when it is chosen."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from hashlib import blake2b
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Protocol

from agent.config import LinkConfig, ModelConfig
from agent.credentials import Credential
from agent.errors import FailureKind
from agent.models.chain import Chain, ModelRoute, Notice, RoutedModel, StandIn, needs_eyes, needs_tools
from agent.models.credentials import CredentialSource
from agent.models.facts import KnownModel, configured_prices, facts_of
from agent.models.failures import RETRYABLE
from agent.models.foreign import ForeignModel
from agent.models.health import DOWN, HealthBoard
from agent.models.link import HURRY_S, ModelLink, RetryPolicy
from agent.models.offline import OfflineModel, OfflineRules
from agent.models.prompted_tools import PromptedTools
from agent.ports import ChatModel
from agent.prices import TokenPrices

if TYPE_CHECKING:
    from agent.models.known_servers import KnownServers


class UnknownModel(ValueError):
    """No wire has this name, or its settings cannot work; the message says what to set."""


OWN_WIRES = frozenset({"anthropic", "openai"})

GROUP = "tenk.models"
"""Entry points of other distributions' wires; the name is the part of a model's name before the colon."""

OWN_GROUP = "tenk.own_models"
"""Entry points of our own wires, in a separate group so that no extension can replace one."""


class MakeModel(Protocol):
    """The signature of a model entry point of another distribution; calling it opens no connection."""

    def __call__(self, name: str, config: LinkConfig) -> ChatModel:
        """Return the model with this name (the part after the colon)."""
        ...


class OwnModel(ChatModel, Protocol):
    """A model over a wire of ours, which can check a credential."""

    async def connect(self) -> None:
        """Open a connection before the first call, without a request; do nothing if the server is away."""
        ...

    async def check(self, credential: Credential) -> None:
        """Make one cheap call with this credential; see `check_credential`."""
        ...


class MakeOwnModel(Protocol):
    """The signature of our own model entry points."""

    def __call__(self, name: str, config: LinkConfig, *, servers: "KnownServers | None") -> OwnModel:
        """Return the model with this name; `servers` collects the facts of servers behind base URLs."""
        ...


def wire_names() -> list[str]:
    """Return the names of the wires of other distributions, sorted, without importing them."""
    return sorted({point.name for point in entry_points(group=GROUP)} - {"offline"} - OWN_WIRES)


Charge = Callable[[ChatModel, LinkConfig], ChatModel]
"""Wraps a wire in a budget, or returns it unchanged."""


@dataclass(frozen=True, slots=True)
class ModelDeps:
    """The objects that a chain of models uses; the defaults serve a model alone."""

    offline_rules: OfflineRules | None = None
    """The agent's answers without a model; required by `offline`."""
    notice: Notice | None = None
    """Text that rules say first in a model's place; None: they never answer there."""
    board: HealthBoard = field(default_factory=HealthBoard)
    sources: Callable[[LinkConfig], Sequence[CredentialSource]] = lambda _link: ()
    """Credential sources of a link, `ConfiguredKey` among them."""
    servers: "KnownServers | None" = None
    """Facts of servers behind base URLs, collected beforehand; None: asked when needed."""
    measure: Callable[[ChatModel], ChatModel] = lambda model: model
    """Wraps each link of the chain."""
    charge: Charge = lambda model, _config: model
    """Wraps each wire, inside of its retries, so that each attempt reserves its cost."""
    note: Callable[[OwnModel], object] = bool
    """Called with each model over a wire of ours, which may be connected before its first call."""


def build_model(config: ModelConfig, deps: ModelDeps | None = None) -> ChatModel:
    """Return the model of this configuration, with retries and fallbacks if it uses a network; open no connection.

    From outside in: the chain, each model with its credentials and attempts (`ModelLink`), the budget of each attempt,
    the facts of the model, the wire.

    Raises:
        UnknownModel: the name is unknown, or its settings cannot work.
    """
    deps = deps or ModelDeps()
    if config.name == "offline":
        return deps.measure(_offline(config, deps.offline_rules))
    rules = None
    if config.offline_when_down and deps.offline_rules is not None and deps.notice is not None:
        offline = OfflineModel(deps.offline_rules, config.words_per_s, introduced=True)
        rules = StandIn(deps.measure(offline), deps.notice)
    links = [config, *config.fallback.values()]
    behind = [RETRYABLE] * (len(links) - 1) + [DOWN - {FailureKind.TIMEOUT} if rules is not None else frozenset()]
    hurry_s = HURRY_S / (len(links) + (config.light is not None))
    models = [_link(link, passes_on, deps, hurry_s) for link, passes_on in zip(links, behind, strict=True)]
    asked = ((needs_eyes, config.with_images), (needs_tools, config.with_tools))
    routes = [ModelRoute(wants, _link(link, behind[0], deps, hurry_s)) for wants, link in asked if link is not None]
    models[0] = RoutedModel(routes, models[0]) if routes else models[0]
    light = None if config.light is None else _link(config.light, RETRYABLE, deps, hurry_s)
    return Chain(models, rules, light) if rules or light or len(models) > 1 else models[0]


async def check_credential(config: LinkConfig, credential: Credential) -> None:
    """Make one cheap call with this credential at a model's provider.

    Raises:
        ModelFailure: it is refused, or there is no usable answer; the message never contains the secret.
    """
    wire, _, name = config.name.partition(":")
    model = _own(wire, name, config, None)
    try:
        await model.check(credential)
    finally:
        await model.aclose()


def _offline(config: LinkConfig, rules: OfflineRules | None) -> ChatModel:
    if rules is None:
        raise UnknownModel("this agent has no offline rules: set a model and its key")
    return OfflineModel(rules, config.words_per_s)


def _link(config: LinkConfig, passes_on: frozenset[FailureKind], deps: ModelDeps, hurry_s: float) -> ChatModel:
    """Return one model with its own retries and cooldowns; another distribution's wire retries as it sees fit."""
    wire, _, name = config.name.partition(":")
    if passes_on and config.connect_s is None:
        config = config.model_copy(update={"connect_s": hurry_s})
    is_own = wire in OWN_WIRES
    if name and is_own:
        try:
            own = _own(wire, name, config, deps.servers)
        except ValueError as problem:
            raise UnknownModel(f"model {config.name!r}: {problem}") from None
        deps.note(own)
        model = deps.charge(KnownModel(own, config), config)
        model = PromptedTools(model, unless_taken=config.takes_tools is not False)
    elif name and wire in wire_names():
        model = deps.charge(KnownModel(_foreign(wire, name, config), config), config)
    else:
        raise UnknownModel(f"there is no model {config.name!r}: use offline, anthropic:NAME or openai:NAME")
    deps.board.register(model.name, _mark(config))
    sources, policy = deps.sources(config) if is_own else (), RetryPolicy(passes_on, hurry_s, is_own)
    link = ModelLink(model, config, deps.board, sources=sources, policy=policy)
    return deps.measure(link)


def _mark(config: LinkConfig) -> str:
    """Return a digest of key and server that reveals neither."""
    key = config.api_key.get_secret_value() if config.api_key is not None else ""
    return blake2b(f"{key} {config.base_url}".encode(errors="replace"), digest_size=8).hexdigest()


def prices_in_force(config: LinkConfig) -> TokenPrices | None:
    """Return the token prices of this model: configured, else from its wire or the table; None if unknown.

    Raises:
        UnknownModel: the name is unknown, or its settings cannot work.
    """
    if config.name.partition(":")[0] in OWN_WIRES:
        return facts_of(config.name, config).prices
    return configured_prices(config) or bare_model(config, None).facts.prices


def bare_model(config: LinkConfig, servers: "KnownServers | None") -> ChatModel:
    """Return the model of this link over its wire, without retries.

    Raises:
        UnknownModel: the name is unknown, or its settings cannot work.
    """
    wire, _, name = config.name.partition(":")
    try:
        model = _own(wire, name, config, servers) if wire in OWN_WIRES else _foreign(wire, name, config)
    except ValueError as problem:
        raise UnknownModel(f"model {config.name!r}: {problem}") from None
    return PromptedTools(model, unless_taken=config.takes_tools is not False)


def _own(wire: str, name: str, config: LinkConfig, servers: "KnownServers | None") -> OwnModel:
    """Return a model over a wire of ours; raise ValueError if its settings cannot work."""
    return _own_maker(wire)(name, config, servers=servers)


@cache
def _own_maker(wire: str) -> MakeOwnModel:
    """Load an entry point once: each search reads the metadata of all distributions."""
    make: MakeOwnModel = next(iter(entry_points(group=OWN_GROUP, name=wire))).load()
    return make


def _foreign(wire: str, name: str, config: LinkConfig) -> ChatModel:
    """Return a model over another distribution's wire."""
    point = next(iter(entry_points(group=GROUP, name=wire)))
    try:
        make: MakeModel = point.load()
        return ForeignModel(make(name, config), config)
    except (ImportError, AttributeError, TypeError, ValueError) as problem:
        raise UnknownModel(f"model {config.name!r} ({point.value}): {problem}") from problem
