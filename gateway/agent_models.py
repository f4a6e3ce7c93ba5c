"""The models that a tenant's settings name, and the prices at which their tokens count."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path

import structlog

from agent.budgets import OverBudget
from agent.config import LinkConfig, ModelConfig
from agent.end_texts import by_rules_text
from agent.errors import FailureKind
from agent.models.facts import configured_prices
from agent.models.select import Charge, ModelDeps, UnknownModel, build_model, prices_in_force
from agent.ports import ChatModel, RequestContext
from channels.messages import DEFAULT_TENANT
from gateway.config.settings import Settings
from gateway.errors import SettingsError
from gateway.ops.instrumentation import MeasuredModel
from gateway.ops.model_servers import links_of
from gateway.product import AgentProduct
from gateway.safety.private_files import replace_file


def model_of(settings: Settings, product: AgentProduct, deps: ModelDeps) -> ChatModel:
    """Make the model that answers, with the agent's offline rules as its last fallback.

    Raises:
        SettingsError: it cannot be made.
    """

    def notice(context: RequestContext | None, why: FailureKind | OverBudget) -> str:
        return by_rules_text(product.catalogue, why, context)

    try:
        return build_model(settings.model, replace(deps, offline_rules=product.offline, notice=notice))
    except UnknownModel as unknown:
        raise SettingsError(f"model.name: {unknown}") from None


def judge_link(settings: Settings) -> ModelConfig | None:
    """Return the small model of mode auto, if it is another one than the one that answers."""
    auto = settings.permissions.auto
    if auto.model in (None, settings.model.name):
        return None
    return settings.model.model_copy(update={"name": auto.model, "prices": auto.prices})


def judge_of(settings: Settings, charge: Charge) -> ChatModel | None:
    """Make the small model of mode auto, if there is one.

    Raises:
        SettingsError: it cannot be made.
    """
    if (small := judge_link(settings)) is None:
        return None
    try:
        return MeasuredModel(build_model(small, ModelDeps(charge=charge)))
    except UnknownModel as unknown:
        raise SettingsError(f"permissions.auto.model: {unknown}") from None


def light_of(settings: Settings, charge: Charge) -> ChatModel | None:
    """Make the light model alone, for small questions of capabilities, if there is one.

    Raises:
        SettingsError: it cannot be made.
    """
    return (
        None
        if settings.model.light is None
        else _make_alone("model.light", settings.model.light, ModelDeps(charge=charge))
    )


def consolidating_link(settings: Settings) -> tuple[str, LinkConfig] | None:
    """Return the model that consolidates conversations, and its table: the light one, else the first; None for none."""
    memory, model = settings.memory, settings.model
    if memory is None or not memory.enabled or memory.consolidation is None or model.name == "offline":
        return None
    return ("model", model) if model.light is None else ("model.light", model.light)


def consolidating_of(settings: Settings, charge: Charge) -> ChatModel | None:
    """Make the model that consolidates conversations, alone, if they are consolidated.

    Raises:
        SettingsError: it cannot be made.
    """
    return None if (named := consolidating_link(settings)) is None else _make_alone(*named, ModelDeps(charge=charge))


def links_by_name(settings: Settings) -> Mapping[str, tuple[str, LinkConfig]]:
    """Return every model that the settings name, with its table."""
    named: dict[str, LinkConfig] = {**links_of(settings.model)}
    if (judge := judge_link(settings)) is not None:
        named["permissions.auto"] = judge
    found: dict[str, tuple[str, LinkConfig]] = {}
    for table, link in named.items():
        if link.name != "offline":
            found.setdefault(link.name, (table, link))
    return found


def make_alone(settings: Settings, name: str, deps: ModelDeps) -> ChatModel:
    """Make the model of this name alone, without fallbacks and rules.

    Raises:
        SettingsError: the settings do not name it, or it cannot be made.
    """
    known = links_by_name(settings)
    if name not in known:
        there = ", ".join(known) or "none; set [model] first"
        raise SettingsError(f"no model {name!r} is configured; there is: {there}")
    return _make_alone(*known[name], deps)


def evaluating_of(settings: Settings) -> ChatModel | None:
    """Make the model that judges cases, alone: the light one, that of mode auto, or the first; None: rules answer.

    Raises:
        SettingsError: it cannot be made.
    """
    links = (settings.model.light, judge_link(settings), settings.model)
    name = next(link.name for link in links if link is not None)
    return None if name == "offline" else make_alone(settings, name, ModelDeps())


def _make_alone(table: str, link: LinkConfig, deps: ModelDeps) -> ChatModel:
    """Make one model without fallbacks."""
    config = ModelConfig(**{name: getattr(link, name) for name in LinkConfig.model_fields})
    try:
        return MeasuredModel(build_model(config, deps))
    except UnknownModel as unknown:
        raise SettingsError(f"{table}.name: {unknown}") from None


log = structlog.get_logger()

FILE = "prices.json"
"""File in the home: by model name its highest price per token, in USD per million, as last seen in the table."""


@dataclass(frozen=True, slots=True)
class PriceLook:
    """Prices behind one tenant's caps in USD; empty without such a cap."""

    listed: Mapping[str, Decimal]
    """By model, for `FILE`: the highest current price, in USD per million tokens."""
    lost: Mapping[str, Decimal]
    """By model: the last known price of models that the table does not have any more."""

    def sentences(self) -> Iterator[str]:
        """Yield a warning for each model that lost its price: what its tokens count as, and what to do."""
        for model, usd in self.lost.items():
            yield (
                f"{model} has lost its price in an upgrade of the table of prices; caps in USD count each token of it, "
                f"read or written, at {usd:f} USD per million. Set the model's prices to have it counted exactly."
            )


