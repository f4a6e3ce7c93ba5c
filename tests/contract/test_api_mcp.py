"""`/mcp` as the SDK's own client sees it, in both eras of the protocol, over HTTP and as an editor starts it."""

import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from gateway.cli.mcp_serve import serve_stdio
from gateway.errors import GatewayError
from gateway.testing.gateway import TestGateway
from gateway.threads import run_in_thread
from tests.fakes.api import ApiHouse, api_house
from tests.torture.sampling import sampled

MCP = "[channels.api]\nmcp = true\n"
ERAS = ("legacy", "2026-07-28")


@asynccontextmanager
async def mcp_client(
    url: str, key: str, *, mode: str = "auto", headers: Mapping[str, str] | None = None
) -> AsyncIterator[Client]:
    sent = {"Authorization": f"Bearer {key}", **(headers or {})}
    async with (
        httpx2.AsyncClient(headers=sent) as http,
        Client(streamable_http_client(f"{url}/mcp", http_client=http), mode=mode) as client,
    ):
        yield client


def text_of(result: Any) -> str:
    (content,) = result.content
    return str(content.text)


@pytest.mark.parametrize("mode", ERAS)
async def test_a_key_calls_the_agents_tools_for_its_person(tmp_path: Path, mode: str) -> None:
    async with api_house(tmp_path, config=MCP) as here:
        key = await here.key()
        async with mcp_client(here.url, key, mode=mode) as client:
            listed = {tool.name: tool for tool in (await client.list_tools()).tools}
            logged = await client.call_tool("log_practice", {"skill": "Guitar", "minutes": 30})
            wrong = await client.call_tool("log_practice", {"skill": "Guitar", "minutes": "long", "user": "ada"})
            found = await client.call_tool("get_user_skills", {})
        async with mcp_client(here.url, await here.key(), mode=mode) as client:
            of_other = await client.call_tool("get_user_skills", {})
    assert {"type": "integer"}.items() <= listed["log_practice"].input_schema["properties"]["minutes"].items()
    assert listed["get_user_skills"].annotations is not None and listed["get_user_skills"].annotations.read_only_hint
    assert (False, 30) == (logged.is_error, logged.structured_content["total_minutes"])
    assert (True, True) == (wrong.is_error, "Unknown arguments: user" in text_of(wrong))
    assert ["Guitar"] == [skill["name"] for skill in found.structured_content["skills"]]
    assert [] == of_other.structured_content["skills"]


async def test_the_same_call_under_the_same_key_changes_nothing_twice(tmp_path: Path) -> None:
    async with api_house(tmp_path, config=MCP) as here, mcp_client(here.url, await here.key()) as client:
        log, once = {"skill": "Guitar", "minutes": 30}, {"tenk/idempotency-key": "k-1"}
        results = [await client.call_tool("log_practice", log, meta=once) for _ in range(3)]
        other = await client.call_tool("log_practice", log | {"minutes": 5}, meta=once)
        refused = await client.call_tool("log_practice", log, meta={"tenk/idempotency-key": 7})
    assert [30, 30, 30, 35] == [result.structured_content["total_minutes"] for result in (*results, other)]
    assert refused.is_error


async def test_a_key_made_for_a_person_reads_what_they_said_in_the_chat(tmp_path: Path) -> None:
    async with TestGateway(MCP, directory=tmp_path) as gateway:
        ada = gateway.person()
        await ada.say("/log 45m guitar")
        await ada.answer("45")
        made = await gateway.operator("POST /v1/keys", {"name": "editor", "who": f"telegram:{ada.number}"})
        async with mcp_client(gateway.url, made["key"]) as client:
            skills = (await client.call_tool("get_user_skills", {})).structured_content["skills"]
    assert [("guitar", 45)] == [(skill["name"].lower(), skill["total_minutes"]) for skill in skills]


async def test_rules_deny_and_what_would_be_asked_is_denied_with_words(tmp_path: Path) -> None:
    rules = MCP + '[permissions]\ndeny = ["undo_last_log"]\nask = ["create_skill"]\n'
    async with api_house(tmp_path, config=rules) as here, mcp_client(here.url, await here.key()) as client:
        denied = await client.call_tool("undo_last_log", {})
        unasked = await client.call_tool("create_skill", {"name": "Piano"})
        skills = await client.call_tool("get_user_skills", {})
    assert (True, True) == (denied.is_error, "the rules forbid it" in text_of(denied))
    assert (True, True) == (unasked.is_error, "needs its person's approval" in text_of(unasked))
    assert [] == skills.structured_content["skills"]


