"""Converts the model's text to a tool's arguments, and explains what is wrong with it; pure."""

import json
import math
from collections.abc import Mapping
from typing import Any

from agent.permissions.chain import SecurityRisk
from agent.tools.schema import RISK_FIELD, Arguments, BadArguments, Schema, fit, names_in
from agent.wellformed import well_formed

MAX_CHARS = 200_000
"""Ten times the longest thing a tool of ours takes, a weekly plan."""

MAX_DIGITS = 300
"""Digits of a number; nothing a tool counts is longer, and Python's own limit is a setting."""


class NotJson(BadArguments):
    """The arguments are no JSON object at all: a malformed call."""


def read(written: str, schema: Schema) -> tuple[Arguments, SecurityRisk]:
    """Return the model's JSON as what the tool is called with, and the risk it scored, of which no tool is told.

    Raises:
        NotJson: it is no JSON object (F34).
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
    """Return a JSON object, strictly read; nothing at all counts as an empty one.

    Raises:
        NotJson: it is anything else, or holds duplicate keys, NaN, or numbers beyond measure.
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
        raise NotJson(f"The arguments are no valid JSON: {str(problem)[:200]}") from None
    raise NotJson(f"The arguments must be a JSON object, not {type(given).__name__}.")


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands there twice")
    return found


def _int(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise ValueError(f"a number of {len(digits)} digits")
    return int(digits)


def _float(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError("a number beyond measure")
    return number


def _constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON")


_STRICT = json.JSONDecoder(
    object_pairs_hook=_pairs, parse_int=_int, parse_float=_float, parse_constant=_constant
)  # `json.loads` makes one a call


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return well_formed(value)
    if isinstance(value, dict):
        return {well_formed(key): _clean(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_clean(item) for item in value]
    return value
