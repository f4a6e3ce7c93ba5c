"""The eight points of a turn at which a hook of the operator or an extension runs: input, output and settings.

`chain` runs the hooks, with their order and limits.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue, model_validator


class HookPoint(StrEnum):
    """The points at which hooks are called."""

    SESSION_START = "session_start"  # a conversation begins; may add context
    USER_PROMPT = "user_prompt"  # before a message becomes part of a turn; may deny, rewrite, add context
    PRE_TOOL = "pre_tool"  # before permission; may allow, ask, deny, rewrite the input, add context
    POST_TOOL = "post_tool"  # after the raw result is journaled; may deny or rewrite what the model sees, add context
    PERMISSION_DENIED = "permission_denied"  # a call does not run; notification only
    PRE_COMPACT = "pre_compact"  # before old messages are condensed; may add notes to keep
    STOP = "stop"  # before an answer ends the turn, never on an error; may deny: the turn goes on
    SESSION_END = "session_end"  # a conversation ends (`/new`); notification only


ABOUT_TOOLS = frozenset({HookPoint.PRE_TOOL, HookPoint.POST_TOOL, HookPoint.PERMISSION_DENIED})
SUBJECTS = {HookPoint.USER_PROMPT: "text", HookPoint.PRE_TOOL: "input", HookPoint.POST_TOOL: "result"}
"""The key of what a hook may replace, by point."""

GUARDS = frozenset({HookPoint.PRE_TOOL, HookPoint.USER_PROMPT})
"""Points at which a failing required hook counts as a deny."""


class HookSaid(BaseModel):
    """A hook's answer; `{}` as JSON if it has no opinion."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    decision: Literal["allow", "ask", "deny"] | None = None
    reason: str = ""  # for the decision; the model or the sender reads it
    replace: JsonValue = None  # pre_tool: the input, an object; user_prompt: the text; post_tool: the result
    context: str = ""  # shown to the model beside the subject


HookGiven = Mapping[str, JsonValue]
"""A hook's input: `point`, and the fields of its subject; see `docs/extending.md`."""

CallHook = Callable[[HookGiven], Awaitable[HookSaid]]
"""Calls one hook.

Raises:
    HookFailed: its answer is missing or invalid.
"""


class HookFailed(Exception):
    """A hook hung, failed or returned an invalid answer; the message says which and why, in English."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hook:
    """One hook at one point."""

    name: str  # its name in logs
    point: HookPoint
    call: CallHook
    tools: tuple[str, ...] = ("*",)  # of points about tools: patterns of names
    timeout_s: float = 5.0
    required: bool = True  # before a tool or a message: a failure denies it

    def __post_init__(self) -> None:
        """Check the point.

        Raises:
            ValueError: there is no such point.
        """
        if self.point not in list(HookPoint):
            raise ValueError(f"a hook has no point {self.point!r}; there are {', '.join(HookPoint)}")


class HookConfig(BaseModel):
    """One hook: a program, a Python function, or an extension's hook by name."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    point: HookPoint | None = None
    """When it is called; a hook named by `use` has its own point."""
    command: tuple[str, ...] = ()
    """The program and its arguments; never through a shell."""
    python: str | None = None
    """`package.module:function`."""
    use: str | None = None
    """A name among the entry points tenk.hooks."""
    tools: tuple[str, ...] = ("*",)
    """Patterns of tool names, for points about tools."""
    timeout_s: float = Field(default=5.0, gt=0, le=600)
    """Seconds after which it has failed; a program is then killed with its children."""
    required: bool = True
    """True if a tool call or message is denied when the hook before it fails."""

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        ways = [name for name in ("command", "python", "use") if getattr(self, name)]
        if len(ways) != 1:
            raise ValueError("a hook is one of: command, python, use")
        if self.use is None and self.point is None:
            raise ValueError(f"a hook needs its point; there are {', '.join(HookPoint)}")
        if self.use is not None and self.point is not None:
            raise ValueError("a hook named by `use` has its own point; leave it out")
        return self
