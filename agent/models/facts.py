"""Facts of a model: its limits, abilities and prices, from the settings, its server, a table, or defaults.

The table is genai-prices' own (windows and prices; no output caps or abilities, read 2026-11). Its first use is slow,
so a wire reads `facts` when the model is built.
"""

from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING

from agent.calendar import utc_now
from agent.config import LinkConfig
from agent.models.picture_fit import fit_pictures
from agent.ports import ChatModel, ModelFacts, ModelRequest, OnModelEvent
from agent.prices import TokenPrice, TokenPrices
from agent.transcript import ModelResponded

if TYPE_CHECKING:
    from genai_prices.types import ModelInfo, TieredPrices

    Listed = Decimal | TieredPrices | None
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches

from agent.models.openai_format import token_count

LLAMA_CPP, VLLM, OLLAMA, LM_STUDIO, OPENROUTER = "llama.cpp", "vLLM", "Ollama", "LM Studio", "OpenRouter"
OTHER = "a server of chat completions"

OLLAMA_WINDOW_TOKENS = 4096
"""Ollama's default window of a model that is not loaded, on a machine with a small graphics card."""

ONLY_MODEL = "*"
"""Model name for "the only model of the server"."""

USUAL_MODEL = "gpt-5-mini"
"""Model to use if a server lists nothing and the configuration names none."""

MOST_NAMED = 8
"""Maximum number of model names in a sentence."""

Answer = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class ServedModel:
    """One model of a server; a field is None if the server does not say."""

    id: str
    window_tokens: int | None = None
    max_output_tokens: int | None = None
    takes_tools: bool | None = None
    sees_images: bool | None = None
    is_sure: bool = True  # False: not loaded yet, so its window may change


@dataclass(frozen=True, slots=True)
class ModelServerFacts:
    """A server and its models."""

    kind: str = OTHER
    models: tuple[ServedModel, ...] = ()  # empty: the server lists none

    def find(self, name: str) -> ServedModel | None:
        """Return the model with this name, or None if the server has or lists none."""
        if len(self.models) == 1 and (name == ONLY_MODEL or self.kind == LLAMA_CPP):  # llama.cpp answers to any name
            return self.models[0]
        name = USUAL_MODEL if name == ONLY_MODEL else name
        return next((model for model in self.models if model.id in (name, f"{name}:latest")), None)

    def lacks(self, name: str) -> bool:
        """Return True if the server lists its models and this one is missing."""
        return bool(self.models) and self.find(name) is None

    def advice(self, name: str) -> str:
        """Return a hint for the operator: the nearest model name, or all names."""
        ids = [model.id for model in self.models]
        if near := get_close_matches(name, ids, 1, 0.5):
            return f"the nearest is {near[0]}"
        more = "" if len(ids) <= MOST_NAMED else f" and {len(ids) - MOST_NAMED} more"
        return f"it has: {', '.join(ids[:MOST_NAMED])}{more}"


_NUM_CTX = re.compile(r"^num_ctx[ \t]+([1-9]\d{0,8})[ \t]*$", re.MULTILINE)

_OWNERS = {"llamacpp": LLAMA_CPP, "vllm": VLLM}


def read_models(answer: object) -> ModelServerFacts:
    """Parse `/models` of any server with the additions of some: vLLM's window, OpenRouter's facts."""
    entries = [entry for entry in _tables(answer, "data") if isinstance(entry.get("id"), str)]
    kinds = {_OWNERS[owner] for entry in entries if (owner := str(entry.get("owned_by"))) in _OWNERS}
    if any("supported_parameters" in entry for entry in entries):
        kinds.add(OPENROUTER)
    kind = kinds.pop() if len(kinds) == 1 else OTHER
    return ModelServerFacts(kind, tuple(_to_served(entry) for entry in entries))


def _to_served(entry: Answer) -> ServedModel:
    provider = _table(entry, "top_provider")
    inputs = _table(entry, "architecture").get("input_modalities")
    parameters = entry.get("supported_parameters")
    return ServedModel(
        str(entry["id"]),
        window_tokens=_count(entry.get("max_model_len")) or _count(entry.get("context_length")),
        max_output_tokens=_count(provider.get("max_completion_tokens")),
        takes_tools="tools" in parameters if isinstance(parameters, list) else None,
        sees_images="image" in inputs if isinstance(inputs, list) else None,
    )


def read_props(server: ModelServerFacts, props: object) -> ModelServerFacts:
    """Parse llama.cpp's `/props`: the window of its one model is that of one slot."""
    window = _count(_table(props, "default_generation_settings").get("n_ctx"))
    vision = _table(props, "modalities").get("vision")
    sees = vision if isinstance(vision, bool) else None
    models = tuple(replace(model, window_tokens=window, sees_images=sees) for model in server.models)
    return ModelServerFacts(LLAMA_CPP, models)


def read_show(model: ServedModel, show: object, running: object) -> ServedModel:
    """Parse Ollama's `/api/show` and `/api/ps`: the running window, else the configured one, else a guess."""
    found = show if isinstance(show, dict) else {}
    info = _table(found, "model_info")
    trained = next((_count(value) for key, value in info.items() if key.endswith(".context_length")), None)
    loaded = [each for each in _tables(running, "models") if model.id in (each.get("name"), each.get("model"))]
    running_with = _count(loaded[0].get("context_length")) if loaded else None
    set_to = _NUM_CTX.search(str(found.get("parameters", "")))
    window = running_with or (int(set_to[1]) if set_to else OLLAMA_WINDOW_TOKENS)
    abilities = found.get("capabilities")
    return replace(
        model,
        window_tokens=min(window, trained or window),
        takes_tools="tools" in abilities if isinstance(abilities, list) else None,
        sees_images="vision" in abilities if isinstance(abilities, list) else None,
        is_sure=running_with is not None or set_to is not None,
    )


