"""Who has a say in a tool call beside the model: hooks before and after it, and the permission to run it.

Here stand the two seams and what a gateway without either does. The order in which they are asked is the pipeline's.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from pydantic import BaseModel

from agent.permissions.chain import SecurityRisk
from agent.ports import Principal
from agent.tools.base import Allow, Deny, Tool, ToolContext
from agent.transcript import ToolReturned


@dataclass(frozen=True, slots=True)
class ToolUse:
    """One call as hooks and permission see it: after backfill, before it runs."""

    tool: Tool
    arguments: BaseModel
    context: ToolContext
    risk: SecurityRisk = SecurityRisk.UNKNOWN  # as the model scored it; may only tighten

    @property
    def only_reads(self) -> bool:
        """Whether this call changes nothing."""
        return self.tool.only_reads(self.arguments)

    @property
    def is_destructive(self) -> bool:
        """Whether what this call changes cannot be had back."""
        return self.tool.is_destructive(self.arguments)


@dataclass(frozen=True, slots=True)
class Ask:
    """A person has to say."""

    question: str = ""  # read by the person above what would be done; empty: nothing
    why: str = ""  # for the log
    may_remember: bool = False  # "always" would settle the next one


Verdict = Allow | Deny | Ask


@dataclass(frozen=True, slots=True)
class PreTool:
    """What hooks say before a call."""

    verdict: Verdict | None = None  # None: nothing; the permission is asked as if there were no hook
    context: str = ""  # the model reads this behind the results of the response
    arguments: Mapping[str, object] | None = None  # the input from here on, permission included; None: as it is


@dataclass(frozen=True, slots=True)
class PostTool:
    """What hooks say after a call that ran."""

    content: str | None = None  # the result as the model shall see it, a JSON object; None: as it is
    context: str = ""  # the model reads this behind the results of the response


class ToolHooks(Protocol):
    """Runs the hooks of one tool call. Errors of a hook stay with it: none of these raises."""

    async def pre_tool(self, use: ToolUse) -> PreTool:
        """Before permission; may decide it, rewrite the input, add context."""
        ...

    def listens_after(self, tool: str) -> bool:
        """Whether anybody has a word on results of this tool."""
        ...

    async def post_tool(self, use: ToolUse, returned: ToolReturned) -> PostTool:
        """After the raw result is durable; may change what the model sees of it."""
        ...

    async def permission_denied(self, use: ToolUse, denied: Deny) -> None:
        """The call will not run; told, not asked."""
        ...


class TurnHooks(ToolHooks, Protocol):
    """Beside a call's hooks those of the turn around it."""

    async def stop(self, principal: Principal, turn_id: str, text: str) -> str:
        """Before this answer ends the turn, never on an error; why it should go on, "" where it may end."""
        ...

    async def pre_compact(self, principal: Principal) -> str:
        """Before old talk is condensed: what is to be kept of it, in words; "" for nothing."""
        ...


class Permissions(Protocol):
    """Decides whether a call may run."""

    async def decide(self, use: ToolUse, hooked: Verdict | None) -> Verdict:
        """The whole chain's answer; `hooked` is what the hooks decided, None where they said nothing."""
        ...


class NoHooks:
    """Nobody has anything to say."""

    async def pre_tool(self, use: ToolUse) -> PreTool:
        """Nothing."""
        return PreTool()

    def listens_after(self, tool: str) -> bool:
        """Nobody."""
        return False

    async def post_tool(self, use: ToolUse, returned: ToolReturned) -> PostTool:
        """Nothing."""
        return PostTool()

    async def permission_denied(self, use: ToolUse, denied: Deny) -> None:
        """Nobody listens."""

    async def stop(self, principal: Principal, turn_id: str, text: str) -> str:
        """It may end."""
        return ""

    async def pre_compact(self, principal: Principal) -> str:
        """Nothing."""
        return ""