async def test_an_operators_key_reads_traces_and_sends(tmp_path: Path) -> None:
    async with TestGateway(MCP, directory=tmp_path) as gateway:
        ada = gateway.person()
        gateway.model.answers("Hello, Ada.")
        await ada.say("hello")
        await ada.answer("Hello, Ada.")
        who = f"telegram:{ada.number}"
        made = await gateway.operator("POST /v1/keys", {"name": "ops", "scopes": ["operate"]})
        async with mcp_client(gateway.url, made["key"]) as client:
            names = {tool.name for tool in (await client.list_tools()).tools}
            inbox = (await client.call_tool("list_inbox", {"limit": 5})).structured_content
            trace = (await client.call_tool("trace_person", {"who": who})).structured_content
            sessions = (await client.call_tool("list_sessions", {})).structured_content
            sent = await client.call_tool("send_message", {"user": who, "text": "We are back."})
            unknown = await client.call_tool("send_message", {"user": "telegram:999", "text": "x"})
            unlisted = await client.call_tool("get_user_skills", {})
        told = await ada.answer("We are back.")
        audit = (await gateway.operator("GET /v1/audit"))["changes"]
    assert {"list_inbox", "list_outbox", "list_sessions", "trace_person", "send_message"} < names
    assert "log_practice" not in names and unlisted.is_error
    assert (1, who) == (len(inbox["rows"]), trace["person"]["senders"][0])
    assert sessions["sessions"] and not sent.is_error and unknown.is_error
    assert "We are back." == told.text
    assert ["message_sent"] == [row["action"] for row in audit if row["action"] == "message_sent"]


async def test_a_chat_key_sees_no_operators_tools_and_a_read_key_changes_nothing(tmp_path: Path) -> None:
    async with api_house(tmp_path, config=MCP) as here:
        async with mcp_client(here.url, await here.key("chat")) as client:
            of_chat = {tool.name for tool in (await client.list_tools()).tools}
            refused = await client.call_tool("list_inbox", {})
        async with mcp_client(here.url, await here.key("read")) as client:
            of_read = {tool.name for tool in (await client.list_tools()).tools}
            unsent = await client.call_tool("send_message", {"user": "telegram:1", "text": "x"})
    assert not of_chat & {"list_inbox", "trace_person", "send_message"} and refused.is_error
    assert "list_inbox" in of_read and not of_read & {"send_message", "retry_outbox_part"} and unsent.is_error


async def test_calls_over_the_rate_are_refused_with_a_time(tmp_path: Path) -> None:
    async with api_house(tmp_path, config=MCP, per_min=3) as here, mcp_client(here.url, await here.key()) as client:
        results = [await client.call_tool("get_user_skills", {}) for _ in range(4)]
    assert [False, False, False, True] == [result.is_error for result in results]
    assert "Wait 20 s." in text_of(results[-1])


@asynccontextmanager
async def editor(here: ApiHouse, key: str, mode: str) -> AsyncIterator[Client]:
    """Start `tenk mcp serve` as an editor does."""
    environ = {"PATH": os.environ["PATH"], "TENK_HOME": str(here.home), "TENK_API_KEY": key}
    started = StdioServerParameters(command=sys.executable, args=["-m", "gateway", "mcp", "serve"], env=environ)
    async with Client(started, mode=mode) as client:
        yield client


@pytest.mark.parametrize("mode", sampled(ERAS, 2))
async def test_an_editor_starts_it_and_a_revoked_key_ends_it(tmp_path: Path, mode: str) -> None:
    async with api_house(tmp_path, config=MCP) as here:
        key = await here.key()
        async with editor(here, key, mode) as client:
            logged = await client.call_tool("log_practice", {"skill": "Guitar", "minutes": 30})
            await here.operator(f"POST /v1/keys/{key.split('-')[1]}/revoke")
            with pytest.raises(Exception, match="Connection closed"):
                await client.call_tool("log_practice", {"skill": "Guitar", "minutes": 30})
    assert 30 == logged.structured_content["total_minutes"]


@pytest.mark.parametrize(
    ("key", "config", "words"),
    [("", MCP, "set TENK_API_KEY"), ("tenk-no", MCP, "does not exist"), (None, "", "set channels.api.mcp = true")],
)
async def test_the_command_says_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str | None, config: str, words: str
) -> None:
    async with api_house(tmp_path, config=config) as here:
        monkeypatch.setenv("TENK_HOME", str(here.home))
        monkeypatch.setenv("TENK_API_KEY", await here.key() if key is None else key)
        with pytest.raises(GatewayError, match=words):
            await run_in_thread(serve_stdio, None)
