"""The MCP server of one API key: the tools that it may list and call."""

import hashlib
import json
import secrets
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import structlog
from mcp.server import Server, ServerRequestContext
from mcp.types import (
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    ToolAnnotations,
)
from mcp.types import Tool as ListedTool

from agent.tools.base import Effect, Tool
from agent.tools.schema import to_json_schema
from agent.transcript import CallOutcome, ToolCall
from channels.base import NotPersisted
from gateway.access.api_keys import Scope
from gateway.errors import StoreUnavailable
from gateway.http.api.problems import ApiRefusal
from gateway.http.api.server import ApiDeps
from gateway.mcp.calls import ProgramCalls
from gateway.mcp.operator_tools import OperatorTool, operator_tools
from gateway.store.api_keys import ApiKey

ONCE = "tenk/idempotency-key"
"""Field of a call's `_meta`: the same call under the same key changes nothing twice."""

MAX_ONCE_CHARS = 128

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class ProgramServer:
    """The tools of one key, as an MCP server."""

    key: ApiKey
    api: ApiDeps
    calls: Callable[[], ProgramCalls]  # with the agent as it is now: a reload replaces it
    seat: Callable[[], AbstractContextManager[None]]  # counts a running call against the limits of the key
    locale: str | None = None  # BCP 47, of the program

    def build(self) -> "Server[Any]":
        """Return the SDK's server of these tools."""
        return Server(
            "tenk",
            version=version("tenk-gateway"),
            title=self.api.title,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
        )

    @property
    def _own(self) -> dict[str, Tool]:
        """Return the agent's own tools, if the key may speak for a person."""
        if Scope.CHAT not in self.key.scopes:
            return {}
        return {tool.name: tool for tool in self.calls().tools if tool.is_enabled()}

    @property
    def _operators(self) -> dict[str, OperatorTool]:
        return operator_tools(self.api.routes, self.key.scopes)

    async def _list_tools(
        self, _context: "ServerRequestContext[Any]", _asked: PaginatedRequestParams | None
    ) -> ListToolsResult:
        own = [_list_tool(tool) for tool in self._own.values()]
        return ListToolsResult(tools=own + [_list_action(tool) for tool in self._operators.values()])

    async def _call_tool(self, context: "ServerRequestContext[Any]", asked: CallToolRequestParams) -> CallToolResult:
        name, given = asked.name, asked.arguments or {}
        try:
            with self.seat():
                if (action := self._operators.get(name)) is not None:
                    return _to_result(await action.run(self.key, given))
                if Scope.CHAT not in self.key.scopes:
                    return _to_error(f"There is no tool {name[:100]!r} for this key; see tools/list.")
                return await self._call_own(name, given, (context.meta or {}).get(ONCE))
        except ApiRefusal as refused:
            return _to_error(f"{refused}. {refused.problem.what_to_do}")
        except (NotPersisted, StoreUnavailable):
            return _to_error("The gateway cannot store anything now. Try again soon.")

    async def _call_own(self, name: str, given: Mapping[str, Any], once: object) -> CallToolResult:
        principal = await self.api.principal(self.key, None, self.locale)
        try:
            written = json.dumps(given, sort_keys=True)
        except (RecursionError, ValueError):
            return _to_error("The arguments are nested too deep.")
        if once is not None and not (isinstance(once, str) and 0 < len(once) <= MAX_ONCE_CHARS):
            return _to_error(f"{ONCE} is a text of 1 to {MAX_ONCE_CHARS} characters.")
        handle = secrets.token_hex(16) if once is None else _digest(once, name, written)
        call = ToolCall(handle, name, written)
        returned = await self.calls().run(principal, call, f"mcp:{self.key.id}:{handle}")
        content = json.loads(returned.content)
        if returned.outcome is not CallOutcome.DONE or not content["success"]:
            return _to_error(content["error"] or "It failed.", content["data"])
        return _to_result(content["data"])


def _digest(*texts: str) -> str:
    return hashlib.sha256(json.dumps(texts).encode()).hexdigest()[:32]


def _list_tool(tool: Tool) -> ListedTool:
    destructive = tool.destructive if isinstance(tool.destructive, bool) else True
    reads = tool.effect is Effect.NONE
    return ListedTool(
        name=tool.name,
        description=tool.description,
        input_schema=to_json_schema(tool.arguments),
        output_schema=None if tool.output_schema is None else to_json_schema(tool.output_schema),
        annotations=ToolAnnotations(
            read_only_hint=reads,
            destructive_hint=not reads and destructive,
            open_world_hint=tool.effect.is_outside,
        ),
    )


def _list_action(tool: OperatorTool) -> ListedTool:
    return ListedTool(
        name=tool.name,
        description=tool.route.summary,
        input_schema=tool.schema,
        annotations=ToolAnnotations(
            read_only_hint=tool.only_reads,
            destructive_hint=tool.name == "discard_outbox_part",
            open_world_hint=not tool.only_reads,
        ),
    )


def _to_result(data: object) -> CallToolResult:
    """Return data as text and as an object."""
    structured = data if isinstance(data, dict) else {"result": data}
    return CallToolResult(
        content=[TextContent(type="text", text=json.dumps(data, ensure_ascii=False))], structured_content=structured
    )


def _to_error(error: str, data: object = None) -> CallToolResult:
    return CallToolResult(
        content=[TextContent(type="text", text=error)],
        structured_content=data if isinstance(data, dict) else None,
        is_error=True,
    )
