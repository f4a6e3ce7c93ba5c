"""`tenk agents`: the agents of a tenant."""

from collections.abc import Iterator
from pathlib import Path

import click

from agent.delegation.definitions import AgentDefinition
from channels.tenant import DEFAULT_TENANT
from gateway.cli.client import printable, tenant_option
from gateway.cli.prepare import prepare
from gateway.cli.root import config_option
from gateway.cli.tables import Columns, json_option, print_rows
from gateway.config.settings import Settings
from gateway.definitions import read_agents
from gateway.product import in_force, load_product

Row = dict[str, str]

COLUMNS: Columns = {name: name for name in ("name", "model", "mode", "steps", "tools", "answers in", "file", "about")}


@click.group("agents")
def command() -> None:
    """List the agents of a tenant: its product, and those that Markdown files describe."""


@command.command("list")
@json_option
@config_option
def list_(as_json: bool, config_path: Path | None) -> None:
    """List all agents: their models, permission modes, steps and tools, and where they answer."""
    tenant = tenant_option() or DEFAULT_TENANT
    settings = prepare(config_path).of_tenant(tenant)
    print_rows(list(_rows(settings, tenant)), COLUMNS, "", as_json=as_json)


def _rows(settings: Settings, tenant: str) -> Iterator[Row]:
    product = load_product(settings.agent.product)
    settings = in_force(settings, product)
    yield _row(settings, AgentDefinition(name=product.name, description=product.title, prompt="", path=Path()))
    for agent in read_agents(settings, tenant):
        yield _row(settings, agent)


def _row(settings: Settings, agent: AgentDefinition) -> Row:
    chosen = {**settings.agent.accounts, **settings.agent.groups}
    tools = "all" if agent.tools is None else ", ".join(agent.tools) or "none"
    return {
        "name": agent.name,
        "model": agent.model or settings.model.name,
        "mode": (agent.mode or settings.permissions.mode).value,
        "steps": str(agent.steps or settings.agent.max_steps),
        "tools": tools,
        "answers in": ", ".join(place for place, name in chosen.items() if name == agent.name),
        "file": "" if agent.path == Path() else str(agent.path),
        "about": printable(agent.description),
    }
