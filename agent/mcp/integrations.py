"""Integrations over an MCP server that reaches many services: search, check and initiate connections, execute.

Three of its tools are free. The one that executes needs the operator's setting and, each time, the person's approval
of the arguments. Its other tools are not offered.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from agent.mcp.config import McpServerName
from agent.mcp.names import tool_name
from agent.ports import Principal
from agent.tools.base import Effect, Tool, ToolContext

USER_CHARS = 32


class IntegrationsConfig(BaseModel):
    """The MCP server of the integrations, and the names that it gives its four tools."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    server: McpServerName
    """Name of its table under [mcp]."""
    search: str = Field(default="search", min_length=1, max_length=200)
    """Tool that finds actions of the services."""
    check_connections: str = Field(default="check_connections", min_length=1, max_length=200)
    """Tool that says to which services a person is connected."""
    initiate_connection: str = Field(default="initiate_connection", min_length=1, max_length=200)
    """Tool that returns the link by which a person connects a service."""
    execute: str = Field(default="execute", min_length=1, max_length=200)
    """Tool that carries out an action."""
    allow_write_tools: bool = False
    """True: the tool `execute` is offered; each call of it needs the person's approval."""
    user_argument: str | None = Field(default=None, min_length=1, max_length=100)
    """Argument of the tools that names the person; the gateway fills it in. None: all people are one to the server."""


def integrate(tools: Iterable[Tool], config: IntegrationsConfig) -> tuple[Tool, ...]:
    """Return the tools of all servers, with those of the integrations' server as its settings want them."""
    reads = {tool_name(config.server, name) for name in (config.search, config.check_connections)}
    initiates = tool_name(config.server, config.initiate_connection)
    executes = tool_name(config.server, config.execute)
    own = tool_name(config.server, "_").removesuffix("_")
    found: list[Tool] = []
    for tool in tools:
        if tool.name in reads:
            found.append(_for_person(replace(tool, effect=Effect.NONE, permission=_allow), config))
        elif tool.name == initiates:
            found.append(_for_person(replace(tool, permission=_allow), config))
        elif tool.name == executes:
            if config.allow_write_tools:
                asking = replace(tool, effect=Effect.UNSAFE, permission=_ask, destructive=True)  # so never remembered
                found.append(_for_person(asking, config))
        elif not tool.name.startswith(own):
            found.append(tool)
    return tuple(found)


def user_of(principal: Principal) -> str:
    """Return the name of a person for the server: always the same, and no one can tell from it who they are."""
    return hashlib.sha256(f"{principal.tenant}\0{principal.user_id}".encode()).hexdigest()[:USER_CHARS]


def _for_person(tool: Tool, config: IntegrationsConfig) -> Tool:
    """Return the tool with its schema shown at once, and without the argument that names the person."""
    tool = replace(tool, should_defer=False)
    name = config.user_argument
    if name is None or not isinstance(tool.arguments, Mapping):
        return tool
    properties = {key: value for key, value in tool.arguments.get("properties", {}).items() if key != name}
    required = [each for each in tool.arguments.get("required", ()) if each != name]
    schema = {**tool.arguments, "properties": properties, "required": required}
    return replace(tool, arguments=schema, run=partial(_run_as, tool, name))


async def _run_as(tool: Tool, name: str, context: ToolContext, arguments: Mapping[str, Any]) -> object:
    return await tool.run(context, {**arguments, name: user_of(context.principal)})


def _allow(_context: ToolContext, _arguments: object) -> str:
    return "allow"


def _ask(_context: ToolContext, _arguments: object) -> str:
    return "ask"
