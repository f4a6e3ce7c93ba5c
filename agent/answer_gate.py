"""Checks a final answer against a JSON schema that the operator wrote; pure.

It knows the keywords of `KEYWORDS`; a schema with another one is refused, so that nothing it says goes unchecked.
"""

import json
import re
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
SILENT = ("$schema", "$id", "title", "description", "examples", "default")
CHECKED = (
    "type", "enum", "required", "properties", "additionalProperties", "items", "minItems", "maxItems", "minLength",
    "maxLength", "minimum", "maximum",
)  # fmt: skip
KEYWORDS = frozenset((*SILENT, *CHECKED))
_FORMS: Mapping[str, tuple[str, tuple[type, ...]]] = {
    "type": ("one word", (str,)),
    "enum": ("a list", (list,)),
    "required": ("a list", (list,)),
    "properties": ("an object", (dict,)),
    "additionalProperties": ("true or false", (bool,)),
    **dict.fromkeys(CHECKED[6:], ("a number", (int, float))),
}

_FENCED = re.compile(r"\s*```(?:json)?[ \t]*\n(.*)\n[ \t]*```\s*", re.DOTALL)


class BadGate(ValueError):
    """A text that is no schema that can be checked; the message says why."""


@lru_cache(16)
def read_gate(written: str) -> Mapping[str, Any]:
    """Return the schema that this JSON text is.

    Raises:
        BadGate: it is no JSON object, or has keywords that nobody would check.
    """
    try:
        schema = json.loads(written)
        if not isinstance(schema, dict):
            raise BadGate("a JSON schema is an object")
        if unknown := sorted(set(_keywords(schema)) - KEYWORDS):
            raise BadGate(f"the gate does not check {', '.join(unknown)}; it knows {', '.join(CHECKED)}")
    except (ValueError, RecursionError) as problem:
        raise problem if isinstance(problem, BadGate) else BadGate(f"this is no JSON: {problem}") from None
    return schema


def _keywords(schema: object) -> Iterator[str]:
    if not isinstance(schema, dict):
        raise BadGate("a schema is an object")
    yield from schema
    for keyword, (form, types) in _FORMS.items():
        if keyword in schema and not isinstance(schema[keyword], types):
            raise BadGate(f"{keyword} is {form} here")
    if schema.get("type", "object") not in TYPES:
        raise BadGate(f"the type {schema['type']!r} is not one of {', '.join(TYPES)}")
    if not all(isinstance(name, str) for name in schema.get("required", ())):
        raise BadGate("required is a list of names")
    for inner in schema.get("properties", {}).values():
        yield from _keywords(inner)
    if "items" in schema:
        yield from _keywords(schema["items"])


def misfit(answer: str, schema: Mapping[str, Any]) -> str:
    """Return what of the answer does not fit the schema; "" if it fits. A code fence around it does not count."""
    fenced = _FENCED.fullmatch(answer)
    try:
        value = json.loads(fenced[1] if fenced else answer)
    except (ValueError, RecursionError):
        return "it is not JSON alone"
    return next(_misfits(value, schema, "answer"), "")


def _misfits(value: Any, schema: Mapping[str, Any], where: str) -> Iterator[str]:
    wanted = schema.get("type")
    is_bool = isinstance(value, bool) and wanted in {"number", "integer"}
    if wanted is not None and (is_bool or not isinstance(value, TYPES[wanted])):
        yield f"{where} is not of type {wanted}"
        return
    if "enum" in schema and value not in schema["enum"]:
        yield f"{where} is not one of {json.dumps(schema['enum'], ensure_ascii=False)}"
    yield from _bounds(value, schema, where)
    if isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _misfits(inner, schema.get("items", {}), f"{where}[{index}]")
    elif isinstance(value, dict):
        yield from _members(value, schema, where)


def _members(value: Mapping[str, Any], schema: Mapping[str, Any], where: str) -> Iterator[str]:
    properties = schema.get("properties", {})
    yield from (f"{where}.{name} is missing" for name in schema.get("required", ()) if name not in value)
    if schema.get("additionalProperties") is False:
        yield from (f"{where}.{name} is not allowed" for name in value if name not in properties)
    for name, inner in properties.items():
        if name in value:
            yield from _misfits(value[name], inner, f"{where}.{name}")


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
    if least in schema and size < schema[least]:
        yield f"{where} is below {least} {schema[least]}"
    if most in schema and size > schema[most]:
        yield f"{where} is above {most} {schema[most]}"
