"""Interfaces for hooks and permissions around a tool call, and the permissions of `agent.permissions`.

The pipeline decides in which order they are asked.
"""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, Self

import structlog

from agent import permission_rules as rules
from agent.consent import fingerprint_of
from agent.foreign_code import contain_exits
from agent.permission_rules import PermissionRule, Source, TurnPermissions
from agent.permissions.chain import CallFacts, PermissionChain, Ruling, SecurityRisk
from agent.permissions.judge import Judge
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
    risk: SecurityRisk = SecurityRisk.UNKNOWN  # scored by the model; may only tighten
    rules: Sequence[PermissionRule] = ()  # that hold for the rest of the turn, beside those of the agent

    @property
    def only_reads(self) -> bool:
        """Return True if this call changes nothing."""
        return self.tool.only_reads(self.arguments)

    @property
    def is_destructive(self) -> bool:
        """Return True if this call's change cannot be undone."""
        return self.tool.is_destructive(self.arguments)


@dataclass(frozen=True, slots=True)
class Ask:
    """A person must approve."""

    question: str = ""  # shown above the call; empty: nothing
    why: str = ""  # for the log
    may_remember: bool = False  # offer "always"


Verdict = Allow | Deny | Ask


@dataclass(frozen=True, slots=True)
class PreTool:
    """The hooks' answer before a call."""

    verdict: Verdict | None = None  # None: no opinion; permission decides
    context: str = ""  # shown to the model after the results of the response
    arguments: Mapping[str, object] | None = None  # new input, for permission too; None: unchanged


@dataclass(frozen=True, slots=True)
class PostTool:
    """The hooks' answer after a call that ran."""

    content: str | None = None  # new result for the model, a JSON object; None: unchanged
    context: str = ""  # shown to the model after the results of the response


class ToolHooks(Protocol):
    """The hooks of one tool call; errors of hooks never raise here."""

    async def pre_tool(self, use: ToolUse) -> PreTool:
        """Ask hooks before permission; they may decide, rewrite the input or add context."""
        ...

    def listens_after(self, tool: str) -> bool:
        """Return True if a hook listens for results of this tool."""
        ...

    async def post_tool(self, use: ToolUse, returned: ToolReturned) -> PostTool:
        """Ask hooks after the raw result is durable; they may change what the model sees of it."""
        ...

    async def permission_denied(self, use: ToolUse, denied: Deny) -> None:
        """Tell hooks that the call will not run; their answers are ignored."""
        ...


class TurnHooks(ToolHooks, Protocol):
    """The hooks of a turn and its tool calls."""

    async def stop(self, principal: Principal, turn_id: str, text: str) -> str:
        """Ask hooks before this answer ends the turn, never after an error; return why it should go on, or ""."""
        ...

    async def pre_compact(self, principal: Principal) -> str:
        """Return the notes that hooks want kept before messages are condensed; "" for none."""
        ...


class Permissions(Protocol):
    """Decides whether a call may run."""

    @property
    def mode(self) -> rules.Mode:
        """Return the mode that decides about a call that no rule matches."""
        ...

    def of_turn(self, own: TurnPermissions) -> Self:
        """Return the permissions with the rules and the mode of one turn."""
        ...

    def judge_early(self, use: ToolUse, *, was_asked: bool = False) -> "EarlyJudgement | None":
        """Let the small model judge a call while it is prepared, if it would be asked; the caller discards that.

        If the person `was_asked` about the call, the model's judgement stays that they are.
        """
        ...

    async def decide(self, use: ToolUse, hooked: Verdict | None, early: "EarlyJudgement | None" = None) -> Verdict:
        """Return the decision of the whole chain; `hooked` is the hooks' decision, or None.

        An `early` judgement counts if the arguments are still those that it judged.
        """
        ...


@dataclass(frozen=True, slots=True)
class EarlyJudgement:
    """A small model's judgement of a call that is still being prepared."""

    arguments: str  # JSON
    verdict: asyncio.Future[rules.Verdict]

    def discard(self) -> None:
        """Cancel it, or ignore its result."""
        self.verdict.cancel()
        self.verdict.add_done_callback(_retrieve)


def _retrieve(verdict: asyncio.Future[rules.Verdict]) -> None:
    if not verdict.cancelled():
        verdict.exception()  # read it, so that the loop does not warn


