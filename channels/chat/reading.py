"""Translation of one received event; one that breaks it is kept for the operator, and those behind it are read."""

from collections.abc import Callable
from typing import TypeVar

import structlog

from channels.messages import Rejected

T = TypeVar("T")

_log = structlog.get_logger()


def read_or_reject(account: str, read: Callable[[], T], reject: Callable[[str], Rejected]) -> T | Rejected:
    """Return what `read` gives; if it breaks, what `reject` makes of the reason."""
    try:
        return read()
    except Exception as error:  # noqa: BLE001  one event: kept for the operator, and those behind it are read
        _log.exception("event_broken", account=account)
        return reject(f"it broke the reading: {type(error).__name__}: {error}")
