"""JSON of requests and answers of model servers, with repairs; pure."""

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
"""Cached encoded tools of a wire, shared by all conversations."""


def encode(body: dict[str, Any]) -> bytes:
    """Encode as JSON; repair lone surrogates and integers beyond 64 bits, which the encoder refuses (F40)."""
    try:
        return orjson.dumps(body)
    except TypeError:
        return well_formed(json.dumps(body, ensure_ascii=False, separators=(",", ":"))).encode()


def encode_request(request: ModelRequest, to_body: Callable[[ModelRequest], dict[str, Any]]) -> bytes:
    """Encode the body of a request with the pieces that its conversation has encoded before.

    If something needs a repair, all is encoded anew: the other encoder writes some numbers differently.
    """
    try:
        return orjson.dumps(to_body(request))
    except TypeError:
        return encode(to_body(replace(request, pieces=None)))


def to_piece(value: Any) -> orjson.Fragment:
    """Encode a value as a fragment of a body.

    It is copied: orjson 3.13 allocates 4 KiB or more for each result (November 2026).

    Raises:
        TypeError: the value needs a repair.
    """
    return orjson.Fragment(bytes(memoryview(orjson.dumps(value))))


def decode(data: bytes) -> Any:
    """Decode JSON; lone surrogates and broken UTF-8 become U+FFFD.

    Raises:
        ModelFailure: it is not JSON.
    """
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        pass
    try:
        lenient = json.loads(data.decode(errors="replace"), parse_int=_to_number)
        return orjson.loads(well_formed(json.dumps(lenient, ensure_ascii=False)))
    except (ValueError, RecursionError):
        raise failure(FailureKind.NETWORK, "the answer is not JSON") from None


def _to_number(digits: str) -> int | float:
    """Parse a number with a bound on its digits: exact parsing is quadratic in them."""
    return int(digits) if len(digits) < 20 else float(digits)
