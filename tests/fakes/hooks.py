"""Hooks that return what a test sets, and note their calls."""

import asyncio
from collections.abc import Mapping
from typing import Any

from agent.hooks.chain import python_hook
from agent.hooks.points import Hook, HookPoint

TOLD: list[Mapping[str, Any]] = []
ANSWERS: dict[str, dict[str, Any] | Exception] = {}  # by point; an exception is raised


async def note(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the test set for this point."""
    TOLD.append(given)
    answer = ANSWERS.get(given["point"], {})
    if isinstance(answer, Exception):
        raise answer
    return answer


STALLS: list[bool] = []
"""True in it: `mask` never answers."""


async def mask(given: Mapping[str, Any]) -> dict[str, Any]:
    TOLD.append(given)
    if STALLS:
        await asyncio.Event().wait()
    return {"replace": str(given["result"]["data"]).replace("secret", "******")}


OFFERED = Hook(name="offered", point=HookPoint.PRE_TOOL, call=python_hook(note), tools=("pay",))
