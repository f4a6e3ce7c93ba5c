"""A tool's JSON schema as short as it can be said: a small model pays for every word of it before it says anything.

What is left out is still held by the arguments model: bounds, patterns, and that None is the same as nothing.
"""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

_UNSAID = frozenset({"title", "maxLength", "minLength", "maxItems", "minimum", "maximum", "pattern", "$defs"})
_EMPTY: tuple[object, ...] = (None, "", False, [])


def short_schema(arguments: type[BaseModel]) -> dict[str, Any]:
    """The schema of these arguments: references resolved, no titles, no limits that a model hardly meets."""
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
