"""A tool is a typed async function with its schema and fail-closed flags. Running one is the pipeline's work."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, TypeVar

from pydantic import BaseModel

from agent.ports import LocalCommand, Principal, ToolSpec


class Effect(StrEnum):
    """What running a tool does to the world, and so what a crash in between allows."""

    NONE = "none"  # reads only: may be run again
    LOCAL = "local"  # returns a LocalCommand that is applied in the commit that journals its result
    IDEMPOTENT = "idempotent"  # may be run again with the same call key
    UNSAFE = "unsafe"  # never run again when its outcome is unknown


@dataclass(frozen=True, slots=True)
class ToolContext:
    """Whom and when a call acts for. From the envelope, never from the model."""

    principal: Principal
    now: datetime  # aware UTC
    call_key: str  # turn/step/index: the idempotency key


class ToolError(Exception):
    """A tool refuses or fails in a way the model should read; the message is shown to it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """One declared tool, bound to what it reads from."""

    name: str
    description: str
    arguments: type[BaseModel]
    run: Callable[[ToolContext, Any], Awaitable[object | LocalCommand]]
    effect: Effect = Effect.UNSAFE
    concurrency_safe: bool = False  # may run beside other safe calls
    timeout_s: float = 60.0
    max_result_chars: int = 100_000

    @property
    def spec(self) -> ToolSpec:
        """The tool as the model is told of it."""
        return ToolSpec(self.name, self.description, short_schema(self.arguments))


F = TypeVar("F", bound=Callable[..., Awaitable[object]])


def tool(
    arguments: type[BaseModel],
    *,
    effect: Effect = Effect.UNSAFE,
    concurrency_safe: bool = False,
    timeout_s: float = 60.0,
) -> Callable[[F], F]:
    """Declare an async method `(self, context, arguments)` as a tool; its docstring is what the model reads."""

    def declare(function: F) -> F:
        declared = Tool(
            name=function.__name__,
            description=" ".join((function.__doc__ or "").split()),
            arguments=arguments,
            run=_unbound,
            effect=effect,
            concurrency_safe=concurrency_safe,
            timeout_s=timeout_s,
        )
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
            found.append(replace(declared, run=getattr(owner, name)))
    return tuple(sorted(found, key=lambda tool: tool.name))


# ------------------------------------------------------------ schemas

_UNSAID = frozenset({"title", "maxLength", "minLength", "maxItems", "minimum", "maximum", "pattern", "$defs"})
_EMPTY: tuple[object, ...] = (None, "", False, [])


def short_schema(arguments: type[BaseModel]) -> dict[str, Any]:
    """The schema of these arguments, as short as it can be said: a small model pays for every word before it speaks.

    References are resolved, titles and limits that a model hardly meets left out; the arguments model holds them.
    """
    whole = arguments.model_json_schema()
    short = _short(whole, whole.get("$defs", {}))
    short.pop("description", None)  # of the class, for people
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
