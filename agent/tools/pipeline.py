"""The steps of every tool call, in the order of `Pipeline.run`; the executor decides which calls run in parallel.

Each step may end the call with a result for the model. `guards` has the interfaces of hooks and permissions.
"""

from collections.abc import Awaitable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from math import inf

import structlog

from agent.bounded import Interrupted, run_bounded
from agent.catalogue import PLAIN, Catalogue
from agent.consent import AskedCall, Consent
from agent.errors import Refused
from agent.foreign_code import contain_exits
from agent.permission_rules import PermissionRule
from agent.permissions.chain import SAID_NO
from agent.ports import LocalEffect
from agent.tools.base import BAD_REWRITE, Allow, Awaited, Deny, Effect, OutcomeUnknown, Tool, ToolContext, ToolError
from agent.tools.calls import AwaitedCall, CallAdmission, CallResult, PendingCall
from agent.tools.guards import Ask, EarlyJudgement, NoHooks, Permissions, PreTool, ToolHooks, ToolUse, sorted_json
from agent.tools.results import failure_result, success_result
from agent.tools.schema import BadArguments, NotJson, fit, fit_output, read, to_json, to_values, unsaid_in, unshown_in
from agent.tools.toolbox import ResultBudget, ToolBox
from agent.transcript import (
    CallOutcome,
    JournalEvent,
    Nudged,
    ToolIntended,
    ToolResultRewritten,
    ToolReturned,
)
from agent.turn import TurnScope
from agent.turn_progress import ToolEnded, ToolProgress, ToolStarted

log = structlog.get_logger()

_EXPIRED = CallOutcome.EXPIRED
_MEANT = "The process died while this ran: whether it happened is unknown. Do not repeat it unasked."


class _PersonAsked(Exception):
    """The turn's person must be asked first."""

    def __init__(self, call: AskedCall) -> None:
        super().__init__(call.call_key)
        self.call = call


