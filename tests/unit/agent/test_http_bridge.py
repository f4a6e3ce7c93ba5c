"""Agents behind a URL: the request, the forms of the answer, and what each trouble is called."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest
from aiohttp import web

from agent.bridges.http import HttpAgent
from agent.bridges.port import Exchange, ForeignEvent, Responded
from agent.bridges.table import UnusableAgent, check_bridge, connect
from agent.errors import FailureKind
from agent.ports import ModelFailure, Principal, TextDelta
from agent.transcript import AssistantItem, NoteItem, ToolCall, ToolItem, UserItem
from tests.fakes.shops.http_shop import serving

ANA = Principal("u1", "t1", "Ana", timezone="Europe/Madrid", locale="es")
ASKED = Exchange("t1", "talk1", ANA, [UserItem("hi")], [UserItem("hi")], {}, "plain text", "likes tea")
SSE = "text/event-stream"

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


async def events(handler: Handler, exchange: Exchange = ASKED, token: str = "") -> list[ForeignEvent]:
    """Return the events of an agent whose server answers by this handler."""
    app = web.Application()
    app.router.add_post("/", handler)
    async with serving(app) as url:
        agent = HttpAgent(f"http:{url}", f"{url}/", token)
        return [event async for event in agent.run(exchange)]


def answers(body: str | bytes, kind: str = "application/json", status: int = 200, **headers: str) -> Handler:
    async def handler(_request: web.Request) -> web.Response:
        data = body.encode() if isinstance(body, str) else body
        return web.Response(status=status, body=data, headers={"Content-Type": kind, **headers})

    return handler


async def test_a_request_has_the_new_messages_the_history_and_the_person() -> None:
    seen: list[object] = []

    async def handler(request: web.Request) -> web.Response:
        seen.extend((request.headers["Authorization"], request.headers["Idempotency-Key"], await request.json()))
        return web.json_response({"text": "hello"})

    items = [
        UserItem("a", at="2026-11-29T01:00:00Z"),
        AssistantItem("", (ToolCall("c1", "order", "{}"),)),
        ToolItem("c1", "order", "{}"),
        AssistantItem("b"),
        UserItem("lost"),
        NoteItem("it failed", ends_turn=True),
        UserItem("c", data="> quoted"),
    ]
    assert [Responded("hello")] == await events(handler, replace(ASKED, items=items, said=items[-1:]), "s3cret")
    assert [
        "Bearer s3cret",
        "t1/1",
        {
            "turn": "t1",
            "conversation": "talk1",
            "person": {"id": "u1", "name": "Ana", "locale": "es", "timezone": "Europe/Madrid"},
            "messages": [{"role": "user", "text": "c\n> quoted", "at": None}],
            "history": [
                {"role": "user", "text": "a", "at": "2026-11-29T01:00:00Z"},
                {"role": "assistant", "text": "b"},
                {"role": "user", "text": "lost", "at": None},
                {"role": "note", "text": "it failed"},
            ],
            "hints": "plain text",
            "memory": "likes tea",
        },
    ] == seen


async def test_a_message_in_between_is_a_request_of_its_own() -> None:
    said = [UserItem("a"), UserItem("c")]

    async def handler(request: web.Request) -> web.Response:
        asked = await request.json()
        return web.json_response({"text": f"{request.headers['Idempotency-Key']} {len(asked['messages'])}"})

    exchange = replace(ASKED, items=[said[0], AssistantItem("b"), said[1]], said=said)
    assert [Responded("t1/2 1")] == await events(handler, exchange)


async def test_a_stream_is_shown_as_it_comes_and_ends_with_its_text() -> None:
    stream = [
        ": ping",
        'data: {"delta": "Hel"}',
        'data: {"other": 1}',
        'data: {"delta": "lo"}',
        'data: {"text": "Hello"}',
    ]
    body = "\n\n".join([*stream, "data: not read\n\n"])
    assert [TextDelta("Hel"), TextDelta("lo"), Responded("Hello")] == await events(answers(body, SSE))


FAILURES = {
    "no token": (answers("{}", status=401), FailureKind.AUTH, "TENK_AGENT_TOKEN"),
    "not found": (answers("<html>", "text/html", 404), FailureKind.BAD_REQUEST, "a web page; look at the URL"),
    "busy": (answers("slow down", status=429, **{"Retry-After": "7"}), FailureKind.RATE_LIMIT, "slow down"),
    "broken": (answers('{"error": "on fire"}', status=500), FailureKind.SERVER, "on fire"),
    "redirect": (answers("", status=307, Location="/other"), FailureKind.BAD_REQUEST, "redirects"),
    "web page": (answers("<html>hi", "text/html"), FailureKind.NETWORK, "web page: look at the URL"),
    "empty": (answers(""), FailureKind.NETWORK, "empty"),
    "garbage": (answers(b"\x00\xff"), FailureKind.NETWORK, "not JSON"),
    "a list": (answers("[1]"), FailureKind.NETWORK, "no JSON object"),
    "no text": (answers('{"text": " "}'), FailureKind.SERVER, 'no "text"'),
    "an error": (answers('{"error": {"message": "sold out"}}'), FailureKind.SERVER, "sold out"),
    "too long": (answers(b" " * (16 * 1024 * 1024 + 1)), FailureKind.NETWORK, "longer than"),
    "streamed error": (answers('data: {"delta": "a"}\n\ndata: {"error": "oops"}\n\n', SSE), FailureKind.SERVER, "oops"),
    "streamed garbage": (answers("data: {{{\n\n", SSE), FailureKind.NETWORK, "not JSON"),
    "cut off": (answers('data: {"delta": "a"}\n\n', SSE), FailureKind.NETWORK, "the stream ended before"),
    "a flood": (
        answers((b'data: {"x": "' + b"x" * 999_999 + b'"}\n\n') * 17, SSE),
        FailureKind.NETWORK,
        "stream is longer",
    ),
    "a long line": (answers(b"x" * (8 * 1024 * 1024 + 1), SSE), FailureKind.NETWORK, "stream is longer"),
}


@pytest.mark.parametrize(("handler", "kind", "words"), FAILURES.values(), ids=FAILURES)
async def test_trouble_has_a_kind_and_words(handler: Handler, kind: FailureKind, words: str) -> None:
    with pytest.raises(ModelFailure, match=words) as failed:
        await events(handler, token="s3cret")
    assert (kind, 7.0 if "slow" in words else None) == (failed.value.kind, failed.value.retry_after_s)


async def test_a_connection_that_breaks_and_a_server_that_is_not_there() -> None:
    async def handler(request: web.Request) -> web.StreamResponse:
        stream = web.StreamResponse(headers={"Content-Type": SSE, "Content-Length": "99"})
        await stream.prepare(request)
        assert request.transport is not None
        request.transport.abort()
        return stream

    with pytest.raises(ModelFailure, match="no usable answer"):
        await events(handler)
    with pytest.raises(ModelFailure, match="down or cannot be reached"):
        [event async for event in HttpAgent("http:x", "http://127.0.0.1:1/", "").run(ASKED)]


async def test_the_server_sees_that_a_turn_was_stopped() -> None:
    ended = asyncio.Event()

    async def handler(request: web.Request) -> web.StreamResponse:
        stream = web.StreamResponse(headers={"Content-Type": SSE})
        await stream.prepare(request)
        await stream.write(f"data: {json.dumps({'delta': 'a'})}\n\n".encode())
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return stream

    app = web.Application()
    app.router.add_post("/", handler)
    async with serving(app) as url:
        run = HttpAgent("http:x", url, "").run(ASKED)
        assert TextDelta("a") == await anext(run)
        await run.aclose()
        async with asyncio.timeout(5):
            await ended.wait()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("http:", "write http:URL"),
        ("https://shop.example/answer", 'write "http:" in front of the URL'),
        ("a2a:shop.example", "write the whole URL, such as a2a:http://"),
        ("http:https://ana:s3cret@shop.example", "agent.token of secrets.toml"),
    ],
)
def test_a_wrong_url_is_found_before_the_start(name: str, words: str) -> None:
    with pytest.raises(UnusableAgent, match=words) as wrong:
        check_bridge(name)
    assert "s3cret" not in str(wrong.value)


def test_a_token_fits_into_a_header() -> None:
    with pytest.raises(UnusableAgent, match="no HTTP header"):
        connect("http:http://127.0.0.1:1", "two\nlines")
