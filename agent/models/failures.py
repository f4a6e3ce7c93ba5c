"""Mapping of a provider's errors to kinds of failure; pure. `link` decides about retries."""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from agent.errors import FailureKind
from agent.ports import ModelFailure

MAX_RETRY_AFTER_S = 86_400.0
MAX_ERROR_CHARS = 100_000
"""A longer error body is not parsed as JSON."""

RETRYABLE = frozenset(
    {FailureKind.RATE_LIMIT, FailureKind.OVERLOADED, FailureKind.SERVER, FailureKind.NETWORK, FailureKind.TIMEOUT}
)

_CONTEXT = re.compile(
    r"context.?(length|window|size|limit)|maximum context|prompt is too long|too many (input )?tokens|input is too long"
    r"|reduce the length",
    re.IGNORECASE,
)
_QUOTA = re.compile(r"insufficient_quota|spend_limit|billing|credit balance|exceeded your current quota", re.IGNORECASE)
_OVERLOADED = re.compile(r"overloaded|engine is currently|at capacity", re.IGNORECASE)
_RATE = re.compile(r"rate.?limit|too many requests", re.IGNORECASE)
_AUTH = re.compile(r"authentication|invalid_api_key|incorrect api key|unauthorized|permission", re.IGNORECASE)
_PICTURES = re.compile(r"(image|multimodal)\b.{0,40}\b(not supported|unsupported|invalid)", re.IGNORECASE)
_NO_MODEL = re.compile(
    r"model_not_found|\bmodel\b.{0,200}(not found|does not exist)|not a valid model|not_found_error model:",
    re.IGNORECASE,
)
_NO_TOOLS = re.compile(
    r"support (tools|tool use|tool calling|function)|tool choice requires|requires --jinja|tools? (is|are) not support",
    re.IGNORECASE,
)
_STREAM = re.compile(r"\b(stream_options|stream)\b")
_KEY_SHAPES = re.compile(r"\b(sk|pk|key|gsk|xai)-[\w\-*.]{6,}|Bearer\s+\S+", re.IGNORECASE)

_STATUS_OF_TYPE = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "timeout_error": 504,
    "overloaded_error": 529,
}
"""Anthropic's error types as HTTP statuses (API reference, Errors, read 2026-11)."""

_AGAIN = {"true": True, "false": False}
"""Values of the header in which a provider allows or forbids a retry (read 2026-11)."""

_BY_STATUS = {
    401: FailureKind.AUTH,
    402: FailureKind.QUOTA,
    403: FailureKind.AUTH,
    408: FailureKind.TIMEOUT,
    409: FailureKind.SERVER,  # a lock was not acquired; may pass (F13)
    413: FailureKind.CONTEXT,
    429: FailureKind.RATE_LIMIT,
    529: FailureKind.OVERLOADED,
}


def failure(kind: FailureKind, message: str, *, status: int | None = None, wait_s: float | None = None) -> ModelFailure:
    """Return a failure that is retryable if its kind is."""
    return ModelFailure(kind, message, status, kind in RETRYABLE, wait_s)


def from_answer(status: int, headers: Mapping[str, str], body: str, now: datetime, secret: str = "") -> ModelFailure:
    """Return the failure for an HTTP error status."""
    said = error_text(body)
    words = clean(said or "no reason given", secret)
    if status in {400, 404} and _NO_MODEL.search(said):
        return ModelFailure(FailureKind.SERVER, words, status)  # another model may work, a retry does not
    problem = failure(_kind(status, said), words, status=status, wait_s=retry_after_s(headers, now))
    again = _AGAIN.get(headers.get("x-should-retry", ""), problem.retryable)
    return problem if again is problem.retryable else replace(problem, retryable=again)


def refuses_tools(problem: ModelFailure) -> bool:
    """Return True if the server says that this model, or the server as it was started, takes no tools."""
    return problem.status in {400, 404, 422, 500, 501} and _NO_TOOLS.search(problem.message) is not None


def refused_field(problem: ModelFailure) -> str:
    """Return "stream" or "stream_options" if the server refused the request for that field; else ""."""
    found = _STREAM.search(problem.message) if problem.status in {400, 422} else None
    return found[1] if found else ""


def from_error(error: object, secret: str = "") -> ModelFailure:
    """Return the failure for an `{"error": ...}` inside a 200; an unknown one counts as a server error."""
    said = error_text(json.dumps({"error": error}, default=str))
    code = error.get("code", error.get("status")) if isinstance(error, Mapping) else None
    named = _STATUS_OF_TYPE.get(str(error.get("type"))) if isinstance(error, Mapping) else None
    status = code if isinstance(code, int) and 400 <= code < 600 else None
    return failure(_kind(status or named or 500, said), clean(said, secret), status=status)


def _kind(status: int, said: str) -> FailureKind:
    """Return the kind of an error. Its text goes before its status: providers send a used-up quota as 429 and a full
    context as 400.
    """
    if status in {400, 402, 403, 429, 500} and _QUOTA.search(said):
        return FailureKind.QUOTA
    if status in {400, 413, 422, 500} and _CONTEXT.search(said):
        return FailureKind.CONTEXT
    if status == 500 and _PICTURES.search(said):
        return FailureKind.BAD_REQUEST
    if (known := _BY_STATUS.get(status)) is not None:
        return known
    return _kind_of_server(status, said) if status >= 500 else FailureKind.BAD_REQUEST


def _kind_of_server(status: int, said: str) -> FailureKind:
    if _OVERLOADED.search(said):
        return FailureKind.OVERLOADED
    if status == 500 and _RATE.search(said):
        return FailureKind.RATE_LIMIT
    if status == 500 and _AUTH.search(said):
        return FailureKind.AUTH
    return FailureKind.SERVER


def error_text(body: str) -> str:
    """Return the provider's message with type and code, or the beginning of a body that is not JSON."""
    try:
        whole = json.loads(body[:MAX_ERROR_CHARS])
    except (ValueError, RecursionError):
        return " ".join(body[:300].split())
    error = whole.get("error", whole) if isinstance(whole, dict) else whole
    if isinstance(error, dict):
        parts = [error.get(name) for name in ("type", "code", "message", "detail")]
        return " ".join(str(part) for part in parts if part)[:1000]
    return str(error)[:1000]


def clean(text: str, secret: str) -> str:
    """Return the text without the key, in full or in a provider's half-masked form."""
    if secret:
        text = text.replace(secret, "[REDACTED]")
    return _KEY_SHAPES.sub("[REDACTED]", text)


def retry_after_s(headers: Mapping[str, str], now: datetime) -> float | None:
    """Return the seconds of a `Retry-After`, in seconds or as an HTTP date, at most a day; None if unreadable (F04)."""
    if (millis := _number(headers.get("retry-after-ms"))) is not None:
        return _clamp(millis / 1000)
    written = headers.get("Retry-After")
    if (seconds := _number(written)) is not None:
        return _clamp(seconds)
    if not written:
        return None
    try:
        at = parsedate_to_datetime(written)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return _clamp((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() - now.timestamp())


def _number(written: str | None) -> float | None:
    try:
        number = float(written or "")
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _clamp(seconds: float) -> float:
    return min(max(seconds, 0.0), MAX_RETRY_AFTER_S)
