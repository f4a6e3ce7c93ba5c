"""A tool is a typed async function with its schema and fail-closed flags. Running one is the pipeline's work.

Its schema is as short as it can be said: a small model pays for every word before it speaks.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from functools import lru_cache
from typing import Any, Protocol, TypedDict, TypeVar, Unpack

import structlog
from pydantic import BaseModel

from agent.foreign_code import contain_exits
from agent.ports import LocalEffect, NoteCost, Principal, Spent, ToolSpec
from agent.transcript import CallOutcome

log = structlog.get_logger()


class Effect(StrEnum):
    """What running a tool does to the world, and so what a crash in between allows."""

    NONE = "none"  # reads only: may be run again
    LOCAL = "local"  # returns a LocalEffect, which runs in the commit that journals its result
    IDEMPOTENT = "idempotent"  # may be run again with the same call key
    UNSAFE = "unsafe"  # never run again when its outcome is unknown

    @property
    def is_outside(self) -> bool:
        """Whether it leaves what the gateway's own commits hold together."""
        return self in {Effect.IDEMPOTENT, Effect.UNSAFE}


class Report(Protocol):
    """Says what a call is doing, while it does it, to whoever watches."""

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
    return Deny(f"nobody is here who could let {tool} run.")


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
    arguments: type[BaseModel]
    run: Callable[[ToolContext, Any], Awaitable[object | LocalEffect]]
    effect: Effect = Effect.UNSAFE
    concurrency_safe: Flag = False  # a call that only reads may run beside others that say so
    read_only: Flag | None = None  # changes nothing; None: as its effect says
    destructive: Flag = False  # what it changes cannot be had back
    exclusive: bool = False  # nothing runs beside it
    cancellable: bool | None = None  # a stop ends it while it runs; None: where it has no effect outside
    fails_siblings: bool = False  # when it fails, the other calls of its response are not wanted any more
    says: str = ""  # key of the agent's catalogue: what it does, for whoever waits; empty: its name is said
    enabled: bool | Callable[[], bool] = True  # asked once, when the agent is put together
    should_defer: bool = False  # its schema is sent once the model has looked for it
    scores_risk: bool | None = None  # the model is asked how risky a call is; None: where it has an effect outside
    timeout_s: float = 60.0
    max_result_chars: int = 100_000
    output_schema: type[BaseModel] | None = None  # what its data always is; None: anything, or what `apply` gives
    aliases: tuple[str, ...] = ()  # other names a model may know it by
    validate: Check | None = None  # what no schema can say; raises ToolError
    permission: Callable[[ToolContext, Any], str] | None = None  # allow | deny | ask | passthrough, where no rule says
    backfill: Backfill | None = None  # the arguments as hooks, permission and run see them; the transcript's stay

    @property
    def spec(self) -> ToolSpec:
        """The tool as the model is told of it."""
        return ToolSpec(self.name, self.description, short_schema(self.arguments, scores_risk=self._scores_risk))

    @property
    def _scores_risk(self) -> bool:
        return self.effect.is_outside if self.scores_risk is None else self.scores_risk

    @property
    def may_be_cut(self) -> bool:
        """Whether a stop may end it while it runs."""
        return not self.effect.is_outside if self.cancellable is None else self.cancellable

    def is_enabled(self) -> bool:
        """Whether there is such a tool at all today."""
        return self.enabled if isinstance(self.enabled, bool) else _holds(self, lambda _: self.enabled(), None)  # type: ignore[operator]  # no bool

    def only_reads(self, arguments: object) -> bool:
        """Whether this call changes nothing."""
        return self.effect is Effect.NONE if self.read_only is None else _holds(self, self.read_only, arguments)

    def is_concurrency_safe(self, arguments: object) -> bool:
        """Whether this call may run beside others that say so too: it changes nothing that any of them reads."""
        return not self.exclusive and self.only_reads(arguments) and _holds(self, self.concurrency_safe, arguments)

    def is_destructive(self, arguments: object) -> bool:
        """Whether what this call changes cannot be had back."""
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
    """What `@tool` takes beside the arguments; meanings and defaults are `Tool`'s own."""

    effect: Effect
    concurrency_safe: Flag
    read_only: Flag
    destructive: Flag
    exclusive: bool
    cancellable: bool
    fails_siblings: bool
    says: str
    enabled: bool | Callable[[], bool]
    should_defer: bool
    scores_risk: bool
    timeout_s: float
    max_result_chars: int
    output_schema: type[BaseModel]
    aliases: tuple[str, ...]
    validate: Callable[..., Awaitable[None] | None]  # (self, context, arguments), like the tool
    permission: Callable[..., str]  # (self, context, arguments), like the tool
    backfill: Callable[..., Any]  # (self, context, arguments), like the tool


def tool(arguments: type[BaseModel], **flags: Unpack[ToolFlags]) -> Callable[[F], F]:
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
    """The declared tools of an object, bound to it, sorted by name."""
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


RISK_FIELD = "security_risk"
"""What a model may say beside a tool's arguments: how dangerous this call is. The tool never sees it."""

RISK_SCHEMA = {"enum": ["LOW", "MEDIUM", "HIGH", "UNKNOWN"], "description": "Your estimate of this call's risk."}

_UNSAID = frozenset({"title", "maxLength", "minLength", "maxItems", "minimum", "maximum", "pattern", "$defs"})
_EMPTY: tuple[object, ...] = (None, "", False, [])


@lru_cache(256)  # models of arguments are made once, and asked for wherever an agent is put together
def short_schema(arguments: type[BaseModel], *, scores_risk: bool = False) -> dict[str, Any]:
    """The schema of these arguments, as short as it can be said: a small model pays for every word before it speaks.

    References are resolved, titles and limits that a model hardly meets left out; the arguments model holds them.
    """
    whole = arguments.model_json_schema()
    short = _short(whole, whole.get("$defs", {}))
    short.pop("description", None)  # of the class, for people
    if scores_risk and RISK_FIELD not in arguments.model_fields:
        short["properties"] = {**short.get("properties", {}), RISK_FIELD: RISK_SCHEMA}
    return short


def _short(schema: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    if (name := str(schema.get("$ref", "")).removeprefix("#/$defs/")) in known:
        kept = {key: value for key, value in schema.items() if key != "$ref"}
        unsaid = ("description", "additionalProperties")  # of the class, for people; and as with all objects
        schema = {**{key: value for key, value in known[name].items() if key not in unsaid}, **kept}
    found: dict[str, Any] = {}
    for key, value in schema.items():
        match key, value:
            case "properties", dict():
                found[key] = {name: _short(schema, known) for name, schema in value.items()}
            case "anyOf", [only, {"type": "null"}] if len(value) == 2:
                found |= _short(only, known)
            case "items", dict():
                found[key] = _short(value, known)
            case "default", _ if value in _EMPTY:
                pass
            case _ if key not in _UNSAID:
                found[key] = value
    return found
