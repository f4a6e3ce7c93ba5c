"""A server program: its process, and its messages as lines of JSON.

The SDK's own transport gives the program more of the environment, and reads a line of any length into memory.
"""

import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager, suppress

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import (
    INVALID_PARAMS,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCRequest,
    jsonrpc_message_adapter,
)

from agent.peer_process import ENDS_KEPT, MAX_MESSAGE_BYTES, LongLine, PeerProcess, start_peer

MOST_A_SECOND = 2000
"""Messages in a second, after which the program counts as broken; a call has one answer, and some notes of progress."""

_FIRST_ID = re.compile(rb'^\s*\{\s*"jsonrpc"\s*:\s*"2\.0"\s*,\s*"id"\s*:\s*(\d{1,15})\s*,')
_LAST_ID = re.compile(rb'"id"\s*:\s*(\d{1,15})\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$')

Streams = tuple[MemoryObjectReceiveStream[SessionMessage | Exception], MemoryObjectSendStream[SessionMessage]]
"""The messages from a server and those to it, as the SDK takes them."""


@asynccontextmanager
async def program_transport(
    argv: Sequence[str], env: Mapping[str, str], on_start: Callable[[PeerProcess], None]
) -> AsyncIterator[Streams]:
    """Run a program while the context is open; its messages are the streams.

    Raises:
        OSError: it cannot be started.
    """
    with ExitStack() as ours:
        running = await start_peer(ours, argv, env)
        on_start(running)
        to_session, from_server = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        to_server, from_session = anyio.create_memory_object_stream[SessionMessage](0)
        try:
            async with to_session, from_server, to_server, from_session, anyio.create_task_group() as tasks:
                tasks.start_soon(_read_messages, running, to_session)
                tasks.start_soon(running.keep_errors)
                tasks.start_soon(_write_messages, from_session, running, to_session)
                try:
                    yield from_server, to_server
                finally:
                    tasks.cancel_scope.cancel()
        finally:
            with anyio.CancelScope(shield=True):
                await running.stop()


async def _read_messages(running: PeerProcess, session: MemoryObjectSendStream[SessionMessage | Exception]) -> None:
    """Give each message to the session, until the program's output ends or has a fault; then end the session."""
    second, messages = 0, 0
    with suppress(anyio.BrokenResourceError):  # the session has ended
        async with session:
            while (lines := await running.read_lines()) is not None:
                if (now := int(anyio.current_time())) != second:
                    second, messages = now, 0
                messages += len(lines)
                for line in lines:
                    if (message := _message_in(line)) is not None:
                        await session.send(SessionMessage(message))
                    elif isinstance(line, LongLine):
                        running.fault = f"it wrote a message of more than {MAX_MESSAGE_BYTES} bytes"
                    elif line.strip():
                        running.note_nonsense(line, "MCP")
                    if running.fault:
                        return
                if messages > MOST_A_SECOND:
                    running.fault = f"it writes more than {MOST_A_SECOND} messages a second"
                    return


async def _write_messages(
    from_session: MemoryObjectReceiveStream[SessionMessage],
    running: PeerProcess,
    session: MemoryObjectSendStream[SessionMessage | Exception],
) -> None:
    async for message in from_session:
        try:
            line = f"{message.message.model_dump_json(by_alias=True, exclude_unset=True)}\n".encode()
        except ValueError:  # half a character
            if isinstance(message.message, JSONRPCRequest):
                error = ErrorData(code=INVALID_PARAMS, message="the arguments cannot be written as JSON")
                await session.send(SessionMessage(JSONRPCError(jsonrpc="2.0", id=message.message.id, error=error)))
            continue
        try:
            await running.write(line)
        except OSError:  # the program closed its input
            await session.aclose()
            return


def _message_in(line: bytes | LongLine) -> JSONRPCMessage | None:
    """Return the message in a line, an error if the answer to a call cannot be read; None if there is neither."""
    if isinstance(line, LongLine):
        return _error_for(line.first, line.last, TOO_LONG)
    try:
        return jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValueError:
        return _error_for(line[:ENDS_KEPT], line[-ENDS_KEPT:], "the answer is not valid JSON")


def _error_for(first: bytes, last: bytes, words: str) -> JSONRPCError | None:
    """Return an error of the call that a message answers, by its beginning and its end; None if they have no id."""
    found = _FIRST_ID.search(first) or _LAST_ID.search(last)
    if found is None:
        return None
    return JSONRPCError(jsonrpc="2.0", id=int(found[1]), error=ErrorData(code=PARSE_ERROR, message=words))


TOO_LONG = f"the answer is longer than {MAX_MESSAGE_BYTES // 1024 // 1024} MB; ask for less"
"""Error text of a call with an answer that was not read."""
