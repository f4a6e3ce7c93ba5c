"""The control socket, over a real one."""

import asyncio
import contextlib
import socket
import tempfile
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest
from pydantic import JsonValue

from gateway.errors import AlreadyRunning, GatewayError
from gateway.http.mounts import Mounts
from gateway.ops.control import ControlServer
from gateway.ops.control_client import MAX_REQUEST_BYTES, MAX_SUN_PATH_BYTES, Handler, NobodyAnswers, call
from tests.fakes.http import Loaded


async def echo(arguments: dict[str, JsonValue]) -> JsonValue:
    """What was given."""
    return arguments


async def refuse(_: dict[str, JsonValue]) -> JsonValue:
    """No."""
    raise GatewayError("that is nobody's code")


async def fail(_: dict[str, JsonValue]) -> JsonValue:
    """A mistake of ours."""
    raise ZeroDivisionError("hidden from the operator")


async def hang(_: dict[str, JsonValue]) -> JsonValue:
    """For ever."""
    await asyncio.Event().wait()
    return None


async def much(_: dict[str, JsonValue]) -> JsonValue:
    """More than an answer may hold."""
    return "x" * (9 * 1024 * 1024)


HANDLERS = {"echo": echo, "refuse": refuse, "fail": fail, "hang": hang, "much": much}


def server(path: Path, handlers: Mapping[str, Handler] = HANDLERS, deadline_s: float = 10.0) -> ControlServer:
    """One without channels."""
    return ControlServer(path, handlers, Mounts(Loaded(), private=True), deadline_s=deadline_s)


