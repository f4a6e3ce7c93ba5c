"""An MCP server in this process that asks the person for which day before it books a room."""

from typing import Any

from mcp.server.lowlevel import Server
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequiredResult,
    ListToolsResult,
    TextContent,
    Tool,
    ToolAnnotations,
)

DAY = {"type": "object", "properties": {"day": {"type": "string"}}, "required": ["day"]}


async def _list_tools(_context: object, _page: object) -> ListToolsResult:
    schema: dict[str, Any] = {"type": "object", "properties": {}}
    return ListToolsResult(
        tools=[Tool(name="book", input_schema=schema, annotations=ToolAnnotations(read_only_hint=True))]
    )


async def _call_tool(_context: object, asked: CallToolRequestParams) -> CallToolResult | InputRequiredResult:
    said = (asked.input_responses or {}).get("day")
    if not isinstance(said, ElicitResult):
        question = ElicitRequest(params=ElicitRequestFormParams(message="For which day?", requested_schema=DAY))
        return InputRequiredResult(input_requests={"day": question})
    words = f"booked for {(said.content or {})['day']}" if said.action == "accept" else f"not booked: {said.action}"
    return CallToolResult(content=[TextContent(type="text", text=words)])


SERVER = Server("desk", on_list_tools=_list_tools, on_call_tool=_call_tool)
