"""JSON as model servers are sent it and send it, mended where it is not quite that; pure."""

import json
from typing import Any

import orjson

from agent.errors import FailureKind
from agent.models.failures import failure
from agent.wellformed import well_formed


def encode(body: dict[str, Any]) -> bytes:
    """JSON, with what no encoder takes mended: lone surrogates, integers beyond 64 bits (F40)."""
    try:
        return orjson.dumps(body)
    except TypeError:
        return well_formed(json.dumps(body, ensure_ascii=False, separators=(",", ":"))).encode()


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
    """Reading a number of thousands of digits exactly takes the square of their count; nobody counts that far."""
    return int(digits) if len(digits) < 20 else float(digits)
