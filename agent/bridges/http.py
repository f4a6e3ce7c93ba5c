"""An agent behind a URL: a POST of JSON for each answer, which comes as JSON or as server-sent events.

`docs/frameworks.md` has the form of both.
"""

from collections.abc import AsyncGenerator, Mapping
from dataclasses import replace
from typing import Any

import aiohttp

from agent.bridges.port import Exchange, ForeignEvent, Responded
from agent.calendar import utc_now
from agent.errors import FailureKind
from agent.models.failures import failure, from_answer, from_error
from agent.models.http_wire import (
    ALWAYS,
    CONNECT_S,
    MAX_BODY_BYTES,
    EventParser,
    EventTooLong,
    read_body,
    trouble_words,
)
from agent.models.json_bodies import decode, encode
from agent.models.openai_format import spoken_text
from agent.ports import ModelFailure, TextDelta
from agent.transcript import AssistantItem, Item, NoteItem, UserItem

_ADVICE = {
    401: "set the right agent.token (TENK_AGENT_TOKEN)",
    403: "set the right agent.token (TENK_AGENT_TOKEN)",
    404: "look at the URL in agent.product",
    405: "the URL in agent.product takes no POST",
}
"""Advice to the operator by HTTP status."""


def connect(name: str, place: str, token: str) -> "HttpAgent":
    """Return the agent at this URL, which is not asked before a turn."""
    return HttpAgent(name, place, token)


class HttpAgent:
    """A URL that answers."""

    title = ""
    steers = False
    keeps_state = False

    def __init__(self, name: str, url: str, token: str) -> None:
        self.name = name
        self._url = url
        self._token = token

    async def run(self, exchange: Exchange) -> AsyncGenerator[ForeignEvent, None]:
        """Yield what the server answers; see `ForeignAgent`. If the turn ends before, the connection is closed."""
        headers = {**ALWAYS, "Idempotency-Key": exchange.key}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        timeout = aiohttp.ClientTimeout(total=None, connect=CONNECT_S)
        try:
            async with (
                aiohttp.ClientSession(timeout=timeout, cookie_jar=aiohttp.DummyCookieJar()) as session,
                session.post(
                    self._url, data=encode(request_of(exchange)), headers=headers, allow_redirects=False
                ) as answer,
            ):
                if answer.status >= 300:
                    body = (await read_body(answer)).decode(errors="replace")
                    raise refusal_of(answer.status, answer.headers, body, self._token)
                if answer.content_type != "text/event-stream":
                    yield self._answer_in(await read_body(answer))
                    return
                async for event in self._stream(answer):
                    yield event
        except TimeoutError as late:
            raise failure(FailureKind.NETWORK, "no connection in time") from late
        except (aiohttp.ClientError, OSError) as problem:
            raise failure(FailureKind.NETWORK, trouble_words(problem)) from problem

    async def _stream(self, answer: aiohttp.ClientResponse) -> AsyncGenerator[ForeignEvent, None]:
        parser, left = EventParser(), MAX_BODY_BYTES
        while chunk := await answer.content.readany():
            left -= len(chunk)
            try:
                events = parser.feed(chunk)
            except EventTooLong:
                left = -1
            if left < 0:
                raise failure(FailureKind.NETWORK, f"the stream is longer than {MAX_BODY_BYTES} bytes")
            for _, data in events:
                said = self._object_in(data)
                if isinstance(delta := said.get("delta"), str):
                    yield TextDelta(delta)
                elif "text" in said:
                    yield _answer_of(said)
                    return
        raise failure(FailureKind.NETWORK, 'the stream ended before an event with "text"')

    def _answer_in(self, body: bytes) -> Responded:
        if not body.strip():
            raise failure(FailureKind.NETWORK, "the answer is empty")
        if body.lstrip().startswith(b"<"):
            raise failure(FailureKind.NETWORK, "the answer is a web page: look at the URL in agent.product")
        return _answer_of(self._object_in(body))

    def _object_in(self, data: bytes) -> dict[str, Any]:
        """Return a JSON object.

        Raises:
            ModelFailure: it is something else, or has an error.
        """
        said = decode(data)
        if not isinstance(said, dict):
            raise failure(FailureKind.NETWORK, "the answer is no JSON object")
        if error := said.get("error"):
            raise from_error(error, self._token)
        return said


def refusal_of(status: int, headers: Mapping[str, str], body: str, token: str) -> ModelFailure:
    """Return the failure for an HTTP status that is no success, with advice to the operator."""
    if status < 400:
        words = "the server redirects, which is not followed; write the target into agent.product"
        return failure(FailureKind.BAD_REQUEST, words, status=status)
    said = "a web page" if body.lstrip().startswith("<") else body
    problem = from_answer(status, headers, said, utc_now(), token)
    advice = _ADVICE.get(status)
    return problem if advice is None else replace(problem, message=f"{problem.message}; {advice}")


def _answer_of(said: dict[str, Any]) -> Responded:
    text = said.get("text")
    if not isinstance(text, str) or not text.strip():
        raise failure(FailureKind.SERVER, 'the answer has no "text"')
    return Responded(text)


def request_of(exchange: Exchange) -> dict[str, Any]:
    """Return the body of the request: the messages to answer, the conversation before them, their person."""
    who = exchange.principal
    return {
        "turn": exchange.turn,
        "conversation": exchange.conversation,
        "person": {"id": who.user_id, "name": who.display_name, "locale": who.locale, "timezone": who.timezone},
        "messages": [entry for item in exchange.unanswered if (entry := _entry(exchange, item))],
        "history": [entry for item in exchange.earlier if (entry := _entry(exchange, item))],
        "hints": exchange.hints,
        "memory": exchange.memory,
    }


def _entry(exchange: Exchange, item: Item) -> dict[str, Any] | None:
    """Return a message as JSON; None for calls of tools and their results, which an earlier agent may have left."""
    match item:
        case UserItem():
            said = {"role": "user", "text": spoken_text(item), "at": item.at}
            return {**said, "pictures": urls} if (urls := exchange.picture_urls(item)) else said
        case AssistantItem() if item.text.strip():
            return {"role": "assistant", "text": item.text}
        case NoteItem():
            return {"role": "note", "text": item.text}
        case _:
            return None
