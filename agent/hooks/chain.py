"""A chain of hooks for each point, run in order with a timeout; a failing hook affects no other and never raises.

Each hook sees the previous one's replacement. The first deny ends the chain; an ask goes before an allow. A hook is a
Python function, or a program with JSON on its standard input and output.
"""

import asyncio
import inspect
import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal

import orjson
import structlog
from pydantic import ConfigDict, JsonValue, ValidationError

from agent.bounded import run_bounded
from agent.catalogue import PLAIN, Catalogue
from agent.child_process import run_program
from agent.errors import Refused
from agent.foreign_code import AllBusy, ForeignThreads, contain_exits
from agent.hooks.points import ABOUT_TOOLS, GUARDS, SUBJECTS, CallHook, Hook, HookFailed, HookGiven, HookPoint, HookSaid
from agent.plain_errors import words_of_problem
from agent.ports import Principal
from agent.tools.base import Allow, Deny
from agent.tools.guards import Ask, PostTool, PreTool, ToolUse, Verdict
from agent.tools.results import failure_result, success_result
from agent.tools.schema import to_json
from agent.transcript import ToolReturned

log = structlog.get_logger()

PARAGRAPH = "\n\n"


@dataclass(frozen=True, slots=True)
class HookAnswer:
    """The combined answers of the hooks of one point."""

    decision: str | None = None  # allow | ask | deny
    reason: str = ""
    replace: JsonValue = None  # None: unchanged
    context: str = ""
    has_failed: bool = False  # the deny comes from a guard that failed
    refused: Refused | None = None  # raised by the hook that denies: words for the person
    failures: tuple[str, ...] = ()  # why hooks failed, in their order


class _Failed(HookSaid):
    """The verdict for a hook that failed; a guard denies."""

    why: str


