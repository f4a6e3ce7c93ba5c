"""The declaration of a tool: an async function with its schema and fail-closed flags; the pipeline runs it."""

import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, Protocol, TypedDict, TypeVar, Unpack

import structlog

from agent.errors import Refused
from agent.foreign_code import contain_exits
from agent.permission_rules import PermissionRule
from agent.ports import LocalEffect, NoteCost, Principal, Spent, ToolSpec
from agent.tools.schema import Schema, to_json_schema
from agent.transcript import CallOutcome

log = structlog.get_logger()


class Effect(StrEnum):
    """The effect of a tool, which decides what may happen after a crash while it runs."""

    NONE = "none"  # reads only: may run again
    LOCAL = "local"  # returns a LocalEffect, which runs in the commit that journals its result
    IDEMPOTENT = "idempotent"  # may run again with the same call key
    UNSAFE = "unsafe"  # never runs again if its outcome is unknown

    @property
    def is_outside(self) -> bool:
        """Return True if it has effects outside the database."""
        return self in {Effect.IDEMPOTENT, Effect.UNSAFE}


class Report(Protocol):
    """A function that tells watchers about the progress of a call."""

    def __call__(self, words: str, /, **values: object) -> None:
        """Report a text by its key in the agent's catalogue and its fields."""
        ...


def _unheard(_words: str, /, **_values: object) -> None:
    pass


WholeResult = Callable[[str], Awaitable[str | None]]
"""Returns the raw result of an earlier call by its handle; None if this person has none in this conversation."""


async def _no_result(_handle: str) -> str | None:
    return None


async def _count_nothing(_response: Spent) -> None:
    pass


def _assume_others() -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Allow:
    """The call may run."""

    arguments: Mapping[str, object] | None = None  # replace its own, and must fit its schema; None: unchanged


@dataclass(frozen=True, slots=True)
class Deny:
    """The call does not run."""

    reason: str  # for the model
    outcome: CallOutcome = CallOutcome.DENIED


@dataclass(frozen=True, slots=True)
class ToolContext:
    """The person, time and limits of a call; from the gateway, never from the model."""

    principal: Principal
    now: datetime  # aware UTC
    call_key: str  # turn/step/index: the idempotency key
    max_result_chars: int = 100_000  # of its result in the conversation; the model reads the rest in parts
    whole_result: WholeResult = _no_result
    report: Report = _unheard
    pin: Report = _unheard  # as `report`, but the text stays until the answer begins, above what later tools report
    note_cost: NoteCost = _count_nothing  # of a model that decides about the call or is used by it
    has_read_others: Callable[[], bool] = field(default=_assume_others, repr=False, compare=False)
    """Returns True if the conversation holds words that neither its person nor the gateway wrote."""
    can_use_tool: "CanUseTool" = field(default_factory=lambda: _deny_nested, repr=False, compare=False)
    """Asks hooks and permission before the tool runs another one."""


BAD_REWRITE = "its input was rewritten to one that it does not take."
"""Error text for the model if the mistake is not its own."""

CanUseTool = Callable[[str, Mapping[str, object], ToolContext], Awaitable[Allow | Deny | None]]
"""(tool name, input, context) to a decision, which may rewrite the input; None: no opinion."""


async def _deny_nested(tool: str, _given: Mapping[str, object], _context: ToolContext) -> Allow | Deny | None:
    return Deny(f"no person is here who could allow {tool}.")


class ToolError(Refused):
    """A refusal of a tool or its effect in English, which the model reads, with data for code."""

    def __init__(self, message: str, data: Mapping[str, object] | None = None) -> None:
        super().__init__(message)
        self.data = data


@dataclass(frozen=True, slots=True)
class TurnGrant:
    """Changes that the result of a call makes for the rest of its turn."""

    rules: tuple[PermissionRule, ...] = ()  # of the source `command`
    model: str | None = None  # asked first from now on, if the tenant has it; None: unchanged


class OutcomeUnknown(ToolError):
    """The tool cannot tell whether the call happened; the model reads that it must not repeat it."""


Flag = bool | Callable[[Any], bool]
"""A property of a tool, or a function of a call's arguments."""

