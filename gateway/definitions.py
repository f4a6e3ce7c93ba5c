"""The agents that a tenant's files describe, beside its product: finding the files, and checking what they name."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from agent.context.sections import Section
from agent.definition import Agent
from agent.permission_rules import Mode
from agent.ports import Principal
from channels.messages import DEFAULT_TENANT
from gateway.access.agents import AgentChoice, OfferedAgent
from gateway.config.settings import Settings
from gateway.errors import SettingsError, unknown_tenant

if TYPE_CHECKING:
    from agent.delegation.definitions import AgentDefinition

CAUTION = (Mode.PLAN, Mode.DEFAULT, Mode.AUTO, Mode.BYPASS)
"""Permission modes, the most careful first."""

HasTool = Callable[[str], bool]
"""Function that returns True if an agent has the tool of this name."""


def definition_folder(settings: Settings, tenant: str) -> Path | None:
    """Return the folder of a tenant's agents: one of its name, else the folder of all; None: there is neither."""
    folder = settings.agent.folder
    if folder is None:
        return None
    own = folder / tenant
    return own if tenant != DEFAULT_TENANT and own.is_dir() else folder


def read_agents(settings: Settings, tenant: str) -> "tuple[AgentDefinition, ...]":
    """Return the agents of one tenant's folder, sorted by name; `settings` are the tenant's.

    Raises:
        SettingsError: a line for each mistake in a file.
    """
    folder = definition_folder(settings, tenant)
    if folder is None or not any(folder.glob("*.md")):
        return ()
    from agent.delegation.definitions import read_definitions, wrong_names  # noqa: PLC0415  with PyYAML

    found = read_definitions(folder)
    wrong = wrong_names(found.agents, settings.agent.name, settings.model.names_to_choose)
    if flaws := [*found.flaws, *wrong]:
        raise SettingsError("\n".join(flaws))
    return found.agents


def make_agents(
    base: Agent,
    definitions: "Sequence[AgentDefinition]",
    sections: Callable[[HasTool, Principal], Mapping[Section, str]],
) -> dict[str, Agent]:
    """Return the agents of these definitions by name; `base` is the tenant's own, `sections` those of capabilities."""
    if not definitions:
        return {}
    from agent.delegation.defined import make_defined  # noqa: PLC0415  only with definitions

    return {each.name: make_defined(base, each, partial(sections, each.has_tool)) for each in definitions}


def configure_choice(
    choice: AgentChoice, settings: Settings, title: str, definitions: "Sequence[AgentDefinition]"
) -> None:
    """Apply a tenant's agents and where each answers; `title` is that of the tenant's own.

    An agent that asks for less approval than the tenant's settings can be chosen by operators only.
    """
    most = CAUTION.index(settings.permissions.mode)
    others = [
        OfferedAgent(each.name, each.description, for_operators=CAUTION.index(each.mode or Mode.PLAN) > most)
        for each in definitions
    ]
    offered = (OfferedAgent(settings.agent.name, title), *others) if others else ()
    choice.reconfigure(offered, settings.agent.accounts, settings.agent.groups)


def wrong_folders(settings: Settings) -> Iterator[str]:
    """Yield a line for each folder of agents that is called as no tenant."""
    folder = settings.agent.folder
    for found in sorted(folder.glob("*/*.md")) if folder is not None else ():
        if (name := found.parent.name) not in settings.tenants:
            yield f"{found}:1: {unknown_tenant(name, (DEFAULT_TENANT, *settings.tenants))}"
