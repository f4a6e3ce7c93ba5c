"""The control socket, over a real one: its users, its refusals, its file."""

import asyncio
import contextlib
import json
import socket
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import web
from pydantic import JsonValue

from gateway.errors import AlreadyRunning, GatewayError
from gateway.http.api.problems import ApiRefusal
from gateway.http.api.server import in_one_shape
from gateway.http.connections import ConnectionLimiter
from gateway.http.mounts import Mounts
from gateway.operators.client import MAX_SUN_PATH_BYTES, NoGateway, call, path_of
from gateway.ops.control import ControlServer
from tests.fakes.http import Loaded


async def answer(request: web.Request) -> web.StreamResponse:
    """Echo what was given, refuse, or never answer."""
    match request.path:
        case "/v1/echo":
            given = dict(request.query) if request.method == "GET" else json.loads(await request.read() or b"{}")
            return web.json_response(given)
        case "/v1/hang":
            await asyncio.Event().wait()
        case "/v1/refuse":
            raise ApiRefusal(409, "refused", "that is nobody's code", "Look at it.")
    raise ApiRefusal(404, "not_found", request.rel_url.raw_path, "Look at it.")


async def serve_api(_limiter: ConnectionLimiter, request: web.Request) -> web.StreamResponse:
    return await in_one_shape(request, answer(request))


def server(path: Path, head_s: float = 10.0) -> ControlServer:
    return ControlServer(path, serve_api, Mounts(Loaded(), private=True), head_s=head_s)


@contextlib.asynccontextmanager
async def serving(path: Path, head_s: float = 10.0) -> AsyncIterator[None]:
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(server(path, head_s).run())
        while not path.exists() and not running.done():
            await asyncio.sleep(0)
        yield
        running.cancel()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "control.sock"


async def said(path: Path, raw: bytes) -> bytes:
    with socket.socket(socket.AF_UNIX) as peer:
        peer.setblocking(False)
        loop = asyncio.get_running_loop()
        await loop.sock_connect(peer, str(path))
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            await loop.sock_sendall(peer, raw)
        answered = b""
        with contextlib.suppress(ConnectionResetError):
            while chunk := await loop.sock_recv(peer, 65536):
                answered += chunk
        return answered


async def problem(path: Path, request: str, timeout_s: float = 30.0) -> str:
    with pytest.raises(GatewayError) as error:
        await call(path, request, timeout_s=timeout_s)
    return str(error.value)


async def test_what_is_given_goes_into_the_query_or_the_body(path: Path) -> None:
    async with serving(path):
        values: list[JsonValue] = ["ñ\n", 7, ["a", {"b": 1.5}]]
        for value in values:
            assert {"value": value} == await call(path, "POST /v1/echo", {"value": value, "other": None})
        assert {"value": "ñ &7"} == await call(path, "GET /v1/echo", {"value": "ñ &7", "other": None})


async def test_a_segment_of_a_path_holds_any_text(path: Path) -> None:
    async with serving(path):
        assert "/v1/users/a%2Fb%20%25" == await problem(path, f"GET {path_of('users', 'a/b %')}")


async def test_the_socket_is_the_owners_alone(path: Path) -> None:
    """Cover A93."""
    async with serving(path):
        assert 0o600 == path.stat().st_mode & 0o777
        assert [path] == list(path.parent.iterdir())
    assert [] == list(path.parent.iterdir())


@pytest.mark.parametrize(
    "header",
    [
        "Forwarded: for=1.2.3.4",
        "X-Forwarded-For: 1.2.3.4",
        "x-forwarded-proto: https",
        "Via: 1.1 proxy",
        "Origin: null",
    ],
)
async def test_what_a_proxy_or_a_page_sends_on_is_refused(path: Path, header: str) -> None:
    async with serving(path):
        raw = f"GET /v1/echo HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{header}\r\n\r\n".encode()
        assert b" 403 " in (await said(path, raw)).partition(b"\r\n")[0]
        assert {} == await call(path, "GET /v1/echo")


async def test_a_refusal_travels_in_its_own_words(path: Path) -> None:
    async with serving(path):
        assert "that is nobody's code" == await problem(path, "POST /v1/refuse")


async def test_a_caller_does_not_wait_for_ever(path: Path) -> None:
    async with serving(path):
        assert "did not answer within 0.05 s" in await problem(path, "GET /v1/hang", timeout_s=0.05)


@pytest.mark.parametrize(
    "raw",
    [
        b"\nnonsense\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        b"POST /v1/nothing HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}",
        b"x" * 200_000,
    ],
)
async def test_a16_a91_bad_requests_get_an_error(path: Path, raw: bytes) -> None:
    async with serving(path):
        assert b" 200 " not in (await said(path, raw)).partition(b"\r\n")[0]
        assert {} == await call(path, "GET /v1/echo")


async def test_many_at_once_are_all_answered(path: Path) -> None:
    async with serving(path), asyncio.TaskGroup() as tasks:
        calls = [tasks.create_task(call(path, "POST /v1/echo", {"n": n})) for n in range(50)]
    assert [{"n": n} for n in range(50)] == [each.result() for each in calls]


async def test_a_missing_gateway_is_its_own_error(path: Path) -> None:
    with pytest.raises(NoGateway):
        await call(path, "GET /v1/echo", timeout_s=5.0)
    dead_socket(path)
    with pytest.raises(NoGateway):
        await call(path, "GET /v1/echo", timeout_s=5.0)
    with pytest.raises(NoGateway):
        await call(path / "deeper", "GET /v1/echo", timeout_s=5.0)


def dead_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))


async def test_a_dead_gateways_socket_is_replaced(path: Path) -> None:
    dead_socket(path)
    inode = path.stat().st_ino
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(server(path).run())
        while path.stat().st_ino == inode:
            await asyncio.sleep(0)
        assert {} == await call(path, "GET /v1/echo", timeout_s=5.0)
        running.cancel()


async def test_a_living_gateways_socket_is_not(path: Path) -> None:
    async with serving(path):
        listening = asyncio.to_thread(asyncio.run, server(path).run())
        with pytest.raises(AlreadyRunning, match="TENK_HOME"):
            await listening
        assert {} == await call(path, "GET /v1/echo", timeout_s=5.0)


async def test_a_file_that_is_no_socket_is_left_alone(path: Path) -> None:
    path.write_text("notes")
    with pytest.raises(GatewayError, match="is not a socket"):
        await server(path).run()
    assert "notes" == path.read_text()


async def test_a_home_that_cannot_be_written_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(GatewayError, match="cannot be made"):
        await server(tmp_path / "nowhere" / "control.sock").run()


async def test_a_home_deeper_than_a_socket_address_works(tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 100) / ("e" * 100)
    deep.mkdir(parents=True)
    path = deep / "control.sock"
    assert MAX_SUN_PATH_BYTES < len(str(path))
    async with serving(path):
        assert {"n": 1} == await call(path, "POST /v1/echo", {"n": 1}, timeout_s=5.0)
        assert 0o600 == path.stat().st_mode & 0o777
        with pytest.raises(AlreadyRunning):
            await asyncio.to_thread(asyncio.run, server(path).run())
    with pytest.raises(NoGateway):
        await call(path, "GET /v1/echo", timeout_s=5.0)


async def test_a_server_takes_away_only_its_own_socket(path: Path) -> None:
    with tempfile.TemporaryDirectory(dir=path.parent) as aside:
        async with serving(path):
            other = Path(aside) / "s"
            dead_socket(other)
            other.replace(path)
        assert path.is_socket()
