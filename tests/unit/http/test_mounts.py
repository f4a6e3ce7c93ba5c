"""Channels' paths on the gateway's server: guarded, and there as soon as the channel is loaded."""

import asyncio
from collections.abc import Sequence

import aiohttp
import pytest
from aiohttp import web

from channels.base import HttpRoute
from gateway.http.server import MAX_BODY_BYTES
from tests.fakes.http import Loaded, served
from tests.fakes.virtual_time import VirtualTimeLoop, run_virtually


class Hook:
    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        self.asked = 0
        self.streaming = asyncio.Event()

    def http_routes(self) -> Sequence[HttpRoute]:
        self.asked += 1
        return (
            HttpRoute("POST", "/hook", self._hook),
            HttpRoute("GET", "/hook", self._page),
            HttpRoute("GET", "/stream", self._stream),
        )

    async def _hook(self, request: web.Request) -> web.Response:
        self.bodies.append(await request.read())
        return web.Response(text="taken")

    async def _page(self, request: web.Request) -> web.Response:
        return web.Response(text="page")

    async def _stream(self, request: web.Request) -> web.StreamResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        self.streaming.set()
        async for message in socket:
            await socket.send_str(message.data)
        return socket


async def asked(method: str, url: str, data: bytes | None = None, **headers: str) -> tuple[int, str]:
    async with aiohttp.ClientSession() as session, session.request(method, url, data=data, headers=headers) as answer:
        return answer.status, await answer.text()


async def test_route_of_a_channel_that_loads_later_is_served():
    loaded, hook = Loaded(loading=True), Hook()
    async with served(loaded) as url:
        assert 503 == (await asked("POST", f"{url}hook", b"x"))[0]
        async with aiohttp.ClientSession() as session, session.get(f"{url}hook") as page:
            assert "1" == page.headers["Refresh"]  # a browser asks again by itself
        loaded.channels, loaded.loading = [object(), hook], False
        assert (200, "taken") == await asked("POST", f"{url}hook", b"x")
        assert (200, "page") == await asked("GET", f"{url}hook")
        assert (200, "") == await asked("HEAD", f"{url}hook")
    assert [b"x"] == hook.bodies
    assert 1 == hook.asked


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "nothing", 404),
        ("POST", "hook/", 404),
        ("PUT", "hook", 405),
        ("DELETE", "stream", 405),
        ("GET", "", 404),
    ],
)
async def test_an_unknown_path_or_method_is_refused(method: str, path: str, status: int):
    """Cover A16."""
    async with served(Loaded([Hook()])) as url:
        assert status == (await asked(method, f"{url}{path}"))[0]


async def test_health_is_not_shadowed():
    async with served(Loaded([Hook()])) as url:
        assert 200 == (await asked("GET", f"{url}healthz"))[0]


async def test_body_over_a_megabyte_is_refused():
    """Cover A16."""
    hook = Hook()

    async def chunks():
        for _ in range(20):
            yield b"x" * 100_000

    async with served(Loaded([hook])) as url:
        assert 200 == (await asked("POST", f"{url}hook", b"x" * MAX_BODY_BYTES))[0]
        assert 413 == (await asked("POST", f"{url}hook", b"x" * (MAX_BODY_BYTES + 1)))[0]
        assert 413 == (await asked("POST", f"{url}hook", chunks()))[0]
    assert 1 == len(hook.bodies)


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://127.0.0.1:1", "http://[", "https://localhost"]
)
async def test_other_sites_cannot_post(origin: str):
    """Cover A19."""
    hook = Hook()
    async with served(Loaded([hook])) as url:
        assert 403 == (await asked("POST", f"{url}hook", b"x", Origin=origin))[0]
        own = url.rstrip("/")
        assert 200 == (await asked("POST", f"{url}hook", b"x", Origin=own))[0]
        assert 200 == (await asked("GET", f"{url}hook", Origin=origin))[0]
    assert [b"x"] == hook.bodies


async def test_other_sites_cannot_open_a_socket():
    """Cover A19: browsers let any page open a WebSocket to any host."""
    async with served(Loaded([Hook()])) as url, aiohttp.ClientSession() as session:
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            await session.ws_connect(f"{url}stream", headers={"Origin": "http://evil.example"})
        assert 403 == refused.value.status
        async with session.ws_connect(f"{url}stream", headers={"Origin": url.rstrip("/")}) as socket:
            await socket.send_str("hello")
            assert "hello" == await socket.receive_str()


async def test_foreign_host_gets_nothing_of_a_channel():
    """Cover A20."""
    async with served(Loaded([Hook()])) as url:
        assert 403 == (await asked("POST", f"{url}hook", b"x", Host="evil.example"))[0]


def test_streams_end_with_the_server():

    async def scene(loop: VirtualTimeLoop) -> None:
        loop.sockets_s = 0.05
        hook = Hook()
        async with aiohttp.ClientSession() as session:
            async with served(Loaded([hook])) as url:
                socket = await session.ws_connect(f"{url}stream")
                await hook.streaming.wait()
                begun_s = loop.time()
            assert loop.time() - begun_s < 1.5
            await socket.close()

    run_virtually(scene)
