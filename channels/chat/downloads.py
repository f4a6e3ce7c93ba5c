"""Downloads of people's files, stopped at the size limit."""

from collections.abc import Mapping

from aiohttp import ClientError, ClientSession, ClientTimeout

from channels.clocks import wall_now
from channels.errors import ChannelError, Permanent, PermanentKind, Retryable
from channels.foreign import wait_of

CHUNK_BYTES = 65_536


def check_size(size_bytes: int | None, max_bytes: int) -> None:
    """Raise Permanent (TOO_LARGE) if a file is known to be larger than it may be."""
    if size_bytes is not None and size_bytes > max_bytes:
        raise Permanent(f"the file is larger than {max_bytes / 1_000_000:g} MB", PermanentKind.TOO_LARGE)


async def download(
    session: ClientSession,
    url: str,
    max_bytes: int,
    *,
    headers: Mapping[str, str] | None = None,
    timeout: ClientTimeout | None = None,
    hint: str = "the file is gone",
    page_type: str | None = None,
) -> bytes:
    """Download a file. Refuse redirects, because URL or headers may contain a token (A89); errors contain neither.

    Raises:
        Permanent: it is too large, or the server refuses it; `hint` says why that may be. A response of type
         `page_type` is an error page.
        Retryable: not now; the download may be repeated.
    """
    failure: ChannelError
    try:
        async with session.get(url, headers=headers, timeout=timeout, allow_redirects=False) as answer:
            if answer.status in (401, 429) or answer.status >= 500:
                wait_s = wait_of(answer.headers.get("Retry-After"), wall_now())
                raise Retryable(f"the file cannot be fetched now: HTTP {answer.status}", retry_after_s=wait_s)
            if answer.status != 200 or answer.content_type == page_type:
                raise Permanent(f"{hint} ({answer.status})")
            check_size(answer.content_length, max_bytes)
            content = bytearray()
            async for chunk in answer.content.iter_chunked(CHUNK_BYTES):
                content += chunk
                check_size(len(content), max_bytes)
            return bytes(content)
    except (ClientError, TimeoutError, OSError) as error:
        failure = Retryable(f"the file cannot be fetched now: {type(error).__name__}")
    raise failure  # outside the handler: the caught error may contain the URL
