"""Runs a program, never through a shell; when it is not waited for any more, it and all that it started die.

How long it may take is its caller's bound: cancelling the wait kills it.
"""

import asyncio
import os
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from io import FileIO

MAX_OUTPUT_BYTES = 1_000_000
"""Of each stream so much is kept; the rest is read and dropped, so that the program does not stand still."""

_CHUNK_BYTES = 65_536


@dataclass(frozen=True, slots=True)
class ProgramEnded:
    """The exit code and the output of a program."""

    code: int  # of its exit; negative: the signal that ended it
    output: bytes
    errors: bytes


async def run_program(argv: Sequence[str], given: bytes = b"", env: Mapping[str, str] | None = None) -> ProgramEnded:
    """Run a program until its process ends, with this on its standard input, in a process group of its own (F47).

    A daemon that inherited its pipes is not waited for.

    Raises:
        OSError: there is no such program, or it cannot be started.
    """
    with ExitStack() as ours:
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
                start_new_session=True,
            )
        try:
            ours.enter_context(_feeding(feed, given))
            read_output = ours.enter_context(_reading(output))
            read_errors = ours.enter_context(_reading(errors))
            return ProgramEnded(await process.wait(), read_output(), read_errors())
        finally:
            with suppress(ProcessLookupError, PermissionError):  # the group is gone, or waits to be read off
                os.killpg(process.pid, signal.SIGKILL)  # also what it left in the background
            await process.wait()


def _pipe(read_by: ExitStack, written_by: ExitStack) -> tuple[FileIO, FileIO]:
    """Return both ends of a pipe; each is closed with its stack."""
    reader, writer = os.pipe()
    return read_by.enter_context(FileIO(reader, "r")), written_by.enter_context(FileIO(writer, "w"))


@contextmanager
def _feeding(stdin: FileIO, given: bytes) -> Iterator[None]:
    """Write as the program reads, and close the pipe behind it."""
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
        except OSError:  # it does not read
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
    """Read as the program writes; what this gives returns all that it wrote, once it has ended."""
    loop, kept = asyncio.get_running_loop(), bytearray()
    os.set_blocking(stream.fileno(), False)

    def read() -> int:
        chunk = stream.read(_CHUNK_BYTES)  # None: nothing is there yet
        if chunk == b"":
            loop.remove_reader(stream.fileno())
        kept.extend((chunk or b"")[: MAX_OUTPUT_BYTES - len(kept)])
        return len(chunk or b"")

    def read_rest() -> bytes:
        left = MAX_OUTPUT_BYTES  # a pipe holds no more; a daemon may write to it for ever
        while left > 0 and (count := read()):
            left -= count
        return bytes(kept)

    loop.add_reader(stream.fileno(), read)
    try:
        yield read_rest
    finally:
        loop.remove_reader(stream.fileno())
