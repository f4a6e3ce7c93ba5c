"""Settings of the tools that read and search the web."""

import re
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from agent.plain_errors import check_url

AnyNetwork = IPv4Network | IPv6Network

_MCP_TOOL = re.compile(r"mcp:([a-z0-9][a-z0-9_-]{0,31}):(.{1,200})")


def split_mcp_tool(source: str) -> tuple[str, str] | None:
    """Return the server and the tool of "mcp:SERVER:TOOL"; None if the text has another form."""
    found = _MCP_TOOL.fullmatch(source)
    return None if found is None else (found[1], found[2])


def split_private(entry: str) -> tuple[AnyNetwork, int]:
    """Return the network and the port of "ADDRESS:PORT"; IPv6 addresses stand in brackets.

    Raises:
        ValueError: the text has another form.
    """
    address, _, port = entry.rpartition(":")
    if not (port.isascii() and port.isdigit() and 0 < int(port) < 65_536):
        raise ValueError(f"{entry!r} has no port; write it as 10.1.2.3:8080 or 10.1.0.0/16:443")
    return ip_network(address.replace("[", "").replace("]", "")), int(port)


def _check_search(source: str) -> str:
    if split_mcp_tool(source) is not None:
        return source
    try:
        return check_url(source)
    except ValueError as wrong:
        raise ValueError(f"it has to be mcp:SERVER:TOOL, or the URL of a SearXNG: {wrong}") from None


def _check_social(source: str) -> str:
    if split_mcp_tool(source) is None:
        raise ValueError("it has to be mcp:SERVER:TOOL")
    return source


def _check_private(entry: str) -> str:
    split_private(entry)
    return entry


class WebConfig(BaseModel):
    """Tools that read and search the web."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    search: Annotated[str, AfterValidator(_check_search)] | None = None
    """Backend of `web_search`: URL of a SearXNG, or mcp:SERVER:TOOL; None: the agent cannot search."""
    social: Annotated[str, AfterValidator(_check_social)] | None = None
    """Backend of `social_search`, mcp:SERVER:TOOL; None: there is no such tool."""
    allow_domains: tuple[str, ...] = ()
    """Domains that may be read, with their subdomains; empty: all."""
    deny_domains: tuple[str, ...] = ()
    """Domains that are never read, with their subdomains; they win over `allow_domains`."""
    allow_private: tuple[Annotated[str, AfterValidator(_check_private)], ...] = ()
    """Addresses outside the public Internet that may be read, as ADDRESS:PORT or NETWORK:PORT."""
    timeout_s: float = Field(default=10.0, ge=1, le=60)
    """Seconds in which a page must be fetched and read, 1 to 60."""
