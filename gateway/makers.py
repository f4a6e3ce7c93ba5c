"""Makes what the settings name: models, and a channel for each account. What they are wired to is not known here."""

import hmac
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from agent.answers import by_rules_text
from agent.budgets import OverBudget
from agent.catalogue import Catalogue
from agent.config import ModelConfig
from agent.errors import FailureKind
from agent.models.select import Charge, ModelDeps, UnknownModel, build_model
from agent.permissions.chain import Mode
from agent.ports import ChatModel, RequestContext
from channels.base import Channel, NamesCommands
from channels.registry import AccountConfig, load_channel
from channels.web.config import Guests
from gateway.access.config import Policy
from gateway.access.policy import AccessSnapshot, is_let_in
from gateway.access.roles import Role
from gateway.config.settings import ChannelsConfig, Settings, whose_account
from gateway.errors import SettingsError
from gateway.inbound.connections import ChannelAccount
from gateway.inbound.web_records import StoredRecords
from gateway.ops.instrumentation import MeasuredModel
from gateway.product import AgentProduct


def accounts_of(
    channels: ChannelsConfig,
    make_web: Callable[[], Channel],
    make_api: Callable[[], Channel],
    name_commands: Callable[[NamesCommands, str], None],
) -> list[ChannelAccount]:
    """Every account that is configured, and how its channel is made; `name_commands` tells it those of a tenant."""
    accounts = [
        ChannelAccount(
            channel,
            config.name,
            partial(_make_named, name_commands, channel, config),
            config.pacing == "strict",
            whose_account(config),
            config,
            everywhere=getattr(config, "mode", "") in {"webhook", "http"},
        )
        for channel, config in channels.accounts()
    ]
    if channels.web.enabled:
        accounts.append(ChannelAccount("web", "main", make_web, tenant=channels.web.tenant, attached=True))
    if channels.api.enabled:
        accounts.append(ChannelAccount("api", "main", make_api, tenant=None, attached=True))
    if channels.console.enabled:
        accounts.append(ChannelAccount("console", "main", partial(_make_channel, "console"), attached=True))
    return accounts


def make_web(
    settings: Callable[[], Settings], texts: Catalogue, snapshot: AccessSnapshot, key: bytes, records: StoredRecords
) -> Channel:
    """The web chat; whom it meets again it tells by a key of its own, which only this home has."""

    def is_guest(chat: str) -> bool:
        rules = settings().of_tenant(tenant).access.rules_of("web", "main")
        return is_let_in(snapshot, rules, tenant, f"web:{chat}", "web:main")

    def is_known(chat: str) -> bool:
        return snapshot.find(tenant, f"web:{chat}") is not None

    def may_send_files(chat: str) -> bool:
        rules = settings().of_tenant(tenant).access.rules_of("web", "main")
        person = snapshot.find(tenant, f"web:{chat}")
        is_heard = rules.direct is Policy.OPEN and person is not None and person.role != Role.BLOCKED
        return is_heard or is_guest(chat)

    tenant = settings().channels.web.tenant
    guests = Guests(is_known=is_known, is_let_in=is_guest, may_send_files=may_send_files)
    channel: Channel = load_channel("web")(
        settings().channels.web, texts=texts, guests=guests, records=records,
        key=hmac.digest(key, b"tenk web visitors v1", "sha256"),
    )  # fmt: skip
    return channel


def _make_named(name_commands: Callable[[NamesCommands, str], None], name: str, config: AccountConfig) -> Channel:
    """As `_make_channel`; it knows the commands where it is to say how they are typed."""
    channel = _make_channel(name, config)
    if isinstance(channel, NamesCommands):
        name_commands(channel, whose_account(config))
    return channel


def _make_channel(name: str, *config: object) -> Channel:
    """Import an adapter and make it; slow, so it runs in a thread."""
    channel: Channel = load_channel(name)(*config)
    return channel


def model_of(settings: Settings, product: AgentProduct, deps: ModelDeps) -> ChatModel:
    """The model that answers, with the agent's rules behind it.

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
