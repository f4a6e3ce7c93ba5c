"""The steps of a running turn, for terminals and programs that follow it.

They are told once, to what is connected then, and not stored: an answer does not depend on them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

MAX_STEP_CHARS = 16_000
"""Limit of the arguments and of the result of a call; longer ones are cut."""


@dataclass(frozen=True, slots=True)
class ToolCalled:
    """A tool begins to run."""

    call: str  # id of the call, the same in its result
    name: str
    arguments: str  # JSON object, unless it was cut
    type: Literal["tool_call"] = "tool_call"


@dataclass(frozen=True, slots=True)
class ToolAnswered:
    """A call has its result; one that did not run has no `ToolCalled`."""

    call: str
    name: str
    outcome: str  # done, failed, skipped, unknown, denied or expired
    result: str  # JSON object {"success", "data", "error"} as the model reads it, unless it was cut
    took_s: float | None  # None: it did not run
    type: Literal["tool_result"] = "tool_result"


@dataclass(frozen=True, slots=True)
class TokensSpent:
    """The tokens and cost of one model call of the turn; None: not counted."""

    model: str  # provider:name
    input_tokens: int | None
    output_tokens: int | None
    cost_usd: float | None
    type: Literal["usage"] = "usage"


@dataclass(frozen=True, slots=True)
class TasksListed:
    """The list of steps that the agent keeps while it works; it replaces the list before."""

    text: str  # Markdown
    type: Literal["tasks"] = "tasks"


@dataclass(frozen=True, slots=True)
class TurnClosed:
    """The turn ended."""

    reason: str  # completed, stopped, model_error and so on
    type: Literal["turn_end"] = "turn_end"


TurnStep = ToolCalled | ToolAnswered | TokensSpent | TasksListed | TurnClosed

STEP_KINDS: Mapping[str, type[TurnStep]] = {
    "tool_call": ToolCalled,
    "tool_result": ToolAnswered,
    "usage": TokensSpent,
    "tasks": TasksListed,
    "turn_end": TurnClosed,
}
"""Step classes by their type."""
