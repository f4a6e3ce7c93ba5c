"""The permission of a tool call: the product's own `can_use_tool`, the chain of rules, in mode `auto` a judge.

What an `Ask` of this leads to is the pipeline's matter, what the chain decides `agent.permissions`'.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass

import structlog

from agent.permissions import rules
from agent.permissions.chain import CallFacts, PermissionChain, Ruling
from agent.permissions.judge import Judge
from agent.permissions.rules import PermissionRule, Source
from agent.tools.base import Allow, CanUseTool, Deny
from agent.tools.guards import Ask, ToolUse, Verdict

log = structlog.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainPermissions:
    """Decides whether a call may run; one for many turns at once."""

    chain: PermissionChain
    can_use_tool: CanUseTool | None = None  # the product's own: may allow what is asked for, deny, rewrite the input
    judge: Judge | None = None  # None: in mode auto a person is asked

    async def decide(self, use: ToolUse, hooked: Verdict | None) -> Verdict:
        """What the product denies or the chain denies is denied; what either asks for, the product may allow."""
        said = await self._ask_product(use)
        if isinstance(said, Deny):
            return said
        given = use.arguments.model_dump(by_alias=True) if said is None or said.arguments is None else said.arguments
        ruling = self.chain.decide(
            CallFacts(
                tool=use.tool.name, given=given, read_only=use.only_reads, contained=not use.tool.effect.is_outside,
                hook=_as_word(hooked), own=_own_word(use), risk=use.risk,
            )
        )  # fmt: skip
        if ruling.verdict is rules.Verdict.DENY:
            return hooked if isinstance(hooked, Deny) else Deny(f"{ruling.why}.")
        if ruling.verdict is rules.Verdict.ALLOW or said is not None:
            return Allow(None if said is None else said.arguments)
        return await self._judge(use, ruling, hooked)

    async def _ask_product(self, use: ToolUse) -> Allow | Deny | None:
        if self.can_use_tool is None:
            return None
        try:
            given = use.arguments.model_dump(by_alias=True)
            return await self.can_use_tool(use.tool.name, given, use.context)
        except Exception:  # the product's word about one call: without it nothing runs
            log.exception("can_use_tool_failed", tool=use.tool.name, call_key=use.context.call_key)
            return Deny(f"whether {use.tool.name} may run could not be found out.")

    async def _judge(self, use: ToolUse, ruling: Ruling, hooked: Verdict | None) -> Verdict:
        if ruling.judged and self.judge is not None:
            arguments = use.arguments.model_dump_json(by_alias=True)
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
    """The patterns of `allow_tools` and `deny_tools` as rules of the source `local`."""
    denied = [PermissionRule(rules.Verdict.DENY, Source.LOCAL, pattern) for pattern in deny]
    return (*denied, *(PermissionRule(rules.Verdict.ALLOW, Source.LOCAL, pattern) for pattern in allow))


def sorted_json(use: ToolUse) -> str:
    """The input as it would run, the same text for the same values."""
    return json.dumps(json.loads(use.arguments.model_dump_json(by_alias=True)), sort_keys=True, ensure_ascii=False)


_WORDS: tuple[tuple[type, rules.Verdict], ...] = (
    (Allow, rules.Verdict.ALLOW), (Deny, rules.Verdict.DENY), (Ask, rules.Verdict.ASK),
)  # fmt: skip


def _as_word(said: Verdict | None) -> rules.Verdict:
    return next((word for kind, word in _WORDS if isinstance(said, kind)), rules.Verdict.PASSTHROUGH)


def _own_word(use: ToolUse) -> rules.Verdict:
    """What the tool itself says of this call; a check that throws asks."""
    if use.tool.permission is None:
        return rules.Verdict.PASSTHROUGH
    try:
        return rules.Verdict(use.tool.permission(use.context, use.arguments))
    except Exception:  # a tool's own check of one call: a person is asked
        log.exception("tool_check_failed", tool=use.tool.name, check="permission")
        return rules.Verdict.ASK
