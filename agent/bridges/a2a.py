"""Agents at an A2A address: one context for each conversation, a task for each answer that takes work."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, suppress
from typing import cast
from urllib.parse import urlsplit

import httpx
from a2a.client import Client, ClientConfig, ClientFactory
from a2a.client.card_resolver import A2ACardResolver
from a2a.types import AgentCard, CancelTaskRequest, Message, Part, Role, SendMessageRequest, StreamResponse
from a2a.utils.constants import TransportProtocol
from a2a.utils.errors import A2AError, InvalidParamsError, TaskNotFoundError, UnsupportedOperationError
from google.protobuf.json_format import ParseError  # type: ignore[import-untyped]  # it has no stubs

from agent.bridges.a2a_answer import TaskProgress
from agent.bridges.http import refusal_of
from agent.bridges.notes import conversation_note
from agent.bridges.port import Exchange, ForeignEvent
from agent.errors import FailureKind
from agent.models.failures import clean, failure
from agent.models.http_wire import CONNECT_S, MAX_BODY_BYTES
from agent.models.openai_format import spoken_text
from agent.ports import ModelFailure

CANCEL_S = 2.0
"""Seconds in which a server must take the cancellation of a task."""

_BINDINGS = [TransportProtocol.JSONRPC, TransportProtocol.HTTP_JSON]
_GONE = (TaskNotFoundError, UnsupportedOperationError, InvalidParamsError)
"""Errors by which a server refuses to continue a task."""


def connect(name: str, place: str, token: str) -> "A2AAgent":
    """Return the agent at this URL; its card is read at each turn."""
    return A2AAgent(name, place, token)


class A2AAgent:
    """An agent that has a card."""

    title = ""
    steers = False
    keeps_state = False

    def __init__(self, name: str, url: str, token: str) -> None:
        self.name = name
        self._url = url
        self._token = token

    async def run(self, exchange: Exchange) -> AsyncGenerator[ForeignEvent, None]:
        """Yield what the server answers; see `ForeignAgent`. If the turn ends before, its task is cancelled."""
        headers = {"Authorization": f"Bearer {self._token}"} if self._token else {}
        before = TaskProgress.after(exchange.state(self.name))
        try:
            async with httpx.AsyncClient(
                headers=headers, timeout=httpx.Timeout(None, connect=CONNECT_S), transport=_BoundedTransport()
            ) as http:
                client = await self._client(http)
                try:
                    async with aclosing(_ask(client, exchange, before)) as events:
                        async for event in events:
                            yield event
                except _GONE:
                    if not before.task:
                        raise
                    async with aclosing(_ask(client, exchange, TaskProgress(before.context))) as events:
                        async for event in events:
                            yield event
        except (A2AError, ParseError, TypeError, ValueError, httpx.HTTPError) as problem:
            raise self._failure_of(problem) from problem

    async def _client(self, http: httpx.AsyncClient) -> Client:
        card = await A2ACardResolver(http, self._url).get_agent_card()
        if self._token and (elsewhere := _elsewhere(card, self._url)):
            words = (
                f"its card names another server, {elsewhere}, which does not get the token; write it into agent.product"
            )
            raise failure(FailureKind.BAD_REQUEST, words)
        config = ClientConfig(httpx_client=http, supported_protocol_bindings=list(_BINDINGS))
        return ClientFactory(config).create(card)

    def _failure_of(self, problem: Exception) -> ModelFailure:
        cause = problem.__cause__ if isinstance(problem, A2AError) and problem.__cause__ else problem
        match cause:
            case httpx.HTTPStatusError():
                answer = cause.response
                return refusal_of(answer.status_code, answer.headers, answer.text, self._token)
            case httpx.TimeoutException():
                return failure(FailureKind.NETWORK, "no connection in time")
            case httpx.ConnectError():
                return failure(FailureKind.NETWORK, "no connection: the server is down or cannot be reached")
            case httpx.HTTPError():
                return failure(FailureKind.NETWORK, f"no usable answer ({type(cause).__name__})")
            case json.JSONDecodeError():
                return failure(FailureKind.NETWORK, "the answer is not JSON: look at the URL in agent.product")
            case ParseError() | TypeError():
                return failure(FailureKind.NETWORK, f"the answer is not A2A: {cause}")
            case _:
                return failure(FailureKind.SERVER, clean(str(problem), self._token))


async def _ask(client: Client, exchange: Exchange, progress: TaskProgress) -> AsyncGenerator[ForeignEvent, None]:
    """Send the messages; yield the answer as it comes."""
    sending = cast("AsyncGenerator[StreamResponse]", client.send_message(_request(exchange, progress)))
    try:
        async with aclosing(sending) as events:
            async for event in events:
                for seen in progress.take(event):
                    yield seen
                if (answer := progress.answer()) is not None:
                    yield answer
                    return
    except _GONE:
        progress.has_ended = True
        raise
    finally:
        if progress.task and not progress.has_ended:
            with suppress(A2AError, httpx.HTTPError, TimeoutError):
                async with asyncio.timeout(CANCEL_S):
                    await client.cancel_task(CancelTaskRequest(id=progress.task))
    raise failure(FailureKind.NETWORK, "the stream ended before the answer did")


def _request(exchange: Exchange, progress: TaskProgress) -> SendMessageRequest:
    parts = []
    if not progress.context and (before := conversation_note(exchange)):
        parts.append(Part(text=before))
    for item in exchange.unanswered:
        parts += [Part(raw=content, media_type=mime) for mime, content in exchange.pictures_of(item)]
        parts.append(Part(text=spoken_text(item)))
    message = Message(
        message_id=exchange.key,
        context_id=progress.context,
        task_id=progress.task,
        role=Role.ROLE_USER,
        parts=parts,
    )
    message.metadata.update({name: value for name, value in exchange.about.items() if value})
    return SendMessageRequest(message=message)


def _elsewhere(card: AgentCard, url: str) -> str:
    """Return the address to which the card sends requests, if that is another server than the card's; else ""."""
    named = [each.url for each in card.supported_interfaces if each.protocol_binding in _BINDINGS]
    return next((each for each in named if _server(each) != _server(url)), "")


def _server(url: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port or {"http": 80, "https": 443}.get(parts.scheme)


class _BoundedBody(httpx.AsyncByteStream):
    def __init__(self, body: httpx.AsyncByteStream) -> None:
        self._body = body

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = MAX_BODY_BYTES
        async for chunk in self._body:
            left -= len(chunk)
            if left < 0:
                raise failure(FailureKind.NETWORK, f"the answer is longer than {MAX_BODY_BYTES} bytes")
            yield chunk

    async def aclose(self) -> None:
        await self._body.aclose()


class _BoundedTransport(httpx.AsyncHTTPTransport):
    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        request.headers["accept-encoding"] = "identity"  # a bound on what is sent is one on what is read
        answer = await super().handle_async_request(request)
        answer.stream = _BoundedBody(cast("httpx.AsyncByteStream", answer.stream))
        return answer
