"""`tenk mcp`: servers of the Model Context Protocol."""

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import click

from agent.mcp.config import McpServerConfig
from channels.tenant import DEFAULT_TENANT
from gateway.capabilities.mcp import is_for_people, look_at_servers
from gateway.cli.client import printable, tenant_option
from gateway.cli.mcp_serve import serve_stdio
from gateway.cli.prepare import prepare
from gateway.cli.root import config_option
from gateway.cli.tables import Columns, json_option, print_rows
from gateway.cli.writing import write_draft
from gateway.command_line import of_process
from gateway.config.editing import draft
from gateway.config.settings import Settings
from gateway.errors import GatewayError, unknown_tenant
from gateway.operators.client import NoGateway, ask


@click.group("mcp")
def command() -> None:
    """List, add, test or remove MCP servers, whose tools the agent may use; serve the agent's own tools."""


@command.command("list")
@json_option
@config_option
def list_(as_json: bool, config_path: Path | None) -> None:
    """List the configured servers with their state in the running gateway."""
    settings = prepare(config_path)
    states = _states(settings)
    rows = [
        {
            "name": name,
            "state": "disabled" if not config.enabled else states.get(f"mcp {name}", "not loaded: reload the gateway"),
            "server": _server_of(config),
        }
        for name, config in _own(settings).mcp.items()
    ]
    columns: Columns = {"name": "name", "state": "state", "server": "server"}
    none = f"No MCP server is configured; see `{of_process().command('mcp', 'add', '--help')}`."
    print_rows(rows, columns, none, as_json=as_json)


def _states(settings: Settings) -> Any:
    """Return the states of the running gateway's servers; of every server the same without a gateway."""
    try:
        answer = ask(settings.control_path, "GET /v1/status", tenant=tenant_option())
    except NoGateway:
        return {f"mcp {name}": "no gateway runs" for name in _own(settings).mcp}
    found = answer.get("capabilities") or {}
    why = {key.removeprefix("capability "): words for key, words in (answer.get("needs_you") or {}).items()}
    return {name: why.get(name) or state for name, state in found.items()}


def _own(settings: Settings) -> Settings:
    tenant = tenant_option()
    known = (DEFAULT_TENANT, *settings.tenants)
    if tenant is not None and tenant not in known:
        raise GatewayError(unknown_tenant(tenant, known))
    return settings if tenant is None else settings.of_tenant(tenant)


def _server_of(config: McpServerConfig) -> str:
    return printable(" ".join((config.command, *config.args)) if config.command else config.url or config.python or "")


@command.command("add", context_settings={"ignore_unknown_options": True})
@click.argument("name")
@click.argument("program", nargs=-1, type=click.UNPROCESSED)
@click.option("--url", help="Address of a server that runs already, instead of a program.")
@click.option("--sse", is_flag=True, help="The address speaks the older transport, SSE.")
@click.option("--header", "headers", multiple=True, metavar="NAME", help="HTTP header; its value is asked for.")
@click.option("--env", "env", multiple=True, metavar="NAME", help="Environment variable; its value is asked for.")
@config_option
def add(
    name: str,
    program: tuple[str, ...],
    url: str | None,
    sse: bool,
    headers: tuple[str, ...],
    env: tuple[str, ...],
    config_path: Path | None,
) -> None:
    """Write the server NAME into the configuration: a PROGRAM with its arguments, or an address.

    Values of headers and environment variables go into secrets.toml. Without a terminal they are read from standard
    input, a line each.

    \b
    tenk mcp add files -- npx -y @modelcontextprotocol/server-filesystem /srv/files
    tenk mcp add tickets --url https://mcp.example.com/mcp --header Authorization
    """  # noqa: D301  click reads the character
    os.umask(0o077)
    if bool(program) is (url is not None):
        raise click.UsageError("give either a program after `--`, or --url")
    table = _table_of(name)
    if name in _own(prepare(config_path)).mcp:
        raise GatewayError(f"there is an MCP server {name} already; `tenk mcp remove {name}` removes it")
    changes: dict[tuple[str, ...], Any] = {}
    if url is not None:
        changes[*table, "url"] = url
        if sse:
            changes[*table, "transport"] = "sse"
    else:
        changes[*table, "command"], *rest = program
        if rest:
            changes[*table, "args"] = rest
    changes |= {(*table, "headers", header): _ask(header) for header in headers}
    changes |= {(*table, "env", variable): _ask(variable) for variable in env}
    files = write_draft(draft(config_path, os.environ, changes))
    click.echo(f"The server {name} is written into {', '.join(files)}.")
    tenk = of_process()
    click.echo(f"`{tenk.command('mcp', 'test', name)}` tries it, `{tenk.command('reload')}` connects it.")


def _ask(name: str) -> str:
    given = click.prompt(name, hide_input=True) if sys.stdin.isatty() else sys.stdin.readline().rstrip("\n")
    if not given:
        raise click.UsageError(f"the value of {name} is empty")
    return str(given)


def _table_of(name: str) -> tuple[str, ...]:
    """Return the path of a server's table in the configuration."""
    tenant = tenant_option()
    return ("mcp", name) if tenant in (None, DEFAULT_TENANT) else ("tenants", str(tenant), "mcp", name)


@command.command("remove")
@click.argument("name")
@config_option
def remove(name: str, config_path: Path | None) -> None:
    """Remove the server NAME from the configuration, with its headers and environment variables."""
    os.umask(0o077)
    _find(prepare(config_path), name)
    files = write_draft(draft(config_path, os.environ, {_table_of(name): None}))
    click.echo(f"The server {name} is removed from {', '.join(files)}.")
    click.echo(f"`{of_process().command('reload')}` disconnects it.")


def _find(settings: Settings, name: str) -> McpServerConfig:
    servers = _own(settings).mcp
    if name not in servers:
        raise GatewayError(f"there is no MCP server {name!r}; there is: {', '.join(servers) or 'none'}")
    return servers[name]


@command.command("test")
@click.argument("name")
@json_option
@config_option
def test(name: str, as_json: bool, config_path: Path | None) -> None:
    """Connect the server NAME and list its tools. Exit status 1: it cannot be connected."""
    config = _find(prepare(config_path), name).model_copy(update={"enabled": True})
    click.echo(f"Waiting at most {config.handshake_s:g} s for the tools of {_server_of(config)}", err=True)
    (seen,) = asyncio.run(look_at_servers({name: config}))
    if is_for_people(seen):
        click.echo(f"It answers. Each person connects an account of their own: /connect {name}")
        return
    if seen.server.why:
        raise GatewayError(f"the server {name} cannot be used: {printable(seen.server.why)}")
    rows = [
        {"tool": tool.name, "effect": tool.effect.value, "description": tool.description} for tool in seen.tools.tools
    ]
    columns: Columns = {"tool": "tool", "effect": "effect", "description": lambda row: row["description"][:80]}
    print_rows(rows, columns, "It is connected, and has no usable tools.", as_json=as_json)
    if seen.tools.flaws and not as_json:
        click.echo(f"But {seen.tools.flaws}.")


@command.command("serve")
@config_option
def serve(config_path: Path | None) -> None:
    """Serve an MCP client over standard input and output, for the person of an API key.

    The key is read from the environment variable TENK_API_KEY. The gateway must be running on this machine, with
    channels.api.mcp = true.
    """
    serve_stdio(config_path)
