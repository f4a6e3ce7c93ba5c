"""A program that talks by lines of JSON over its pipes: the lines, its last words on standard error, its end.

It is started without a shell, and ends with this process: its input closes then, and on Linux it is killed.
"""

import asyncio
import errno
import os
import shutil
import signal
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from io import FileIO

from agent.bounded import beside
from agent.child_process import StartedProgram, start_program
from agent.wellformed import one_line

MAX_MESSAGE_BYTES = 4 * 1024 * 1024
"""Maximum length of one line."""

MOST_NONSENSE = 100
"""Lines that are no messages, after which the program is given up; many print some words at their start."""

END_S = 1.0
"""Seconds that a program has to end after its input has closed, and again after SIGTERM; then it is killed."""

_DIES_WITH_PARENT = """
import ctypes, os, signal, sys
ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
for number in (signal.SIGPIPE, signal.SIGXFSZ):
    signal.signal(number, signal.SIG_DFL)  # Python ignores them
if os.getppid() == int(sys.argv[1]):
    os.execvp(sys.argv[2], sys.argv[2:])
"""

ENDS_KEPT = 300
"""Bytes that are kept of either end of a longer line."""

_CHUNK_BYTES = 65_536
_ERRORS_KEPT = 2000


@dataclass(frozen=True, slots=True)
class LongLine:
    """A line that was longer than `MAX_MESSAGE_BYTES`, and was dropped but for its beginning and its end."""

    first: bytes
    last: bytes


class PeerProcess:
    """A running program."""

    def __init__(self, program: StartedProgram) -> None:
        self._program = program
        self._process = program.process
        self._lines = _Lines()
        self._errors = bytearray()
        self.fault = ""
        """Reason for which it is given up; "": none is known."""
        self._noise = ""
        self._nonsense = 0
        self._was_killed = False

    @property
    def last_words(self) -> str:
        """Return the end of its standard error."""
        return self._errors.decode(errors="replace").strip()

    def explain(self, error: str) -> str:
        """Return why it is not connected: its fault, else this error, else its exit code; with its last line."""
        code = self._process.returncode
        ended = "it closed its output" if code is None or self._was_killed else f"it ended with exit code {code}"
        lines = self.last_words.splitlines()
        why = self.fault or error or ended
        if self._noise and not self.fault:
            why = f"{why}; {self._noise}"
        return f"{why}: {one_line(lines[-1])}" if lines else why

    def note_nonsense(self, line: bytes, protocol: str) -> None:
        """Count a line that is no message of the protocol; too many are a fault."""
        self._nonsense += 1
        self._noise = f"it writes lines that are no {protocol}, such as {one_line(line.decode(errors='replace'))!r}"
        if self._nonsense > MOST_NONSENSE:
            self.fault = self._noise

    async def read_lines(self) -> list[bytes | LongLine] | None:
        """Return the lines that end in the next piece of its output; None after it closed its output."""
        chunk = await _read(self._program.stdout)
        return self._lines.split(chunk) if chunk else None

    async def write(self, line: bytes) -> None:
        """Send a line.

        Raises:
            OSError: it closed its input, or was stopped.
        """
        stdin, loop = self._program.stdin, asyncio.get_running_loop()
        if stdin.closed:
            raise BrokenPipeError
        os.set_blocking(stdin.fileno(), False)
        rest = memoryview(line)
        while rest:
            await _ready(stdin, loop.add_writer, loop.remove_writer)
            rest = rest[stdin.write(rest) or 0 :]

    async def keep_errors(self) -> None:
        """Read its standard error until it closes it, and keep the end."""
        while chunk := await _read(self._program.stderr):
            self._errors += chunk
            del self._errors[:-_ERRORS_KEPT]

    async def stop(self) -> None:
        """Close its input, wait for its end, and kill it and its children if it does not come."""
        self._program.stdin.close()
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


async def start_peer(ours: ExitStack, argv: Sequence[str], env: Mapping[str, str]) -> PeerProcess:
    """Start a program; `ours` closes our ends of its pipes.

    Raises:
        OSError: it does not exist or cannot be started.
    """
    if shutil.which(argv[0], path=env.get("PATH")) is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
    if sys.platform == "linux":
        argv = (sys.executable, "-IS", "-c", _DIES_WITH_PARENT, str(os.getpid()), *argv)
    return PeerProcess(await start_program(ours, argv, env))


@asynccontextmanager
async def run_peer(argv: Sequence[str], env: Mapping[str, str]) -> AsyncIterator[PeerProcess]:
    """Run a program while the context is open.

    Raises:
        OSError: it does not exist or cannot be started.
    """
    with ExitStack() as ours:
        peer = await start_peer(ours, argv, env)
        async with beside(peer.keep_errors()):
            try:
                yield peer
            finally:
                await peer.stop()


async def _read(stream: FileIO) -> bytes:
    """Return the next piece of a program's output; empty at its end."""
    loop = asyncio.get_running_loop()
    os.set_blocking(stream.fileno(), False)
    while True:
        await _ready(stream, loop.add_reader, loop.remove_reader)
        chunk = stream.read(_CHUNK_BYTES)
        if chunk is not None:
            return chunk


async def _ready(
    stream: FileIO, watch: Callable[[int, Callable[[], None]], object], forget: Callable[[int], object]
) -> None:
    """Wait until a stream can be read or written."""
    is_ready, descriptor = asyncio.Event(), stream.fileno()
    watch(descriptor, is_ready.set)
    try:
        await is_ready.wait()
    finally:
        forget(descriptor)


class _Lines:
    """The lines of a stream."""

    def __init__(self) -> None:
        self._begun = bytearray()
        self._first = b""  # beginning of a line that is too long

    def split(self, chunk: bytes) -> list[bytes | LongLine]:
        """Return the lines that end in this piece."""
        *ended, begun = chunk.split(b"\n")
        found: list[bytes | LongLine] = []
        for part in ended:
            self._add(part)
            found.append(LongLine(self._first, bytes(self._begun)) if self._first else bytes(self._begun))
            self._begun.clear()
            self._first = b""
        self._add(begun)
        return found

    def _add(self, part: bytes) -> None:
        self._begun += part
        if self._first or len(self._begun) > MAX_MESSAGE_BYTES:
            self._first = self._first or bytes(self._begun[:ENDS_KEPT])
            del self._begun[:-ENDS_KEPT]