def read_lm_studio(listing: object) -> ModelServerFacts | None:
    """Parse LM Studio's own list, with the windows of loaded models; return None if it has another form."""
    entries = [each for each in _tables(listing, "data") if isinstance(each.get("id"), str) and "type" in each]
    models = tuple(_of_lm_studio(entry) for entry in entries if entry["type"] in ("llm", "vlm"))
    return ModelServerFacts(LM_STUDIO, models) if models else None


def _of_lm_studio(entry: Answer) -> ServedModel:
    loaded, abilities = _count(entry.get("loaded_context_length")), entry.get("capabilities")
    return ServedModel(
        str(entry["id"]),
        window_tokens=loaded or _count(entry.get("max_context_length")),
        takes_tools="tool_use" in abilities if isinstance(abilities, list) else None,
        sees_images=entry["type"] == "vlm",
        is_sure=loaded is not None,
    )


def _count(value: object) -> int | None:
    return token_count(value) or None


def _table(value: object, key: str) -> Answer:
    inner = value.get(key) if isinstance(value, dict) else None
    return inner if isinstance(inner, dict) else {}


def _tables(value: object, key: str) -> Iterator[Answer]:
    inner = value.get(key) if isinstance(value, dict) else None
    return (each for each in inner if isinstance(each, dict)) if isinstance(inner, list) else iter(())


UNKNOWN_WINDOW_TOKENS = 128_000
"""Window of a model that neither config nor table knows; most models today take this much."""


def facts_of(name: str, config: LinkConfig, served: ServedModel | None = None) -> ModelFacts:
    """Return the facts of the model `WIRE:NAME`: as configured, else as its server says, else from the table.

    The table does not apply to a local server.
    """
    told = served or ServedModel(name)
    wire, _, model = name.partition(":")
    window = config.context_window_tokens or told.window_tokens
    if window is None and not config.is_local:
        window = window_of(wire, model, config.base_url)
    return ModelFacts(
        context_window_tokens=window or UNKNOWN_WINDOW_TOKENS,
        max_output_tokens=config.max_output_tokens or told.max_output_tokens,
        sees_images=_first(config.sees_images, told.sees_images, config.base_url is None),
        takes_tools=_first(config.takes_tools, told.takes_tools, True),
        prices=configured_prices(config) or (None if config.is_local else prices_of(wire, model, config)),
    )


def _first(*said: bool | None) -> bool:
    return next(each for each in said if each is not None)


def window_of(wire: str, model: str, base_url: str | None) -> int | None:
    """Return the model's window in tokens, output included, from the table; None if it is not there."""
    known = _find(wire, model, base_url)
    return None if known is None else known.context_window


def configured_prices(config: LinkConfig) -> TokenPrices | None:
    """Return the operator's own prices, or None."""
    said = config.prices
    if said is None:
        return None
    return TokenPrices(
        TokenPrice(said.input_usd_per_mtok),
        TokenPrice(said.output_usd_per_mtok),
        None if said.cache_read_usd_per_mtok is None else TokenPrice(said.cache_read_usd_per_mtok),
        None if said.cache_write_usd_per_mtok is None else TokenPrice(said.cache_write_usd_per_mtok),
    )


STANDARD_TIERS = (None, "auto", "default", "standard_only")
"""Service tiers for which the table's prices hold; others cost something else."""


def prices_of(wire: str, model: str, config: LinkConfig) -> TokenPrices | None:
    """Return the table's current prices; None if one is missing or the model also costs by the request."""
    known = _find(wire, model, config.base_url)
    if known is None or config.service_tier not in STANDARD_TIERS:
        return None
    listed = known.get_prices(utc_now())
    given, written = _price(listed.input_mtok), _price(listed.output_mtok)
    if given is None or written is None or listed.requests_kcount is not None:
        return None
    return TokenPrices(given, written, _price(listed.cache_read_mtok), _price(listed.cache_write_mtok))


def _price(price: "Listed") -> TokenPrice | None:
    if price is None or isinstance(price, Decimal):
        return None if price is None else TokenPrice(price)
    return TokenPrice(price.base, tuple((tier.start, tier.price) for tier in price.tiers))


def _find(wire: str, model: str, base_url: str | None) -> "ModelInfo | None":
    from genai_prices.data_snapshot import get_snapshot  # noqa: PLC0415  its import reads the whole table

    try:
        return get_snapshot().find_provider_model(model, None, None if base_url else wire, base_url)[1]
    except LookupError:
        return None


class KnownModel:
    """A model whose requests fit its facts (pictures), and whose responses have a price."""

    def __init__(self, model: ChatModel, config: LinkConfig) -> None:
        """Read the facts now: the first use of the table is too slow for a turn."""
        self.name = model.name
        self._prices = configured_prices(config) or model.facts.prices
        self._model = model

    @property
    def facts(self) -> ModelFacts:
        """Return the model's facts with the operator's prices, if they are set."""
        facts = self._model.facts
        return facts if facts.prices == self._prices else replace(facts, prices=self._prices)

    async def respond(self, request: ModelRequest, on_event: OnModelEvent) -> ModelResponded:
        """Return the response with its cost; a cost that the provider states goes first.

        Raises:
            ModelFailure: the model failed.
        """
        request = fit_pictures(request, sees_images=self._model.facts.sees_images)
        response = await self._model.respond(request, on_event)
        prices, used = self._prices, response.usage
        if prices is None or used.cost_microusd is not None:
            return response
        return replace(response, usage=replace(used, cost_microusd=prices.cost_microusd(used)))

    async def aclose(self) -> None:
        """Close the model."""
        await self._model.aclose()
