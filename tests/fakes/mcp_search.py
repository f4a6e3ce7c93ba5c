"""An MCP server that searches, made with the official SDK."""

from mcp.server.mcpserver import MCPServer

server = MCPServer("finder")
asked: list[tuple[str, str]] = []
"""The tool and the query of each call."""


@server.tool()
def find_pages(q: str, count: int = 5) -> list[dict[str, str]]:
    """Find pages."""
    asked.append(("find_pages", q))
    return [{"title": f"Page {at}", "url": f"https://example.org/{at}", "snippet": q} for at in range(count)]


@server.tool(structured_output=False)
def find_posts(query: str) -> str:
    """Find posts."""
    asked.append(("find_posts", query))
    return f"@ana: I practise {query} each morning."
