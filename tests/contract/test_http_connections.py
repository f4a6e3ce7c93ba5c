"""Connections to the HTTP server: silent, slow and many ones cost others nothing."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import aiohttp
import pytest
from aiohttp import web

from channels.base import HttpRoute
from gateway.http.connections import ConnectionLimiter
from gateway.http.serving import serve
from tests.fakes.http import Loaded, served

HEALTH = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"


class Slow:
    def http_routes(self) -> Sequence[HttpRoute]:
        return (HttpRoute("POST", "/body", self._body), HttpRoute("GET", "/stream", self._stream))

    async def _body(self, request: web.Request) -> web.Response:
        return web.Response(text=str(len(await request.read())))

    async def _stream(self, request: web.Request) -> web.StreamResponse:
        stream = web.WebSocketResponse()
        await stream.prepare(request)
        async for message in stream:
            await stream.send_str(message.data)
        return stream


class Raw:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self._writer = reader, writer

    def say(self, data: bytes) -> None:
        """Send bytes, wherever the connection stands."""
        self._writer.write(data)

    async def status(self) -> int:
        """Take one whole answer; its status, 0 where the connection ended instead."""
        async with asyncio.timeout(30):
            try:
                head = await self.reader.readuntil(b"\r\n\r\n")
            except (asyncio.IncompleteReadError, ConnectionError):
                return 0
            fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:-2])
            await self.reader.readexactly(int(fields[b"content-length"]))
        return int(head.split(b" ")[1])

    async def is_over(self) -> bool:
        """Wait until the other side has closed it, without having said anything."""
        async with asyncio.timeout(30):
            with contextlib.suppress(ConnectionError):
                return await self.reader.read() == b""
        return True


@asynccontextmanager
async def raw(url: str, source: str = "127.0.0.1") -> AsyncIterator[Raw]:
    port = int(url.rstrip("/").rpartition(":")[2])
    reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=(source, 0))
    try:
        yield Raw(reader, writer)
    finally:
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()


async def test_connection_that_asks_nothing_is_closed():
    async with served(Loaded(), head_timeout_s=0.1) as url, raw(url) as silent, raw(url) as begun:
        begun.say(b"G")
        assert await silent.is_over()
        assert await begun.is_over()


async def test_body_and_stream_have_their_own_time():
    async with (
        served(Loaded([Slow()]), head_timeout_s=0.1) as url,
        raw(url) as sender,
        aiohttp.ClientSession() as http,
        http.ws_connect(f"{url}stream") as stream,
    ):
        sender.say(b"POST /body HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhe")
        await asyncio.sleep(0.2)
        sender.say(b"llo")
        assert 200 == await sender.status()
        await stream.send_str("still here")
        assert "still here" == await stream.receive_str()


async def test_who_is_silent_makes_room_for_who_asks():
    async with served(Loaded(), connections=8) as url, contextlib.AsyncExitStack() as held:
        silent = [await held.enter_async_context(raw(url)) for _ in range(40)]
        async with raw(url) as asking:
            asking.say(HEALTH)
            assert 200 == await asking.status()
        for one in silent[:32]:
            assert await one.is_over()


async def test_who_is_being_served_is_never_cut_for_another():
    async with served(Loaded([Slow()]), connections=8) as url, contextlib.AsyncExitStack() as held:
        http = await held.enter_async_context(aiohttp.ClientSession())
        streams = [await held.enter_async_context(http.ws_connect(f"{url}stream")) for _ in range(8)]
        async with raw(url) as late:
            late.say(HEALTH)
            assert 0 == await late.status()
        for stream in streams:
            await stream.send_str("hello")
            assert "hello" == await stream.receive_str()


@asynccontextmanager
async def limited(most: int, most_of_address: int) -> AsyncIterator[tuple[str, ConnectionLimiter]]:

    async def answer(request: web.Request) -> web.Response:
        with limiter.answering(request):
            return web.Response(text="hello")

    limiter = ConnectionLimiter(most, most_of_address, lambda remote: remote)
    application = web.Application()
    application.router.add_get("/{path:.*}", answer)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        async with asyncio.TaskGroup() as tasks:
            serving = tasks.create_task(serve(application, [listener], limiter, shutdown_timeout=0.01))
            yield f"http://127.0.0.1:{listener.getsockname()[1]}/", limiter
            serving.cancel()


async def test_one_address_has_its_own_bound():
    async with limited(100, 4) as (url, limiter), contextlib.AsyncExitStack() as held:
        other = await held.enter_async_context(raw(url, "127.0.0.2"))
        crowd = [await held.enter_async_context(raw(url)) for _ in range(12)]
        for gone in crowd[:8]:
            assert await gone.is_over()
        async with raw(url) as asking:
            asking.say(HEALTH)
            assert 200 == await asking.status()
        other.say(HEALTH)
        assert 200 == await other.status()
        assert 6 >= len(limiter.open)


@pytest.mark.parametrize("junk", [b"\x00" * 100, b"GET / HTTP/9.9\r\n\r\n", b"GET  HTTP\r\n\r\n", b"\x16\x03\x01\x02"])
async def test_what_is_no_http_is_told_so_without_a_word_in_the_log(junk: bytes, caplog: pytest.LogCaptureFixture):
    async with served(Loaded(), head_timeout_s=0.2) as url, raw(url) as stranger:
        stranger.say(junk)
        assert await stranger.status() in {0, 400}
    assert [] == caplog.records
