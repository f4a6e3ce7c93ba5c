"""Answers of platforms and of who plays one, read up to a bound: a few bytes of a body may unpack to gigabytes.

A call that got no answer, or somebody else's, means the same on every platform; what a platform's own answer means is
its adapter's `error_mapping`. Files have bounds of their own and are read by piece.
"""

from types import SimpleNamespace

from aiohttp import (
    ClientConnectorError,
    ClientError,
    ClientPayloadError,
    ClientResponse,
    ClientSession,
    ConnectionTimeoutError,
    TraceRequestRedirectParams,
)

from channels.errors import ChannelError, Retryable, Unknown

MAX_ANSWER_BYTES = 16 * 1024 * 1024
"""The longest page of a platform's, 200 messages of 40,000 characters on Slack, is half of it."""


class TooLong(ClientPayloadError):
    """The answer is longer than any platform's; its connection is closed."""


async def whole(answer: ClientResponse) -> bytes:
    """The body of an answer, unpacked; its connection is free again, or closed where the body is not read to its end.

    Raises:
        TooLong: it is beyond measure; what came of it is dropped.
    """
    content = answer.content
    if content.is_eof():  # all of it came with its headers: no more than is read ahead
        return content.read_nowait()
    body = bytearray()
    try:
        async for piece in content.iter_any():
            body += piece
            if len(body) > MAX_ANSWER_BYTES:
                raise TooLong(f"an answer of more than {MAX_ANSWER_BYTES:,} bytes")
    finally:
        if not content.at_eof():
            answer.close()
    return bytes(body)


class RedirectRefused(ClientError):
    """A redirect: it is not followed, for it would carry what is said to wherever it points (A89)."""


async def refuse_redirect(
    _session: ClientSession, _context: SimpleNamespace, redirect: TraceRequestRedirectParams
) -> None:
    """Append it to the `on_request_redirect` of a `TraceConfig`."""
    redirect.response.close()
    raise RedirectRefused


class BoundedResponse(ClientResponse):
    """An answer that a library reads, bounded."""

    async def read(self) -> bytes:
        """As aiohttp's.

        Raises:
            TooLong: as `whole`.
        """
        if self._body is None:
            self._body = await whole(self)
        return await super().read()


def to_transport_error(cause: BaseException | None, seen: str) -> ChannelError:
    """What a call without an answer means: nothing was sent when no connection came about, else nobody knows."""
    if isinstance(cause, (ClientConnectorError, ConnectionTimeoutError)):
        return Retryable(f"cannot connect: {seen}")
    return Unknown(seen)


def to_foreign_error(platform: str, status: object, retry_after_s: float | None = None) -> ChannelError:
    """Return what an answer means that is not the platform's: a proxy's page, or another server's.

    A 3xx or 4xx was not passed on to the platform: nothing was done, and nothing is lost by waiting until the operator
    has mended the address. After any other status the call may have been made.
    """
    seen = f"HTTP {status}, not an answer of {platform}"
    if not isinstance(status, int) or not 300 <= status < 500:
        return Unknown(seen)
    if status != 429:
        seen += "; something else answers at api_base: see the configuration, and any proxy on the way"
    return Retryable(seen, retry_after_s=retry_after_s)
