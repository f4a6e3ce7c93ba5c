"""The gateway of one case: the configuration's agent and models, an empty store, and no platform."""

from pathlib import Path

from agent.config import LinkConfig, ModelConfig
from agent.evals.case_file import CaseFile
from agent.plain_errors import hint_at
from channels.messages import DEFAULT_TENANT
from channels.web.config import WebAccount
from gateway.access.config import AccessConfig, AccountAccess, LimitsConfig, Policy
from gateway.agent_models import links_by_name
from gateway.config.settings import ChannelsConfig, Settings
from gateway.definitions import definition_folder, read_agents
from gateway.errors import GatewayError, unknown_tenant
from gateway.http.config import HttpConfig

ACCOUNT = "api:main"
"""The account over which a case speaks."""


class UnusableCase(GatewayError):
    """The case cannot run; the message has a line for each reason, with file and line number."""


def settings_of_tenant(settings: Settings, tenant: str) -> Settings:
    """Return the settings of one tenant as those of an installation that has no other.

    Raises:
        GatewayError: there is no such tenant.
    """
    if tenant not in (known := (DEFAULT_TENANT, *settings.tenants)):
        raise GatewayError(unknown_tenant(tenant, known))
    own = settings.of_tenant(tenant)
    spoken = settings.tenants[tenant].language if tenant in settings.tenants else None
    gateway = settings.gateway if spoken is None else settings.gateway.model_copy(update={"language": spoken})
    agent = own.agent.model_copy(update={"folder": definition_folder(own, tenant)})
    return own.model_copy(update={"gateway": gateway, "agent": agent, "tenants": {}})


def settings_of_case(found: CaseFile, settings: Settings, home: Path) -> Settings:
    """Return the settings under which a case runs: its folders are empty.

    Hooks of the operator do not run, since they may change the outside.

    Raises:
        UnusableCase: it names an agent or a model that the configuration does not have.
    """
    agent, model, folders = _agent_of(found, settings), _model_of(found, settings), settings.workspace
    needs_no_others = model.name == "offline" and agent == settings.agent.name
    unread = {"folder": None} if needs_no_others else {}  # agents of files need a model
    limits = LimitsConfig(messages_per_min=6000, burst_messages=6000)
    return settings.model_copy(
        update={
            "gateway": settings.gateway.model_copy(update={"home": home, "database_url": None}),
            "http": HttpConfig(listen="127.0.0.1:0"),
            "channels": ChannelsConfig(web=WebAccount(enabled=False)),
            "access": AccessConfig(accounts={ACCOUNT: AccountAccess(direct=Policy.OPEN)}, limits=limits),
            "agent": settings.agent.model_copy(update={"accounts": {ACCOUNT: agent}, "groups": {}} | unread),
            "model": model.model_copy(update={"offline_when_down": False}),
            "hooks": (),
            "workspace": None if folders is None else folders.model_copy(update={"root": home / "workspace"}),
        }
    )


def _agent_of(found: CaseFile, settings: Settings) -> str:
    own, wanted = settings.agent.name, found.case.agent
    if settings.agent.is_bridged:
        why = "an agent of another framework runs its tools itself, so that a case cannot keep it from the outside"
        raise UnusableCase(f"{found.place('agent')}: agent: {settings.agent.product}: {why}")
    names = [own, *(agent.name for agent in read_agents(settings, DEFAULT_TENANT))]
    if wanted is not None and wanted not in names:
        raise UnusableCase(f"{found.place('agent')}: agent: there is no agent {wanted!r}{hint_at(wanted, names)}")
    return wanted or own


def _model_of(found: CaseFile, settings: Settings) -> ModelConfig:
    """Return the model of a case, which is asked alone, or the configuration's."""
    wanted, model = found.case.model, settings.model
    if wanted is None or wanted == model.name:
        return model
    if wanted == "offline":
        return ModelConfig()
    links = links_by_name(settings)
    if wanted not in links:
        hint = hint_at(wanted, [*links, "offline"])
        raise UnusableCase(f"{found.place('model')}: model: there is no model {wanted!r} in [model]{hint}")
    return ModelConfig(**{name: getattr(links[wanted][1], name) for name in LinkConfig.model_fields})
