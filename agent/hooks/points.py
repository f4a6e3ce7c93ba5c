"""A hook is somebody else's word at one of eight points of a turn: what it is given, what it may say. Pure.

How hooks are run, in which order and within which bounds, is `chain`'s matter.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from pydantic import BaseModel, ConfigDict, JsonValue


class HookPoint(StrEnum):
    """When a hook is asked."""

    SESSION_START = "session_start"  # a conversation begins; may add context
    USER_PROMPT = "user_prompt"  # before a message becomes part of a turn; may deny, rewrite, add context
    PRE_TOOL = "pre_tool"  # before permission; may allow, ask, deny, rewrite the input, add context
    POST_TOOL = "post_tool"  # after the raw result is journaled; may rewrite what the model sees, add context
    PERMISSION_DENIED = "permission_denied"  # a call does not run; is told
    PRE_COMPACT = "pre_compact"  # before old talk is condensed; may add what is to be kept
    STOP = "stop"  # before an answer ends the turn, never on an error; may deny: the turn goes on
    SESSION_END = "session_end"  # a conversation is over (`/new`); is told


ABOUT_TOOLS = frozenset({HookPoint.PRE_TOOL, HookPoint.POST_TOOL, HookPoint.PERMISSION_DENIED})
GUARDS = frozenset({HookPoint.PRE_TOOL, HookPoint.USER_PROMPT})
"""Where a hook that fails counts as a no, if it is required."""


class HookSaid(BaseModel):
    """What a hook answers; as JSON `{}` where it has nothing to say."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    decision: Literal["allow", "ask", "deny"] | None = None
    reason: str = ""  # of a decision; read by the model, or by the person who wrote
    replace: JsonValue = None  # pre_tool: the input, an object; user_prompt: the words; post_tool: the result
    context: str = ""  # read by the model beside what it is about


HookGiven = Mapping[str, JsonValue]
"""What a hook is told: `point`, and what it is about; see `.github/decisions/0032-hooks.md`."""

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
