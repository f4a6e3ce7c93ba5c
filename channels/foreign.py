"""Numbers, dates and words that came from elsewhere, made fit to be reckoned with and to be stored. Pure and total.

A platform, a proxy or whoever plays one may say anything: `inf`, 10**30, `true`, a date of the year 1. Nothing here
raises, and what comes out is finite, in its bounds and aware. What is left out comes out as None; what it means that
it is left out is decided where it is read. No wire is known here.
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
"""A wait that a platform asks for is obeyed for so long; then it is asked again."""

MOST_SAID_S = 86_400.0
"""A longer wait is not believed at all; what is said is kept up to here, for who is to read it."""

MOST_ID = 2**63 - 1
"""The largest id: what a signed number of 64 bits holds. Telegram's, Discord's and a database's are such numbers."""

EARLIEST = datetime(2000, 1, 1, tzinfo=UTC)
LATEST = datetime(2100, 1, 1, tzinfo=UTC)
"""No platform of ours is older; a date beyond these is no date."""

MAX_WORDS = 500  # characters of what a platform says about a failure

_DIGITS = re.compile(r"-?[0-9]{1,20}", re.ASCII)
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_NUMBER_CHARS = 64  # a longer text is no number anybody means


def number_of(value: object) -> float | None:
    """A number, or a text that is one; beyond 64 bits it is infinite. None where it is none, or not a number (NaN)."""
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
    """A wait in seconds, from 0 to `most_s`; None where it is no number."""
    number = number_of(value)
    return None if number is None else min(max(number, 0.0), most_s)


def wait_of(header: object, now: datetime, most_s: float = MOST_SAID_S) -> float | None:
    """The seconds of a `Retry-After` header, which may be a number or an HTTP date; as `seconds_of`."""
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
    """An integer, or its ASCII digits, within bounds; None for anything else."""
    if isinstance(value, str):
        value = int(value) if _DIGITS.fullmatch(value) else None
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if least <= value <= most else None


def instant_of(unix_s: object, otherwise: datetime) -> datetime:
    """The instant of a Unix time in seconds; `otherwise` where that is no date of our time."""
    number = number_of(unix_s)
    if number is None or not EARLIEST.timestamp() <= number <= LATEST.timestamp():
        return otherwise
    return datetime.fromtimestamp(number, UTC)


def in_our_time(at: datetime) -> datetime:
    """The same instant in UTC, one without a zone being taken for UTC; what lies beyond our time is at its edge."""
    at = at.replace(tzinfo=UTC) if at.tzinfo is None else at
    return min(max(at, EARLIEST), LATEST).astimezone(UTC)


def decode_json(content: str | bytes) -> JsonValue:
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


def without_surrogates(text: str) -> str:
    """The text with the replacement character for each lone surrogate, so that every offset holds."""
    return _SURROGATE.sub("\ufffd", text)


def storable(text: str) -> str:
    """The text as every database takes it: without NUL and without lone surrogates (A91)."""
    return without_surrogates(text.replace("\x00", "") if "\x00" in text else text)


def as_text(raw: object) -> str:
    """What cannot be understood, written down: as JSON where that can be, else as Python writes it."""
    try:
        return orjson.dumps(raw).decode()
    except (TypeError, ValueError, RecursionError):  # no Unicode, a large integer, too deep
        pass
    try:
        return repr(raw)
    except (ValueError, RecursionError):
        return f"({type(raw).__name__} that is nested too deeply to be shown)"


def words_of(text: object, most_chars: int = MAX_WORDS) -> str:
    """A text in one line that every database takes and an operator can read: no NUL, no lone surrogate, bounded."""
    return " ".join(_UNSTORABLE.sub("\ufffd", str(text)[:most_chars]).split())


# ---------------------------------------------------------------- in models of what comes in


def _as_words(value: object) -> str | None:
    return without_surrogates(value) if isinstance(value, str) else None


def _or_none(value: object, read: ValidatorFunctionWrapHandler) -> object:
    try:
        return read(value)
    except ValidationError:
        return None


_T = TypeVar("_T")

Words = Annotated[str | None, BeforeValidator(_as_words)]
"""What somebody else said or is called: where it is no text it is not read, and never makes a message unreadable."""

Beside = Annotated[_T | None, WrapValidator(_or_none)]
"""A part of what somebody else said: None where it is malformed, whatever the message itself is."""
