"""Runs of programs without a shell; cancelling the wait kills the program and all its children.

The caller bounds the time.
"""

import asyncio
import os
import signal
from asyncio.subprocess import Process
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from io import FileIO
from pathlib import Path

MAX_OUTPUT_BYTES = 1_000_000
"""Limit of each output stream; the rest is read and dropped, so that the program does not block."""

CHECK_S = 0.1
"""Seconds between two checks of a program that runs."""

INHERITED = ("HOME", "LANG", "PATH")
"""Variables of this process's environment that a program needs."""

Check = Callable[[int], None]

_CHUNK_BYTES = 65_536


@dataclass(frozen=True, slots=True)
class ProgramEnded:
    """The exit code and the output of a program."""

    code: int  # exit code; negative: the signal that ended it
    output: bytes
    errors: bytes


@dataclass(frozen=True, slots=True)
class StartedProgram:
    """A running program in a process group of its own, with our ends of its pipes."""

    process: Process
    stdin: FileIO
    stdout: FileIO
    stderr: FileIO

    def signal_group(self, number: signal.Signals) -> None:
        """Send a signal to the program and its background children."""
        with suppress(ProcessLookupError, PermissionError):  # the group has ended, or is a zombie
            os.killpg(self.process.pid, number)


def bare_environment(added: Mapping[str, str], environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return an environment with nothing of `environ` but what every program needs, and with these variables."""
    return {name: environ[name] for name in INHERITED if name in environ} | dict(added)


async def start_program(
    ours: ExitStack,
    argv: Sequence[str],
    env: Mapping[str, str] | None,
    *,
    folder: Path | None = None,
    pass_fds: Sequence[int] = (),
) -> StartedProgram:
    """Start a program; `ours` closes our ends of its pipes.

    Raises:
        OSError: the program does not exist or cannot be started.
    """
    with ExitStack() as theirs:
        stdin, feed = _pipe(theirs, ours)
        output, stdout = _pipe(ours, theirs)
        errors, stderr = _pipe(ours, theirs)
        process = await asyncio.create_subprocess_exec(
            *argv,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            env=None if env is None else dict(env),
            cwd=folder,
            pass_fds=pass_fds,
            start_new_session=True,
        )
    return StartedProgram(process, feed, output, errors)


def _check_nothing(_pid: int) -> None:
    pass


async def run_program(
    argv: Sequence[str],
    given: bytes = b"",
    env: Mapping[str, str] | None = None,
    *,
    folder: Path | None = None,
    pass_fds: Sequence[int] = (),
    check: Check = _check_nothing,
) -> ProgramEnded:
    """Run a program in its own process group with this standard input, and wait until it ends (F47).

    A daemon that inherited its pipes is not waited for. `check` is called with the program's id while it runs; the
    exception that it raises kills the program.

    Raises:
        OSError: the program does not exist or cannot be started.
    """
    with ExitStack() as ours:
        program = await start_program(ours, argv, env, folder=folder, pass_fds=pass_fds)
        try:
            ours.enter_context(_feeding(program.stdin, given))
            read_output = ours.enter_context(_reading(program.stdout))
            read_errors = ours.enter_context(_reading(program.stderr))
            return ProgramEnded(await _wait(program.process, check), read_output(), read_errors())
        finally:
            program.signal_group(signal.SIGKILL)
            await program.process.wait()


async def _wait(process: Process, check: Check) -> int:
    while True:
        try:
            async with asyncio.timeout(CHECK_S):
                return await process.wait()
        except TimeoutError:
            check(process.pid)


def _pipe(read_by: ExitStack, written_by: ExitStack) -> tuple[FileIO, FileIO]:
    """Return both ends of a pipe; each stack closes its end."""
    reader, writer = os.pipe()
    return read_by.enter_context(FileIO(reader, "r")), written_by.enter_context(FileIO(writer, "w"))


@contextmanager
def _feeding(stdin: FileIO, given: bytes) -> Iterator[None]:
    """Write the input as the program reads it, then close the pipe."""
    loop, descriptor, rest = asyncio.get_running_loop(), stdin.fileno(), memoryview(given)
    os.set_blocking(descriptor, False)

    def close() -> None:
        if not stdin.closed:
            loop.remove_writer(descriptor)
            stdin.close()

    def write() -> None:
        nonlocal rest
        try:
            rest = rest[stdin.write(rest[:_CHUNK_BYTES]) or 0 :]
        except OSError:  # the program closed its input
            rest = rest[:0]
        if not rest:
            close()

    loop.add_writer(descriptor, write)
    try:
        yield
    finally:
        close()


@contextmanager
def _reading(stream: FileIO) -> Iterator[Callable[[], bytes]]:
    """Collect the program's output while it runs; the yielded function returns all of it after the end."""
    loop, kept = asyncio.get_running_loop(), bytearray()
    os.set_blocking(stream.fileno(), False)

    def read() -> int:
        chunk = stream.read(_CHUNK_BYTES)  # None: nothing is there yet
        if chunk == b"":
            loop.remove_reader(stream.fileno())
        kept.extend((chunk or b"")[: MAX_OUTPUT_BYTES - len(kept)])
        return len(chunk or b"")

    def read_rest() -> bytes:
        left = MAX_OUTPUT_BYTES  # a pipe holds no more; a daemon may write to it forever
        while left > 0 and (count := read()):
            left -= count
        return bytes(kept)

    loop.add_reader(stream.fileno(), read)
    try:
        yield read_rest
    finally:
        loop.remove_reader(stream.fileno())
