"""One call of a channel: it has a deadline, and whatever goes wrong comes out as one of the three kinds of failure.

No retry lives here; what a failure leads to is the caller's matter.
"""

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

import structlog

from channels.errors import ChannelError, ConfigRefused, Permanent, Retryable, Unknown
from gateway.telemetry import FAULTS, series

log = structlog.get_logger()

T = TypeVar("T")


async def call(asked: Awaitable[T], timeout_s: float, *, broken: type[Unknown] | type[Permanent] = Unknown) -> T:
    """What the platform answered. An error in the adapter itself counts as `broken`, for this call alone.

    Raises:
        ChannelError: it did not happen, or nobody knows.
    """
    try:
        async with asyncio.timeout(timeout_s):
            return await asked
    except ChannelError:
        raise
    except TimeoutError:
        raise Unknown(f"no answer within {timeout_s:.0f} s") from None
    except ConfigRefused as refused:
        raise Retryable(str(refused)) from None  # it did not happen; it will once the operator mended it
    except Exception as error:  # noqa: BLE001  one call of one channel: recorded here, told by its failure
        series(FAULTS, "call").inc()
        log.exception("call_broken")
        raise broken(f"the channel broke: {type(error).__name__}: {error}") from error