@contextlib.asynccontextmanager
async def serving(
    path: Path, handlers: Mapping[str, Handler] = HANDLERS, deadline_s: float = 10.0
) -> AsyncIterator[None]:
    """A server that listens."""
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(server(path, handlers, deadline_s).run())
        while not path.exists() and not running.done():
            await asyncio.sleep(0)
        yield
        running.cancel()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the socket goes."""
    return tmp_path / "control.sock"


async def said(path: Path, raw: bytes) -> bytes:
    """What the server answers to raw bytes."""
    with socket.socket(socket.AF_UNIX) as peer:
        peer.setblocking(False)
        loop = asyncio.get_running_loop()
        await loop.sock_connect(peer, str(path))
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            await loop.sock_sendall(peer, raw)
        answer = b""
        with contextlib.suppress(ConnectionResetError):
            while chunk := await loop.sock_recv(peer, 65536):
                answer += chunk
        return answer


async def problem(path: Path, name: str, timeout_s: float = 30.0) -> str:
    """The error a call ends with."""
    with pytest.raises(GatewayError) as error:
        await call(path, name, {}, timeout_s)
    return str(error.value)


async def test_the_socket_is_the_owners_alone(path: Path) -> None:
    """A93: mode 0600, and nothing beside it is left in the home; it goes with the server."""
    async with serving(path):
        assert 0o600 == path.stat().st_mode & 0o777
        assert [path] == list(path.parent.iterdir())
    assert [] == list(path.parent.iterdir())


async def test_a_refusal_travels_in_its_own_words(path: Path) -> None:
    """The CLI shows them as they are."""
    async with serving(path):
        assert "that is nobody's code" == await problem(path, "refuse")


async def test_an_unknown_name_is_answered_with_the_known_ones(path: Path) -> None:
    """So that versions that differ can tell."""
    async with serving(path):
        assert "this gateway knows no 'nothing'; it knows: echo, fail, hang, much, refuse" == await problem(
            path, "nothing"
        )


async def test_a_mistake_of_ours_ends_one_request(path: Path) -> None:
    """The operator is told without a stack trace, the gateway goes on."""
    async with serving(path):
        told = await problem(path, "fail")
        assert "ZeroDivisionError" in told
        assert "hidden" not in told
        assert {} == await call(path, "echo", {}, 5.0)


async def test_what_takes_too_long_is_told(path: Path) -> None:
    """With the truth about it: it may still happen."""
    async with serving(path, deadline_s=0.05):
        assert "may still happen" in await problem(path, "hang")


async def test_a_caller_does_not_wait_for_ever(path: Path) -> None:
    """Its own deadline holds too."""
    async with serving(path):
        assert "did not answer within 0.05 s" in await problem(path, "hang", timeout_s=0.05)


async def test_an_answer_too_long_is_an_error(path: Path) -> None:
    """Not a torn line."""
    async with serving(path):
        assert "too long" in await problem(path, "much")


def posted(name: str, body: bytes, length: int | None = None) -> bytes:
    """A request as it travels; `length` is what its head says of the body."""
    said_length = len(body) if length is None else length
    head = f"POST /control/{name} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {said_length}\r\n\r\n"
    return head.encode() + body


@pytest.mark.parametrize(
    "raw",
    [
        b"\n",
        b"nonsense\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        b"GET /control/echo HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        posted("echo", b""),
        posted("echo", b"nonsense"),
        posted("echo", b"[]"),
        posted("echo", b"7"),
        posted("nothing", b"{}"),
        posted("", b"{}"),
        posted("echo", b"\xff\xfe"),
        posted("echo", b"[" * 60_000),
        posted("echo", b"x" * (MAX_REQUEST_BYTES + 1)),
        b"x" * (3 * MAX_REQUEST_BYTES),
    ],
)
async def test_a16_a91_bad_requests_get_an_error_and_hurt_nobody(path: Path, raw: bytes) -> None:
    """A16, A91: no more than 64 KiB is read, nothing is raised in the gateway."""
    async with serving(path, deadline_s=1.0):
        assert b" 200 " not in (await said(path, raw)).partition(b"\r\n")[0]
        assert {} == await call(path, "echo", {}, 5.0)


@pytest.mark.parametrize("raw", [b"", b"POST /control/echo HTTP/1.1\r\nHo", posted("echo", b"{", 100)])
async def test_a_caller_that_does_not_go_on_is_dropped(path: Path, raw: bytes) -> None:
    """After the deadline, whatever part of a request it has sent."""
    async with serving(path, deadline_s=0.05):
        assert b" 200 " not in await said(path, raw)


async def test_a_request_too_long_is_not_even_sent(path: Path) -> None:
    """The caller reads why."""
    with pytest.raises(GatewayError, match="longer than 65536 bytes"):
        await call(path, "echo", {"x": "x" * MAX_REQUEST_BYTES}, 5.0)


async def test_many_at_once_are_all_answered(path: Path) -> None:
    """More than are served at a time."""
    async with serving(path), asyncio.TaskGroup() as tasks:
        calls = [tasks.create_task(call(path, "echo", {"n": n}, 5.0)) for n in range(50)]
    assert [{"n": n} for n in range(50)] == [each.result() for each in calls]


async def test_nobody_there_is_its_own_error(path: Path) -> None:
    """The CLI then opens the store itself: no file, and a file that a dead gateway left."""
    with pytest.raises(NobodyAnswers):
        await call(path, "echo", {}, 5.0)
    dead_socket(path)
    with pytest.raises(NobodyAnswers):
        await call(path, "echo", {}, 5.0)
    with pytest.raises(NobodyAnswers):
        await call(path / "deeper", "echo", {}, 5.0)


def dead_socket(path: Path) -> None:
    """A socket file without a listener."""
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))


async def test_a_dead_gateways_socket_is_replaced(path: Path) -> None:
    """A kill -9 leaves one behind."""
    dead_socket(path)
    inode = path.stat().st_ino
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(server(path).run())
        while path.stat().st_ino == inode:
            await asyncio.sleep(0)
        assert {} == await call(path, "echo", {}, 5.0)
        running.cancel()


async def test_a_living_gateways_socket_is_not(path: Path) -> None:
    """The second one is told, the first one goes on."""
    async with serving(path):
        listening = asyncio.to_thread(asyncio.run, server(path).run())
        with pytest.raises(AlreadyRunning, match="TENK_HOME"):
            await listening
        assert {} == await call(path, "echo", {}, 5.0)


async def test_a_file_that_is_no_socket_is_left_alone(path: Path) -> None:
    """Whoever put it there may want it."""
    path.write_text("notes")
    with pytest.raises(GatewayError, match="is no socket"):
        await server(path).run()
    assert "notes" == path.read_text()


async def test_a_home_that_cannot_be_written_is_a_clear_error(tmp_path: Path) -> None:
    """No stack trace."""
    with pytest.raises(GatewayError, match="cannot be made"):
        await server(tmp_path / "nowhere" / "control.sock").run()


async def test_a_home_deeper_than_a_socket_address_works(tmp_path: Path) -> None:
    """sun_path has 108 bytes; the socket is reached through its directory."""
    deep = tmp_path / ("d" * 100) / ("e" * 100)
    deep.mkdir(parents=True)
    path = deep / "control.sock"
    assert MAX_SUN_PATH_BYTES < len(str(path))
    async with serving(path):
        assert {"n": 1} == await call(path, "echo", {"n": 1}, 5.0)
        assert 0o600 == path.stat().st_mode & 0o777
        with pytest.raises(AlreadyRunning):
            await asyncio.to_thread(asyncio.run, server(path).run())
    with pytest.raises(NobodyAnswers):
        await call(path, "echo", {}, 5.0)


async def test_a_server_takes_away_only_its_own_socket(path: Path) -> None:
    """When another has taken the name meanwhile."""
    with tempfile.TemporaryDirectory(dir=path.parent) as aside:
        async with serving(path):
            other = Path(aside) / "s"
            dead_socket(other)
            other.replace(path)
        assert path.is_socket()


async def nonsense(_: dict[str, JsonValue]) -> JsonValue:
    """What is no JSON."""
    return object()  # type: ignore[return-value]  a bug
