"""Reads what a server of models says of itself and of them out of its answers; pure. `known_servers` asks.

Sources, read 2026-11: Ollama API (`/api/show`, `/api/ps`) and its FAQ on context length; llama.cpp's server README
(`/props`); vLLM's OpenAI-compatible server (`max_model_len`); LM Studio REST API v0; OpenRouter's models API.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
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
