"""One connection to an MCP server: from the handshake to its loss."""

import asyncio
import importlib
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from importlib.metadata import version
from types import TracebackType
from typing import Any, Self

import httpx2
from mcp import Client, MCPError
from mcp.client.session import ElicitationFnT
from mcp.client.subscriptions import SubscriptionLost
from mcp_types import CONNECTION_CLOSED, Implementation, Tool, ToolListChangedNotification

from agent.child_process import bare_environment
from agent.mcp.config import McpServerConfig
from agent.mcp.http import http_client, http_transport, sse_transport
from agent.mcp.names import is_wanted
from agent.mcp.stdio import program_transport
from agent.peer_process import PeerProcess
from agent.wellformed import one_line

MOST_TOOLS = 200
"""Tools that are used of one server."""

MOST_PAGES = 100
"""Pages of a list that are read."""

LISTEN_AGAIN_S = 5.0
"""Seconds before a subscription that the server ended is opened again."""

NEEDS_AUTH = frozenset({401, 403})
"""HTTP statuses that say that the credentials are missing or wrong."""


@dataclass(frozen=True, slots=True)
class SessionParts:
    """Parts that sessions of different servers and people may have of their own.

    Sampling is always refused: no server uses our model.
    """

    auth: httpx2.Auth | None = None
    """Authorises each HTTP request, beside the configured headers."""
    elicitation: ElicitationFnT | None = None
    """Answers the server's questions to the person; None: they are refused."""


class McpConnection:
    """One try to connect a server, and the session with it if that succeeds."""

    def __init__(self, config: McpServerConfig, parts: SessionParts) -> None:
        self._config = config
        self._parts = parts
        self._process: PeerProcess | None = None
        self._status = 0
        self._client: Client | None = None
        self.tools: tuple[Tool, ...] = ()
        """Tools that the settings allow, at most `MOST_TOOLS`, in the server's order."""
        self.listed = 0
        """Number of allowed tools that it listed, as far as they were read."""
        self.is_lost = False
        """True when it answers no more."""
        self.news = asyncio.Event()
        """Set when it is lost, or when its tools have changed."""

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Connect and list the tools; disconnect at the end of the context.

        Raises:
            Exception: it cannot be connected, or was lost meanwhile; the SDK has many kinds, in groups.
        """
        client = Client(
            self._server(),
            message_handler=self._on_message,
            elicitation_callback=self._parts.elicitation,
            client_info=Implementation(name="tenk-gateway", version=version("tenk-gateway")),
            cache=None,
            read_timeout_seconds=self._config.timeout_s,
        )
        async with asyncio.timeout(self._config.handshake_s) as limit, client:
            self._client = client
            await self.list_tools()
            limit.reschedule(None)
            yield

    @property
    def client(self) -> Client:
        """Return the session; there is one while `open` lasts."""
        assert self._client is not None, "it is open"
        return self._client

    async def list_tools(self) -> None:
        """Read the server's list of tools, those that the settings allow."""
        config = self._config
        found: list[Tool] = []
        cursor: str | None = None
        if self.client.server_capabilities.tools is not None:
            for _ in range(MOST_PAGES):
                page = await self.client.list_tools(cursor=cursor)
                found += [tool for tool in page.tools if is_wanted(tool.name, config.allow_tools, config.deny_tools)]
                cursor = page.next_cursor
                if cursor is None or len(found) > MOST_TOOLS:
                    break
        for tool in found:
            if tool.output_schema:
                tool.output_schema.clear()  # else the SDK checks each result by it, with the server's own patterns
        self.tools, self.listed = tuple(found[:MOST_TOOLS]), len(found)

    async def follow(self) -> None:
        """Note changes of the tools that the server tells its subscribers, until the session ends."""
        tools = self.client.server_capabilities.tools
        while tools is not None and tools.list_changed:
            try:
                async with self.client.listen(tools_list_changed=True) as changes:
                    async for _change in changes:
                        self.news.set()
            except (SubscriptionLost, TimeoutError):
                self.news.set()  # a change may have been missed
            except (RuntimeError, MCPError):  # an older server notifies without a subscription
                return
            await asyncio.sleep(LISTEN_AGAIN_S)

    def lose(self) -> None:
        """Note that it answers no more."""
        self.is_lost = True
        self.news.set()

    @property
    def refuses_credentials(self) -> bool:
        """Return True if its last answer said so."""
        return self._status in NEEDS_AUTH

    def explain(self, error: Exception | None) -> str:
        """Return why it is not connected, in a line for the operator."""
        if self.refuses_credentials:
            return f"it refuses the credentials (HTTP {self._status})"
        while isinstance(error, ExceptionGroup):
            error = error.exceptions[0]
        if error is None or (isinstance(error, MCPError) and error.code == CONNECTION_CLOSED):
            return self._process.explain("") if self._process else "it closed the connection"
        why = one_line(error) or type(error).__name__
        if isinstance(error, TimeoutError):
            why = "it does not answer"
        elif isinstance(error, OSError) and self._config.command and not self._process:
            why = f"the program {self._config.command} cannot be started ({error.strerror})"
        elif isinstance(error, httpx2.TransportError):
            why = f"it cannot be reached ({why})"
        return self._process.explain(why) if self._process else why

    def _server(self) -> Any:
        if self._config.python is not None:
            module, _, name = self._config.python.partition(":")
            return getattr(importlib.import_module(module), name)
        return self._watch_streams()

    @asynccontextmanager
    async def _watch_streams(self) -> AsyncIterator[Any]:
        """Return the streams of the configured transport, and note the end of the server's."""
        async with self._transport() as (from_server, to_server):
            yield _WatchedStream(from_server, self.lose), to_server

    def _transport(self) -> AbstractAsyncContextManager[Any]:
        config = self._config
        if config.command is not None:
            env = bare_environment({name: value.get_secret_value() for name, value in config.env.items()})
            return program_transport((config.command, *config.args), env, self._note_process)
        assert config.url is not None, "its settings have one of three"
        headers = {name: value.get_secret_value() for name, value in config.headers.items()}
        client = http_client(headers, self._note_status, self._parts.auth)
        return (sse_transport if config.transport == "sse" else http_transport)(config.url, client)

    def _note_process(self, process: PeerProcess) -> None:
        self._process = process

    def _note_status(self, status: int) -> None:
        self._status = status

    async def _on_message(self, message: object) -> None:
        if isinstance(message, ToolListChangedNotification):
            self.news.set()


class _WatchedStream:
    """The messages from a server, with a function that is called at their end."""

    def __init__(self, stream: Any, on_end: Callable[[], None]) -> None:
        self._stream, self._on_end = stream, on_end

    @property
    def last_context(self) -> Any:
        return getattr(self._stream, "last_context", None)  # the SDK runs handlers in the sender's context

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        return await self._stream.__anext__()

    async def receive(self) -> Any:
        return await self._stream.receive()

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def __aenter__(self) -> Self:
        await self._stream.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._on_end()  # the SDK leaves it at the last message
        await self._stream.__aexit__(kind, error, trace)