class _Refusal(HookSaid):
    """The verdict of a hook that raised `Refused`."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    decision: Literal["deny"] = "deny"
    refused: Refused


class HookChain:
    """The hooks of a gateway, also around tool calls."""

    def __init__(self, hooks: Sequence[Hook] = (), texts: Catalogue = PLAIN) -> None:
        """`hooks` are in the order in which they are called; `texts` has words of their refusals."""
        self._texts = texts
        self._hooks = {point: [hook for hook in hooks if hook.point is point] for point in HookPoint}
        self._hung: dict[Hook, str] = {}  # the reason, by hook; these are not called

    def states(self) -> dict[str, str]:
        """Return the reason why each hook is not called any more, by its name; "" if it is called."""
        every = [hook for hooks in self._hooks.values() for hook in hooks]
        return {f"{hook.name} {hook.point.value}": self._hung.get(hook, "") for hook in every}

    def retry_hung(self) -> None:
        """Call hooks again that hung."""
        self._hung.clear()

    def listens(self, point: HookPoint) -> bool:
        """Return True if the point has hooks."""
        return bool(self._hooks[point])

    async def ask(self, point: HookPoint, given: HookGiven, about: str = "") -> HookAnswer:
        """Return the combined answer of a point's hooks; `about` is the tool's name."""
        heard, told = HookAnswer(), dict(given) | {"point": point.value}
        async for hook, said in self._answers(point, told, about):
            if isinstance(said, _Failed):
                heard = replace(heard, failures=(*heard.failures, said.why))
            if said.replace is not None:
                told[SUBJECTS.get(point, "tool")] = said.replace
                heard = replace(heard, replace=said.replace)
            if said.context.strip():
                heard = replace(heard, context=PARAGRAPH.join(filter(None, (heard.context, said.context.strip()))))
            if said.decision is not None and (said.decision, heard.decision) != ("allow", "ask"):
                own = "" if point is HookPoint.USER_PROMPT else f"the hook {hook.name} says so"  # its person reads it
                heard = replace(heard, decision=said.decision, reason=said.reason or own)
                refused = said.refused if isinstance(said, _Refusal) else None
                heard = replace(heard, has_failed=isinstance(said, _Failed), refused=refused)
            if heard.decision == "deny":
                log.info("hook_denied", hook=hook.name, point=point.value, about=about)
                break
        return heard

    async def _answers(
        self, point: HookPoint, told: Mapping[str, JsonValue], about: str
    ) -> AsyncIterator[tuple[Hook, HookSaid]]:
        for hook in self._hooks[point]:
            if point in ABOUT_TOOLS and not _is_about(hook, about):
                continue
            yield hook, await self._answer(hook, told)

    async def _answer(self, hook: Hook, told: Mapping[str, JsonValue]) -> HookSaid:
        """Return one hook's answer; a failing hook has no opinion, or denies if it guards."""
        try:
            if hook in self._hung:
                raise HookFailed(self._hung[hook])
            return await run_bounded(_call(hook, told), hook.timeout_s)
        except TimeoutError:
            why = f"it did not answer within {hook.timeout_s:g} s"
            self._hung[hook] = f"{why}, and is not called again before a reload"
        except Refused as refused:
            return _Refusal(refused=refused, reason=refused.text(self._texts, None))
        except HookFailed as failure:
            why = str(failure)
        except Exception as error:  # one hook: any error is its own failure
            log.exception("hook_broken", hook=hook.name, point=hook.point.value)
            why = f"it raised {type(error).__name__}"
        log.error("hook_failed", hook=hook.name, point=hook.point.value, error=why)
        guards = hook.required and hook.point in GUARDS
        return _Failed(decision="deny" if guards else None, reason=f"the hook {hook.name} failed: {why}", why=why)

    # ---------------------------------------------------------------- around a tool call

    async def pre_tool(self, use: ToolUse) -> PreTool:
        """Ask hooks before permission; they may decide, rewrite the input or add context."""
        if not self.listens(HookPoint.PRE_TOOL):
            return PreTool()
        heard = await self.ask(HookPoint.PRE_TOOL, _told_of(use), use.tool.name)
        if heard.replace is not None and not isinstance(heard.replace, dict):
            return PreTool(Deny("a hook replaced its input by something that is not an object."))
        return PreTool(_verdict(heard, self._reason(heard, use.context.principal)), heard.context, heard.replace)

    def listens_after(self, tool: str) -> bool:
        """Return True if a hook listens for results of this tool."""
        return any(_is_about(hook, tool) for hook in self._hooks[HookPoint.POST_TOOL])

    async def post_tool(self, use: ToolUse, returned: ToolReturned) -> PostTool:
        """Ask hooks after the raw result is durable; they may change what the model sees of it."""
        result = json.loads(returned.content)
        given = _told_of(use) | {"result": result, "outcome": returned.outcome.value}
        heard = await self.ask(HookPoint.POST_TOOL, given, use.tool.name)
        if heard.decision == "deny":
            why = self._reason(heard, use.context.principal)
            return PostTool(failure_result(f"This ran, but its result is withheld: {why}"), heard.context)
        return PostTool(None if heard.replace is None else success_result(heard.replace), heard.context)

    async def permission_denied(self, use: ToolUse, denied: Deny) -> None:
        """Tell hooks that the call will not run; their answers are ignored."""
        if self.listens(HookPoint.PERMISSION_DENIED):
            await self.ask(HookPoint.PERMISSION_DENIED, _told_of(use) | {"reason": denied.reason}, use.tool.name)

    # ---------------------------------------------------------------- around a turn

    async def stop(self, principal: Principal, turn_id: str, text: str) -> str:
        """Return a hook's reason why the turn should go on although this answers it; "" if it may end."""
        if not self.listens(HookPoint.STOP):
            return ""
        heard = await self.ask(HookPoint.STOP, _told_of_person(principal) | {"turn": turn_id, "text": text})
        return f"Do not stop yet: {self._reason(heard, principal)}" if heard.decision == "deny" else ""

    async def pre_compact(self, principal: Principal) -> str:
        """Return the notes that hooks want kept in the summary."""
        if not self.listens(HookPoint.PRE_COMPACT):
            return ""
        return (await self.ask(HookPoint.PRE_COMPACT, _told_of_person(principal))).context

    def _reason(self, heard: HookAnswer, principal: Principal) -> str:
        return heard.reason if heard.refused is None else heard.refused.text(self._texts, principal.locale)


