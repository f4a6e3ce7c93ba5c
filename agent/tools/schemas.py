"""The JSON schema of a tool's arguments, as short as it can be said; what the arguments mean is the tool's matter."""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

RISK_FIELD = "security_risk"
"""What a model may say beside a tool's arguments: how dangerous this call is. The tool never sees it."""

RISK_SCHEMA = {"enum": ["LOW", "MEDIUM", "HIGH", "UNKNOWN"], "description": "Your estimate of this call's risk."}

_UNSAID = frozenset({"title", "maxLength", "minLength", "maxItems", "minimum", "maximum", "pattern", "$defs"})
_EMPTY: tuple[object, ...] = (None, "", False, [])


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
