"""A tool is an async function with its schema and fail-closed flags. Running one is the pipeline's work."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, Protocol, TypedDict, TypeVar, Unpack

import structlog

from agent.foreign_code import contain_exits
from agent.ports import LocalEffect, NoteCost, Principal, Spent, ToolSpec
from agent.tools.schema import Schema, to_json_schema
from agent.transcript import CallOutcome

log = structlog.get_logger()


class Effect(StrEnum):
    """The effect of running a tool, and so what may happen after a crash in its middle."""

    NONE = "none"  # reads only: may be run again
    LOCAL = "local"  # returns a LocalEffect, which runs in the commit that journals its result
    IDEMPOTENT = "idempotent"  # may be run again with the same call key
    UNSAFE = "unsafe"  # never run again when its outcome is unknown

    @property
    def is_outside(self) -> bool:
        """Return whether it leaves what the gateway's own commits hold together."""
        return self in {Effect.IDEMPOTENT, Effect.UNSAFE}


class Report(Protocol):
    """Tells watchers about the progress of a call."""

    def __call__(self, words: str, /, **values: object) -> None:
        """`words` is a key of the agent's catalogue, `values` are its fields."""
        ...


def _unheard(_words: str, /, **_values: object) -> None:
    pass


WholeResult = Callable[[str], Awaitable[str | None]]
"""The raw result of an earlier call, by its handle; None: this person has none of it in this conversation."""


async def _no_result(_handle: str) -> str | None:
    return None


async def _count_nothing(_response: Spent) -> None:
    pass


@dataclass(frozen=True, slots=True)
class Allow:
    """The call may run."""

    arguments: Mapping[str, object] | None = None  # in place of its own; they must fit its schema. None: as they are


@dataclass(frozen=True, slots=True)
class Deny:
    """The call does not run."""

    reason: str  # read by the model
    outcome: CallOutcome = CallOutcome.DENIED


@dataclass(frozen=True, slots=True)
class ToolContext:
    """Whom and when a call acts for. From the envelope, never from the model."""

    principal: Principal
    now: datetime  # aware UTC
    call_key: str  # turn/step/index: the idempotency key
    max_result_chars: int = 100_000  # what its result may take in the conversation; the rest of it is read on
    whole_result: WholeResult = _no_result
    report: Report = _unheard
    note_cost: NoteCost = _count_nothing  # of a model that is asked about the call, or by it
    can_use_tool: "CanUseTool" = field(default_factory=lambda: _deny_nested, repr=False, compare=False)
    """What a tool asks before it has another one run: hooks and permission decide as of any call of the turn's."""


BAD_REWRITE = "its input was rewritten to one that it does not take."
"""What the model reads where the mistake is not its own."""

CanUseTool = Callable[[str, Mapping[str, object], ToolContext], Awaitable[Allow | Deny | None]]
"""Whether a tool may run with this input: (its name, the input, for whom). It may rewrite it; None: no opinion."""


async def _deny_nested(tool: str, _given: Mapping[str, object], _context: ToolContext) -> Allow | Deny | None:
    return Deny(f"no person is here who could allow {tool}.")


class ToolError(Exception):
    """A tool, or its effect, refuses or fails in a way the model should read: it is shown the message and the data."""

    def __init__(self, message: str, data: Mapping[str, object] | None = None) -> None:
        super().__init__(message)
        self.data = data


Flag = bool | Callable[[Any], bool]
"""What a tool says of itself, or of one call by its arguments."""

Check = Callable[[ToolContext, Any], Awaitable[None] | None]
Backfill = Callable[[ToolContext, Any], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """One declared tool, bound to what it reads from. A check of its own that throws counts as the unsafe answer."""

    name: str
    description: str
    arguments: Schema  # called with an instance of the model, or with the JSON object that fits the JSON Schema
    run: Callable[[ToolContext, Any], Awaitable[object | LocalEffect]]
    effect: Effect = Effect.UNSAFE
    concurrency_safe: Flag = False  # a call that only reads may run beside others that say so
    read_only: Flag | None = None  # changes nothing; None: as its effect says
    destructive: Flag = False  # what it changes cannot be had back
    exclusive: bool = False  # nothing runs beside it
    cancellable: bool | None = None  # a stop ends it while it runs; None: where it has no effect outside
    says: str = ""  # key of the agent's catalogue: its action, shown to the waiting person; empty: its name
    enabled: bool | Callable[[], bool] = True  # asked once, when the agent is put together
    should_defer: bool = False  # its schema is sent once the model has looked for it
    timeout_s: float = 60.0
    max_result_chars: int = 100_000
    output_schema: Schema | None = None  # what its data always is; None: anything, or what its effect returns
    aliases: tuple[str, ...] = ()  # other names a model may know it by
    validate: Check | None = None  # what no schema can say; raises ToolError
    permission: Callable[[ToolContext, Any], str] | None = None  # allow | deny | ask | passthrough, where no rule says
    backfill: Backfill | None = None  # the arguments as hooks, permission and run see them; the transcript's stay

    @property
    def spec(self) -> ToolSpec:
        """The tool as the model is told of it.

        Raises:
            UnusableSchema: its schema cannot be told.
        """
        return ToolSpec(self.name, self.description, to_json_schema(self.arguments, scores_risk=self.effect.is_outside))

    @property
    def may_be_cut(self) -> bool:
        """Return whether a stop may end it while it runs."""
        return not self.effect.is_outside if self.cancellable is None else self.cancellable

    def is_enabled(self) -> bool:
        """Return whether there is such a tool at all today."""
        return self.enabled if isinstance(self.enabled, bool) else _holds(self, lambda _: self.enabled(), None)  # type: ignore[operator]  # no bool

    def only_reads(self, arguments: object) -> bool:
        """Return whether this call changes nothing."""
        return self.effect is Effect.NONE if self.read_only is None else _holds(self, self.read_only, arguments)

    def is_concurrency_safe(self, arguments: object) -> bool:
        """Return whether this call may run beside others that say so too: it changes nothing that any of them reads."""
        return not self.exclusive and self.only_reads(arguments) and _holds(self, self.concurrency_safe, arguments)

    def is_destructive(self, arguments: object) -> bool:
        """Return whether what this call changes cannot be had back."""
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
    aliases: tuple[str, ...]
    validate: Callable[..., Awaitable[None] | None]  # (self, context, arguments), like the tool
    permission: Callable[..., str]  # (self, context, arguments), like the tool
    backfill: Callable[..., Any]  # (self, context, arguments), like the tool


def tool(arguments: Schema, **flags: Unpack[ToolFlags]) -> Callable[[F], F]:
    """Declare an async method `(self, context, arguments)` as a tool; its docstring is what the model reads."""

    def declare(function: F) -> F:
        description = " ".join((function.__doc__ or "").split())
        declared = Tool(name=function.__name__, description=description, arguments=arguments, run=_unbound, **flags)
        function.__tool__ = declared  # type: ignore[attr-defined]  # read by tools_of alone
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
