"""Schemas of tools (pydantic models, or JSON Schemas passed on unchanged) and parsing of arguments.

A model's schema is kept short to save tokens.
"""

import json
import math
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic.errors import PydanticUserError
from pydantic_core import to_jsonable_python

from agent.permissions.chain import SecurityRisk
from agent.wellformed import well_formed

Schema = type[BaseModel] | Mapping[str, Any]
"""The schema of an object: a pydantic model, or a JSON Schema with `"type": "object"`."""

Arguments = BaseModel | dict[str, Any]
"""The argument of a tool: an instance of its model, or the JSON object if it has a JSON Schema."""

MOST_SAID = 10
"""Maximum reported problems of one input."""

RISK_FIELD = "security_risk"
"""A model's estimate of a call's danger, beside the tool's arguments; the tool never sees it."""

RISK_SCHEMA = {"enum": ["LOW", "MEDIUM", "HIGH", "UNKNOWN"], "description": "Your estimate of this call's risk."}

_UNSAID = frozenset({"title", "maxLength", "minLength", "maxItems", "minimum", "maximum", "pattern", "$defs"})
_EMPTY: tuple[object, ...] = (None, "", False, [])
_TYPES: Mapping[str, type | tuple[type, ...]] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "array": list,
    "object": dict,
    "null": type(None),
}


class BadArguments(Exception):
    """The arguments are invalid; the message tells the model how to correct them."""


class UnusableSchema(Exception):
    """The schema cannot be shown to a model; the message says why."""


def to_json_schema(schema: Schema, *, scores_risk: bool = False) -> dict[str, Any]:
    """Return the JSON Schema for the model; that of a pydantic model may ask for the risk of a call.

    Raises:
        UnusableSchema: it cannot be converted, or is not the schema of an object.
    """
    if isinstance(schema, Mapping):
        _check_json_schema(schema)
        return dict(schema)
    try:
        return _short_schema(schema, scores_risk)
    except RecursionError:
        raise UnusableSchema("it holds itself") from None
    except (PydanticUserError, AttributeError) as error:
        raise UnusableSchema(str(error).partition("\n")[0]) from None


def names_in(schema: Schema) -> frozenset[str] | None:
    """Return the names of the fields; None if it accepts others, too."""
    if isinstance(schema, Mapping):
        return frozenset(schema.get("properties", ())) if schema.get("additionalProperties") is False else None
    return None if schema.model_config.get("extra") == "allow" else _names_of(schema)


def fit(given: dict[str, Any], schema: Schema) -> Arguments:
    """Validate these values and return the argument of the tool.

    A JSON Schema is checked for types, enumerations, and missing or unknown fields; the tool checks the rest.

    Raises:
        BadArguments: they do not fit the schema (F38).
    """
    if isinstance(schema, Mapping):
        if found := [flaw for flaw, _ in zip(_flaws(given, schema, ""), range(MOST_SAID), strict=False)]:
            raise BadArguments(f"Invalid arguments: {'; '.join(found)}")
        return given
    known = names_in(schema)
    if known is not None and (unknown := sorted(given.keys() - known)):
        raise BadArguments(f"Unknown arguments: {', '.join(unknown)[:300]}. Known: {', '.join(sorted(known))}.")
    try:
        return schema.model_validate(given)
    except ValidationError as problem:
        errors = problem.errors(include_url=False, include_input=False, include_context=False)[:MOST_SAID]
        said = "; ".join(
            f"{'.'.join(str(part) for part in error['loc']) or 'arguments'}: {error['msg']}" for error in errors
        )
        raise BadArguments(f"Invalid arguments: {said}") from None
    except RecursionError:
        raise BadArguments("Invalid arguments: nested too deep.") from None


def fit_output(data: object, schema: Schema) -> object:
    """Validate a tool's data; a model converts it, a JSON Schema leaves it unchanged.

    Raises:
        ValueError: it does not fit.
    """
    if not isinstance(schema, Mapping):
        return schema.model_validate(data, from_attributes=True)
    if flaw := next(_flaws(to_jsonable_python(data), schema, ""), None):
        raise ValueError(flaw)
    return data


def unshown_in(schema: Schema) -> tuple[str, ...]:
    """Return the arguments that a question to a person leaves out: a model's fields with `repr=False`."""
    if not isinstance(schema, type):
        return ()
    return tuple(name for name, field in schema.model_fields.items() if not field.repr)


def unsaid_in(arguments: Arguments) -> tuple[str, ...]:
    """Return the arguments of a model that are empty by default and were left so."""
    if not isinstance(arguments, BaseModel):
        return ()
    fields = type(arguments).model_fields.items()
    return tuple(name for name, field in fields if field.default == "" == getattr(arguments, name))


def to_values(arguments: Arguments) -> dict[str, Any]:
    """Return the arguments by name as Python values."""
    return arguments.model_dump(by_alias=True) if isinstance(arguments, BaseModel) else arguments


def to_json(arguments: Arguments) -> str:
    """Return the arguments as JSON."""
    if isinstance(arguments, BaseModel):
        return arguments.model_dump_json(by_alias=True)
    return json.dumps(arguments, ensure_ascii=False)


# ---------------------------------------------------------------- a JSON Schema


