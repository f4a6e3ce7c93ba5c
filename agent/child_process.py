"""Runs a program, never through a shell; when it is not waited for any more, it and all that it started die.

How long it may take is its caller's bound: cancelling the wait kills it.
"""

import asyncio
import os
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

MAX_OUTPUT_BYTES = 1_000_000
"""Of each stream so much is kept; the rest is read and dropped, so that the program does not stand still."""

_CHUNK_BYTES = 65_536


@dataclass(frozen=True, slots=True)
class ProgramEnded:
    """What a program left behind."""

    code: int  # of its exit; negative: the signal that ended it
    output: bytes
    errors: bytes


async def run_program(argv: Sequence[str], given: bytes = b"", env: Mapping[str, str] | None = None) -> ProgramEnded:
    """Run a program to its end, with this on its standard input, in a process group of its own (F47).

    Raises:
        OSError: there is no such program, or it cannot be started.
    """
    process = await asyncio.create_subprocess_exec(
        *argv,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=None if env is None else dict(env),
        start_new_session=True,
    )
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(_feed(process.stdin, given))
            output = group.create_task(_read(process.stdout))
            errors = group.create_task(_read(process.stderr))
        return ProgramEnded(await process.wait(), output.result(), errors.result())
    finally:
        with suppress(ProcessLookupError, PermissionError):  # the group is gone, or waits to be read off
            os.killpg(process.pid, signal.SIGKILL)  # also what it left in the background
        await _read(process.stdout)  # a pipe that is full would never be seen to end
        await _read(process.stderr)
        await process.wait()


async def _feed(stdin: asyncio.StreamWriter | None, given: bytes) -> None:
    if stdin is None:
        return
    with suppress(ConnectionError):  # it does not read
        stdin.write(given)
        await stdin.drain()
    stdin.close()


async def _read(stream: asyncio.StreamReader | None) -> bytes:
    kept = bytearray()
    while stream is not None and (chunk := await stream.read(_CHUNK_BYTES)):
        kept += chunk[: MAX_OUTPUT_BYTES - len(kept)]
    return bytes(kept)
