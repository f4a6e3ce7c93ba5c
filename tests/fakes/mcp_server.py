"""A small MCP server, made with the official SDK, as a program or over HTTP."""

import os
import signal
import sys
from typing import Literal

from mcp.server.mcpserver import Context, MCPServer
from mcp_types import ToolAnnotations

server = MCPServer("example")


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
def variables() -> list[str]:
    """Return the names of the environment variables."""
    return sorted(os.environ)


@server.tool(annotations=ToolAnnotations(destructive_hint=True))
def erase(name: str) -> str:
    """Erase something."""
    return f"{name} is gone"


@server.tool()
def die() -> str:
    """End the server in the middle of the call."""
    os.kill(os.getpid(), signal.SIGKILL)
    return "never"


@server.tool()
def fail() -> str:
    """Fail."""
    raise ValueError("the string is broken")


@server.tool(structured_output=False)
def long(megabytes: int) -> str:
    """Return a long text."""
    return "x" * (megabytes * 1024 * 1024)


@server.tool()
async def grow(name: str, context: Context) -> str:
    """Get another tool."""

    def grown() -> str:
        return f"I am {name}"

    server.add_tool(grown, name=name)
    await context.notify_tools_changed()
    return "grown"


def main(transport: Literal["stdio", "streamable-http", "sse"] = "stdio", port: int = 0) -> None:
    """Serve until the process ends."""
    if transport == "stdio":
        server.run("stdio")
    elif transport == "sse":
        server.run("sse", host="127.0.0.1", port=port)
    else:
        server.run("streamable-http", host="127.0.0.1", port=port)


if __name__ == "__main__":
    main(*sys.argv[1:2], *map(int, sys.argv[2:]))  # type: ignore[arg-type]  # as typed
