"""An HTTP call that got no answer, or somebody else's, means the same on every platform.

What a platform's own answer means is its adapter's `error_mapping`.
"""

from aiohttp import ClientConnectorError, ConnectionTimeoutError

from channels.errors import ChannelError, Retryable, Unknown


def to_transport_error(cause: BaseException | None, seen: str) -> ChannelError:
    """What a call without an answer means: nothing was sent when no connection came about, else nobody knows."""
    if isinstance(cause, (ClientConnectorError, ConnectionTimeoutError)):
        return Retryable(f"cannot connect: {seen}")
    return Unknown(seen)


def to_foreign_error(status: object, seen: str, retry_after_s: float | None = None) -> ChannelError:
    """What an answer means that is not the platform's: a proxy's page, or another server's.

    Who redirects, refuses or knows no such path (3xx, 4xx) has passed nothing on to the platform: nothing was done, and
    nothing is lost by waiting until the operator has mended the address. After anything else nobody knows.
    """
    if not isinstance(status, int) or not 300 <= status < 500:
        return Unknown(seen)
    if status != 429:
        seen += "; something else answers at api_base: see the configuration, and any proxy on the way"
    return Retryable(seen, retry_after_s=retry_after_s)
