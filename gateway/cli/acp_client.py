"""The way of `tenk acp` to the gateway: `/v1` on the control socket, asked again while the gateway is away."""

import json
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import aiohttp

from agent.models.http_wire import EventParser, EventTooLong
from gateway.errors import GatewayError
from gateway.operators.client import path_of, short_name

FIRST_WAIT_S = 2.0
LONGEST_WAIT_S = 120.0
GIVE_UP_S = 600.0
ANSWER_S = 30.0  # for a request that is no turn
SILENCE_S = 60.0  # of a stream, which says every 15 s that it lives

Hear = Callable[[str, Mapping[str, Any]], Awaitable[None]]
"""Receives each event of a turn: its name and its JSON."""


class GatewayRefusal(GatewayError):
    """An error: the gateway refused a request; asking again does not help."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class NotReached(GatewayError):
    """An error: the gateway did not answer this time."""


@dataclass(slots=True)
class Patience:
    """The waits between attempts to reach a gateway that is away: 2 s to 2 min, for 10 min."""

    begun_s: float | None = None  # monotonic; None: the gateway answers
    wait_s: float = FIRST_WAIT_S

    def note_answer(self) -> None:
        """Begin anew."""
        self.begun_s, self.wait_s = None, FIRST_WAIT_S

    def next_wait_s(self, now_s: float, lost: NotReached) -> float:
        """Return the seconds until the next attempt.

        Raises:
            GatewayError: the gateway has been away too long.
        """
        self.begun_s = now_s if self.begun_s is None else self.begun_s
        left_s = self.begun_s + GIVE_UP_S - now_s
        if left_s <= 0:
            raise GatewayError(
                f"the gateway has not answered for {GIVE_UP_S / 60:g} minutes ({lost}): start it with `tenk run`, and "
                "send the message again"
            )
        wait_s, self.wait_s = min(self.wait_s, left_s), min(self.wait_s * 2, LONGEST_WAIT_S)
        return wait_s


@dataclass(frozen=True, slots=True, kw_only=True)
class EditorMessage:
    """A message in a session; the same `once` is the same message, whenever it is sent."""

    session: str
    text: str
    once: str


class EditorClient:
    """A client with one API key; used as a context manager."""

    def __init__(self, socket: Path, key: str, locale: str) -> None:
        """`locale` is the editor's, BCP 47; "" is none."""
        self._socket = socket
        self._headers = {"Authorization": f"Bearer {key}"} | ({"Accept-Language": locale} if locale else {})
        self._held = AsyncExitStack()

    async def __aenter__(self) -> Self:
        self._http = await self._held.enter_async_context(
            aiohttp.ClientSession(
                connector=aiohttp.UnixConnector(self._held.enter_context(short_name(self._socket))),
                headers=self._headers,
            )
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._held.aclose()

    async def get(self, *segments: str, **query: Any) -> Any:
        """Return the JSON of `GET /v1/SEGMENTS`.

        Raises:
            GatewayRefusal, NotReached: the message says why.
        """
        limit = aiohttp.ClientTimeout(total=ANSWER_S)
        try:
            async with self._http.get(self._url(*segments), params=query, timeout=limit) as answer:
                return await self._read_answer(answer)
        except (aiohttp.ClientError, OSError) as lost:
            raise self._not_reached(lost) from None

    async def say(self, said: EditorMessage) -> None:
        """Store a message, and do not wait for its answer.

        Raises:
            GatewayRefusal, NotReached: the message says why.
        """
        limit = aiohttp.ClientTimeout(total=ANSWER_S)
        try:
            async with self._post(said, limit, wait_s=0.0) as answer:
                await self._read_answer(answer)
        except (aiohttp.ClientError, OSError) as lost:
            raise self._not_reached(lost) from None

    async def follow(self, said: EditorMessage, hear: Hear) -> Mapping[str, Any]:
        """Store a message, pass on the events of its turn, and return the turn.

        Raises:
            GatewayRefusal, NotReached: the message says why; after the latter it may be stored.
        """
        limit = aiohttp.ClientTimeout(total=None, sock_connect=ANSWER_S, sock_read=SILENCE_S)
        parser = EventParser()
        try:
            async with self._post(said, limit, stream=True, steps=True) as answer:
                if answer.status >= HTTPStatus.BAD_REQUEST:
                    await self._read_answer(answer)
                async for chunk in answer.content.iter_any():
                    for name, data in parser.feed(chunk):
                        event = json.loads(data)
                        if name == "done":
                            await hear(name, event)
                            return dict(event)
                        if name == "error":
                            raise GatewayRefusal(event["error"]["message"], HTTPStatus.BAD_REQUEST)
                        await hear(name, event)
        except (aiohttp.ClientError, OSError, EventTooLong) as lost:
            raise self._not_reached(lost) from None
        raise NotReached("the gateway ended the stream")

    def _post(self, said: EditorMessage, limit: aiohttp.ClientTimeout, **more: Any) -> Any:
        return self._http.post(
            self._url("chat"),
            json={"message": said.text, "session": said.session, **more},
            headers={"Idempotency-Key": said.once},
            timeout=limit,
        )

    @staticmethod
    def _url(*segments: str) -> str:
        return f"http://localhost{path_of(*segments)}"

    @staticmethod
    async def _read_answer(answer: aiohttp.ClientResponse) -> Any:
        """Return the JSON of an answer.

        Raises:
            GatewayRefusal, NotReached: it is an error.
        """
        try:
            body = json.loads(await answer.read())
        except ValueError:
            raise NotReached(f"HTTP {answer.status} without JSON") from None
        if answer.status < HTTPStatus.BAD_REQUEST:
            return body
        message = body["error"]["message"]
        if answer.status == HTTPStatus.SERVICE_UNAVAILABLE:
            raise NotReached(message)
        raise GatewayRefusal(message, answer.status)

    def _not_reached(self, lost: Exception) -> NotReached:
        return NotReached(f"no gateway answers on {self._socket} ({str(lost) or type(lost).__name__})")
