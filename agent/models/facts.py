"""Facts of a model: what it takes, gives and costs, by the operator's config, its server, a kept table, or with care.

The table is genai-prices' own (windows and prices of some 2,300 models; no output caps, no word on pictures, read
2026-11). It is read when it is first asked, which costs a quarter of a second: `facts` of a wire is asked for where the
model is built.
"""

from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING

from agent.calendar import utc_now
from agent.config import LinkConfig
from agent.models.seeing import fit_pictures
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
"""What Ollama gives a model that is not loaded and says nothing of it, on a machine with a small graphics card."""

ONLY_MODEL = "*"
"""In place of a model's name: the one model that its server has."""

USUAL_MODEL = "gpt-5-mini"
"""The error if a server has several models and the configuration names none."""

MOST_NAMED = 8
"""More models are not named in a sentence."""

Answer = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class ServedModel:
    """One model of a server, as far as the server says; None: it does not."""

    id: str
    window_tokens: int | None = None
    max_output_tokens: int | None = None
    takes_tools: bool | None = None
    sees_images: bool | None = None
    is_sure: bool = True  # False: it is not loaded yet, and its window may then be another


@dataclass(frozen=True, slots=True)
class ModelServerFacts:
    """A server and its models."""

    kind: str = OTHER
    models: tuple[ServedModel, ...] = ()  # empty: it lists none

    def find(self, name: str) -> ServedModel | None:
        """Return the model that answers to this name; None if there is none or it is not known yet."""
        if len(self.models) == 1 and (name == ONLY_MODEL or self.kind == LLAMA_CPP):  # which takes any name for its own
            return self.models[0]
        name = USUAL_MODEL if name == ONLY_MODEL else name
        return next((model for model in self.models if model.id in (name, f"{name}:latest")), None)

    def lacks(self, name: str) -> bool:
        """Return whether the server lists its models and this is none of them."""
        return bool(self.models) and self.find(name) is None

    def advice(self, name: str) -> str:
        """Return the nearest model name for the operator, or all names."""
        ids = [model.id for model in self.models]
        if near := get_close_matches(name, ids, 1, 0.5):
            return f"the nearest is {near[0]}"
        more = "" if len(ids) <= MOST_NAMED else f" and {len(ids) - MOST_NAMED} more"
        return f"it has: {', '.join(ids[:MOST_NAMED])}{more}"


_NUM_CTX = re.compile(r"^num_ctx[ \t]+([1-9]\d{0,8})[ \t]*$", re.MULTILINE)

_OWNERS = {"llamacpp": LLAMA_CPP, "vllm": VLLM}


def read_models(answer: object) -> ModelServerFacts:
    """`/models`, as every server answers it, and what some say beside it: vLLM the window, OpenRouter nearly all."""
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
    """llama.cpp's `/props`: its one model's window is that of one slot."""
    window = _count(_table(props, "default_generation_settings").get("n_ctx"))
    vision = _table(props, "modalities").get("vision")
    sees = vision if isinstance(vision, bool) else None
    models = tuple(replace(model, window_tokens=window, sees_images=sees) for model in server.models)
    return ModelServerFacts(LLAMA_CPP, models)


def read_show(model: ServedModel, show: object, running: object) -> ServedModel:
    """Ollama's `/api/show` and `/api/ps`: what it runs with goes before what it is set to, and that before a guess."""
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
    """LM Studio's own list, where the window is that of a loaded model; None: it is none."""
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
"""Of a model that neither config nor table knows; most that are served today take this much."""


def facts_of(name: str, config: LinkConfig, served: ServedModel | None = None) -> ModelFacts:
    """Return the facts of the model of this name (`WIRE:NAME`): as it is configured, else as its server says of it.

    A server of one's own is in no table.
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
    """Tokens that the model takes in, its output included, as the table has it; None: it has not."""
    known = _find(wire, model, base_url)
    return None if known is None else known.context_window


def configured_prices(config: LinkConfig) -> TokenPrices | None:
    """Return the operator's own prices, if they set them."""
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
"""Service tiers that cost what the table says; of others it does not know the price."""


def prices_of(wire: str, model: str, config: LinkConfig) -> TokenPrices | None:
    """Return the table's prices of today; None: it has not both, or the model costs by the request as well."""
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
    """A wire whose requests and responses fit the facts of its model: pictures it can take, and what an answer cost."""

    def __init__(self, model: ChatModel, config: LinkConfig) -> None:
        """Read the facts now: the first look into the table is too slow for a turn."""
        self.name = model.name
        self._prices = configured_prices(config) or model.facts.prices
        self._model = model

    @property
    def facts(self) -> ModelFacts:
        """The model's, with the operator's prices where they are set."""
        facts = self._model.facts
        return facts if facts.prices == self._prices else replace(facts, prices=self._prices)

    async def respond(self, request: ModelRequest, on_event: OnModelEvent) -> ModelResponded:
        """Return the response, priced; a cost that the provider says itself is believed.

        Raises:
            ModelFailure: as the model's.
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
