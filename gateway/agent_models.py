"""Makes the models that a tenant's settings name."""

from dataclasses import replace

from agent.answers import by_rules_text
from agent.budgets import OverBudget
from agent.config import ModelConfig
from agent.errors import FailureKind
from agent.models.select import Charge, ModelDeps, UnknownModel, build_model
from agent.permissions.chain import Mode
from agent.ports import ChatModel, RequestContext
from gateway.config.settings import Settings
from gateway.errors import SettingsError
from gateway.ops.instrumentation import MeasuredModel
from gateway.product import AgentProduct


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
    if settings.permissions.mode is not Mode.AUTO or auto.model in (None, settings.model.name):
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
