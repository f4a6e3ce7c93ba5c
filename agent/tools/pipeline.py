"""One way for every tool call, in named steps: look up, abort check, schema, permission, intent, run, journal, budget.

Each step may end the call with a result the model reads. Which calls run together is the executor's work.
"""

import asyncio
import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from fnmatch import fnmatchcase

import structlog

from agent.bounded import run_bounded
from agent.journal import Journal
from agent.ports import Principal, ToolEnded, ToolStarted, TurnPort
from agent.tools.arguments import BadArguments, NotJson, read
from agent.tools.base import Effect, Tool, ToolContext, ToolError
from agent.tools.results import failure_result, fit_result, success_result
from agent.transcript import CallOutcome, ToolCall, ToolIntended, ToolResultRewritten, ToolReturned


class Decision(StrEnum):
    """What the rules say of a call."""

    ALLOW = "allow"
    DENY = "deny"
    ASK = "ask"  # a person would have to confirm


@dataclass(frozen=True, slots=True)
class Permissions:
    """Rules by tool name pattern (`mcp__*`, `save_?`), case-sensitive."""

    deny: tuple[str, ...] = ()
    allow: tuple[str, ...] = ()

    def decide(self, tool_name: str, *, contained: bool) -> Decision:
        """Deny before allow; what no rule names is allowed where it is contained (reads, own data), else asked for."""
        if any(fnmatchcase(tool_name, pattern) for pattern in self.deny):
            return Decision.DENY
        if any(fnmatchcase(tool_name, pattern) for pattern in self.allow):
            return Decision.ALLOW
        return Decision.ALLOW if contained else Decision.ASK


log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class PendingCall:
    """One call of one response, on its way."""

    call: ToolCall
    step: int
    key: str  # turn/step/index
    intended: bool = False  # a process that died meant to run it


@dataclass(frozen=True, slots=True)
class CallResult:
    """What became of a call, with what the ladder counts."""

    returned: ToolReturned
    malformed: bool = False  # the model did not write a JSON object
    timed_out: bool = False


class _CallEnded(Exception):
    """A step ends the call with this result."""

    def __init__(self, error: str, outcome: CallOutcome, *, malformed: bool = False, timed_out: bool = False) -> None:
        super().__init__(error)
        self.error, self.outcome, self.malformed, self.timed_out = error, outcome, malformed, timed_out


