"""JSON as model servers are sent it and send it, mended where it is not quite that; pure."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import orjson

from agent.errors import FailureKind
from agent.models.failures import failure
from agent.ports import ModelRequest
from agent.wellformed import well_formed

TOOLS_KEPT = 1_000
"""Tools whose encoded form is kept, a wire: all conversations share it."""


def encode(body: dict[str, Any]) -> bytes:
    """JSON, with what no encoder takes mended: lone surrogates, integers beyond 64 bits (F40)."""
    try:
        return orjson.dumps(body)
    except TypeError:
        return well_formed(json.dumps(body, ensure_ascii=False, separators=(",", ":"))).encode()


def encode_request(request: ModelRequest, to_body: Callable[[ModelRequest], dict[str, Any]]) -> bytes:
    """As `encode` does with the request's body, byte for byte; what its conversation has encoded before is not again.

    Where something needs mending all is encoded anew, for the other encoder writes some numbers otherwise.
    """
    try:
        return orjson.dumps(to_body(request))
    except TypeError:
        return encode(to_body(replace(request, pieces=None)))


def to_piece(value: Any) -> orjson.Fragment:
    """Return the value as a part of a body that needs no encoding again.

    It is copied: what orjson 3.13 returns takes 4 KiB of memory or more, however short it is (November 2026).

    Raises:
        TypeError: no part can be made of it, it needs mending.
    """
    return orjson.Fragment(bytes(memoryview(orjson.dumps(value))))


def decode(data: bytes) -> Any:
    """JSON, also with lone surrogates and broken UTF-8, which become U+FFFD.

    Raises:
        ModelFailure: it is no JSON.
    """
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        pass
    try:
        lenient = json.loads(data.decode(errors="replace"), parse_int=_to_number)
        return orjson.loads(well_formed(json.dumps(lenient, ensure_ascii=False)))
    except (ValueError, RecursionError):
        raise failure(FailureKind.NETWORK, "the answer is no JSON") from None


def _to_number(digits: str) -> int | float:
    """Parse a number with a bound on its digits: exact parsing is quadratic in them."""
    return int(digits) if len(digits) < 20 else float(digits)
