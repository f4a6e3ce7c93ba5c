"""Asks a hook that is a Python function, or a program: JSON on its standard input, JSON from its standard output.

How long one may take is bounded by whoever asks it; a program that is not waited for any more is killed with all it
started.
"""

import asyncio
import inspect
import os
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import orjson
from pydantic import ValidationError

from agent.child_process import run_program
from agent.hooks.points import CallHook, HookFailed, HookGiven, HookSaid

SHOWN_CHARS = 200

INHERITED = ("HOME", "LANG", "LC_ALL", "PATH", "TMPDIR", "TZ")
"""What a program is told of our environment: no key of ours is in it."""

HookFunction = Callable[[HookGiven], Any]
"""Takes what the hook is told, gives a `HookSaid`, a dict of its fields, or None; may be async."""


def python_hook(function: HookFunction) -> CallHook:
    """Asks a function; one that is not async runs in a thread."""

    async def call(given: HookGiven) -> HookSaid:
        if inspect.iscoroutinefunction(function):
            return read_said(await function(given))
        said = await asyncio.to_thread(function, given)
        return read_said(await said if isinstance(said, Awaitable) else said)

    return call


def program_hook(argv: Sequence[str]) -> CallHook:
    """Asks a program, never through a shell."""

    async def call(given: HookGiven) -> HookSaid:
        env = {name: os.environ[name] for name in INHERITED if name in os.environ}
        try:
            ended = await run_program(argv, orjson.dumps(dict(given)), env)
        except OSError as error:
            raise HookFailed(f"{Path(argv[0]).name} cannot be started: {error.strerror}") from None
        if ended.code != 0:
            told = ended.errors.decode(errors="replace").strip()[:SHOWN_CHARS]
            raise HookFailed(f"it exited with {ended.code}" + (f": {told}" if told else ""))
        try:
            said = orjson.loads(ended.output)
        except orjson.JSONDecodeError:
            shown = ended.output.decode(errors="replace").strip()[:SHOWN_CHARS]
            raise HookFailed(f"it printed no JSON but {shown!r}") from None
        return read_said(said)

    return call


def read_said(said: object) -> HookSaid:
    """What a hook gave back, in our own form; nothing at all is nothing to say.

    Raises:
        HookFailed: it is something else.
    """
    if said is None:
        return HookSaid()
    if isinstance(said, HookSaid):
        return said
    try:
        return HookSaid.model_validate(said)
    except ValidationError as problem:
        errors = problem.errors(include_url=False, include_input=False, include_context=False)[:3]
        told = "; ".join(f"{'.'.join(map(str, error['loc'])) or 'it'}: {error['msg']}" for error in errors)
        raise HookFailed(f"what it said cannot be read: {told[:SHOWN_CHARS]}") from None