class ToolBox:
    """Tools by name."""

    def __init__(self, tools: Sequence[Tool]) -> None:
        self._by_name = {tool.name: tool for tool in tools}
        self.specs = tuple(tool.spec for tool in sorted(tools, key=lambda tool: tool.name))

    def find(self, name: str) -> Tool | None:
        """The tool of exactly this name."""
        return self._by_name.get(name)

    def only_reads(self, name: str) -> bool:
        """Whether calls of this tool may run beside others of the kind: they change nothing that any of them reads."""
        tool = self.find(name)
        return tool is not None and tool.effect is Effect.NONE and tool.concurrency_safe

    def missing(self, name: str) -> str:
        """What to tell a model that asked for a tool there is not."""
        known = sorted(spec.name for spec in self.specs)
        near = difflib.get_close_matches(name.lower()[:100], known, n=1, cutoff=0.6)
        hint = f" Did you mean {near[0]}?" if near else f" Known tools: {', '.join(known)[:500]}."
        return f"There is no tool named {name[:100]!r}.{hint}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pipeline:
    """What a turn's calls run through."""

    tools: ToolBox
    permissions: Permissions
    principal: Principal
    port: TurnPort
    journal: Journal
    clock: Callable[[], datetime]
    tool_timeout_s: float
    remaining_s: Callable[[], float]
    _early: dict[str, tuple[ToolCall, "asyncio.Task[object]"]] = field(default_factory=dict)  # by call key

    async def run(self, pending: PendingCall) -> CallResult:
        """The one result of this call, journaled."""
        tool: Tool | None = None
        malformed = timed_out = False
        try:
            tool = self._look_up(pending)
            self._check_abort(pending)
            arguments = self._read_arguments(tool, pending)
            self._permit(tool)
            await self._intend(tool, pending)
            data = await (self._take_begun(pending) or self._run(tool, pending, arguments))
        except _CallEnded as over:
            malformed, timed_out = over.malformed, over.timed_out
            returned = await self._journal(pending, failure_result(over.error), over.outcome)
        else:
            returned = await self._journal_success(tool, pending, data)
        self.port.progress(ToolEnded(pending.call.name, returned.outcome is CallOutcome.DONE))
        return CallResult(returned, malformed, timed_out)

    def begin(self, pending: PendingCall) -> None:
        """Start a call while its response still streams; its result waits for `run`. For calls that only read."""
        tool = self.tools.find(pending.call.name)
        if tool is None:
            return
        try:
            self._check_abort(pending)
            arguments = self._read_arguments(tool, pending)
            self._permit(tool)
        except _CallEnded:
            return  # said when its turn comes
        task = asyncio.create_task(self._run(tool, pending, arguments))  # noqa: TID251  ends in run() or in drop_begun()
        task.add_done_callback(_retrieve)
        self._early[pending.key] = (pending.call, task)

    def has_begun(self, pending: PendingCall) -> bool:
        """Whether exactly this call runs already."""
        call, _ = self._early.get(pending.key, (None, None))
        return call is not None and (call.name, call.arguments) == (pending.call.name, pending.call.arguments)

    def drop_begun(self, but: Sequence[PendingCall] = ()) -> None:
        """Calls that were begun and are not wanted any more end, all `but` these."""
        wanted = {pending.key for pending in but}
        for key in [key for key in self._early if key not in wanted]:
            self._early.pop(key)[1].cancel()

    def _take_begun(self, pending: PendingCall) -> "asyncio.Task[object] | None":
        return self._early.pop(pending.key)[1] if self.has_begun(pending) else None

    def _look_up(self, pending: PendingCall) -> Tool:
        tool = self.tools.find(pending.call.name)
        if pending.intended and (tool is None or tool.effect is Effect.UNSAFE):
            raise _CallEnded(
                "Outcome unknown: the process died while this ran. It may have happened. Do not repeat it unasked.",
                CallOutcome.UNKNOWN,
            )
        if tool is None:
            raise _CallEnded(self.tools.missing(pending.call.name), CallOutcome.FAILED)
        return tool

    def _check_abort(self, pending: PendingCall) -> None:
        if self.port.stopping() is None and self.remaining_s() > 0:
            return
        if pending.intended:
            raise _CallEnded(
                "Outcome unknown: the process died while this ran, and the turn ends.", CallOutcome.UNKNOWN
            )
        raise _CallEnded("Not run: the turn was stopped or is out of time.", CallOutcome.SKIPPED)

    def _read_arguments(self, tool: Tool, pending: PendingCall) -> object:
        try:
            return read(pending.call.arguments, tool.arguments)
        except NotJson as problem:
            raise _CallEnded(str(problem), CallOutcome.FAILED, malformed=True) from None
        except BadArguments as problem:
            raise _CallEnded(str(problem), CallOutcome.FAILED) from None

    def _permit(self, tool: Tool) -> None:
        match self.permissions.decide(tool.name, contained=tool.effect in {Effect.NONE, Effect.LOCAL}):
            case Decision.DENY:
                raise _CallEnded(f"Denied: the rules forbid {tool.name}.", CallOutcome.DENIED)
            case Decision.ASK:
                raise _CallEnded(
                    f"Denied: {tool.name} needs a person's confirmation, which cannot be asked for here yet.",
                    CallOutcome.DENIED,
                )
            case Decision.ALLOW:
                pass

    async def _intend(self, tool: Tool, pending: PendingCall) -> None:
        if tool.effect in {Effect.IDEMPOTENT, Effect.UNSAFE} and not pending.intended:
            await self.journal.record(ToolIntended(pending.step, pending.key, tool.name, pending.call.arguments))

    async def _run(self, tool: Tool, pending: PendingCall, arguments: object) -> object:
        """The tool's data or local command; every way to fail ends as a result, never as an exception of the turn."""
        self.port.progress(ToolStarted(tool.name))
        context = ToolContext(self.principal, self.clock(), pending.key)
        limit_s = min(tool.timeout_s, self.tool_timeout_s, self.remaining_s())
        outside = tool.effect in {Effect.IDEMPOTENT, Effect.UNSAFE}
        unsure = CallOutcome.UNKNOWN if outside else CallOutcome.FAILED
        hedge = " Whether it happened is unknown." if outside else ""
        try:
            return await run_bounded(_as_coroutine(tool, context, arguments), limit_s)
        except ToolError as refusal:
            raise _CallEnded(str(refusal), CallOutcome.FAILED) from None
        except TimeoutError:
            raise _CallEnded(f"{tool.name} timed out after {limit_s:.0f} s.{hedge}", unsure, timed_out=True) from None
        except Exception as problem:  # one tool call: whatever it raises is its result
            log.exception("tool_call_failed", tool=tool.name, call_key=pending.key)
            raise _CallEnded(f"{tool.name} failed: {type(problem).__name__}.{hedge}", unsure) from None

    async def _journal(self, pending: PendingCall, content: str, outcome: CallOutcome) -> ToolReturned:
        returned = ToolReturned(pending.step, pending.key, pending.call.id, pending.call.name, content, outcome)
        await self.journal.record(returned)
        return returned

    async def _journal_success(self, tool: Tool, pending: PendingCall, data: object) -> ToolReturned:
        """The raw result, with the effect where it is local; above the tool's budget also what the model sees of it."""
        empty = ToolReturned(pending.step, pending.key, pending.call.id, pending.call.name, "")
        if tool.effect is not Effect.LOCAL:
            raw = replace(empty, content=success_result(data))
            shown = _within_budget(tool, raw)
            await self.journal.record(raw, *shown)
        else:
            try:
                raw = await self.journal.apply(data, empty)
            except ToolError as refusal:
                return await self._journal(pending, failure_result(str(refusal)), CallOutcome.FAILED)
            if shown := _within_budget(tool, raw):
                await self.journal.record(*shown)
        return replace(raw, content=shown[0].content) if shown else raw


def _within_budget(tool: Tool, raw: ToolReturned) -> tuple[ToolResultRewritten, ...]:
    shown = fit_result(raw.content, tool.max_result_chars)
    return () if shown is raw.content else (ToolResultRewritten(raw.step, raw.call_key, raw.call_id, shown),)


def _retrieve(task: "asyncio.Task[object]") -> None:
    if not task.cancelled():
        task.exception()  # read in run(), or wanted by nobody


async def _as_coroutine(tool: Tool, context: ToolContext, arguments: object) -> object:
    return await tool.run(context, arguments)
