"""Servers that programs, addresses and objects are: each is used the same way, and supervised alone."""

import asyncio
import socket
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp.server.lowlevel import Server
from mcp.server.sse import SseServerTransport
from mcp_types import CallToolRequestParams, CallToolResult, ListToolsResult, TextContent, Tool, ToolAnnotations
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from uvicorn import Config
from uvicorn import Server as HttpServer

from agent.mcp.config import McpServerConfig
from agent.mcp.results import result_data
from agent.mcp.server import McpServer, ServerState
from agent.mcp.servers import McpServers, look_at
from agent.tools.base import Effect, OutcomeUnknown, ToolError

PLAIN = Path(__file__).parents[1] / "fakes" / "plain_mcp_server.py"
SOON_S = 20.0


def plain(*trick: str, **settings: Any) -> McpServerConfig:
    return McpServerConfig(command=sys.executable, args=("-I", str(PLAIN), *trick), **settings)


async def list_tools(_context: object, _page: object) -> ListToolsResult:
    schema = {"type": "object", "properties": {"text": {"type": "string", "x-note": "kept"}}, "required": ["text"]}
    return ListToolsResult(
        tools=[Tool(name="echo", input_schema=schema, annotations=ToolAnnotations(read_only_hint=True))]
    )


async def call_tool(_context: object, asked: CallToolRequestParams) -> CallToolResult:
    words = str((asked.arguments or {}).get("text"))
    return CallToolResult(content=[TextContent(type="text", text=words * 5_000_000 if words == "y" else words)])


OBJECT = Server("object", on_list_tools=list_tools, on_call_tool=call_tool)


def older_app() -> Starlette:
    """Return an app with the transport SSE."""
    sse = SseServerTransport("/messages/")

    async def events(request: Request) -> Response:
        async with sse.connect_sse(request.scope, request.receive, request._send) as streams:  # noqa: SLF001  as its manual says
            await OBJECT.run(*streams, OBJECT.create_initialization_options())
        return Response()

    return Starlette(routes=[Route("/sse", events), Mount("/messages/", sse.handle_post_message)])


@asynccontextmanager
async def listening(app: Any) -> AsyncIterator[str]:
    """Serve an app on loopback; yield its address."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        http = HttpServer(Config(app, log_config=None, lifespan="on", timeout_graceful_shutdown=1))
        http.install_signal_handlers = lambda: None
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(http.serve([listener]))
            await until(lambda: http.started)
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
            http.should_exit = True


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(SOON_S):
        while not condition():
            await asyncio.sleep(0.01)


@asynccontextmanager
async def running(config: McpServerConfig, pauses_s: tuple[float, ...] = (0.01,)) -> AsyncIterator[McpServer]:
    server = McpServer("it", config, lambda: None, pauses_s=pauses_s)
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(server.run())
        await until(lambda: server.state is not ServerState.PENDING)
        yield server
        task.cancel()


@asynccontextmanager
async def any_kind(kind: str) -> AsyncIterator[McpServerConfig]:
    if kind == "program":
        yield plain()
    elif kind == "object":
        yield McpServerConfig(python="tests.contract.test_mcp_servers:OBJECT")
    else:
        app = older_app() if kind == "sse" else OBJECT.streamable_http_app()
        async with listening(app) as address:
            path = "/sse" if kind == "sse" else "/mcp"
            yield McpServerConfig(url=address + path, transport="sse" if kind == "sse" else "http")


@pytest.mark.parametrize("kind", ["program", "object", "http", "sse"])
async def test_a_server_of_any_kind_lists_and_calls(kind: str) -> None:
    async with any_kind(kind) as config, running(config) as server:
        assert (ServerState.CONNECTED, "echo") == (server.state, server.tools[0].name)
        assert "kept" == server.tools[0].input_schema["properties"]["text"]["x-note"]
        assert {"text": "hello"} == result_data(await server.call("echo", {"text": "hello"}))


async def test_a_program_gets_nothing_of_the_gateways_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-ours")
    config = plain(env={"EXAMPLE_KEY": "theirs"})
    async with running(config) as server:
        names = result_data(await server.call("environment", {}))["data"]["names"]
        assert {"EXAMPLE_KEY"} <= set(names) <= {"EXAMPLE_KEY", "PATH", "HOME", "LANG", "LC_CTYPE"}


async def test_a_server_killed_in_mid_call_answers_each_call_once() -> None:
    async with running(plain()) as server:
        for number in range(20):
            await until(lambda: server.state is ServerState.CONNECTED)
            with pytest.raises(OutcomeUnknown, match="was lost while this ran"):
                await server.call("die", {})
            with pytest.raises(ToolError, match="is not connected now"):
                await server.call("echo", {"text": str(number)})
        await until(lambda: server.state is ServerState.CONNECTED)
        assert {"text": "again"} == result_data(await server.call("echo", {"text": "again"}))


async def test_a_call_without_an_answer_ends_in_time_and_the_server_stays() -> None:
    async with running(plain(timeout_s=1)) as server:
        with pytest.raises(OutcomeUnknown, match="did not answer within 1 s"):
            await server.call("hang", {})
        assert ServerState.CONNECTED is server.state


async def test_the_words_of_an_error_reach_the_model() -> None:
    async with running(plain()) as server:
        with pytest.raises(ToolError, match="the string is broken"):
            result_data(await server.call("fail", {}))


async def test_an_answer_that_is_not_json_is_an_error_of_its_call() -> None:
    async with running(plain()) as server:
        with pytest.raises(OutcomeUnknown, match="cannot be read: the answer is not valid JSON"):
            await server.call("halve", {})
        with pytest.raises(ToolError, match="the arguments cannot be written as JSON"):
            await server.call("echo", {"text": "\ud800"})
        assert {"text": "fine"} == result_data(await server.call("echo", {"text": "fine"}))


async def test_a_server_may_not_use_our_model() -> None:
    async with running(plain()) as server:
        answer = str(result_data(await server.call("sample", {})))
        assert "error" in answer
        assert "not supported" in answer


@pytest.mark.parametrize("kind", ["program", "http"])
async def test_a_huge_answer_is_an_error_of_its_call_alone(kind: str) -> None:
    async with any_kind(kind) as config, running(config) as server:
        began_s, slowest_s = time.monotonic(), 0.0

        async def huge() -> None:
            with pytest.raises(OutcomeUnknown, match="longer than 4 MB; ask for less"):
                await (server.call("huge", {}) if kind == "program" else server.call("echo", {"text": "y"}))

        asking = asyncio.get_running_loop().create_task(huge())
        while not asking.done():
            before_s = time.monotonic()
            await asyncio.sleep(0.001)
            slowest_s = max(slowest_s, time.monotonic() - before_s)
        await asking
        assert (kind == "http") or slowest_s < 0.25, "the loop stays free"
        assert SOON_S > time.monotonic() - began_s
        assert {"text": "still here"} == result_data(await server.call("echo", {"text": "still here"}))


@pytest.mark.parametrize(
    ("config", "words"),
    [
        (plain("nonsense"), r"it writes lines that are no MCP, such as 'Listening on port 3000. \[31mReady!'"),
        (plain("silent", timeout_s=1), "it does not answer"),
        (plain("greeting", timeout_s=1), "it does not answer; it writes lines that are no MCP, such as 'Welcome!'"),
        (
            McpServerConfig(command="/no/such/program"),
            "the program /no/such/program cannot be started (No such file or directory)",
        ),
        (plain("floods"), "it writes more than 2000 messages a second"),
        (McpServerConfig(command=sys.executable, args=("-c", "exit('no key is set')")), "exit code 1: no key is set"),
        (McpServerConfig(url="http://127.0.0.1:9/mcp"), "it cannot be reached"),
        (McpServerConfig(python="tests.contract.test_mcp_servers:MISSING"), "MISSING"),
    ],
    ids=["nonsense", "silent", "greeting", "no program", "floods", "ends", "no address", "no object"],
)
async def test_a_server_that_cannot_be_used_says_why(config: McpServerConfig, words: str) -> None:
    async with running(config, pauses_s=(600.0,)) as server:
        await until(lambda: bool(server.why))
        assert words.replace("\\", "") in server.why.replace("\\", "")


async def test_credentials_that_are_refused_are_told_apart() -> None:
    async def refuse(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await receive()
            await send({"type": "lifespan.startup.complete"})
            await receive()
            await send({"type": "lifespan.shutdown.complete"})
            return
        await Response("who are you?", 401)(scope, receive, send)

    async with listening(refuse) as address, running(McpServerConfig(url=f"{address}/mcp"), (600.0,)) as server:
        assert (ServerState.NEEDS_AUTH, "it refuses the credentials (HTTP 401)") == (server.state, server.why)


async def test_a_stubborn_program_and_its_child_end_with_the_gateway(tmp_path: Path) -> None:
    noted = tmp_path / "pids"
    async with running(plain("stubborn", str(noted))):
        pids = [int(pid) for pid in noted.read_text().split()]
        began_s = time.monotonic()
    assert 5.0 > time.monotonic() - began_s
    await until(lambda: all(map(is_gone, pids)))


def is_gone(pid: int) -> bool:
    """Return True if a process has ended, also if its parent has not read its exit code."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