def _check_json_schema(schema: Mapping[str, Any]) -> None:
    try:
        json.dumps(schema)
    except RecursionError:
        raise UnusableSchema("it holds itself") from None
    except (TypeError, ValueError) as error:
        raise UnusableSchema(f"it is not JSON: {error}") from None
    if schema.get("type") != "object":
        raise UnusableSchema(f'its "type" is {schema.get("type")!r}, and has to be "object"')
    properties, required = schema.get("properties", {}), schema.get("required", [])
    if not isinstance(properties, dict) or not all(isinstance(each, dict | bool) for each in properties.values()):
        raise UnusableSchema('its "properties" have to be an object that holds a schema for each name')
    if not isinstance(required, list) or not all(isinstance(name, str) for name in required):
        raise UnusableSchema('its "required" has to be a list of names')


def _flaws(value: object, schema: object, at: str) -> Iterator[str]:
    if not isinstance(schema, Mapping):
        return
    place, types = at or "arguments", schema.get("type")
    wanted = [types] if isinstance(types, str) else types or []
    if wanted and not any(_is_of(value, name) for name in wanted):
        yield f"{place}: has to be {' or '.join(map(str, wanted))}"
        return
    if isinstance(choices := schema.get("enum"), list) and value not in choices:
        yield f"{place}: has to be one of {json.dumps(choices, ensure_ascii=False)[:300]}"
    if isinstance(value, dict):
        properties = schema.get("properties") or {}
        yield from (f"{place}: {name} is missing" for name in schema.get("required") or () if name not in value)
        if schema.get("additionalProperties") is False and (unknown := sorted(value.keys() - properties.keys())):
            yield f"{place}: unknown: {', '.join(unknown)[:300]}; known: {', '.join(sorted(properties))[:300]}"
        for name in value.keys() & properties.keys():
            yield from _flaws(value[name], properties[name], f"{at}.{name}".lstrip("."))
    if isinstance(value, list):
        for index, each in enumerate(value):
            yield from _flaws(each, schema.get("items"), f"{at}.{index}".lstrip("."))


def _is_of(value: object, name: object) -> bool:
    if isinstance(value, bool):
        return name == "boolean"
    return isinstance(value, _TYPES.get(str(name), object)) or (
        name == "integer" and isinstance(value, float) and value.is_integer()
    )


# ---------------------------------------------------------------- a model's


@lru_cache(256)  # an argument model is defined once, and converted for each agent
def _short_schema(arguments: type[BaseModel], scores_risk: bool) -> dict[str, Any]:
    """Return the schema without references, titles and rarely met limits, which validation still enforces."""
    whole = arguments.model_json_schema()
    short = _short(whole, whole.get("$defs", {}))
    short.pop("description", None)  # the class's docstring is for people
    if scores_risk and RISK_FIELD not in arguments.model_fields:
        short["properties"] = {**short.get("properties", {}), RISK_FIELD: RISK_SCHEMA}
    return short


def _short(schema: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    if (name := str(schema.get("$ref", "")).removeprefix("#/$defs/")) in known:
        kept = {key: value for key, value in schema.items() if key != "$ref"}
        unsaid = ("description", "additionalProperties")  # for people; the same for every object
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


@lru_cache(256)  # few tools, many calls
def _names_of(model: type[BaseModel]) -> frozenset[str]:
    return frozenset(model.model_fields) | {field.alias for field in model.model_fields.values() if field.alias}


MAX_CHARS = 200_000
"""Ten times the longest argument of our tools, a weekly plan."""

MAX_DIGITS = 300
"""Maximum digits of a number, independent of Python's own setting."""


class NotJson(BadArguments):
    """The arguments are not a JSON object: a malformed call."""


def read(written: str, schema: Schema) -> tuple[Arguments, SecurityRisk]:
    """Parse the model's JSON; return the tool's argument and the scored risk.

    Raises:
        NotJson: it is not a JSON object (F34).
        BadArguments: it does not fit the tool's schema (F38).
    """
    given = parse(written)
    own = isinstance(schema, Mapping) or RISK_FIELD in (names_in(schema) or ())
    score = None if own else given.pop(RISK_FIELD, None)
    return fit(given, schema), _risk(score)


def _risk(score: object) -> SecurityRisk:
    if score is None:
        return SecurityRisk.UNKNOWN
    try:
        return SecurityRisk(str(score).upper())
    except ValueError:
        return SecurityRisk.UNKNOWN


def parse(written: str) -> dict[str, Any]:
    """Parse a JSON object strictly; an empty text is an empty object.

    Raises:
        NotJson: it is something else, or has duplicate keys, NaN or huge numbers.
    """
    if not written.strip():
        return {}
    if len(written) > MAX_CHARS:
        raise NotJson(f"The arguments are longer than {MAX_CHARS} characters.")
    try:
        given = _STRICT.decode(written)
        if isinstance(given, dict):
            return {key: _clean(value) for key, value in given.items()}
    except RecursionError:
        raise NotJson("The arguments are nested too deep.") from None
    except ValueError as problem:
        raise NotJson(f"The arguments are not valid JSON: {str(problem)[:200]}") from None
    raise NotJson(f"The arguments must be a JSON object, not {type(given).__name__}.")


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key occurs twice")
    return found


def _int(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise ValueError(f"a number of {len(digits)} digits")
    return int(digits)


def _float(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError("a number that is too large")
    return number


def _constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


# Built once: `json.loads` would build one for each call.
_STRICT = json.JSONDecoder(object_pairs_hook=_pairs, parse_int=_int, parse_float=_float, parse_constant=_constant)


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return well_formed(value)
    if isinstance(value, dict):
        return {well_formed(key): _clean(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_clean(item) for item in value]
    return value
