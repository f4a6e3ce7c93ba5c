"""Translation of one received event; if it fails, the event is kept for the operator and the next ones are read."""

from collections.abc import Callable
from typing import TypeVar

import structlog

from channels.messages import Rejected

T = TypeVar("T")

_log = structlog.get_logger()


def read_or_reject(account: str, read: Callable[[], T], reject: Callable[[str], Rejected]) -> T | Rejected:
    """Return the result of `read`; if it raises, reject the event with the reason."""
    try:
        return read()
    except Exception as error:  # noqa: BLE001  one event: kept for the operator, and the next ones are read
        _log.exception("event_broken", account=account)
        return reject(f"it broke the reading: {type(error).__name__}: {error}")
