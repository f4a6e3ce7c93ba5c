"""A server program: its process, and its messages as lines of JSON.

The SDK's own transport gives the program more of the environment, and reads a line of any length into memory.
"""

import asyncio
import os
import re
import signal
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager, suppress
from io import FileIO

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

from agent.child_process import StartedProgram, start_program
from agent.mcp.words import one_line

MAX_MESSAGE_BYTES = 4 * 1024 * 1024
"""Maximum length of one message from a server; a longer one is an error of the call that it answers."""

MOST_NONSENSE = 100
"""Lines that are no JSON-RPC, after which the program counts as no MCP server; many print some words at their start."""

MOST_A_SECOND = 2000
"""Messages in a second, after which the program counts as broken; a call has one answer, and some notes of progress."""

END_S = 1.0
"""Seconds that a program has to end after its input has closed, and again after SIGTERM; then it is killed."""

_CHUNK_BYTES = 65_536
_ERRORS_KEPT = 2000
_ENDS_KEPT = 300
_FIRST_ID = re.compile(rb'^\s*\{\s*"jsonrpc"\s*:\s*"2\.0"\s*,\s*"id"\s*:\s*(\d{1,15})\s*,')
_LAST_ID = re.compile(rb'"id"\s*:\s*(\d{1,15})\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$')

Streams = tuple[MemoryObjectReceiveStream[SessionMessage | Exception], MemoryObjectSendStream[SessionMessage]]
"""The messages from a server and those to it, as the SDK takes them."""


class ServerProcess:
    """A running server program with its last words on standard error."""

    def __init__(self, program: StartedProgram) -> None:
        self._program = program
        self._process = program.process
        self._errors = bytearray()
        self.fault = ""
        """Reason for which it is no usable server; "": none is known."""
        self.noise = ""
        """Words about the last line that was no message; "": none is known."""
        self._was_killed = False

    @property
    def pid(self) -> int:
        return self._process.pid

    def explain(self, error: str) -> str:
        """Return why it is not connected: its fault, else this error, else its exit code; with its last words."""
        code = self._process.returncode
        ended = "it closed its output" if code is None or self._was_killed else f"it ended with exit code {code}"
        lines = self._errors.decode(errors="replace").strip().splitlines()
        why = self.fault or error or ended
        if self.noise and not self.fault:
            why = f"{why}; {self.noise}"
        return f"{why}: {one_line(lines[-1])}" if lines else why

    def note_errors(self, chunk: bytes) -> None:
        """Keep the end of its standard error."""
        self._errors += chunk
        del self._errors[:-_ERRORS_KEPT]

    async def stop(self) -> None:
        """Wait for its end, its input being closed, and kill it and its children if it does not come."""
        try:
            if not await self._ends_within(END_S):
                self._was_killed = True
                self._program.signal_group(signal.SIGTERM)
                await self._ends_within(END_S)
        finally:
            self._program.signal_group(signal.SIGKILL)
        await self._process.wait()

    async def _ends_within(self, seconds: float) -> bool:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._process.wait()
        return self._process.returncode is not None


@asynccontextmanager
async def program_transport(
    argv: Sequence[str], env: Mapping[str, str], on_start: Callable[[ServerProcess], None]
) -> AsyncIterator[Streams]:
    """Run a program while the context is open; its messages are the streams.

    Raises:
        OSError: it cannot be started.
    """
    with ExitStack() as ours:
        program = await start_program(ours, argv, env)
        running = ServerProcess(program)
        on_start(running)
        to_session, from_server = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        to_server, from_session = anyio.create_memory_object_stream[SessionMessage](0)
        try:
            async with to_session, from_server, to_server, from_session, anyio.create_task_group() as tasks:
                tasks.start_soon(_read_messages, running, program.stdout, to_session)
                tasks.start_soon(_read_errors, running, program.stderr)
                tasks.start_soon(_write_messages, from_session, program.stdin, to_session)
                try:
                    yield from_server, to_server
                finally:
                    tasks.cancel_scope.cancel()
        finally:
            program.stdin.close()
            with anyio.CancelScope(shield=True):
                await running.stop()


