"""`tenk mcp`: the Model Context Protocol."""

from pathlib import Path

import click

from gateway.cli.mcp_serve import serve_stdio
from gateway.cli.root import config_option


@click.group("mcp")
def command() -> None:
    """Serve the agent's tools to editors and other programs over the Model Context Protocol (MCP)."""


@command.command("serve")
@config_option
def serve(config_path: Path | None) -> None:
    """Serve an MCP client over standard input and output, for the person of an API key.

    The key is read from the environment variable TENK_API_KEY. The gateway must be running on this machine, with
    channels.api.mcp = true.
    """
    serve_stdio(config_path)