def look_at_prices(settings: Settings) -> PriceLook:
    """Look up the price of each model that one tenant's settings name, if they cap USD.

    Raises:
        SettingsError: a model has no price and is not known to have had one; a line for each.
    """
    listed: dict[str, Decimal] = {}
    lost: dict[str, Decimal] = {}
    missing: list[str] = []
    known: Mapping[str, Decimal] | None = None
    for table, link in _links_to_price(settings):
        prices = prices_in_force(link)
        if prices is not None:
            if configured_prices(link) is None:
                listed[_key(link)] = prices.dearest_usd_per_mtok
            continue
        known = _read(settings.home) if known is None else known
        if not link.is_local and (last := known.get(_key(link))) is not None:
            lost[link.name] = last
        else:
            missing.append(_missing(table, link))
    if missing:
        raise SettingsError("\n".join(missing))
    return PriceLook(listed, lost)


def take_up_prices(settings: Settings) -> PriceLook:
    """Look up the prices for a start or a reload: remember them, and log those that are lost.

    Raises:
        SettingsError: as `look_at_prices`, or the prices cannot be remembered.
    """
    look = look_at_prices(settings)
    keep_prices(settings.home, look)
    for sentence in look.sentences():
        log.warning("price_lost", problem=sentence)
    return look


def price_words(looks: Iterable[PriceLook]) -> dict[str, str]:
    """Return the models whose price is lost, with how each token of them counts."""
    lost = {model: usd for look in looks for model, usd in look.lost.items()}
    return {model: f"each token counts at {usd:f} USD per million" for model, usd in lost.items()}


def keep_prices(home: Path, look: PriceLook) -> None:
    """Remember what the table has now beside what it had earlier.

    Raises:
        SettingsError: the file cannot be written.
    """
    known = _read(home)
    if (now := {**known, **look.listed}) != known:
        text = json.dumps({name: f"{usd:f}" for name, usd in sorted(now.items())}, indent=1)
        try:
            replace_file(home / FILE, text.encode())
        except OSError as error:
            raise SettingsError(f"{home / FILE} cannot be written ({error.strerror})") from error


def price_sentences(settings: Settings) -> list[str]:
    """Say of each price that is lost, of every tenant's models, how it is counted.

    Raises:
        SettingsError: as `look_at_prices`, of all tenants.
    """
    said: list[str] = []
    missing: list[str] = []
    for name in (DEFAULT_TENANT, *settings.tenants):
        try:
            said += look_at_prices(settings.of_tenant(name)).sentences()
        except SettingsError as error:
            whose = "" if name == DEFAULT_TENANT else f"tenant {name}: "
            missing += [f"{whose}{line}" for line in str(error).splitlines()]
    if missing:
        raise SettingsError("\n".join(dict.fromkeys(missing)))
    return list(dict.fromkeys(said))


def _links_to_price(settings: Settings) -> Iterator[tuple[str, LinkConfig]]:
    if settings.model.name == "offline":
        return
    if not settings.budgets.caps_usd:
        yield from filter(None, [consolidating_link(settings)])  # it has a cap of its own
        return
    yield from links_of(settings.model).items()
    if (judge := judge_link(settings)) is not None:
        yield "permissions.auto", judge


def _key(link: LinkConfig) -> str:
    return f"{link.name} {link.service_tier or ''}".strip()


def _missing(table: str, link: LinkConfig) -> str:
    return (
        f"{table}: {link.name} has no price, and a cap in USD would not count it: set {table}.prices to "
        "{ input_usd_per_mtok = 0.5, output_usd_per_mtok = 2 } with its own numbers (0 and 0 if it costs nothing), "
        "or cap tokens instead"
    )


def _read(home: Path) -> Mapping[str, Decimal]:
    """Return the prices known last; none if the file is missing or damaged."""
    try:
        return {str(name): Decimal(usd) for name, usd in json.loads((home / FILE).read_bytes()).items()}
    except (OSError, ValueError, ArithmeticError, AttributeError, TypeError):
        return {}
