"""A server's question to the person: put in the chat, answered with their approval, and kept apart from others'."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from agent.mcp.config import McpServerConfig
from agent.mcp.elicitation import ANSWER_SERVER
from agent.mcp.servers import McpServers
from agent.ports import Principal
from agent.tools.base import Tool, ToolContext, ToolError
from agent.tools.schema import fit
from gateway.testing.gateway import TestGateway
from gateway.testing.model import Call, Reply
from tests.fakes.people import NOON

DESK = McpServerConfig(python="tests.fakes.mcp_desk:SERVER", trust_annotations=True)
ANA, BEA = (
    ToolContext(Principal("ana", "default"), NOON, "t/0/0"),
    ToolContext(Principal("bea", "default"), NOON, "t/1/0"),
)
BOOK = "mcp__desk__book"


@asynccontextmanager
async def desk() -> AsyncIterator[McpServers]:
    servers, changed = McpServers({"desk": DESK}), asyncio.Event()
    async with asyncio.timeout(30), asyncio.TaskGroup() as tasks:
        task = tasks.create_task(servers.run(changed.set))
        while not servers.tools():
            await changed.wait()
            changed.clear()
        yield servers
        task.cancel()


def tool(servers: McpServers, name: str) -> Tool:
    (found,) = (each for each in servers.tools() if each.name == name)
    return found


async def answer(servers: McpServers, context: ToolContext, **values: object) -> object:
    found = tool(servers, ANSWER_SERVER)
    return await found.run(context, fit({"server": "desk", "values": values}, found.arguments))


async def test_a_question_ends_the_call_and_its_answer_reaches_the_next_one() -> None:
    async with desk() as servers:
        assert [BOOK] == [each.name for each in servers.tools()]
        with pytest.raises(ToolError, match="it asks the person 'For which day"):
            await tool(servers, BOOK).run(ANA, {})
        with pytest.raises(ToolError, match="day"):
            await answer(servers, ANA, week="next")
        await answer(servers, ANA, day="Friday")
        assert {"text": "booked for Friday"} == await tool(servers, BOOK).run(ANA, {})
        with pytest.raises(ToolError, match="it asks the person"):  # an answer counts once
            await tool(servers, BOOK).run(ANA, {})


async def test_a_person_answers_no_question_of_another() -> None:
    async with desk() as servers:
        with pytest.raises(ToolError, match="it asks the person"):
            await tool(servers, BOOK).run(ANA, {})
        with pytest.raises(ToolError, match="waits for no answer"):
            await answer(servers, BEA, day="Monday")
        await answer(servers, ANA, day="Friday")
        with pytest.raises(ToolError, match="it asks the person"):
            await tool(servers, BOOK).run(BEA, {})
        assert {"text": "booked for Friday"} == await tool(servers, BOOK).run(ANA, {})
        other = replace(ANA, principal=Principal("ana", "acme"))
        with pytest.raises(ToolError, match="waits for no answer"):
            await answer(servers, other, day="Monday")


async def test_a_question_in_calls_of_two_people_is_put_to_neither() -> None:
    async with desk() as servers:
        async with asyncio.TaskGroup() as tasks:
            calls = [tasks.create_task(tool(servers, BOOK).run(who, {})) for who in (ANA, BEA)]
        assert [{"text": "not booked: decline"}] * 2 == [call.result() for call in calls]


async def test_a_person_is_asked_in_the_chat_and_approves_the_answer() -> None:
    table = '[mcp.desk]\npython = "tests.fakes.mcp_desk:SERVER"\ntrust_annotations = true\n'
    async with TestGateway(table) as gateway:
        async with asyncio.timeout(30):
            while (await gateway.operator("GET /v1/status"))["capabilities"]["mcp desk"] != "connected, 1 tools":
                await asyncio.sleep(0.01)
        book = Reply(calls=(Call(BOOK, "{}"),))
        gateway.model.answers(book, "The desk asks: for which day?")
        ada = gateway.person()
        await ada.say("book me a room")
        await ada.answer("for which day?")
        sent = json.dumps({"server": "desk", "values": {"day": "Friday"}})
        gateway.model.answers(Reply(calls=(Call(ANSWER_SERVER, sent),)), book, "You have it on Friday.")
        await ada.say("Friday")
        asked = await ada.answer("May I use answer_server?")
        assert "Friday" in asked.text
        assert ["Allow once", "Deny"] == [label for label, _ in asked.buttons]
        await ada.press("Allow once")
        await ada.answer("You have it on Friday.")
        results = [each["content"] for each in gateway.model.requests[-1].body["messages"] if each["role"] == "tool"]
        assert "booked for Friday" in results[-1]
