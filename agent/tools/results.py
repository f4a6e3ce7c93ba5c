"""Tool results as the model reads them: a bounded JSON object {"success", "data", "error"}."""

import dataclasses
import json
import math
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum
from uuid import UUID

import orjson
from pydantic import BaseModel

from agent.wellformed import well_formed

RAW_CHARS = 1_000_000
"""Maximum length of a stored result, in the journal too."""

MAX_DEPTH = 100
"""Deeper data is replaced by a text."""

PREVIEW_SHARE = 0.9
"""Share of a budget for the preview; the rest is for escaped quotes."""

PREVIEW_CHARS = 8000
"""Maximum length of a preview if the whole result can be read in parts."""

READ_ON = "Read on with read_result(handle, offset), or ask for less."

HANDLE_MARK = '"data":{"handle":'
"""Occurs near the beginning of each result that can be read in parts."""


def success_result(data: object) -> str:
    """Return the result of a successful call; long data becomes a preview, data that is not JSON an error text."""
    try:
        content = _encode({"success": True, "data": _jsonable(data, 0), "error": None})
    except (RecursionError, TypeError, ValueError) as problem:
        return failure_result(f"The tool ran, but its result cannot be shown: {problem}.")
    return fit_result(content, RAW_CHARS)


def failure_result(error: str, data: Mapping[str, object] | None = None) -> str:
    """Return the result of a failed call: `error` for the model, `data` for code."""
    return _encode({"success": False, "data": data, "error": well_formed(error)[:4000]})


def fit_result(content: str, max_chars: int, handle: str = "") -> str:
    """Return the result, or a preview of at most about `max_chars` that says what is missing.

    With a handle the model can read the rest, so the preview is short.
    """
    if len(content) <= max_chars:
        return content
    shown = int(max_chars * PREVIEW_SHARE)
    if handle:
        shown = min(shown, PREVIEW_CHARS)
    whole = _preview(content, shown, handle)
    if len(whole) > max_chars:  # many escaped characters
        whole = _preview(content, max(0, shown * max_chars // len(whole) - 300), handle)
    return whole


def _preview(content: str, shown: int, handle: str) -> str:
    beginning = f"Too long: {len(content)} characters, only the beginning is shown."
    data: dict[str, object] = {"preview": content[:shown], "note": f"{beginning} Ask for less."}
    if handle:
        data = {"handle": handle, "next_offset": shown, "preview": content[:shown], "note": f"{beginning} {READ_ON}"}
    return _encode({"success": '"success":true' in content[:20], "data": data, "error": None})


def _encode(value: object) -> str:
    try:
        return orjson.dumps(value).decode()
    except TypeError:  # an integer of more than 64 bits
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _jsonable(value: object, depth: int) -> object:
    if value is None or isinstance(value, int):
        return value
    if depth > MAX_DEPTH:
        return "(nested too deep to show)"
    if isinstance(value, str):
        return well_formed(value[: 2 * RAW_CHARS])
    depth += 1
    if isinstance(value, Mapping):
        return {well_formed(str(key)): _jsonable(item, depth) for key, item in value.items()}
    if isinstance(value, list | tuple | AbstractSet):
        return [_jsonable(item, depth) for item in value]
    return _special(value, depth)


def _special(value: object, depth: int) -> object:
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, UUID | Decimal | timedelta):
        return str(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return f"({len(value)} bytes of binary data)"
    return _jsonable(_open_value(value), depth)


def _open_value(value: object) -> object:
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, BaseModel):
        return value.model_dump()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    raise TypeError(f"{type(value).__name__} is not JSON")
