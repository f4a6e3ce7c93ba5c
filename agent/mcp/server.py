"""A supervised MCP server: connects, reconnects, follows its tools, and makes its calls."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from enum import StrEnum
from typing import Any, TypeVar

import structlog
from mcp import MCPError
from mcp_types import CONNECTION_CLOSED, PARSE_ERROR, REQUEST_TIMEOUT, CallToolResult, Tool

from agent.foreign_code import contain_exits
from agent.mcp.config import McpServerConfig
from agent.mcp.connection import McpConnection, SessionParts
from agent.mcp.elicitation import Person, ServerQuestions, words_of
from agent.tools.base import OutcomeUnknown, ToolError
from agent.wellformed import one_line

log = structlog.get_logger()

T = TypeVar("T")

PAUSES_S = (1.0, 2.0, 5.0, 15.0, 30.0, 600.0)
"""Seconds before each new try to connect; the last one repeats."""

STEADY_S = 60.0
"""Seconds after which the loss of a connection counts as the first one again."""

RELIST_S = 1.0
"""Least seconds between two lists of tools."""


class ServerState(StrEnum):
    """The state of a server."""

    PENDING = "pending"
    CONNECTED = "connected"
    FAILED = "failed"
    NEEDS_AUTH = "needs_auth"
    DISABLED = "disabled"


class McpServer:
    """One server; `run` keeps it connected.

    A server with credentials of a person is one object for each person, with `SessionParts` of their own.
    """

    def __init__(
        self,
        name: str,
        config: McpServerConfig,
        changed: Callable[[], None],
        parts: SessionParts | None = None,
        pauses_s: Sequence[float] = PAUSES_S,
    ) -> None:
        """Take the function that is called when its tools have changed.

        Without `parts` it is one for all people, and its questions are put to the person of the call.
        """
        self.name = name
        self.config = config
        self.state = ServerState.PENDING if config.enabled else ServerState.DISABLED
        self.why = ""
        """Reason for which it is not connected; "": none is known."""
        self.tools: tuple[Tool, ...] = ()
        """Its tools as it listed them last; they stay while it is down, so that a call can say so."""
        self.listed = 0
        """Number of tools that it listed, of which `tools` may be the first."""
        self.has_resources = self.has_prompts = False
        """True if it publishes some, as it said at the last connection."""
        self._changed = changed
        self.questions = ServerQuestions()
        """Its questions to people."""
        self._parts = parts or SessionParts(elicitation=self.questions.ask)
        self._pauses_s = pauses_s
        self._connection: McpConnection | None = None
        self._has_answered = False  # a call, over this connection
        self._retry = asyncio.Event()
        self._tasks = asyncio.TaskGroup()
        self._calls: set[asyncio.Task[Any]] = set()

    async def run(self) -> None:
        """Keep it connected until cancelled."""
        failures, loop = 0, asyncio.get_running_loop()
        async with self._tasks:
            while self.config.enabled:
                began_s = loop.time()
                # In a task of its own: CPython 3.11 leaves a cancellation behind in one whose task group failed.
                await asyncio.wait([self._tasks.create_task(self._serve(), name=f"mcp {self.name}")])
                was_steady = self._has_answered or loop.time() - began_s > STEADY_S
                failures = 1 if was_steady else failures + 1
                if self.state is ServerState.NEEDS_AUTH:
                    failures = len(self._pauses_s)
                self._retry.clear()
                with suppress(TimeoutError):
                    async with asyncio.timeout(self._pauses_s[min(failures, len(self._pauses_s)) - 1]):
                        await self._retry.wait()

    def retry(self) -> None:
        """Try to connect now if it is not connected."""
        self._retry.set()

    async def call(self, tool: str, arguments: Mapping[str, Any], person: Person | None = None) -> CallToolResult:
        """Call a tool by the server's own name, for this person.

        Raises:
            ToolError: the server is down, refuses the call, or asks the person something first.
            OutcomeUnknown: it was lost, or did not answer in time.
        """
        knew = self.questions.was_asked
        with self.questions.call_of(person):
            result: CallToolResult = await self.ask(lambda client: client.call_tool(tool, dict(arguments)))
        if person is not None and (question := self.questions.asked_in_call(person)) is not None:
            if not knew:
                self._changed()  # there is a tool for answers now
            raise ToolError(words_of(self.name, question))
        return result

    async def ask(self, request: "Callable[[Any], Coroutine[Any, Any, T]]") -> T:
        """Return the answer to one request of the SDK's client.

        Raises:
            ToolError: the server is down, or refuses the request.
            OutcomeUnknown: it was lost, or did not answer in time.
        """
        connection = self._connection
        if connection is None or connection.is_lost:
            why = f" ({self.why})" if self.why else ""
            raise ToolError(
                f"The server {self.name} is not connected now{why}. Do not use it again in this answer: go on "
                "without it, and tell the person."
            )
        call = self._tasks.create_task(_attempt(request(connection.client)))
        self._calls.add(call)
        try:
            await asyncio.wait([call])
        finally:
            call.cancel()
            self._calls.discard(call)
        answer = None if call.cancelled() else call.result()
        if answer is not None and not isinstance(answer, Exception):
            self._has_answered = True
            return answer
        raise self._error_of(connection, answer)

    def _error_of(self, connection: McpConnection, error: Exception | None) -> ToolError:
        """Return what the model reads of a failed request; note if the connection is lost."""
        if error is None or (isinstance(error, MCPError) and error.code == CONNECTION_CLOSED):
            connection.lose()
            return OutcomeUnknown(f"The server {self.name} was lost while this ran.")
        if isinstance(error, MCPError) and error.code == REQUEST_TIMEOUT:
            return OutcomeUnknown(f"The server {self.name} did not answer within {self.config.timeout_s:g} s.")
        if isinstance(error, MCPError) and error.code == PARSE_ERROR:
            return OutcomeUnknown(f"The answer of the server {self.name} cannot be read: {one_line(error.message)}.")
        if isinstance(error, MCPError):
            if error.message == "Session terminated":  # the SDK's words for a session that the server has forgotten
                connection.lose()
                return ToolError(f"The server {self.name} has started anew. Call it once more.")
            return ToolError(f"The server {self.name} refuses this: {one_line(error.message)}")
        log.warning("mcp_answer_unusable", server=self.name, error=one_line(error))
        return OutcomeUnknown(f"The answer of the server {self.name} cannot be read: {type(error).__name__}.")

    async def _serve(self) -> None:
        """Connect, and return when the connection is lost; keep the reason."""
        connection = McpConnection(self.config, self._parts)
        self._has_answered = False
        error = await _attempt(self._use(connection))
        self.state = ServerState.NEEDS_AUTH if connection.refuses_credentials else ServerState.FAILED
        why = connection.explain(error)
        if why != self.why:  # once for a row of the same failures
            log.warning("mcp_server_down", server=self.name, state=self.state, why=why)
        self.why = why

    async def look(self) -> None:
        """Connect once and list the tools, without `run`; its state says what came of it."""
        connection = McpConnection(self.config, self._parts)
        error = await _attempt(self._list(connection))
        if error is not None:
            self.state = ServerState.NEEDS_AUTH if connection.refuses_credentials else ServerState.FAILED
            self.why = connection.explain(error)

    async def call_once(self, tool: str, arguments: Mapping[str, Any]) -> CallToolResult | None:
        """Connect, call a tool and disconnect, without `run`; None if the credentials are refused.

        Raises:
            ToolError: it cannot be connected, or refuses the call.
            OutcomeUnknown: it was lost, or did not answer in time.
        """
        connection, answers = McpConnection(self.config, self._parts), list[CallToolResult | Exception]()

        async def connect_and_call() -> None:
            async with connection.open():
                answers.append(await _attempt(connection.client.call_tool(tool, dict(arguments))))

        error = await _attempt(connect_and_call())
        answer = answers[0] if answers else error
        if isinstance(answer, CallToolResult):
            return answer
        if connection.refuses_credentials:
            self.state = ServerState.NEEDS_AUTH
            return None
        if answers and isinstance(answer, Exception):
            raise self._error_of(connection, answer)
        raise ToolError(f"The server {self.name} cannot be reached now: {connection.explain(error)}. Tell the person.")

    async def _list(self, connection: McpConnection) -> None:
        async with connection.open():
            self.state = ServerState.CONNECTED
            self._take_tools(connection)

    async def _use(self, connection: McpConnection) -> None:
        async with connection.open():
            self._connection, self.state, self.why = connection, ServerState.CONNECTED, ""
            following = self._tasks.create_task(_attempt(connection.follow()))
            try:
                log.info("mcp_server_connected", server=self.name, tools=connection.listed)
                while not connection.is_lost:
                    self._take_tools(connection)
                    await connection.news.wait()
                    connection.news.clear()
                    if not connection.is_lost:
                        await asyncio.sleep(RELIST_S)
                        await connection.list_tools()
            finally:
                self._connection, self.state = None, ServerState.FAILED
                for task in (following, *self._calls):
                    task.cancel()

    def _take_tools(self, connection: McpConnection) -> None:
        offers = connection.client.server_capabilities
        new = (connection.tools, connection.listed, offers.resources is not None, offers.prompts is not None)
        if new != (self.tools, self.listed, self.has_resources, self.has_prompts):
            self.tools, self.listed, self.has_resources, self.has_prompts = new
            self._changed()


async def _attempt(work: Coroutine[Any, Any, T]) -> T | Exception:
    """Return the result, or the error."""
    try:
        with contain_exits():
            return await work
    except Exception as error:  # noqa: BLE001  one connection or call: the SDK has many kinds, also in groups
        return error
