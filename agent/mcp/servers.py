"""All MCP servers of one agent."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from agent.mcp.config import McpServerConfig
from agent.mcp.elicitation import answer_tool
from agent.mcp.personal import TokenOf, find_no_token, personal_tools
from agent.mcp.resources import resource_tool
from agent.mcp.server import PAUSES_S, McpServer, ServerState
from agent.mcp.tools import ServerTools, defer_if_many, tools_of_server
from agent.tools.base import Tool


class McpServers:
    """The servers by name; each is connected and supervised alone."""

    def __init__(
        self,
        configs: Mapping[str, McpServerConfig],
        pauses_s: Sequence[float] = PAUSES_S,
        *,
        token_of: TokenOf = find_no_token,
    ) -> None:
        """Take the settings, and the function that finds people's own tokens; `run` connects."""
        self._configs = configs
        self._token_of = token_of
        self._personal: dict[str, McpServerConfig] = {}
        self._pauses_s = pauses_s
        self._servers: dict[str, McpServer] = {}
        self._running: dict[str, asyncio.Task[None]] = {}
        self._reconfigured = asyncio.Event()
        self._usable: dict[str, ServerTools] = {}
        self._tools: tuple[Tool, ...] = ()

    def tools(self) -> tuple[Tool, ...]:
        """Return the tools of all servers as they were listed last."""
        return self._tools

    def states(self) -> dict[str, str]:
        """Return the state of each configured server, and the number of its tools."""
        return {name: self._state_of(name) for name in self._configs}

    def _state_of(self, name: str) -> str:
        if name in (twins := twins_in(self._configs)):
            return f"the same as {twins[name]}"
        if self._configs[name].per_person:
            return "per person" if self._configs[name].enabled else ServerState.DISABLED
        server = self._servers.get(name)
        if server is None:
            return ServerState.PENDING
        count = len(self._usable[name].tools) if name in self._usable else 0
        return f"{server.state}, {count} tools" if server.state is ServerState.CONNECTED else server.state

    def by_name(self) -> Mapping[str, McpServer]:
        """Return the servers by name."""
        return self._servers

    def find(self, name: str) -> McpServer | None:
        """Return the server of this name."""
        return self._servers.get(name)

    def troubles(self) -> dict[str, str]:
        """Return, for each configured server, why it is down or which tools are left out; "" if it is well."""
        return {name: self._trouble_of(name) for name in self._configs}

    def _trouble_of(self, name: str) -> str:
        if name in (twins := twins_in(self._configs)):
            return f"it is the same server as {twins[name]}, under which it is used: remove one of them"
        server = self._servers.get(name)
        if server is None:
            return ""
        if server.why:
            return f"{server.state}: {server.why}"
        return self._usable[name].flaws if name in self._usable else ""

    def reconfigure(self, configs: Mapping[str, McpServerConfig]) -> None:
        """Apply these settings, and try to connect servers that are down."""
        self._configs = configs
        self._reconfigured.set()

    async def run(self, changed: Callable[[], None]) -> None:
        """Keep all servers connected until cancelled; call `changed` when there are other tools."""

        def renew() -> None:
            self._renew_tools()
            changed()

        self._servers.clear()
        self._running.clear()
        async with asyncio.TaskGroup() as tasks:
            while True:
                self._reconfigured.clear()
                self._apply(tasks, renew)
                await self._reconfigured.wait()

    def _apply(self, tasks: asyncio.TaskGroup, renew: Callable[[], None]) -> None:
        twins = twins_in(self._configs)
        usable = {name: config for name, config in self._configs.items() if name not in twins}
        configs = {name: config for name, config in usable.items() if not config.per_person}
        personal = {name: config for name, config in usable.items() if config.per_person and config.enabled}
        over = [name for name, server in self._servers.items() if configs.get(name) != server.config]
        for name in over:
            del self._servers[name]
            self._running.pop(name).cancel()
        for server in self._servers.values():
            server.retry()
        for name, config in configs.items():
            if name not in self._servers:
                self._servers[name] = server = McpServer(name, config, renew, pauses_s=self._pauses_s)
                self._running[name] = tasks.create_task(server.run())
        if over or personal != self._personal:
            self._personal = personal
            renew()

    def _renew_tools(self) -> None:
        self._usable = {name: tools_of_server(server) for name, server in self._servers.items()}
        resources = resource_tool(self._servers)
        tools = defer_if_many([tool for usable in self._usable.values() for tool in usable.tools])
        own = [tool for name, config in self._personal.items() for tool in personal_tools(name, config, self._token_of)]
        answers = answer_tool({name: server.questions for name, server in self._servers.items()})
        self._tools = (*tools, *own, *filter(None, (resources, answers)))


@dataclass(frozen=True, slots=True)
class SeenServer:
    """A server that was connected once, or could not be, with its usable tools."""

    server: McpServer
    tools: ServerTools


LookAt = Callable[[Mapping[str, McpServerConfig]], Awaitable[list[SeenServer]]]


async def look_at(configs: Mapping[str, McpServerConfig]) -> list[SeenServer]:
    """Connect each enabled server once, all at the same time, and list its tools."""
    servers = [McpServer(name, config, lambda: None) for name, config in configs.items() if config.enabled]
    async with asyncio.TaskGroup() as tasks:
        for server in servers:
            tasks.create_task(server.look())
    return [SeenServer(server, tools_of_server(server)) for server in servers]


def twins_in(configs: Mapping[str, McpServerConfig]) -> dict[str, str]:
    """Return each server that is configured under an earlier name, too, with that name."""
    first: dict[str, str] = {}
    found: dict[str, str] = {}
    for name, config in configs.items():
        if config.enabled and first.setdefault(config.identity, name) != name:
            found[name] = first[config.identity]
    return found
