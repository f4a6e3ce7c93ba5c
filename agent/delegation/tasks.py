"""A task for an agent of its own, and its limits. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from agent.delegation.delegation_config import DelegationConfig
from agent.permission_rules import Mode
from agent.tools.base import ToolError

WIDTH = (Mode.PLAN, Mode.DEFAULT, Mode.AUTO, Mode.BYPASS)
"""Permission modes, the narrowest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenTask:
    """A task to be begun."""

    description: str
    prompt: str
    type: str
    model: str | None
    in_background: bool


@dataclass(frozen=True, slots=True)
class Standing:
    """The place of a new task among the running ones."""

    types: Sequence[str]  # of the task that begins it and of those above, the nearest first; empty: a conversation's
    of_parent: int  # tasks of the same session that run
    overall: int


def check_standing(standing: Standing, type_: str, limits: DelegationConfig) -> None:
    """Check that a task of this type may begin.

    Raises:
        ToolError: a limit is reached; the text tells the model what to do.
    """
    if type_ in standing.types:
        line = " → ".join((*reversed(standing.types), type_))
        raise ToolError(f"Agents would give tasks to each other in a circle: {line}. Do it yourself.")
    if len(standing.types) >= limits.max_depth:
        raise ToolError("A task at this depth cannot give tasks to others. Do it yourself, or say what is left to do.")
    if standing.of_parent >= limits.max_tasks:
        raise ToolError(f"{standing.of_parent} tasks of yours run already, the most there may be. Wait for one to end.")
    if standing.overall >= limits.max_tasks_overall:
        raise ToolError(f"{standing.overall} tasks run already, the most there may be here. Try again later.")


def narrowest(*modes: Mode | None) -> Mode:
    """Return the narrowest of these permission modes; None does not count."""
    return min((mode for mode in modes if mode is not None), key=WIDTH.index, default=Mode.DEFAULT)