Check = Callable[[ToolContext, Any], Awaitable[None] | None]
Backfill = Callable[[ToolContext, Any], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """One declared tool, bound to its data. If one of its own checks raises, the unsafe answer holds."""

    name: str
    description: str
    arguments: Schema  # called with an instance of the model, or with the JSON object that fits the JSON Schema
    run: Callable[[ToolContext, Any], Awaitable[object | LocalEffect]]
    effect: Effect = Effect.UNSAFE
    concurrency_safe: Flag = False  # a read-only call may run in parallel with others of this kind
    read_only: Flag | None = None  # changes nothing; None: derived from its effect
    destructive: Flag = False  # the change cannot be undone
    exclusive: bool = False  # nothing runs in parallel
    cancellable: bool | None = None  # a stop ends it while it runs; None: yes if it has no outside effect
    says: str = ""  # catalogue key of its action, shown to the waiting person; empty: its name
    enabled: bool | Callable[[], bool] = True  # evaluated once, when the agent is built
    should_defer: bool = False  # its schema is sent after the model has searched for it
    timeout_s: float = 60.0
    max_result_chars: int = 100_000
    output_schema: Schema | None = None  # of its data; None: anything, or the result of its effect
    own_words: bool = False  # its results hold only words of the person, the operator or the gateway
    asks_each_time: bool = False  # if its own check asks, no earlier "always" answers
    aliases: tuple[str, ...] = ()  # other names that a model may use
    validate: Check | None = None  # checks what no schema can express; raises ToolError
    permission: Callable[[ToolContext, Any], str] | None = None  # allow | deny | ask | passthrough, if no rule decides
    backfill: Backfill | None = None  # returns the arguments for hooks, permission and run, not for the transcript
    grants: Callable[[Mapping[str, object]], TurnGrant] | None = (
        None  # reads from its data what holds until the turn ends
    )

    @property
    def spec(self) -> ToolSpec:
        """Return the tool as the model sees it.

        Raises:
            UnusableSchema: its schema cannot be shown to a model.
        """
        return ToolSpec(self.name, self.description, to_json_schema(self.arguments, scores_risk=self.effect.is_outside))

    @property
    def may_be_cut(self) -> bool:
        """Return True if a stop may end it while it runs."""
        return not self.effect.is_outside if self.cancellable is None else self.cancellable

    def is_enabled(self) -> bool:
        """Return True if the tool is available."""
        return self.enabled if isinstance(self.enabled, bool) else _holds(self, lambda _: self.enabled(), None)  # type: ignore[operator]  # no bool

    def only_reads(self, arguments: object) -> bool:
        """Return True if this call changes nothing."""
        return self.effect is Effect.NONE if self.read_only is None else _holds(self, self.read_only, arguments)

    def is_concurrency_safe(self, arguments: object) -> bool:
        """Return True if this call may run in parallel with others of this kind."""
        return not self.exclusive and self.only_reads(arguments) and _holds(self, self.concurrency_safe, arguments)

    def is_destructive(self, arguments: object) -> bool:
        """Return True if this call's change cannot be undone."""
        return _holds(self, self.destructive, arguments, unsure=True)


def _holds(tool: Tool, flag: Flag, arguments: object, *, unsure: bool = False) -> bool:
    if isinstance(flag, bool):
        return flag
    try:
        with contain_exits():
            return bool(flag(arguments))
    except Exception:  # a tool's own check of one call: the unsafe answer holds
        log.exception("tool_check_failed", tool=tool.name)
        return unsure


@dataclass(frozen=True, slots=True)
class Awaited:
    """Returned by a tool whose result comes later: the turn waits for it without a slot, and then calls it again.

    `begin` starts the work in a commit of its own, which has to be harmless if it is repeated. The tool returns this
    again as long as there is no result.
    """

    begin: LocalEffect


F = TypeVar("F", bound=Callable[..., Awaitable[object]])


class ToolFlags(TypedDict, total=False):
    """The flags of `@tool`; meanings and defaults are those of `Tool`."""

    effect: Effect
    concurrency_safe: Flag
    read_only: Flag
    destructive: Flag
    exclusive: bool
    cancellable: bool
    says: str
    enabled: bool | Callable[[], bool]
    should_defer: bool
    timeout_s: float
    max_result_chars: int
    output_schema: Schema
    own_words: bool
    asks_each_time: bool
    aliases: tuple[str, ...]
    validate: Callable[..., Awaitable[None] | None]  # (self, context, arguments), like the tool
    permission: Callable[..., str]  # (self, context, arguments), like the tool
    backfill: Callable[..., Any]  # (self, context, arguments), like the tool
    grants: Callable[[Mapping[str, object]], TurnGrant]  # of its data, not bound


def tool(arguments: Schema, **flags: Unpack[ToolFlags]) -> Callable[[F], F]:
    """Declare an async method `(self, context, arguments)` as a tool; its docstring is what the model reads.

    Raises:
        TypeError: it is no such method.
    """

    def declare(function: F) -> F:
        try:
            inspect.signature(function).bind(None, None, None)
        except TypeError:
            raise TypeError(f"the tool {function.__name__} has to take (self, context, arguments)") from None
        is_async: bool = inspect.iscoroutinefunction(function)
        if not is_async:
            raise TypeError(f"the tool {function.__name__} has to be an `async def`")
        description = " ".join((function.__doc__ or "").split())
        declared = Tool(name=function.__name__, description=description, arguments=arguments, run=_unbound, **flags)
        function.__tool__ = declared  # type: ignore[attr-defined]  # only tools_of reads it
        return function

    return declare


async def _unbound(_context: ToolContext, _arguments: object) -> object:
    raise TypeError("a tool runs only after tools_of() has bound it to its owner")


def tools_of(owner: object) -> tuple[Tool, ...]:
    """Return the declared tools of an object, bound to it, sorted by name."""
    found = []
    for name in dir(type(owner)):
        declared = getattr(getattr(type(owner), name), "__tool__", None)
        if isinstance(declared, Tool):
            own = ("validate", "permission", "backfill")
            checks = {name: _bind(getattr(declared, name), owner) for name in own}
            found.append(replace(declared, run=getattr(owner, name), **checks))
    return tuple(sorted(found, key=lambda tool: tool.name))


def _bind(check: Callable[..., Any] | None, owner: object) -> Any:
    return None if check is None else check.__get__(owner)
