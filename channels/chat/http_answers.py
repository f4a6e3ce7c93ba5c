"""Bounded reading of platforms' HTTP answers: a few bytes may decompress to gigabytes.

It also classifies a missing answer, and one of another server; each adapter's `error_mapping` does so for its
platform's answers. Files have limits of their own and are read in pieces.
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
"""Twice the longest page of a platform: 200 messages of 40,000 characters on Slack."""


class TooLong(ClientPayloadError):
    """The answer is longer than any platform's; its connection is closed."""


async def whole(answer: ClientResponse) -> bytes:
    """Return the decompressed body of an answer; close the connection if the body is not read to its end.

    Raises:
        TooLong: it exceeds the limit.
    """
    content = answer.content
    if content.is_eof():  # the whole body is in the read buffer
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
    """A redirect was refused: following it would send the request's content elsewhere (A89)."""


async def refuse_redirect(
    _session: ClientSession, _context: SimpleNamespace, redirect: TraceRequestRedirectParams
) -> None:
    """Refuse a redirect; for `on_request_redirect` of a `TraceConfig`."""
    redirect.response.close()
    raise RedirectRefused


class BoundedResponse(ClientResponse):
    """A response with a bounded body, for libraries that read it."""

    async def read(self) -> bytes:
        """Read the body.

        Raises:
            TooLong: it exceeds the limit.
        """
        if self._body is None:
            self._body = await whole(self)
        return await super().read()


def to_transport_error(cause: BaseException | None, seen: str) -> ChannelError:
    """Classify a call without an answer: retryable if no connection was made, else unknown."""
    if isinstance(cause, (ClientConnectorError, ConnectionTimeoutError)):
        return Retryable(f"cannot connect: {seen}")
    return Unknown(seen)


def to_foreign_error(platform: str, status: object, retry_after_s: float | None = None) -> ChannelError:
    """Classify an answer of another server, such as a proxy's error page.

    A 3xx or 4xx did not reach the platform: the call can wait until the operator has corrected the address. After any
    other status the call may have been made.
    """
    seen = f"HTTP {status}, not an answer of {platform}"
    if not isinstance(status, int) or not 300 <= status < 500:
        return Unknown(seen)
    if status != 429:
        seen += "; something else answers at api_base: see the configuration, and any proxy on the way"
    return Retryable(seen, retry_after_s=retry_after_s)
