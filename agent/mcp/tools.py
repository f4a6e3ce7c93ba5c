"""The tools of the servers as tools of the agent."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import mcp_types

from agent.mcp.connection import MOST_TOOLS
from agent.mcp.elicitation import person_of
from agent.mcp.names import name_tools
from agent.mcp.results import result_data
from agent.mcp.schemas import flaw_in
from agent.mcp.server import McpServer
from agent.tools.base import Effect, Tool, ToolContext
from agent.tools.schema import UnusableSchema, to_json_schema
from agent.wellformed import one_line

MOST_SHOWN = 15
"""Tools of all servers together that are sent with each request; if there are more, the model searches for them."""

MOST_FLAWS = 3
"""Flaws of one server's tools that the operator is told of by name."""

MAX_DESCRIPTION_CHARS = 2000
"""Maximum characters of a tool's description."""


@dataclass(frozen=True, slots=True)
class ServerTools:
    """The usable tools of one server, and why others are left out."""

    tools: tuple[Tool, ...]
    flaws: str
    """Reasons for which tools are left out, for the operator; "" if none is."""


def tools_of_server(server: McpServer) -> ServerTools:
    """Return the tools of a server by the names that the model uses."""
    listed = {each.name: each for each in server.tools}
    names = name_tools(server.name, list(listed))
    tools: list[Tool] = []
    flaws: list[str] = []
    if server.listed > MOST_TOOLS:
        flaws.append(f"it has more than {MOST_TOOLS} tools, and only the first are used: see allow_tools")
    for name, tool in listed.items():
        if flaw := _flaw_of(tool.input_schema):
            flaws.append(f"the tool {one_line(name)!r} is left out: {one_line(flaw)}")
        else:
            tools.append(_tool(server, names[name], tool))
    more = [f"and {len(flaws) - MOST_FLAWS} more"] if len(flaws) > MOST_FLAWS else []
    return ServerTools(tuple(tools), "; ".join([*flaws[:MOST_FLAWS], *more]))


def defer_if_many(tools: Sequence[Tool]) -> tuple[Tool, ...]:
    """Return the tools of all servers; deferred if they are many."""
    return tuple(replace(tool, should_defer=len(tools) > MOST_SHOWN) for tool in tools)


def _flaw_of(schema: Mapping[str, Any]) -> str:
    try:
        to_json_schema(schema)
        return flaw_in(schema, len(json.dumps(schema, ensure_ascii=False)))
    except UnusableSchema as why:
        return f"its schema cannot be used: {why}"
    except RecursionError:
        return "its schema is nested too deep"


def _tool(server: McpServer, name: str, listed: mcp_types.Tool) -> Tool:
    hints = listed.annotations or mcp_types.ToolAnnotations()
    effect, trusted = Effect.UNSAFE, server.config.trust_annotations
    if trusted and hints.read_only_hint:
        effect = Effect.NONE
    elif trusted and hints.idempotent_hint:
        effect = Effect.IDEMPOTENT
    return Tool(
        name=name,
        description=one_line(listed.description or listed.title or listed.name, MAX_DESCRIPTION_CHARS),
        arguments=listed.input_schema,
        run=partial(_run, server, listed.name),
        effect=effect,
        concurrency_safe=effect is Effect.NONE,
        destructive=effect is not Effect.NONE and hints.destructive_hint is True,
        timeout_s=server.config.timeout_s,
        cancellable=True,
    )


async def _run(server: McpServer, tool: str, context: ToolContext, arguments: Mapping[str, Any]) -> object:
    return result_data(await server.call(tool, arguments, person_of(context.principal)))
