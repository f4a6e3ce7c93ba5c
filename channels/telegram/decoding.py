"""JSON from outside, read without ever raising."""

import json

import orjson
from pydantic import JsonValue

JsonObject = dict[str, JsonValue]


def decoded(content: str | bytes) -> JsonValue:
    """The JSON value; None when it is none. Lone surrogates in it, which orjson refuses, survive."""
    value: JsonValue
    try:
        value = orjson.loads(content)
    except orjson.JSONDecodeError:
        try:
            value = json.loads(content)
        except (ValueError, RecursionError):
            return None
    return value
