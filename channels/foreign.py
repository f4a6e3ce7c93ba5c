"""Validation and clamping of untrusted numbers, dates and texts; pure and total.

A platform or proxy may send anything: `inf`, 10**30, `true`, a date of the year 1. These functions never raise; they
return finite, bounded and aware values, or None if a value is unusable.
"""

import json
import math
import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Annotated, TypeVar

import orjson
from pydantic import BeforeValidator, JsonValue, ValidationError, ValidatorFunctionWrapHandler, WrapValidator

JsonObject = dict[str, JsonValue]

LONGEST_WAIT_S = 3600.0
"""Maximum wait at a platform's request; then the call is repeated."""

MOST_SAID_S = 86_400.0
"""Maximum stored waiting time."""

MOST_ID = 2**63 - 1
"""The largest signed 64-bit number, the limit of Telegram's, Discord's and a database's ids."""

EARLIEST = datetime(2000, 1, 1, tzinfo=UTC)
LATEST = datetime(2100, 1, 1, tzinfo=UTC)
"""Bounds of valid dates: no platform is older."""

MAX_WORDS = 500  # of a platform's text about a failure

_DIGITS = re.compile(r"-?[0-9]{1,20}", re.ASCII)
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_NUMBER_CHARS = 64  # longer texts are not parsed as numbers


def number_of(value: object) -> float | None:
    """Return a number, or that of a numeric text; infinite beyond 64 bits. None for anything else and NaN."""
    if isinstance(value, str):
        value = _read(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:  # noqa: PLR0124  NaN
        return None
    return float(value) if abs(value) <= MOST_ID else math.copysign(math.inf, 1 if value > 0 else -1)


def _read(text: str) -> float | None:
    try:
        return float(text) if len(text) <= _NUMBER_CHARS else math.inf if text.isdigit() else None
    except ValueError:
        return None


def seconds_of(value: object, most_s: float = MOST_SAID_S) -> float | None:
    """Return a wait in seconds, from 0 to `most_s`; None if it is no number."""
    number = number_of(value)
    return None if number is None else min(max(number, 0.0), most_s)


def wait_of(header: object, now: datetime, most_s: float = MOST_SAID_S) -> float | None:
    """Return the seconds of a `Retry-After` header, a number or an HTTP date, clamped as in `seconds_of`."""
    seconds = seconds_of(header, most_s)
    if seconds is not None or not isinstance(header, str):
        return seconds
    try:
        at = parsedate_to_datetime(header[:_NUMBER_CHARS])
        at = at if at.tzinfo is not None else at.replace(tzinfo=UTC)
        return seconds_of((at - now).total_seconds(), most_s)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def whole_of(value: object, least: int = 0, most: int = MOST_ID) -> int | None:
    """Return an integer, or that of its ASCII digits, within bounds; None for anything else."""
    if isinstance(value, str):
        value = int(value) if _DIGITS.fullmatch(value) else None
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if least <= value <= most else None


def instant_of(unix_s: object, otherwise: datetime) -> datetime:
    """Return the instant of a Unix time in seconds; `otherwise` if it is no valid date."""
    number = number_of(unix_s)
    if number is None or not EARLIEST.timestamp() <= number <= LATEST.timestamp():
        return otherwise
    return datetime.fromtimestamp(number, UTC)


def in_our_time(at: datetime) -> datetime:
    """Return the instant in UTC, clamped to valid dates; one without a zone is taken as UTC."""
    at = at.replace(tzinfo=UTC) if at.tzinfo is None else at
    return min(max(at, EARLIEST), LATEST).astimezone(UTC)


def decode_json(content: str | bytes) -> JsonValue:
    """Parse JSON; return None if it is invalid. Lone surrogates, which orjson refuses, are kept."""
    value: JsonValue
    try:
        value = orjson.loads(content)
    except orjson.JSONDecodeError:
        try:
            value = json.loads(content)
        except (ValueError, RecursionError):
            return None
    return value


def without_surrogates(text: str) -> str:
    """Replace each lone surrogate by U+FFFD, so that offsets stay valid."""
    return _SURROGATE.sub("\ufffd", text)


def storable(text: str) -> str:
    """Remove NUL and lone surrogates, so that every database accepts the text (A91)."""
    return without_surrogates(text.replace("\x00", "") if "\x00" in text else text)


def as_text(raw: object) -> str:
    """Return an unreadable value as text: JSON if possible, else its Python form."""
    try:
        return orjson.dumps(raw).decode()
    except (TypeError, ValueError, RecursionError):  # invalid Unicode, a large integer, too deep
        pass
    try:
        return repr(raw)
    except (ValueError, RecursionError):
        return f"({type(raw).__name__} that is nested too deeply to be shown)"


def words_of(text: object, most_chars: int = MAX_WORDS) -> str:
    """Return a text in one bounded line without NUL and lone surrogates, for databases and operators."""
    return " ".join(_UNSTORABLE.sub("\ufffd", str(text)[:most_chars]).split())


# ---------------------------------------------------------------- fields of pydantic models


def _as_words(value: object) -> str | None:
    return without_surrogates(value) if isinstance(value, str) else None


def _or_none(value: object, read: ValidatorFunctionWrapHandler) -> object:
    try:
        return read(value)
    except ValidationError:
        return None


_T = TypeVar("_T")

Words = Annotated[str | None, BeforeValidator(_as_words)]
"""A foreign text; another type becomes None instead of making the message invalid."""

Beside = Annotated[_T | None, WrapValidator(_or_none)]
"""An optional part of a foreign message: None if it is malformed."""
