"""The eight points of a turn at which a hook of the operator or an extension runs: its input, output and settings.

`chain` runs the hooks, with their order and limits.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue, model_validator


class HookPoint(StrEnum):
    """When a hook is asked."""

    SESSION_START = "session_start"  # a conversation begins; may add context
    USER_PROMPT = "user_prompt"  # before a message becomes part of a turn; may deny, rewrite, add context
    PRE_TOOL = "pre_tool"  # before permission; may allow, ask, deny, rewrite the input, add context
    POST_TOOL = "post_tool"  # after the raw result is journaled; may deny or rewrite what the model sees, add context
    PERMISSION_DENIED = "permission_denied"  # a call does not run; is told
    PRE_COMPACT = "pre_compact"  # before old talk is condensed; may add what is to be kept
    STOP = "stop"  # before an answer ends the turn, never on an error; may deny: the turn goes on
    SESSION_END = "session_end"  # a conversation is over (`/new`); is told


ABOUT_TOOLS = frozenset({HookPoint.PRE_TOOL, HookPoint.POST_TOOL, HookPoint.PERMISSION_DENIED})
GUARDS = frozenset({HookPoint.PRE_TOOL, HookPoint.USER_PROMPT})
"""Where a hook that fails counts as a no, if it is required."""


class HookSaid(BaseModel):
    """A hook's answer; `{}` as JSON if it has no opinion."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    decision: Literal["allow", "ask", "deny"] | None = None
    reason: str = ""  # of a decision; read by the model, or by the person who wrote
    replace: JsonValue = None  # pre_tool: the input, an object; user_prompt: the words; post_tool: the result
    context: str = ""  # read by the model beside what it is about


HookGiven = Mapping[str, JsonValue]
"""What a hook is told: `point`, and what it is about; see `docs/extending.md`."""

CallHook = Callable[[HookGiven], Awaitable[HookSaid]]
"""Asks one hook.

Raises:
    HookFailed: it said nothing that can be used.
"""


class HookFailed(Exception):
    """A hook that hangs, fails or says something else; the message says which and what, in English."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hook:
    """One hook at one point."""

    name: str  # as logs call it
    point: HookPoint
    call: CallHook
    tools: tuple[str, ...] = ("*",)  # of points about tools: patterns of names
    timeout_s: float = 5.0
    required: bool = True  # before a tool or a message: where it fails, that is denied


class HookConfig(BaseModel):
    """One hook: a program, a Python function, or what another distribution offers by name."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    point: HookPoint | None = None
    """When it is asked; what `use` names knows by itself."""
    command: tuple[str, ...] = ()
    """The program and its arguments; never through a shell."""
    python: str | None = None
    """`package.module:function`."""
    use: str | None = None
    """A name among the entry points tenk.hooks."""
    tools: tuple[str, ...] = ("*",)
    """Patterns of tools' names, where the point is about tools."""
    timeout_s: float = Field(default=5.0, gt=0, le=600)
    """Seconds it may take; then it has failed, and a program is killed with all that it started."""
    required: bool = True
    """Whether a tool call or a message is denied when the hook before it fails."""

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        ways = [name for name in ("command", "python", "use") if getattr(self, name)]
        if len(ways) != 1:
            raise ValueError("a hook is one of: command, python, use")
        if self.use is None and self.point is None:
            raise ValueError(f"a hook needs its point; there are {', '.join(HookPoint)}")
        if self.use is not None and self.point is not None:
            raise ValueError("what a name stands for has its own point; leave it out")
        return self
