"""A configured name becomes a model here, the one place that knows every wire; a heavy one is imported when chosen."""

from importlib.metadata import entry_points
from typing import Protocol

from agent.config import ModelConfig
from agent.models.offline import OfflineModel, OfflineRules
from agent.models.prompted_tools import PromptedTools
from agent.models.resilience import Resilient
from agent.ports import ChatModel


class UnknownModel(ValueError):
    """No wire answers to this name, or it cannot be opened as configured; the message says what to set."""


OWN_WIRES = frozenset({"anthropic", "openai"})

GROUP = "tenk.models"
"""Entry points of other distributions' wires, each under the word before the colon of a model's name."""


class MakeModel(Protocol):
    """What such an entry point names; nothing is connected by calling it."""

    def __call__(self, name: str, config: ModelConfig) -> ChatModel:
        """The model of this name: what stands behind the colon."""
        ...


def wire_names() -> list[str]:
    """The wires that other distributions bring, sorted; nothing is imported."""
    return sorted({point.name for point in entry_points(group=GROUP)} - {"offline"} - OWN_WIRES)


def build_model(config: ModelConfig, offline_rules: OfflineRules | None = None) -> ChatModel:
    """The model of this configuration, resilient where it talks to a network; nothing is connected yet.

    `offline_rules` are what the agent can do without a model; `offline` needs them.

    Raises:
        UnknownModel: the name means nothing here, or its settings cannot work.
    """
    wire, _, name = config.name.partition(":")
    if wire == "offline" and not name:
        if offline_rules is None:
            raise UnknownModel("this agent has no offline rules: set a model and its key")
        return OfflineModel(offline_rules, config.words_per_s)
    if wire in OWN_WIRES and name:
        try:
            model = _own(wire, name, config)
            return Resilient(model if config.takes_tools else PromptedTools(model), config)
        except ValueError as problem:
            raise UnknownModel(f"model {config.name!r}: {problem}") from None
    if name and wire in wire_names():
        return _foreign(wire, name, config)
    raise UnknownModel(f"there is no model {config.name!r}: use offline, anthropic:NAME or openai:NAME")


def _own(wire: str, name: str, config: ModelConfig) -> ChatModel:
    """A model over a wire of ours; ValueError where its settings cannot work."""
    if wire == "anthropic":
        from agent.models.anthropic import AnthropicModel  # noqa: PLC0415  aiohttp's client costs 0.25 s

        return AnthropicModel(name, config)
    from agent.models.openai import OpenAIModel  # noqa: PLC0415  as above

    return OpenAIModel(name, config)


def _foreign(wire: str, name: str, config: ModelConfig) -> ChatModel:
    """A model over another distribution's wire; when to try again is its own matter."""
    point = next(iter(entry_points(group=GROUP, name=wire)))
    try:
        make: MakeModel = point.load()
        return make(name, config)
    except (ImportError, AttributeError, TypeError, ValueError) as problem:
        raise UnknownModel(f"model {config.name!r} ({point.value}): {problem}") from problem
