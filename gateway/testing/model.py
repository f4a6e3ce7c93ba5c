"""A model for tests: a server on loopback that speaks OpenAI's chat completions from a script, faults included.

    gateway.model.answers("Hello", Reply(calls=(Call("log_practice", '{"minutes": 45}'),)), Fault(status=429))

Once the script is used up, `brain(body)` answers each request; by default with a short text.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import orjson
from aiohttp import web
from aiohttp.typedefs import Handler


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call in a reply."""

    name: str
    arguments: str = "{}"
    id: str | None = None  # None: made up from its position


@dataclass(frozen=True, slots=True)
class Reply:
    """A good answer, and how it arrives."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    finish: str | None = None  # None: "tool_calls" if there are calls, else "stop"
    delay_s: float = 0.0  # before the first byte
    prefill: tuple[bytes, ...] = ()  # progress events, sent in turn ten times over `prefill_s`, before the first chunk
    prefill_s: float = 0.0
    chunk_chars: int = 12  # of text, and of a call's arguments
    chunk_delay_s: float = 0.0
    usage: tuple[int, int] | None = (100, 10)  # prompt and completion tokens; None: not reported
    plain_json: bool = False  # also to a request for a stream
    done: bool = True  # [DONE] at the end
    cut_after_chunks: int | None = None  # the connection breaks there
    stall_after_chunks: int | None = None  # nothing but pings follows
    ping_s: float = 0.01  # between pings
    crlf: bool = False
    noise: bool = False  # comments, unknown events, a byte order mark
    thinking: str = ""
    redacted: str = ""  # encrypted thinking, which only Anthropic has
    cached: tuple[int, int] | None = None  # prompt tokens read from the cache and written to it
    cached_hour: int = 0  # of those written: kept for an hour, which only Anthropic tells

    def named_calls(self) -> list[tuple[str, Call]]:
        """Return the calls with their ids."""
        return [(call.id if call.id is not None else f"call_{index}", call) for index, call in enumerate(self.calls)]


@dataclass(frozen=True, slots=True)
class Fault:
    """Anything else that a server may send."""

    status: int = 200
    body: bytes | Mapping[str, Any] = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    delay_s: float = 0.0
    content_type: str = "application/json"
    reset: bool = False  # the connection breaks before an answer
    hang: bool = False  # no byte, ever


Answer = Reply | Fault
Brain = Callable[[dict[str, Any]], Answer]


def pieces(text: str, size: int) -> list[str]:
    """Cut a text into pieces of a size."""
    return [text[at : at + size] for at in range(0, len(text), size)]


@dataclass(frozen=True, slots=True)
class Received:
    """A request as it arrived."""

    body: dict[str, Any]
    headers: Mapping[str, str]
    path: str
    query: str = ""
    client: tuple[str, int] = ("", 0)  # address and port of the connection


class FakeModel:
    """Listens on 127.0.0.1 while its context is open."""

    def __init__(self, brain: Brain | None = None, *, port: int = 0, reply: Answer | None = None) -> None:
        """Create it. `brain` answers what no script covers, by default with `reply`; port 0 is any free one."""
        self.requests: list[Received] = []
        self.keeps_requests = True
        self.brain: Brain = brain or (lambda _body: reply or Reply("A short answer."))
        self.refused_keys: set[str] = set()
        self.closed_early = 0  # streams that the client closed before their end
        self.asked: set[tuple[str, int]] = set()  # connections that sent any request
        self._script: deque[Answer] = deque()
        self._port = port
        self._released = asyncio.Event()
        self._runner: web.AppRunner | None = None

    def answers(self, *answers: Answer | str) -> None:
        """Answer the next requests with these, in order."""
        self._script.extend(Reply(answer) if isinstance(answer, str) else answer for answer in answers)

    def forget(self) -> None:
        """Drop the rest of the script."""
        self._script.clear()

    @property
    def base_url(self) -> str:
        """Return what a client of OpenAI's API is given; ends in /v1."""
        return f"{self.root_url}/v1"

    @property
    def root_url(self) -> str:
        """Return the URL without a path."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def unasked(self) -> set[tuple[str, int]]:
        """Return the open connections that have sent no request yet."""
        assert self._runner is not None, "it listens"
        assert self._runner.server is not None, "it listens"
        return {_client_of(each.transport) for each in self._runner.server.connections} - self.asked

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=64 * 1024 * 1024, middlewares=[self._note])
        self.add_routes(app)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self._port)
        await site.start()
        self._port = self._runner.addresses[0][1]
        return self

    async def __aexit__(self, kind: object = None, *_: object) -> None:
        self._released.set()
        if self._runner is not None:
            await self._runner.cleanup()

    def add_routes(self, app: web.Application) -> None:
        """Add the paths that it answers."""
        app.router.add_post("/v1/chat/completions", self.answer)
        app.router.add_get("/v1/models", self._models)

    @web.middleware
    async def _note(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        self.asked.add(_client_of(request.transport))
        return await handler(request)

    async def _models(self, request: web.Request) -> web.Response:
        if self._refuses(request):
            return web.json_response({"error": {"message": "invalid key", "type": "authentication_error"}}, status=401)
        return web.json_response({"object": "list", "data": [{"id": "test", "object": "model"}]})

    def _refuses(self, request: web.Request) -> bool:
        return request.headers.get("Authorization", "").removeprefix("Bearer ") in self.refused_keys

    def look_at(self, path: str, body: dict[str, Any]) -> None:
        """Look at a request before it is answered."""

    def whole(self, _path: str, reply: Reply, body: dict[str, Any]) -> dict[str, Any]:
        """Return a reply as the one answer to a request without a stream."""
        return _whole(reply, body)

    def chunks(self, _path: str, reply: Reply, body: dict[str, Any]) -> Iterable[dict[str, Any]]:
        """Return a reply as the events of a stream; one with a `type` has a name."""
        return _chunks(reply, body)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Answer one request from the script, or by the brain."""
        body = orjson.loads(await request.read())
        if self.keeps_requests:
            self.requests.append(
                Received(body, dict(request.headers), request.path, request.query_string, _client_of(request.transport))
            )
        self.look_at(request.path, body)
        if self._refuses(request):
            return await self._fault(request, Fault(status=401, body={"error": {"message": "invalid key"}}))
        answer = self._script.popleft() if self._script else self.brain(body)
        if answer.delay_s:
            await asyncio.sleep(answer.delay_s)
        if isinstance(answer, Fault):
            return await self._fault(request, answer)
        if answer.plain_json or not body.get("stream"):
            whole = self.whole(request.path, answer, body)
            return web.Response(body=orjson.dumps(whole), content_type="application/json")
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream; charset=utf-8"})
        try:
            await self._stream(request, response, answer, body)
        except ConnectionError:
            self.closed_early += 1
        return response

    async def _fault(self, request: web.Request, fault: Fault) -> web.StreamResponse:
        if fault.hang:
            await self._released.wait()
        if fault.hang or fault.reset:
            _abort(request)
        content = fault.body if isinstance(fault.body, bytes) else orjson.dumps(dict(fault.body))
        headers = {"Content-Type": fault.content_type, **fault.headers}
        return web.Response(status=fault.status, body=content, headers=headers)

    async def _stream(
        self, request: web.Request, response: web.StreamResponse, reply: Reply, body: dict[str, Any]
    ) -> None:
        await response.prepare(request)
        end = b"\r\n\r\n" if reply.crlf else b"\n\n"
        if reply.noise:
            await response.write(b"\xef\xbb\xbf: hello\n\nid: 7\nretry: 10\n\nevent: ping\n\n")
        for at in range(10 if reply.prefill else 0):
            await response.write(reply.prefill[at % len(reply.prefill)] + end)
            await asyncio.sleep(reply.prefill_s / 10)
        name = b""
        for sent, chunk in enumerate(self.chunks(request.path, reply, body)):
            if sent == reply.cut_after_chunks:
                await response.write(b'data: {"choices": [{"delta": {"content": "caf\xc3')
                _abort(request)
                return
            if sent == reply.stall_after_chunks:
                await self._stall(response, reply.ping_s)
            if reply.noise:
                await response.write(b": ping\n\n")
            name = b"event: " + chunk["type"].encode() + end[: len(end) // 2] if "type" in chunk else b""
            await response.write(name + b"data: " + orjson.dumps(chunk) + end)
            if reply.chunk_delay_s:
                await asyncio.sleep(reply.chunk_delay_s)
        if reply.done and not name:
            await response.write(b"data: [DONE]" + end)
        await response.write_eof()

    async def _stall(self, response: web.StreamResponse, ping_s: float) -> None:
        while not self._released.is_set():
            await response.write(b": ping\n\n")
            await asyncio.sleep(ping_s)

    @property
    def connections(self) -> int:
        """Return how many clients hold a connection."""
        server = None if self._runner is None else self._runner.server
        return 0 if server is None else sum(handler.transport is not None for handler in server.connections)


def _client_of(transport: asyncio.BaseTransport | None) -> tuple[str, int]:
    return ("", 0) if transport is None else transport.get_extra_info("peername")[:2]


def _abort(request: web.Request) -> None:
    if request.transport is not None:
        request.transport.abort()


def _finish(reply: Reply) -> str:
    return reply.finish or ("tool_calls" if reply.calls else "stop")


def _usage(reply: Reply) -> dict[str, Any] | None:
    if reply.usage is None:
        return None
    prompt, completion = reply.usage
    usage: dict[str, Any] = {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
    }
    if reply.cached is not None:
        usage["prompt_tokens_details"] = {"cached_tokens": reply.cached[0]}
    return usage


def _whole(reply: Reply, body: dict[str, Any]) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": reply.text or None}
    if reply.thinking:
        message["reasoning_content"] = reply.thinking
    if reply.calls:
        message["tool_calls"] = [
            {"id": id_, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for id_, call in reply.named_calls()
        ]
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": body.get("model", "test"),
        "choices": [{"index": 0, "message": message, "finish_reason": _finish(reply), "logprobs": None}],
        "usage": _usage(reply),
    }


def _chunks(reply: Reply, body: dict[str, Any]) -> list[dict[str, Any]]:
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": body.get("model", "test")}

    def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        return {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

    chunks = [chunk({"role": "assistant", "content": ""})]
    chunks += [chunk({"reasoning_content": piece}) for piece in pieces(reply.thinking, reply.chunk_chars)]
    chunks += [chunk({"content": piece}) for piece in pieces(reply.text, reply.chunk_chars)]
    for index, (id_, call) in enumerate(reply.named_calls()):
        function: dict[str, Any] = {"name": call.name, "arguments": ""}
        chunks.append(chunk({"tool_calls": [{"index": index, "id": id_, "type": "function", "function": function}]}))
        chunks += [
            chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
            for piece in pieces(call.arguments, reply.chunk_chars)
        ]
    chunks.append(chunk({}, _finish(reply)))
    if reply.usage is not None and (body.get("stream_options") or {}).get("include_usage"):
        chunks.append({**head, "choices": [], "usage": _usage(reply)})
    return chunks
