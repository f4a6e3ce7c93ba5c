"""Bad input to `/mcp`: keys in addresses, foreign pages, nonsense in place of JSON-RPC; nothing gets in or breaks."""

import io
import json
from pathlib import Path
from typing import Any

from tests.fakes.api import ApiProgram, api_house

MCP = "[channels.api]\nmcp = true\n"
HEADERS = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}


def calling(name: str, **arguments: Any) -> bytes:
    return json.dumps({**CALL, "params": {"name": name, "arguments": arguments}}).encode()


async def post(program: ApiProgram, body: bytes, path: str = "/mcp", **headers: str) -> tuple[int, str]:
    async with program.http.post(program.url + path, data=io.BytesIO(body), headers=HEADERS | headers) as answer:
        return answer.status, await answer.text()


async def test_only_a_valid_key_in_the_header_is_accepted(tmp_path: Path) -> None:
    async with api_house(tmp_path, config=MCP) as here:
        program = await here.program()
        body, named = calling("get_user_skills"), f"/mcp?access_token={program.key}"
        seen = [
            await post(program, body),
            await post(program, body, named),
            await post(program, body, named, Authorization=""),
            await post(program, body, Authorization="Bearer tenk-aaaaaaaa-" + "0" * 32),
            await post(program, body, Authorization=f"Basic {program.key}"),
            await post(program, body, **{"X-Tenant-Id": "other"}),
        ]
    assert [200, 422, 422, 401, 401, 403] == [status for status, _ in seen]
    assert "Authorization: Bearer" in seen[1][1]


async def test_a_page_of_another_site_and_a_rebound_name_are_refused(tmp_path: Path) -> None:
    async with api_house(tmp_path, config=MCP) as here:
        program = await here.program()
        body = calling("get_user_skills")
        page = await post(program, body, Origin="https://evil.example")
        rebound = await post(program, body, Host="evil.example")
        local = await post(program, body, Origin="null")
    assert [403, 403, 403] == [status for status, _ in (page, rebound, local)]


NONSENSE = (
    b"",
    b"nonsense",
    b"[]",
    b"{}",
    b"[" * 100_000,
    b'{"a":' * 20_000,
    b"\xff\xfe",
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call"}',
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":7}}',
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":[]}}',
    b'{"jsonrpc":"2.0","id":' + b"9" * 10_000 + b',"method":"tools/list"}',
    b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"9999"}}',
    b'{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"file:///etc/passwd"}}',
    b'{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{}}',
)


async def test_nonsense_is_a_clear_error_and_the_next_call_works(tmp_path: Path) -> None:
    async with api_house(tmp_path, config=MCP) as here:
        program = await here.program()
        for body in NONSENSE:
            for version in ({}, {"MCP-Protocol-Version": "2026-07-28"}):
                code, text = await post(program, body, **version)
                assert code < 500 and "Traceback" not in text, body[:100]
                assert code >= 400 or "error" in json.loads(text), body[:100]
            status, answer = await post(program, calling("get_user_skills"))
            assert 200 == status and "error" not in json.loads(answer), body[:100]


async def test_arguments_that_no_tool_takes_are_tool_errors(tmp_path: Path) -> None:
    deep: list[Any] = []
    for _ in range(300):
        deep = [deep]
    odd: list[dict[str, Any]] = [
        {"skill": "x" * 300_000, "minutes": 5},
        {"skill": "x", "minutes": float("nan")},
        {"skill": "x", "minutes": 10**400},
        {"skill": deep, "minutes": 5},
        {"skill": "\ud800", "minutes": -1},
        {"skill": "x", "minutes": 5, "user_id": "ada", "principal": {"user_id": "ada"}},
    ]
    async with api_house(tmp_path, config=MCP) as here:
        program = await here.program()
        answers = [await post(program, calling("log_practice", **arguments)) for arguments in odd]
        missing = await post(program, calling("no_such_tool"))
        skills = await program.get("/v1/skills")
    for status, text in [*answers, missing]:
        answer = json.loads(text)
        assert 400 == status or answer["result"]["isError"], text[:200]
    assert [] == skills["skills"]


async def test_methods_and_sizes(tmp_path: Path) -> None:
    async with api_house(tmp_path, config=MCP) as here:
        program = await here.program()
        large = await post(program, b" " * 1_100_000)
        statuses = [(await program.ask(method, "/mcp"))[0] for method in ("GET", "DELETE", "PUT")]
    assert (413, [405, 405, 405]) == (large[0], statuses)


async def test_nothing_is_served_unless_it_is_switched_on(tmp_path: Path) -> None:
    async with api_house(tmp_path) as here:
        program = await here.program()
        status, _ = await post(program, calling("get_user_skills"))
    assert 404 == status