def _is_about(hook: Hook, tool: str) -> bool:
    return any(fnmatchcase(tool, pattern) for pattern in hook.tools)


def _told_of_person(principal: Principal) -> dict[str, JsonValue]:
    return {"user": principal.user_id, "tenant": principal.tenant, "agent": principal.agent}


async def _call(hook: Hook, told: Mapping[str, JsonValue]) -> HookSaid:
    said = read_said(await hook.call(dict(told)))
    if hook.point is HookPoint.USER_PROMPT and not isinstance(said.replace, str | None):
        raise HookFailed("it replaced the text by something that is not text")
    return said


def _told_of(use: ToolUse) -> dict[str, JsonValue]:
    return {
        "tool": use.tool.name,
        "input": json.loads(to_json(use.arguments)),
        "risk": use.risk.value,
        "read_only": use.only_reads,
        "destructive": use.is_destructive,
        "call_key": use.context.call_key,
        **_told_of_person(use.context.principal),
    }


def _verdict(heard: HookAnswer, reason: str) -> Verdict | None:
    match heard.decision:
        case "allow":
            return Allow()
        case "ask":
            return Ask(reason)
        case "deny":
            return Deny(f"{reason.rstrip('.')}.")
        case _:
            return None


SHOWN_CHARS = 200

INHERITED = ("HOME", "LANG", "LC_ALL", "PATH", "TMPDIR", "TZ")
"""Environment variables that a program inherits; no key is among them."""

HookFunction = Callable[[HookGiven], Any]
"""Takes the hook's input, returns a `HookSaid`, a dict of its fields, or None; may be async."""


def python_hook(function: HookFunction) -> CallHook:
    """Make a hook of a function; one that is not async runs in a thread."""
    threads = ForeignThreads(function)

    async def call(given: HookGiven) -> HookSaid:
        try:
            with contain_exits():
                said = function(given) if inspect.iscoroutinefunction(function) else await threads.call(given)
                return read_said(await said if isinstance(said, Awaitable) else said)
        except AllBusy:
            raise HookFailed("no thread was free for it: its earlier calls run still") from None
        except TimeoutError:  # raised by the function itself
            raise HookFailed("it raised TimeoutError") from None
        except asyncio.CancelledError:
            if (task := asyncio.current_task()) is not None and task.cancelling():
                raise
            raise HookFailed("it raised CancelledError") from None

    return call


def program_hook(argv: Sequence[str]) -> CallHook:
    """Make a hook of a program, never run through a shell."""

    async def call(given: HookGiven) -> HookSaid:
        env = {name: os.environ[name] for name in INHERITED if name in os.environ}
        try:
            ended = await run_program(argv, orjson.dumps(dict(given)), env)
        except OSError as error:
            raise HookFailed(f"{Path(argv[0]).name} cannot be started: {error.strerror}") from None
        if ended.code != 0:
            told = ended.errors.decode(errors="replace").strip()[:SHOWN_CHARS]
            raise HookFailed(f"it exited with {ended.code}" + (f": {told}" if told else ""))
        try:
            said = orjson.loads(ended.output)
        except orjson.JSONDecodeError:
            shown = ended.output.decode(errors="replace").strip()[:SHOWN_CHARS]
            raise HookFailed(f"it printed this instead of JSON: {shown!r}") from None
        return read_said(said)

    return call


def read_said(said: object) -> HookSaid:
    """Convert a hook's return value; None counts as no opinion.

    Raises:
        HookFailed: the value has another shape.
    """
    if said is None:
        return HookSaid()
    if isinstance(said, HookSaid):
        return said
    if not isinstance(said, Mapping):
        raise HookFailed(f"it answered with {type(said).__name__} in place of an object")
    try:
        return HookSaid.model_validate(said)
    except ValidationError as problem:
        errors = problem.errors(include_url=False, include_input=False)[:3]
        told = "; ".join(f"{'.'.join(map(str, error['loc'])) or 'it'}: {words_of_problem(error)}" for error in errors)
        raise HookFailed(f"its answer cannot be read: {told[:SHOWN_CHARS]}") from None
