"""What the platforms share when they read histories after a gap: patience, pauses, and names for health."""

from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

import structlog

from channels.chat.refusals import ApiRefusal
from channels.chat.retrying import Backoff
from channels.clocks import Sleep
from channels.errors import ChannelError, Permanent, Retryable

T = TypeVar("T")

READ_ON = Backoff((30.0, 60.0, 120.0, 300.0, 600.0))  # between tries of what could not be read
NAMED = 5  # places that health names; the log has more

_TRIES = 6  # of one call
_BACKOFF = Backoff((0.5, 1.0, 2.0, 5.0, 15.0))

_log = structlog.get_logger()


async def read_patiently(
    read: Callable[[], Awaitable[T]], to_channel_error: Callable[[ApiRefusal], ChannelError], sleep: Sleep
) -> T:
    """Make one call of a history until it is answered, six times at most, and wait as long as the platform asks.

    Raises:
        ApiRefusal: it is refused for good.
        Retryable: it was not answered.
    """
    failure: ChannelError
    tries = 0
    while True:
        tries += 1
        try:
            return await read()
        except ApiRefusal as refusal:
            failure = to_channel_error(refusal)
            if isinstance(failure, Permanent):
                raise
        except ChannelError as unanswered:
            failure = unanswered
        if tries == _TRIES:
            raise Retryable(str(failure))
        _log.warning("history_not_read", attempt=tries, detail=str(failure))
        await sleep(_BACKOFF.wait_s(tries, failure.retry_after_s if isinstance(failure, Retryable) else None))


def some_of(named: Iterable[str]) -> str:
    """Return the first names, and an ellipsis if there are more."""
    names = list(named)
    return ", ".join(names[:NAMED]) + (", …" if len(names) > NAMED else "")
