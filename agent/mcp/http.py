"""A server at an address: an HTTP client with bounded answers, and the SDK's transports on it."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import httpx2
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client

from agent.mcp.stdio import TOO_LONG
from agent.peer_process import END_S, MAX_MESSAGE_BYTES

CONNECT_S = 10.0
"""Seconds in which a connection must be open."""

SILENT_S = 300.0
"""Seconds of silence after which an open stream is read no further."""


class AnswerTooLong(httpx2.StreamError):
    """An answer is longer than the limit; the SDK turns this into an error of the call."""

    def __init__(self) -> None:
        super().__init__(TOO_LONG)


class _BoundedBody(httpx2.AsyncByteStream):
    def __init__(self, body: httpx2.AsyncByteStream) -> None:
        self._body = body

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = MAX_MESSAGE_BYTES
        async for chunk in self._body:
            left -= len(chunk)
            if left < 0:
                raise AnswerTooLong
            yield chunk

    async def aclose(self) -> None:
        await self._body.aclose()


class _BoundedTransport(httpx2.AsyncHTTPTransport):
    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request; bound its answer unless it is a stream of events, of which the SDK bounds each."""
        request.headers["accept-encoding"] = "identity"  # a bound on what is sent is one on what is read
        if request.method == "DELETE":  # the end of a session, which nothing should wait for
            request.extensions["timeout"] = httpx2.Timeout(END_S).as_dict()
        answer = await super().handle_async_request(request)
        if not answer.headers.get("content-type", "").lower().startswith("text/event-stream"):
            answer.stream = _BoundedBody(answer.stream)  # type: ignore[arg-type]  # of an asynchronous transport
        return answer


def http_client(
    headers: Mapping[str, str], note_status: Callable[[int], None], auth: httpx2.Auth | None = None
) -> httpx2.AsyncClient:
    """Return a client that sends these headers, and reports the status of each answer."""

    async def note(answer: httpx2.Response) -> None:
        note_status(answer.status_code)

    return httpx2.AsyncClient(
        headers=dict(headers),
        auth=auth,
        timeout=httpx2.Timeout(CONNECT_S, read=SILENT_S),
        transport=_BoundedTransport(),
        event_hooks={"response": [note]},
    )


@asynccontextmanager
async def http_transport(url: str, client: httpx2.AsyncClient) -> AsyncIterator[Any]:
    """Return the streams of a server with streamable HTTP."""
    async with client, streamable_http_client(url, http_client=client, max_sse_event_size=MAX_MESSAGE_BYTES) as streams:
        yield streams


def sse_transport(url: str, client: httpx2.AsyncClient) -> AbstractAsyncContextManager[Any]:
    """Return the streams of a server with the older transport."""

    def make_client(
        headers: dict[str, str] | None = None,  # noqa: ARG001  as the SDK calls it; the client has its own
        timeout: httpx2.Timeout | None = None,  # noqa: ARG001  as above
        auth: httpx2.Auth | None = None,  # noqa: ARG001  as above
    ) -> httpx2.AsyncClient:
        return client

    return sse_client(url, httpx_client_factory=make_client)