async def test_new_tools_are_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    config = McpServerConfig(command=sys.executable, args=("-P", str(PLAIN.with_name("mcp_server.py"))))
    changes: list[int] = []
    server = McpServer("it", config, lambda: changes.append(len(server.tools)), pauses_s=(0.01,))
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(server.run())
        await until(lambda: server.state is ServerState.CONNECTED)
        await server.call("grow", {"name": "another"})
        await until(lambda: len(changes) == 2)
        assert "another" in {tool.name for tool in server.tools}
        task.cancel()


async def test_annotations_count_only_if_the_operator_says_so() -> None:
    believed, other = await look_at({"a": plain(trust_annotations=True), "b": plain("", trust_annotations=False)})
    assert [Effect.NONE, Effect.UNSAFE] == [seen.tools.tools[0].effect for seen in (believed, other)]


async def test_many_tools_are_cut_and_deferred_and_bad_schemas_are_left_out() -> None:
    servers = McpServers({"many": plain("many"), "loops": plain("loops")})
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(servers.run(lambda: None))
        await until(lambda: len(servers.tools()) == 201)  # and that is 10,001 listed
        assert all(tool.should_defer for tool in servers.tools())
        troubles = servers.troubles()
        assert "more than 200 tools" in troubles["many"]
        for words in ("'loop' is left out: its schema refers to itself", "20000 are the most"):
            assert words in troubles["loops"]
        task.cancel()


async def test_servers_come_change_and_go_and_one_is_one_under_two_names() -> None:
    servers = McpServers({"a": plain(), "twin": plain(timeout_s=5)})
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(servers.run(lambda: None))
        await until(lambda: len(servers.tools()) == 8)
        assert "the same server as a" in servers.troubles()["twin"]
        first = servers.find("a")
        servers.reconfigure({"a": plain(), "b": plain("loops")})
        await until(lambda: len(servers.tools()) == 9)
        assert servers.find("a") is first
        servers.reconfigure({"a": plain(allow_tools=("echo",))})
        await until(lambda: ["mcp__a__echo"] == [tool.name for tool in servers.tools()])
        servers.reconfigure({})
        await until(lambda: servers.tools() == ())
        task.cancel()
