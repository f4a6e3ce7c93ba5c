"""People use integrations, resources and prompts of an MCP server in the chat."""

import asyncio
import json

import pytest

from gateway.errors import SettingsError
from gateway.testing.gateway import TestGateway
from gateway.testing.model import Call, Reply
from tests.fakes.mcp_office import CALLS

OFFICE = '[mcp.office]\npython = "tests.fakes.mcp_office:SERVER"\n'
INTEGRATIONS = OFFICE + '[integrations]\nserver = "office"\nuser_argument = "user_id"\n'
EXECUTE = json.dumps({"action": "MAIL_SEND", "to": "ana@example.com"})


async def connected(gateway: TestGateway) -> None:
    """Wait until the gateway has listed the server's tools."""
    async with asyncio.timeout(30.0):
        while (await gateway.operator("GET /v1/status"))["capabilities"]["mcp office"] != "connected, 5 tools":
            await asyncio.sleep(0.01)


def offered(gateway: TestGateway) -> dict[str, dict[str, object]]:
    return {each["function"]["name"]: each["function"] for each in gateway.model.requests[-1].body["tools"]}


def results(gateway: TestGateway) -> list[dict[str, object]]:
    messages = gateway.model.requests[-1].body["messages"]
    return [json.loads(each["content"]) for each in messages if each["role"] == "tool"]


async def test_three_tools_are_free_and_one_asks_with_its_arguments_each_time() -> None:
    CALLS.clear()
    async with TestGateway(INTEGRATIONS + "allow_write_tools = true\n") as gateway:
        await connected(gateway)
        gateway.model.answers(
            Reply(calls=(Call("mcp__office__search", '{"action": "mail"}'),)),
            Reply(calls=(Call("mcp__office__initiate_connection", '{"action": "mail"}'),)),
            Reply(calls=(Call("mcp__office__execute", EXECUTE),)),
            Reply(calls=(Call("mcp__office__execute", EXECUTE),)),
            "Both are sent.",
        )
        ada = gateway.person()
        await ada.say("send Ana two mails")
        first = await ada.answer("ana@example.com")
        free = [name for name, _ in CALLS]
        await ada.press("Allow once")
        second = await ada.answer("ana@example.com")
        await ada.press("Allow once")
        await ada.answer("Both are sent.")
        tools = offered(gateway)
    assert ["search", "initiate_connection"] == free
    assert "MAIL_SEND" in first.text and first.message_id != second.message_id
    assert [["Allow once", "Deny"]] * 2 == [[label for label, _ in each.buttons] for each in (first, second)]
    assert ["search", "initiate_connection", "execute", "execute"] == [name for name, _ in CALLS]
    assert 1 == len({given["user_id"] for _, given in CALLS})
    assert "user_id" not in json.dumps(tools["mcp__office__execute"])
    assert {"mcp__office__search", "mcp__office__check_connections"} < tools.keys()
    assert "mcp__office__raw_access" not in tools


async def test_a_person_cannot_be_made_another_and_nothing_executes_unless_it_is_allowed() -> None:
    CALLS.clear()
    async with TestGateway(INTEGRATIONS) as gateway:
        await connected(gateway)
        other = json.dumps({"action": "mail", "user_id": "bob"})
        gateway.model.answers(
            Reply(calls=(Call("mcp__office__search", other), Call("mcp__office__execute", EXECUTE))), "I cannot."
        )
        ada, bob = gateway.person(), gateway.person()
        await ada.say("send it")
        await ada.answer("I cannot.")
        gateway.model.answers(Reply(calls=(Call("mcp__office__search", '{"action": "mail"}'),)), "Found.")
        await bob.say("search")
        await bob.answer("Found.")
        tools = offered(gateway)
    assert ["search", "search"] == [name for name, _ in CALLS]
    assert 2 == len({given["user_id"] for _, given in CALLS} - {"bob"})
    assert "mcp__office__execute" not in tools


async def test_a_resource_is_listed_free_and_read_after_a_yes_within_bounds() -> None:
    async with TestGateway(OFFICE) as gateway:
        await connected(gateway)
        gateway.model.answers(
            Reply(calls=(Call("read_resource", '{"server": "office"}'), Call("read_resource", '{"server": "none"}'))),
            Reply(calls=(Call("read_resource", '{"server": "office", "uri": "office://rules"}'),)),
            "Before noon.",
        )
        ada = gateway.person()
        await ada.say("what do the office rules say?")
        await ada.answer("office://rules")
        await ada.press("Allow once")
        await ada.answer("Before noon.")
        listed, unknown, read = results(gateway)
    assert [{"uri": "office://rules", "name": "rules", "about": "What holds here."}] == listed["data"]["resources"]
    assert "Servers with resources: office" in unknown["error"]
    whole = json.dumps(read)
    assert "Practise before noon." in whole and len(whole) < 120_000


async def test_a_prompt_is_a_command_that_begins_a_turn() -> None:
    async with TestGateway(OFFICE) as gateway:
        await connected(gateway)
        ada = gateway.person()
        gateway.model.answers("Dear Ana.")
        await ada.say("/prompt office letter about=scales")
        await ada.answer("Dear Ana.")
        (loaded,) = results(gateway)
        gateway.model.answers("There is letter.")
        await ada.say("/prompt office")
        await ada.answer("There is letter.")
        listed = results(gateway)[-1]
        gateway.model.answers("About what?")
        await ada.say("/prompt office letter")
        await ada.answer("About what?")
        missing = results(gateway)[-1]
    assert "Write a letter about scales." == loaded["data"]["prompt"]
    assert {"letter": "Write a letter."} == listed["data"]["prompts"]
    assert "needs about" in missing["error"]


async def test_integrations_of_an_unknown_server_are_refused() -> None:
    with pytest.raises(ExceptionGroup) as refused:
        async with TestGateway('[integrations]\nserver = "none"\n'):
            pass
    assert refused.group_contains(SettingsError, match="no table")
