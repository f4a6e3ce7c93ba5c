"""The capability of the table `[web]`: its tools, and checks of its search backends."""

from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec

from agent.mcp.names import tool_name
from agent.tools.base import Tool
from agent.web.config import WebConfig, split_mcp_tool
from agent.web.pages import PageReader
from agent.web.search import McpSearch, SearchBackend, Searxng, SearxngError
from agent.web.tools import fetch_tool, search_tool, social_tool
from channels.chat.probing import Finding
from gateway.capabilities.base import Capability, CapabilityDeps
from gateway.config.settings import Settings
from gateway.errors import SettingsError

PART = "web search"
"""Name of the part in status and doctor."""


def make_web(config: WebConfig, deps: CapabilityDeps) -> Capability:
    """Return the tools of the web.

    Raises:
        SettingsError: the extra is not installed.
    """
    if find_spec("trafilatura") is None:
        raise SettingsError("web: reading pages needs the extra: pip install 'tenk-gateway[web]'")
    return WebCapability(config, deps.find_tool)


class WebCapability(Capability):
    """Tools that read and search the web."""

    def __init__(self, config: WebConfig, find_tool: Callable[[str], Tool | None]) -> None:
        self._reader = PageReader(config)
        self._searxng: Searxng | None = None
        self._tools = [fetch_tool(self._reader)]
        if config.search is not None:
            backend: SearchBackend
            if (named := split_mcp_tool(config.search)) is not None:
                backend = McpSearch(tool_name(*named), find_tool)
            else:
                backend = self._searxng = Searxng(config.search)
            self._tools.append(search_tool(backend, self._reader))
        if config.social is not None and (named := split_mcp_tool(config.social)) is not None:
            self._tools.append(social_tool(McpSearch(tool_name(*named), find_tool), self._reader))

    def tools(self) -> Sequence[Tool]:
        return self._tools

    def troubles(self) -> Mapping[str, str]:
        return {} if self._searxng is None else {PART: self._searxng.trouble}

    async def check(self) -> Sequence[Finding]:
        """Ask the search server one query."""
        if self._searxng is None:
            return ()
        try:
            found = await self._searxng.ask("practice")
        except SearxngError as problem:
            return [Finding(PART, f"{self._searxng.url}: {problem}", "correct the server, or search of [web]")]
        to_do = "" if found.hits else 'look at the engines of the server: it finds nothing for "practice"'
        return [Finding(PART, f'{self._searxng.url} finds {len(found.hits)} pages for "practice"', to_do)]

    def reconfigure(self, settings: Settings) -> None:
        if settings.web is not None:  # else it is gone at the next start
            self._reader.reconfigure(settings.web)

    async def aclose(self) -> None:
        await self._reader.aclose()
        if self._searxng is not None:
            await self._searxng.aclose()
