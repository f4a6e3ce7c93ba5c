"""Answers of platforms and of who plays one, read up to a bound: a few bytes of a body may unpack to gigabytes.

Files have bounds of their own and are read by piece; what an answer means is its platform's matter.
"""

from aiohttp import ClientPayloadError, ClientResponse

MAX_ANSWER_BYTES = 16 * 1024 * 1024
"""The longest page of a platform's, 200 messages of 40,000 characters on Slack, is half of it."""


class TooLong(ClientPayloadError):
    """The answer is longer than any platform's; its connection is closed."""


async def whole(answer: ClientResponse) -> bytes:
    """The body of an answer, unpacked.

    Raises:
        TooLong: it is beyond measure; what came of it is dropped.
    """
    content = bytearray()
    async for piece in answer.content.iter_any():
        content += piece
        if len(content) > MAX_ANSWER_BYTES:
            answer.close()
            raise TooLong(f"an answer of more than {MAX_ANSWER_BYTES:,} bytes")
    return bytes(content)


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
