"""Check of a server's JSON Schema before a model is told of it; pure."""

from collections.abc import Iterator, Mapping
from typing import Any

MAX_SCHEMA_CHARS = 20_000
"""Maximum length of a tool's schema as JSON."""


def flaw_in(schema: Mapping[str, Any], length: int) -> str:
    """Return why a model cannot be told of a schema of this length as JSON; "" if it can."""
    if length > MAX_SCHEMA_CHARS:
        return f"its schema has {length} characters, and {MAX_SCHEMA_CHARS} are the most"
    if _has_loop(schema):
        return "its schema refers to itself"
    return ""


def _has_loop(schema: Mapping[str, Any]) -> bool:
    """Return True if following references from the schema leads back to a reference that is being followed."""
    done: set[str] = set()

    def visit(node: object, above: frozenset[str]) -> bool:
        for reference in _references(node):
            if reference in above:
                return True
            if reference not in done:
                target = _at(schema, reference)
                if target is not None and visit(target, above | {reference}):
                    return True
                done.add(reference)
        return False

    return "#" in _references(schema) or visit(schema, frozenset())


def _references(node: object) -> Iterator[str]:
    if isinstance(node, Mapping):
        for key, value in node.items():
            if key in {"$ref", "$dynamicRef"} and isinstance(value, str):
                yield value
            else:
                yield from _references(value)
    elif isinstance(node, list):
        for each in node:
            yield from _references(each)


def _at(schema: Mapping[str, Any], reference: str) -> object:
    """Return the part of the schema that a local reference names; None if there is none."""
    node: object = schema
    for part in reference.removeprefix("#").split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(node, Mapping) and key in node:
            node = node[key]
        elif isinstance(node, list) and key.isdecimal() and int(key) < len(node):
            node = node[int(key)]
        else:
            return None
    return node if reference.startswith("#/") else None