class NoHooks:
    """The hooks of an agent without hooks."""

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
    """The permissions of `agent.permissions` with the product's own check; one object serves many turns at once."""

    chain: PermissionChain
    can_use_tool: CanUseTool | None = None  # the product's own check: may allow, deny, rewrite the input
    judge: Judge | None = None  # None: in mode auto a person is asked

    @property
    def mode(self) -> rules.Mode:
        return self.chain.mode

    def of_turn(self, own: TurnPermissions) -> Self:
        return replace(self, chain=self.chain.of_turn(own))

    def judge_early(self, use: ToolUse, *, was_asked: bool = False) -> EarlyJudgement | None:
        if self.judge is None or self.chain.mode is not rules.Mode.AUTO or not self._decide(use, None).judged:
            return None
        arguments = to_json(use.arguments)
        if was_asked:
            verdict: asyncio.Future[rules.Verdict] = asyncio.get_running_loop().create_future()
            verdict.set_result(rules.Verdict.ASK)
        else:
            verdict = asyncio.create_task(self._ask_judge(self.judge, use, arguments))  # noqa: TID251  ends with the call
        return EarlyJudgement(arguments, verdict)

    async def decide(self, use: ToolUse, hooked: Verdict | None, early: EarlyJudgement | None = None) -> Verdict:
        """Deny a call that the product or the rules deny; if a rule asks, the product may allow it."""
        said = await self._ask_product(use)
        if isinstance(said, Deny):
            return said
        if said is not None and said.arguments is not None:  # decide about the new input
            try:
                use = replace(use, arguments=fit(dict(said.arguments), use.tool.arguments))
            except BadArguments as problem:
                log.warning("tool_rewrite_refused", tool=use.tool.name, error=str(problem))
                return Deny(BAD_REWRITE)
        ruling = self._decide(use, hooked)
        if ruling.verdict is rules.Verdict.DENY:
            return hooked if isinstance(hooked, Deny) else Deny(f"{ruling.why}.")
        if ruling.verdict is rules.Verdict.ALLOW or said is not None:
            return Allow(None if said is None else said.arguments)
        return await self._judge(use, ruling, hooked, early)

    def _decide(self, use: ToolUse, hooked: Verdict | None) -> Ruling:
        chain, facts = self.chain.of_turn(TurnPermissions(tuple(use.rules))), _facts(use, hooked)
        if chain.needs_fingerprints:
            facts = replace(facts, fingerprint=fingerprint_of(use.tool.name, sorted_json(use)))
        return chain.decide(facts)

    async def _ask_product(self, use: ToolUse) -> Allow | Deny | None:
        if self.can_use_tool is None:
            return None
        try:
            given = to_values(use.arguments)
            with contain_exits():
                return await self.can_use_tool(use.tool.name, given, use.context)
        except Exception:  # the product's check of one call: without it nothing runs
            log.exception("can_use_tool_failed", tool=use.tool.name, call_key=use.context.call_key)
            return Deny(f"whether {use.tool.name} may run could not be found out.")

    async def _judge(
        self, use: ToolUse, ruling: Ruling, hooked: Verdict | None, early: EarlyJudgement | None
    ) -> Verdict:
        if ruling.judged and self.judge is not None:
            arguments = to_json(use.arguments)
            still_valid = early if early is not None and early.arguments == arguments else None
            match await (still_valid.verdict if still_valid else self._ask_judge(self.judge, use, arguments)):
                case rules.Verdict.ALLOW:
                    return Allow()
                case rules.Verdict.DENY:
                    return Deny(f"{use.tool.name} with this input is of what may not run here.")
                case _:
                    pass
        return Ask(hooked.question if isinstance(hooked, Ask) else "", ruling.why, ruling.may_remember)

    @staticmethod
    async def _ask_judge(judge: Judge, use: ToolUse, arguments: str) -> rules.Verdict:
        return await judge.judge(use.tool.name, use.tool.description, arguments, use.context.note_cost)


@dataclass(frozen=True, slots=True)
class UnaskedPermissions:
    """The permissions of an agent, where no one can be asked: neither its person nor a model that judges."""

    permits: Permissions
    why: str
    """Reason for the model behind the name of a tool whose call its person would have to approve."""

    @property
    def mode(self) -> rules.Mode:
        return self.permits.mode

    def of_turn(self, own: TurnPermissions) -> Self:
        return replace(self, permits=self.permits.of_turn(own))

    def judge_early(self, use: ToolUse, *, was_asked: bool = False) -> EarlyJudgement | None:
        return None

    async def decide(self, use: ToolUse, hooked: Verdict | None, early: EarlyJudgement | None = None) -> Verdict:
        """Return the agent's decision; deny what its person would have to approve."""
        verdict = await self.permits.decide(use, hooked)
        return Deny(f"{use.tool.name} {self.why}") if isinstance(verdict, Ask) else verdict


def without_judge(permits: Permissions) -> Permissions:
    """Return the permissions that ask a person even in mode auto."""
    return replace(permits, judge=None) if isinstance(permits, ChainPermissions) else permits


def name_rules(allow: Sequence[str], deny: Sequence[str]) -> tuple[PermissionRule, ...]:
    """Return the patterns of `allow_tools` and `deny_tools` as rules of the source `local`."""
    denied = [PermissionRule(rules.Verdict.DENY, Source.LOCAL, pattern) for pattern in deny]
    return (*denied, *(PermissionRule(rules.Verdict.ALLOW, Source.LOCAL, pattern) for pattern in allow))


def sorted_json(use: ToolUse) -> str:
    """Return the input as canonical JSON."""
    return json.dumps(json.loads(to_json(use.arguments)), sort_keys=True, ensure_ascii=False)


def _facts(use: ToolUse, hooked: Verdict | None) -> CallFacts:
    return CallFacts(
        tool=use.tool.name,
        given=to_values(use.arguments),
        read_only=use.only_reads,
        contained=not use.tool.effect.is_outside,
        destructive=use.is_destructive,
        hook=_as_word(hooked),
        own=_own_word(use),
        asks_each_time=use.tool.asks_each_time,
        risk=use.risk,
    )


_WORDS: tuple[tuple[type, rules.Verdict], ...] = (
    (Allow, rules.Verdict.ALLOW),
    (Deny, rules.Verdict.DENY),
    (Ask, rules.Verdict.ASK),
)


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