class _CallEnded(Exception):
    """A step ends the call with this result."""

    def __init__(self, error: str, outcome: CallOutcome, *, malformed: bool = False, timed_out: bool = False) -> None:
        super().__init__(error)
        self.error, self.outcome, self.malformed, self.timed_out = error, outcome, malformed, timed_out
        self.data: Mapping[str, object] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pipeline:
    """The steps that each call of a turn passes."""

    scope: TurnScope
    tools: ToolBox
    permissions: Permissions
    hooks: ToolHooks = field(default_factory=NoHooks)
    budget: ResultBudget = field(default_factory=ResultBudget)
    texts: Catalogue = PLAIN  # of refusals

    async def run(self, pending: PendingCall) -> CallResult | AskedCall | AwaitedCall:
        """Run these steps in this order, and return the call's journaled result.

        Or return the question to its person: then nothing ran, and nothing is journaled. Or return that the call has
        begun and its result comes later.
        """
        ran, ended = None, None
        try:
            tool = self._look_up(pending)
            self._check_abort(pending)
            use = self._read_arguments(tool, pending)
            if pending.intended is None:  # else the crashed process prepared it, and journaled that
                use = await self._prepare(use, pending)
                await self._intend(use, pending)
            else:
                await self._validate(use)
            self._require_hooks(use, pending)
            ran = use
            data = await self._execute(use, pending)
            if isinstance(data, Awaited):
                return await self._begin(data, use, pending)
            await pending.announce_end()
            raw, returned = await self._journal_result(use, pending, data)
        except _PersonAsked as asked:
            return asked.call
        except _CallEnded as over:
            if pending.intended and ran is None and over.outcome is not CallOutcome.UNKNOWN:
                over = _CallEnded(f"{over.error} {_MEANT}", CallOutcome.UNKNOWN)
            await pending.announce_end()
            raw = returned = await self._journal_failure(pending, over)
            ended = over
        if ran is not None and raw.ran_with is not None:
            returned = await self._post_hooks(ran, raw)
        return self._classify(pending, returned, ended)

    # ---------------------------------------------------------------- before it runs

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
        if self.scope.ports.watchers.stopping() is None and self.scope.deadline.remaining_s() > 0:
            return
        if pending.intended:
            raise _CallEnded(
                "Outcome unknown: the process died while this ran, and the turn ends.", CallOutcome.UNKNOWN
            )
        raise _CallEnded("Not run: the turn was stopped or is out of time.", CallOutcome.SKIPPED)

    def _read_arguments(self, tool: Tool, pending: PendingCall) -> ToolUse:
        written = pending.intended.arguments if pending.intended else pending.call.arguments
        given, pending.read = pending.read, None  # once: the value that was checked is the one that runs
        try:
            arguments, risk = given or read(written, tool.arguments)
        except NotJson as problem:
            raise _CallEnded(str(problem), CallOutcome.FAILED, malformed=True) from None
        except BadArguments as problem:
            raise _CallEnded(str(problem), CallOutcome.FAILED) from None
        return ToolUse(tool, arguments, self._context(tool, pending.key), risk, self._granted_rules())

    def _granted_rules(self) -> Sequence[PermissionRule]:
        return self.tools.grant_of(self.scope.journal.events).rules

    def _context(self, tool: Tool, call_key: str) -> ToolContext:
        return ToolContext(
            self.scope.turn.principal,
            self.scope.clock(),
            call_key,
            max_result_chars=self.budget.room_chars(tool),
            whole_result=self.scope.ports.journal.whole_result,
            note_cost=self.scope.ports.journal.note_cost,
            report=partial(self._report, tool.name, call_key, False),
            pin=partial(self._report, tool.name, call_key, True),
            has_read_others=self._has_read_others,
            can_use_tool=self.can_use,
        )

    def _has_read_others(self) -> bool:
        return self.tools.holds_others((*self.scope.turn.history, *self.scope.journal.items))

    def _report(self, tool: str, call_key: str, stays: bool, words: str, /, **values: object) -> None:
        self.scope.ports.watchers.progress(ToolProgress(tool, call_key, words, values, stays))

    async def _prepare(self, use: ToolUse, pending: PendingCall) -> ToolUse:
        """Return the call as it may run; a small model may judge it meanwhile."""
        early = self.permissions.judge_early(use, was_asked=pending.was_asked)
        try:
            await self._validate(use)
            use = self._backfill(use, pending)
            hooked = await self.hooks.pre_tool(use)
            use = use if hooked.arguments is None else await self._rewrite(use, hooked.arguments)
            pending.notes = self._notes(pending.step, hooked.context)
            return await self._permit(use, hooked, pending, early)
        finally:
            if early is not None:
                early.discard()

    async def _validate(self, use: ToolUse) -> None:
        """Run the tool's own check of what no schema can express."""
        if use.tool.validate is None:
            return
        with self._own_check(use, "validate"):
            checking = use.tool.validate(use.context, use.arguments)
            if checking is not None:
                await run_bounded(_await(checking), self._limit_s(use.tool))

    def _backfill(self, use: ToolUse, pending: PendingCall) -> ToolUse:
        """Return the call with the arguments that the tool fills in; the transcript keeps the model's original.

        After a question to the person it stays the same: it may depend on the clock, and the approval is valid for it
        alone.
        """
        if use.tool.backfill is None:
            return use
        with self._own_check(use, "backfill"):
            if pending.backfilled:
                return replace(use, arguments=read(pending.backfilled, use.tool.arguments)[0])
            use = replace(use, arguments=use.tool.backfill(use.context, use.arguments))
            pending.backfilled = to_json(use.arguments)
            return use

    async def _permit(
        self, use: ToolUse, hooked: PreTool, pending: PendingCall, early: EarlyJudgement | None
    ) -> ToolUse:
        """Decide about the call and return it; the decision may have rewritten its input."""
        verdict = await self.permissions.decide(use, hooked.verdict, early)
        if isinstance(verdict, Ask):
            verdict = await self._ask_person(use, verdict, pending)
        match verdict:
            case Deny():
                await self.hooks.permission_denied(use, verdict)
                raise _CallEnded(f"Denied: {verdict.reason}", verdict.outcome)
            case Allow():
                return use if verdict.arguments is None else await self._rewrite(use, verdict.arguments)

    async def _ask_person(self, use: ToolUse, asked: Ask, pending: PendingCall) -> Allow | Deny:
        """Return the person's answer about exactly this call, or raise to ask them."""
        call = AskedCall(
            call_key=pending.key,
            step=pending.step,
            tool=use.tool.name,
            arguments=sorted_json(use),
            says=use.tool.says,
            question=asked.question,
            may_remember=asked.may_remember,
            destructive=use.is_destructive,
            unshown=(*unshown_in(use.tool.arguments), *unsaid_in(use.arguments)),
            backfilled=pending.backfilled,
        )
        match await self.scope.ports.consents.consent(call):
            case Consent.ALLOWED | Consent.REMEMBERED:
                return Allow()
            case Consent.DENIED:
                return Deny(f"{SAID_NO}.")
            case Consent.EXPIRED:
                return Deny("the person was asked and did not answer in time. Do not ask again now.", _EXPIRED)
            case _:
                await pending.response_journaled.wait()  # the question comes after the response that made the call
                log.info("person_asked", tool=use.tool.name, call_key=pending.key, why=asked.why)
                raise _PersonAsked(call)

    async def can_use(self, name: str, given: Mapping[str, object], context: ToolContext) -> Allow | Deny:
        """Decide whether a running tool may run another one; deny calls that a person would have to approve."""
        tool = self.tools.find(name)
        if tool is None:
            return Deny(self.tools.missing(name))
        try:
            use = ToolUse(tool, fit(dict(given), tool.arguments), context, rules=self._granted_rules())
            hooked = await self.hooks.pre_tool(use)
            if hooked.arguments is not None:
                use = replace(use, arguments=fit(dict(hooked.arguments), tool.arguments))
        except BadArguments as problem:
            return Deny(str(problem))
        verdict = await self.permissions.decide(use, hooked.verdict)
        if isinstance(verdict, Ask):
            verdict = Deny(f"{name} needs the person's word, which cannot be asked for while another tool runs.")
        if isinstance(verdict, Deny):
            await self.hooks.permission_denied(use, verdict)
            return verdict
        return verdict if verdict.arguments is not None else Allow(to_values(use.arguments))

    async def _rewrite(self, use: ToolUse, rewritten: Mapping[str, object]) -> ToolUse:
        try:
            use = replace(use, arguments=fit(dict(rewritten), use.tool.arguments))
        except BadArguments as problem:
            log.warning("tool_rewrite_refused", tool=use.tool.name, call_key=use.context.call_key, error=str(problem))
            raise _CallEnded(f"Denied: {BAD_REWRITE}", CallOutcome.DENIED) from None
        await self._validate(use)
        return use

    async def _intend(self, use: ToolUse, pending: PendingCall) -> None:
        if use.tool.effect.is_outside:
            with self._own_check(use, "arguments"):
                written = to_json(use.arguments)
            await self._record(pending, ToolIntended(pending.step, pending.key, use.tool.name, written))
        elif use.tool.effect is Effect.LOCAL:
            await self._record(pending)  # its result comes in a commit of its own

    def _require_hooks(self, use: ToolUse, pending: PendingCall) -> None:
        """Journal, with the call's result, that hooks must see it before it is shown."""
        if self.hooks.listens_after(use.tool.name):
            with self._own_check(use, "arguments"):
                pending.ran_with = to_json(use.arguments)

    async def _record(self, pending: PendingCall, *events: JournalEvent) -> None:
        """Journal these events of a call together with the texts of its hooks."""
        notes, pending.notes = pending.notes, ()
        if events or notes:
            await self.scope.journal.record(*events, *notes)

    # ---------------------------------------------------------------- the run

    async def _execute(self, use: ToolUse, pending: PendingCall) -> object:
        """Return the tool's data or local effect; every failure ends the call with a result, never the turn."""
        tool = use.tool
        with self._own_check(use, "arguments"):
            arguments = to_json(use.arguments)
        await self.scope.ports.watchers.let_watchers_read()
        self.scope.ports.watchers.progress(ToolStarted(tool.name, pending.key, arguments, tool.says))
        pending.note_start()
        limit_s = self._limit_s(tool)
        unsure = CallOutcome.UNKNOWN if tool.effect.is_outside else CallOutcome.FAILED
        hedge = " Whether it happened is unknown." if tool.effect.is_outside else ""
        try:
            stop = pending.cut if tool.may_be_cut else None
            return _fit_output(tool, await run_bounded(_as_coroutine(use), limit_s, stop))
        except OutcomeUnknown as lost:
            raise _CallEnded(f"{lost}{hedge}", unsure) from None
        except Refused as refusal:
            raise self._refused_by(refusal) from None
        except TimeoutError:
            raise _CallEnded(f"{tool.name} timed out after {limit_s:.3g} s.{hedge}", unsure, timed_out=True) from None
        except Interrupted:
            cut = CallOutcome.UNKNOWN if tool.effect.is_outside else CallOutcome.SKIPPED
            raise _CallEnded(f"Not finished: the person stopped the turn.{hedge}", cut) from None
        except Exception as problem:  # one tool call: any error is its result
            log.exception("tool_call_failed", tool=tool.name, call_key=pending.key)
            raise _CallEnded(f"{tool.name} failed: {type(problem).__name__}.{hedge}", unsure) from None

    async def _begin(self, awaited: Awaited, use: ToolUse, pending: PendingCall) -> AwaitedCall:
        """Start the work of a call whose result comes later."""
        waits = self.scope.ports.waits
        if waits is None:
            raise _CallEnded(f"Not run: nothing waits here for the result of {use.tool.name}.", CallOutcome.FAILED)
        await pending.response_journaled.wait()
        try:
            await waits.begin_work(awaited.begin, pending.key)
        except Refused as refusal:
            raise self._refused_by(refusal) from None
        return AwaitedCall(pending.key, use.tool.name)

    @contextmanager
    def _own_check(self, use: ToolUse, what: str) -> Iterator[None]:
        """End the call if the tool's own check raises: nothing runs unchecked."""
        try:
            with contain_exits():
                yield
        except Refused as refusal:
            raise self._refused_by(refusal) from None
        except Exception as problem:  # a tool's own check of one call
            log.exception("tool_check_failed", tool=use.tool.name, check=what, call_key=use.context.call_key)
            error = f"Not run: {use.tool.name} could not check its input ({type(problem).__name__})."
            raise _CallEnded(error, CallOutcome.FAILED) from None

    def _refused_by(self, refusal: Refused) -> _CallEnded:
        """Return the end of a call that its tool refused."""
        ended = _CallEnded(refusal.text(self.texts, self.scope.turn.principal.locale), CallOutcome.FAILED)
        ended.data = refusal.data if isinstance(refusal, ToolError) else None
        return ended

    def _limit_s(self, tool: Tool) -> float:
        return min(tool.timeout_s, self.scope.limits.tool_timeout_s or inf, self.scope.deadline.remaining_s())

    # ---------------------------------------------------------------- after it ran

    async def _journal_result(
        self, use: ToolUse, pending: PendingCall, data: object
    ) -> tuple[ToolReturned, ToolReturned]:
        """Journal the result, run a local effect, and return the raw and the shortened result."""
        empty = pending.to_returned("")
        if use.tool.effect is Effect.LOCAL and isinstance(data, LocalEffect):
            try:
                raw = await self.scope.journal.apply(data, empty)
            except Refused as refusal:
                raise self._refused_by(refusal) from None
            shown = self._fit(use.tool, raw)
            await self._record(pending, *shown)
        else:
            raw = replace(empty, content=self.scope.ports.journal.scrub(success_result(data)))
            shown = self._fit(use.tool, raw)
            await self._record(pending, raw, *shown)
        return raw, replace(raw, content=shown[0].content) if shown else raw

    def _fit(self, tool: Tool, raw: ToolReturned) -> tuple[ToolResultRewritten, ...]:
        """Return the shortened version of a result that is too long for its tool or the conversation, or ().

        A result that hooks have not seen yet is withheld.
        """
        if raw.ran_with is not None:
            return ()
        shown = self.budget.fit(tool, raw.call_key, raw.content)
        return () if shown is raw.content else (_to_rewritten(replace(raw, content=shown), is_cut=True),)

    async def _journal_failure(self, pending: PendingCall, over: _CallEnded) -> ToolReturned:
        scrub = self.scope.ports.journal.scrub
        returned = pending.to_returned(scrub(failure_result(over.error, over.data)), over.outcome)
        await self._record(pending, returned)
        return returned

    async def run_pending_hooks(self, raw: ToolReturned) -> None:
        """Ask the hooks about a result that a crashed process left; the result of a removed tool stays withheld."""
        tool = self.tools.find(raw.name)
        if tool is not None and raw.ran_with is not None:
            try:
                arguments = read(raw.ran_with, tool.arguments)[0]
            except BadArguments as problem:  # another version of the tool
                log.warning("tool_result_withheld", tool=raw.name, call_key=raw.call_key, error=str(problem))
            else:
                await self._post_hooks(ToolUse(tool, arguments, self._context(tool, raw.call_key)), raw)

    async def _post_hooks(self, ran: ToolUse, raw: ToolReturned) -> ToolReturned:
        """Apply the hooks to a result; `read_result` reads the version that they return."""
        post = await self.hooks.post_tool(ran, raw)
        content = raw.content if post.content is None else self.scope.ports.journal.scrub(post.content)
        whole = replace(raw, content=content, ran_with=None)
        shown = self._fit(ran.tool, whole)
        await self.scope.journal.record(_to_rewritten(whole), *shown, *self._notes(raw.step, post.context))
        return replace(whole, content=shown[0].content) if shown else whole

    @staticmethod
    def _notes(step: int, context: str) -> tuple[Nudged, ...]:
        return (Nudged(step, context),) if context else ()

    def _classify(self, pending: PendingCall, returned: ToolReturned, ended: _CallEnded | None) -> CallResult:
        """Report the end of the call, and return its result with flags for recovery."""
        self.scope.ports.watchers.progress(
            ToolEnded(returned.name, returned.outcome, pending.key, returned.content, pending.took_s)
        )
        if ended is None:
            return CallResult(returned)
        return CallResult(returned, ended.malformed, ended.timed_out)

    # ---------------------------------------------------------------- before all of it

    def admit(self, pending: PendingCall) -> CallAdmission:
        """Return the properties of a call that decide when it may start."""
        tool = self.tools.find(pending.call.name)
        if tool is None:
            return CallAdmission(reads=False, safe=False)
        try:
            arguments, risk = read(pending.call.arguments, tool.arguments)
        except BadArguments:
            return CallAdmission(reads=False, safe=False)
        if pending.intended is None:
            pending.read = arguments, risk
        reads = tool.effect is Effect.NONE and tool.only_reads(arguments)
        return CallAdmission(reads, tool.is_concurrency_safe(arguments))


def _fit_output(tool: Tool, data: object) -> object:
    if tool.output_schema is None or tool.effect is Effect.LOCAL:
        return data
    try:
        return fit_output(data, tool.output_schema)
    except ValueError as problem:
        log.warning("tool_output_refused", tool=tool.name, error=str(problem)[:200])
        raise ToolError(f"{tool.name} ran, but its result is not what it promises.") from None


def _to_rewritten(shown: ToolReturned, *, is_cut: bool = False) -> ToolResultRewritten:
    return ToolResultRewritten(shown.step, shown.call_key, shown.call_id, shown.content, is_cut)


async def _await(checking: Awaitable[None]) -> None:
    with contain_exits():
        await checking


async def _as_coroutine(use: ToolUse) -> object:
    with contain_exits():
        return await use.tool.run(use.context, use.arguments)
