"""Hooks before and after it, and the permission to run it, have a say in a tool call beside the model.

Here stand the two seams, what a gateway without either does, and the permissions that `agent.permissions` decides. The
pipeline decides in which order they are asked.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import structlog

from agent.foreign_code import contain_exits
from agent.permissions import rules
from agent.permissions.chain import CallFacts, PermissionChain, Ruling, SecurityRisk
from agent.permissions.judge import Judge
from agent.permissions.rules import PermissionRule, Source
from agent.ports import Principal
from agent.tools.base import BAD_REWRITE, Allow, CanUseTool, Deny, Tool, ToolContext
from agent.tools.schema import Arguments, BadArguments, fit, to_json, to_values
from agent.transcript import ToolReturned


@dataclass(frozen=True, slots=True)
class ToolUse:
    """One call as hooks and permission see it: after backfill, before it runs."""

    tool: Tool
    arguments: Arguments
    context: ToolContext
    risk: SecurityRisk = SecurityRisk.UNKNOWN  # as the model scored it; may only tighten

    @property
    def only_reads(self) -> bool:
        """Return whether this call changes nothing."""
        return self.tool.only_reads(self.arguments)

    @property
    def is_destructive(self) -> bool:
        """Return whether what this call changes cannot be had back."""
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
    """The hooks' answer before a call."""

    verdict: Verdict | None = None  # None: nothing; the permission is asked as if there were no hook
    context: str = ""  # the model reads this behind the results of the response
    arguments: Mapping[str, object] | None = None  # the input from here on, permission included; None: as it is


@dataclass(frozen=True, slots=True)
class PostTool:
    """The hooks' answer after a call that ran."""

    content: str | None = None  # the result as the model shall see it, a JSON object; None: as it is
    context: str = ""  # the model reads this behind the results of the response


class ToolHooks(Protocol):
    """Runs the hooks of one tool call. Errors of a hook stay with it: none of these raises."""

    async def pre_tool(self, use: ToolUse) -> PreTool:
        """Before permission; may decide it, rewrite the input, add context."""
        ...

    def listens_after(self, tool: str) -> bool:
        """Return whether anybody has a word on results of this tool."""
        ...

    async def post_tool(self, use: ToolUse, returned: ToolReturned) -> PostTool:
        """After the raw result is durable; may change what the model sees of it."""
        ...

    async def permission_denied(self, use: ToolUse, denied: Deny) -> None:
        """Tell hooks that the call will not run; their answers do not count."""
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
        """Return the whole chain's answer; `hooked` is what the hooks decided, None where they said nothing."""
        ...


class NoHooks:
    """The port of an agent without hooks."""

    async def pre_tool(self, use: ToolUse) -> PreTool:
        return PreTool()

    def listens_after(self, tool: str) -> bool:
        return False

    async def post_tool(self, use: ToolUse, returned: ToolReturned) -> PostTool:
        return PostTool()

    async def permission_denied(self, use: ToolUse, denied: Deny) -> None:
        pass

    async def stop(self, principal: Principal, turn_id: str, text: str) -> str:
        return ""

    async def pre_compact(self, principal: Principal) -> str:
        return ""


log = structlog.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainPermissions:
    """Decides whether a call may run; one for many turns at once."""

    chain: PermissionChain
    can_use_tool: CanUseTool | None = None  # the product's own: may allow what is asked for, deny, rewrite the input
    judge: Judge | None = None  # None: in mode auto a person is asked

    async def decide(self, use: ToolUse, hooked: Verdict | None) -> Verdict:
        """Deny a call that the product or the rules deny; if either asks, the product may still allow it."""
        said = await self._ask_product(use)
        if isinstance(said, Deny):
            return said
        if said is not None and said.arguments is not None:  # from here on it is about what would run
            try:
                use = replace(use, arguments=fit(dict(said.arguments), use.tool.arguments))
            except BadArguments as problem:
                log.warning("tool_rewrite_refused", tool=use.tool.name, error=str(problem))
                return Deny(BAD_REWRITE)
        ruling = self.chain.decide(_facts(use, hooked))
        if ruling.verdict is rules.Verdict.DENY:
            return hooked if isinstance(hooked, Deny) else Deny(f"{ruling.why}.")
        if ruling.verdict is rules.Verdict.ALLOW or said is not None:
            return Allow(None if said is None else said.arguments)
        return await self._judge(use, ruling, hooked)

    async def _ask_product(self, use: ToolUse) -> Allow | Deny | None:
        if self.can_use_tool is None:
            return None
        try:
            given = to_values(use.arguments)
            with contain_exits():
                return await self.can_use_tool(use.tool.name, given, use.context)
        except Exception:  # the product's word about one call: without it nothing runs
            log.exception("can_use_tool_failed", tool=use.tool.name, call_key=use.context.call_key)
            return Deny(f"whether {use.tool.name} may run could not be found out.")

    async def _judge(self, use: ToolUse, ruling: Ruling, hooked: Verdict | None) -> Verdict:
        if ruling.judged and self.judge is not None:
            arguments = to_json(use.arguments)
            tool, note_cost = use.tool, use.context.note_cost
            match await self.judge.judge(tool.name, tool.description, arguments, note_cost):
                case rules.Verdict.ALLOW:
                    return Allow()
                case rules.Verdict.DENY:
                    return Deny(f"{use.tool.name} with this input is of what may not run here.")
                case _:
                    pass
        return Ask(hooked.question if isinstance(hooked, Ask) else "", ruling.why, ruling.may_remember)


def name_rules(allow: Sequence[str], deny: Sequence[str]) -> tuple[PermissionRule, ...]:
    """Return the patterns of `allow_tools` and `deny_tools` as rules of the source `local`."""
    denied = [PermissionRule(rules.Verdict.DENY, Source.LOCAL, pattern) for pattern in deny]
    return (*denied, *(PermissionRule(rules.Verdict.ALLOW, Source.LOCAL, pattern) for pattern in allow))


def sorted_json(use: ToolUse) -> str:
    """Return the input as it would run, the same text for the same values."""
    return json.dumps(json.loads(to_json(use.arguments)), sort_keys=True, ensure_ascii=False)


def _facts(use: ToolUse, hooked: Verdict | None) -> CallFacts:
    return CallFacts(
        tool=use.tool.name, given=to_values(use.arguments), read_only=use.only_reads,
        contained=not use.tool.effect.is_outside, destructive=use.is_destructive, hook=_as_word(hooked),
        own=_own_word(use), risk=use.risk,
    )  # fmt: skip


_WORDS: tuple[tuple[type, rules.Verdict], ...] = (
    (Allow, rules.Verdict.ALLOW), (Deny, rules.Verdict.DENY), (Ask, rules.Verdict.ASK),
)  # fmt: skip


def _as_word(said: Verdict | None) -> rules.Verdict:
    return next((word for kind, word in _WORDS if isinstance(said, kind)), rules.Verdict.PASSTHROUGH)


def _own_word(use: ToolUse) -> rules.Verdict:
    """Return the tool's own decision about this call; a check that raises asks for consent."""
    if use.tool.permission is None:
        return rules.Verdict.PASSTHROUGH
    try:
        with contain_exits():
            return rules.Verdict(use.tool.permission(use.context, use.arguments))
    except Exception:  # a tool's own check of one call: a person is asked
        log.exception("tool_check_failed", tool=use.tool.name, check="permission")
        return rules.Verdict.ASK
