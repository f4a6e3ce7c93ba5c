"""A checker of JSON that a model wrote against a JSON schema; pure.

An operator's schema may only have the keywords of `KEYWORDS`, so that each of its rules is checked. A client of the API
may send any schema: the check ignores keywords that it does not know, and its work is bounded.
"""

import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

TYPES: Mapping[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "number": (int, float),
    "integer": (int,),
    "boolean": (bool,),
    "null": (type(None),),
}
SILENT = ("$schema", "$id", "$defs", "title", "description", "examples", "default")
BOUNDS = ("minItems", "maxItems", "minLength", "maxLength", "minimum", "maximum")
CHECKED = ("type", "enum", "const", "anyOf", "$ref", "required", "properties", "additionalProperties", "items", *BOUNDS)
KEYWORDS = frozenset((*SILENT, *CHECKED))
_FORMS: Mapping[str, tuple[str, tuple[type, ...]]] = {
    "type": ("a word or a list of words", (str, list)),
    "enum": ("a list", (list,)),
    "anyOf": ("a list", (list,)),
    "$ref": ("a text", (str,)),
    "$defs": ("an object", (dict,)),
    "required": ("a list", (list,)),
    "properties": ("an object", (dict,)),
    "additionalProperties": ("true, false or a schema", (bool, dict)),
    **dict.fromkeys(BOUNDS, ("a number", (int, float))),
}

MOST_STEPS = 200_000
"""Steps after which the check gives up, so that one long answer does not hold up the event loop."""

STEPS_A_VALUE = 10
"""Cost of one value and its schema; a comparison with one item of an `enum` costs one step."""


class BadGate(ValueError):
    """The text is not a schema that can be checked; the message says why."""


class _TooMuch(ValueError):
    """The steps are used up."""


@lru_cache(16)
def read_gate(written: str) -> Mapping[str, Any]:
    """Parse a JSON text as the schema that answers must fit.

    Raises:
        BadGate: it is not a JSON object, or it has unknown keywords.
    """
    try:
        schema = json.loads(written)
        if not isinstance(schema, dict):
            raise BadGate("a JSON schema is an object")
        if unknown := sorted(set(_keywords(schema)) - KEYWORDS):
            raise BadGate(f"the gate does not check {', '.join(unknown)}; it knows {', '.join(CHECKED)}")
    except (ValueError, RecursionError) as problem:
        raise problem if isinstance(problem, BadGate) else BadGate(f"this is not JSON: {problem}") from None
    return schema


def _keywords(schema: object) -> Iterator[str]:
    if not isinstance(schema, dict):
        raise BadGate("a schema is an object")
    yield from schema
    for keyword, (form, types) in _FORMS.items():
        if keyword in schema and not isinstance(schema[keyword], types):
            raise BadGate(f"{keyword} is {form} here")
    for name in _names(schema.get("type", "object")):
        if name not in TYPES:
            raise BadGate(f"the type {name!r} is not one of {', '.join(TYPES)}")
    if not all(isinstance(name, str) for name in schema.get("required", ())):
        raise BadGate("required is a list of names")
    inner = [*schema.get("properties", {}).values(), *schema.get("$defs", {}).values(), *schema.get("anyOf", ())]
    others = schema.get("additionalProperties")
    inner += [others] if isinstance(others, dict) else []
    inner += [schema["items"]] if "items" in schema else []
    for each in inner:
        yield from _keywords(each)


def without_fence(answer: str) -> str:
    """Return the answer without the code fence around it."""
    return answer.strip().removeprefix("```json").removeprefix("```").removesuffix("```").strip()


def misfit(answer: str, schema: Mapping[str, Any]) -> str:
    """Return the first reason why the answer does not fit the schema, or "" if it fits; a code fence is ignored."""
    try:
        value = json.loads(without_fence(answer))
    except (ValueError, RecursionError):
        return "it is not JSON alone"
    try:
        return next(_Check(schema).misfits(value, schema, "answer"), "")
    except (_TooMuch, RecursionError):
        return "it is too much to check"


class _Check:
    """One comparison of a value with a schema."""

    def __init__(self, root: Any) -> None:
        self._root = root
        self._left = MOST_STEPS

    def _spend(self, steps: int) -> None:
        self._left -= steps
        if self._left < 0:
            raise _TooMuch

    def misfits(self, value: Any, schema: Any, where: str) -> Iterator[str]:
        """Yield each reason why the value does not fit, the first one first."""
        self._spend(STEPS_A_VALUE)
        if schema is False:
            yield f"{where} is not allowed"
        if not isinstance(schema, dict):
            return
        if isinstance(name := schema.get("$ref"), str):
            yield from self.misfits(value, _find(self._root, name), where)
            return
        if not _is_of(value, wanted := schema.get("type")):
            yield f"{where} is not of type {' or '.join(_names(wanted))}"
            return
        named, options = schema.get("enum"), schema.get("anyOf")
        if isinstance(named, list):
            self._spend(len(named))
            if value not in named:
                yield f"{where} is not one of {json.dumps(named, ensure_ascii=False)}"
        if "const" in schema and value != schema["const"]:
            yield f"{where} is not {json.dumps(schema['const'], ensure_ascii=False)}"
        if isinstance(options, list) and not any(self._fits(value, option) for option in options):
            yield f"{where} fits none of anyOf"
        yield from _bounds(value, schema, where)
        if isinstance(value, list):
            for index, inner in enumerate(value):
                yield from self.misfits(inner, schema.get("items"), f"{where}[{index}]")
        elif isinstance(value, dict):
            yield from self._members(value, schema, where)

    def _fits(self, value: Any, schema: Any) -> bool:
        return next(self.misfits(value, schema, ""), None) is None

    def _members(self, value: Mapping[str, Any], schema: Mapping[str, Any], where: str) -> Iterator[str]:
        properties, required = schema.get("properties"), schema.get("required")
        properties = properties if isinstance(properties, dict) else {}
        for name in required if isinstance(required, list) else ():
            self._spend(1)
            if isinstance(name, str) and name not in value:
                yield f"{where}.{name} is missing"
        for name, inner in value.items():
            yield from self.misfits(inner, properties.get(name, schema.get("additionalProperties")), f"{where}.{name}")


def _names(wanted: Any) -> list[Any]:
    return wanted if isinstance(wanted, list) else [wanted]


def _is_of(value: Any, wanted: Any) -> bool:
    if not isinstance(wanted, str | list):
        return True
    kinds = [TYPES.get(str(name), ()) for name in _names(wanted)]
    return any(isinstance(value, kind) and (bool in kind or not isinstance(value, bool)) for kind in kinds)


def _find(root: Any, name: str) -> Any:
    """Return the part of a schema that `#/...` names; a missing part fits anything."""
    for key in name.removeprefix("#").strip("/").split("/"):
        root = root.get(key, True) if key and isinstance(root, dict) else root
    return root


def _bounds(value: Any, schema: Mapping[str, Any], where: str) -> Iterator[str]:
    size: float
    if isinstance(value, str):
        size, least, most = len(value), "minLength", "maxLength"
    elif isinstance(value, list):
        size, least, most = len(value), "minItems", "maxItems"
    elif isinstance(value, int | float) and not isinstance(value, bool):
        size, least, most = value, "minimum", "maximum"
    else:
        return
    if isinstance(bound := schema.get(least), int | float) and size < bound:
        yield f"{where} is below {least} {bound}"
    if isinstance(bound := schema.get(most), int | float) and size > bound:
        yield f"{where} is above {most} {bound}"
