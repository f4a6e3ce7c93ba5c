"""A loopback server that speaks OpenAI chat completions and Anthropic messages from one script, with faults.

    async with ModelServer() as server:
        server.script(Reply("Hello"), Reply(calls=(Call("log_practice", '{"minutes": 45}'),)), Fault(status=429))
        ... OPENAI_BASE_URL = server.base_url, or ANTHROPIC_BASE_URL = server.root_url ...
        assert 3 == len(server.requests)

What a script does not cover is answered by `brain(body) -> Reply | Fault`, by default a short text. Runs alone, too:
`python -m tests.fakes.model_server PORT [DELAY_S]`.
"""

import asyncio
import sys
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import orjson
from aiohttp import web
from aiohttp.typedefs import Handler

from tests.fakes import anthropic_shapes
from tests.fakes.model_replies import Answer, Brain, Call, Fault, Reply, named_calls, pieces
from tests.fakes.strict_transcripts import flaws_in_request

__all__ = ["Brain", "Call", "Fault", "ModelServer", "Reply"]

MESSAGES = "/v1/messages"
"""Anthropic's path; any other here is OpenAI's."""


@dataclass(frozen=True, slots=True)
class Received:
    """A request as it came."""

    body: dict[str, Any]
    headers: Mapping[str, str]
    path: str
    query: str = ""
    client: tuple[str, int] = ("", 0)  # where its connection came from


class ModelServer:
    """Listens on 127.0.0.1 while its context is open."""

    def __init__(self, brain: Brain | None = None, *, port: int = 0, reply: Answer | None = None) -> None:
        self.requests: list[Received] = []
        self.keeps_requests = True  # off for long benchmarks
        self.brain: Brain = brain or (lambda _body: reply or Reply("A short answer."))
        self.flaws: list[str] = []  # what a strict API would have refused; any fails the test when the context closes
        self.looks = True  # off where somebody else looks for them, or sends what no API takes
        self.refused_keys: set[str] = set()
        self.closed_early = 0  # streams whose client went away
        self.asked: set[tuple[str, int]] = set()  # connections over which any request came
        self._script: deque[Answer] = deque()
        self._port = port
        self._released = asyncio.Event()
        self._runner: web.AppRunner | None = None

    def script(self, *answers: Answer) -> None:
        """Give these, in order, before the brain is asked again."""
        self._script.extend(answers)

    def forget(self) -> None:
        """Drop what is left of the script."""
        self._script.clear()

    @property
    def base_url(self) -> str:
        """What a client is given; ends in /v1."""
        return f"http://127.0.0.1:{self._port}/v1"

    @property
    def root_url(self) -> str:
        """What a client of Anthropic's API is given."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def unasked(self) -> set[tuple[str, int]]:
        """Open connections over which no request came yet."""
        assert self._runner is not None and self._runner.server is not None, "it listens"
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
        assert kind is not None or not self.flaws, f"a strict API refuses: {self.flaws}"

    def add_routes(self, app: web.Application) -> None:
        """What it answers."""
        self.add_chat(app)
        app.router.add_get("/v1/models", self._models)

    def add_chat(self, app: web.Application) -> None:
        """Both APIs."""
        app.router.add_post("/v1/chat/completions", self._answer)
        app.router.add_post("/v1/messages", self._answer)

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

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        body = orjson.loads(await request.read())
        if self.keeps_requests:
            self.requests.append(
                Received(body, dict(request.headers), request.path, request.query_string, _client_of(request.transport))
            )
        if self.looks:
            self.flaws += flaws_in_request(body, openai=request.path != MESSAGES)
        if self._refuses(request):
            return await self._fault(request, Fault(status=401, body={"error": {"message": "invalid key"}}))
        answer = self._script.popleft() if self._script else self.brain(body)
        if answer.delay_s:
            await asyncio.sleep(answer.delay_s)
        if isinstance(answer, Fault):
            return await self._fault(request, answer)
        if answer.plain_json or not body.get("stream"):
            whole = anthropic_shapes.whole if request.path == MESSAGES else _whole
            return web.Response(body=orjson.dumps(whole(answer, body)), content_type="application/json")
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
            _cut(request)
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
        is_openai = request.path != MESSAGES
        for sent, chunk in enumerate(_chunks(reply, body) if is_openai else anthropic_shapes.events(reply, body)):
            if sent == reply.cut_after_chunks:
                await response.write(b'data: {"choices": [{"delta": {"content": "caf\xc3')
                _cut(request)
                return
            if sent == reply.stall_after_chunks:
                await self._stall(response, reply.ping_s)
            if reply.noise:
                await response.write(b": ping\n\n")
            name = b"" if is_openai else b"event: " + chunk["type"].encode() + end[: len(end) // 2]
            await response.write(name + b"data: " + orjson.dumps(chunk) + end)
            if reply.chunk_delay_s:
                await asyncio.sleep(reply.chunk_delay_s)
        if reply.done and is_openai:
            await response.write(b"data: [DONE]" + end)
        await response.write_eof()

    async def _stall(self, response: web.StreamResponse, ping_s: float) -> None:
        while not self._released.is_set():
            await response.write(b": ping\n\n")
            await asyncio.sleep(ping_s)

    @property
    def connections(self) -> int:
        """How many clients hold a connection; one that has gone from an answer that never comes holds none."""
        server = None if self._runner is None else self._runner.server
        return 0 if server is None else sum(one.transport is not None for one in server.connections)


def _client_of(transport: asyncio.BaseTransport | None) -> tuple[str, int]:
    return ("", 0) if transport is None else transport.get_extra_info("peername")[:2]


def _cut(request: web.Request) -> None:
    if request.transport is not None:
        request.transport.abort()


def _finish(reply: Reply) -> str:
    return reply.finish or ("tool_calls" if reply.calls else "stop")


def _usage(reply: Reply) -> dict[str, Any] | None:
    if reply.usage is None:
        return None
    prompt, completion = reply.usage
    usage: dict[str, Any] = {
        "prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion,
    }  # fmt: skip
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
            for id_, call in named_calls(reply)
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
    for index, (id_, call) in enumerate(named_calls(reply)):
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


async def _alone(port: int, delay_s: float) -> None:
    async with ModelServer(port=port, reply=Reply("A short answer.", delay_s=delay_s)) as server:
        server.keeps_requests = False
        sys.stdout.write(f"{server.base_url}\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_alone(int(sys.argv[1]), float(sys.argv[2]) if len(sys.argv) > 2 else 0.0))