async def _read_messages(
    running: ServerProcess, stdout: FileIO, session: MemoryObjectSendStream[SessionMessage | Exception]
) -> None:
    """Give each message to the session, until the program's output ends or has a fault; then end the session."""
    lines, nonsense, second, messages = _Lines(), 0, 0, 0
    with suppress(anyio.BrokenResourceError):  # the session has ended
        async with session:
            while chunk := await _read(stdout):
                if (now := int(anyio.current_time())) != second:
                    second, messages = now, 0
                for line in lines.split(chunk):
                    message = line if isinstance(line, JSONRPCError) else _parse(line)
                    messages += 1
                    if message is not None:
                        await session.send(SessionMessage(message))
                    elif isinstance(line, bytes) and line.strip():
                        shown = one_line(line.decode(errors="replace"))
                        running.noise = f"it writes lines that are no MCP, such as {shown!r}"
                        if (nonsense := nonsense + 1) > MOST_NONSENSE:
                            running.fault = running.noise
                            return
                if lines.lost_message:
                    running.fault = f"it wrote a message of more than {MAX_MESSAGE_BYTES} bytes"
                    return
                if messages > MOST_A_SECOND:
                    running.fault = f"it writes more than {MOST_A_SECOND} messages a second"
                    return


async def _read_errors(running: ServerProcess, stderr: FileIO) -> None:
    while chunk := await _read(stderr):
        running.note_errors(chunk)


async def _write_messages(
    from_session: MemoryObjectReceiveStream[SessionMessage],
    stdin: FileIO,
    session: MemoryObjectSendStream[SessionMessage | Exception],
) -> None:
    os.set_blocking(stdin.fileno(), False)
    async for message in from_session:
        try:
            rest = memoryview(f"{message.message.model_dump_json(by_alias=True, exclude_unset=True)}\n".encode())
        except ValueError:  # half a character
            if isinstance(message.message, JSONRPCRequest):
                error = ErrorData(code=INVALID_PARAMS, message="the arguments cannot be written as JSON")
                await session.send(SessionMessage(JSONRPCError(jsonrpc="2.0", id=message.message.id, error=error)))
            continue
        try:
            while rest:
                await anyio.wait_writable(stdin.fileno())
                rest = rest[stdin.write(rest) or 0 :]
        except OSError:  # the program closed its input
            await session.aclose()
            return


async def _read(stream: FileIO) -> bytes:
    """Return the next piece of a program's output; empty at its end."""
    while True:
        await anyio.wait_readable(stream.fileno())
        os.set_blocking(stream.fileno(), False)
        chunk = stream.read(_CHUNK_BYTES)
        if chunk is not None:
            return chunk


def _parse(line: bytes) -> JSONRPCMessage | None:
    """Return the message in a line, an error if the answer to a call cannot be read; None if there is neither."""
    try:
        return jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValueError:
        return _error_for(line[:_ENDS_KEPT], line[-_ENDS_KEPT:], "the answer is not valid JSON")


def _error_for(first: bytes, last: bytes, words: str) -> JSONRPCError | None:
    """Return an error of the call that a message answers, by its beginning and its end; None if they have no id."""
    found = _FIRST_ID.search(first) or _LAST_ID.search(last)
    if found is None:
        return None
    return JSONRPCError(jsonrpc="2.0", id=int(found[1]), error=ErrorData(code=PARSE_ERROR, message=words))


class _Lines:
    """The lines of a stream; one that is too long becomes an error of the call that it answers."""

    def __init__(self) -> None:
        self._begun = bytearray()
        self._first = b""
        self.lost_message = False
        """True after a line that was too long, and of which no call is known."""

    def split(self, chunk: bytes) -> list[bytes | JSONRPCError]:
        """Return the lines that end in this piece."""
        *ended, begun = chunk.split(b"\n")
        found: list[bytes | JSONRPCError] = []
        for part in ended:
            self._add(part)
            found += [bytes(self._begun)] if not self._first else self._refuse()
            self._begun.clear()
            self._first = b""
        self._add(begun)
        return found

    def _add(self, part: bytes) -> None:
        self._begun += part
        if self._first or len(self._begun) > MAX_MESSAGE_BYTES:
            self._first = self._first or bytes(self._begun[:_ENDS_KEPT])
            del self._begun[:-_ENDS_KEPT]

    def _refuse(self) -> list[JSONRPCError]:
        error = _error_for(self._first, bytes(self._begun), TOO_LONG)
        self.lost_message = error is None
        return [] if error is None else [error]


TOO_LONG = f"the answer is longer than {MAX_MESSAGE_BYTES // 1024 // 1024} MB; ask for less"
"""Error text of a call with an answer that was not read."""
