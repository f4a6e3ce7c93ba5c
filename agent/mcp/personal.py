"""Servers with credentials of each person: two tools, and a session for each call that no one else's call shares."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from functools import partial
from typing import Any

import httpx2
from pydantic import BaseModel, ConfigDict, Field, JsonValue

from agent.mcp.config import McpServerConfig
from agent.mcp.connection import SessionParts
from agent.mcp.names import is_wanted, tool_name
from agent.mcp.results import result_data
from agent.mcp.server import McpServer, ServerState
from agent.ports import Principal
from agent.tools.base import Effect, Tool, ToolContext, ToolError
from agent.wellformed import one_line

TokenOf = Callable[[str, Principal], Awaitable[str | None]]
"""Returns the token that a person connected to the server of this name; None if there is none."""


async def find_no_token(_server: str, _who: Principal) -> str | None:
    """Return None: people have connected nothing."""
    return None


class NoWords(BaseModel):
    """The arguments of the tool that lists."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class PersonalCall(BaseModel):
    """The arguments of the tool that calls."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    tool: str = Field(max_length=200, description="A name that list_tools of this server gave.")
    arguments: dict[str, JsonValue] = Field(default_factory=dict, description="As its schema wants them.")


class _BearerToken(httpx2.Auth):
    def __init__(self, token: str) -> None:
        self._token = token

    async def async_auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        request.headers["Authorization"] = f"Bearer {self._token}"
        yield request


def personal_tools(name: str, config: McpServerConfig, token_of: TokenOf) -> tuple[Tool, Tool]:
    """Return the tools that list and call the tools of a server for the person of the turn."""
    listing = Tool(
        name=tool_name(name, "list_tools"),
        description=f"List the tools of {name}, where the person has an account of their own.",
        arguments=NoWords,
        run=partial(_list, name, config, token_of),
        effect=Effect.NONE,
        permission=lambda _context, _arguments: "allow",
        timeout_s=config.timeout_s,
    )
    calling = Tool(
        name=tool_name(name, "call_tool"),
        description=f"Call a tool of {name} in the person's own account. List its tools first.",
        arguments=PersonalCall,
        run=partial(_call, name, config, token_of),
        effect=Effect.UNSAFE,
        destructive=True,  # so each call is asked about, with its arguments
        permission=lambda _context, _arguments: "ask",
        cancellable=True,
        timeout_s=config.timeout_s,
    )
    return listing, calling


async def _list(
    name: str, config: McpServerConfig, token_of: TokenOf, context: ToolContext, _arguments: NoWords
) -> object:
    server = await _server(name, config, token_of, context.principal)
    await server.look()
    if server.state is ServerState.NEEDS_AUTH:
        raise _not_connected(name)
    if server.state is not ServerState.CONNECTED:
        raise ToolError(f"The server {name} cannot be reached now: {server.why}. Tell the person.")
    found: list[dict[str, Any]] = [
        {"name": each.name, "about": one_line(each.description or each.title or ""), "arguments": each.input_schema}
        for each in server.tools
        if is_wanted(each.name, config.allow_tools, config.deny_tools)
    ]
    return {"tools": found}


async def _call(
    name: str, config: McpServerConfig, token_of: TokenOf, context: ToolContext, asked: PersonalCall
) -> object:
    if not is_wanted(asked.tool, config.allow_tools, config.deny_tools):
        raise ToolError(f"The server {name} has no such tool here; list its tools.")
    server = await _server(name, config, token_of, context.principal)
    answer = await server.call_once(asked.tool, asked.arguments)
    if server.state is ServerState.NEEDS_AUTH or answer is None:
        raise _not_connected(name)
    return result_data(answer)


async def _server(name: str, config: McpServerConfig, token_of: TokenOf, who: Principal) -> McpServer:
    token = await token_of(name, who)
    if token is None:
        raise _not_connected(name)
    return McpServer(name, config, lambda: None, SessionParts(auth=_BearerToken(token)))


def _not_connected(name: str) -> ToolError:
    return ToolError(
        f"The person has not connected an account at {name}, or it is no longer valid. Tell them to send "
        f"/connect {name} in a direct chat with you, and go on without it."
    )
