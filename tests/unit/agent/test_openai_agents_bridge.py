"""Agents of the OpenAI Agents SDK, translated: history, steps, approvals, handoffs, failures."""

import asyncio
from collections.abc import Mapping
from contextlib import aclosing
from typing import Any

import httpx
import pytest
from agents import (
    Agent,
    Handoff,
    RunContextWrapper,
    ToolOutputImage,
    ToolOutputText,
    UserError,
    function_tool,
    handoff,
    trace,
)
from agents import Usage as SdkUsage
from agents.testing import ModelStep, ScriptedModel, assistant_message, function_call
from openai import APIConnectionError, APITimeoutError, AuthenticationError, RateLimitError
from openai.types.responses.response_usage import InputTokensDetails
from pydantic import BaseModel

from agent.bridges.openai_agents import OpenAIAgent, connect
from agent.bridges.port import Exchange, ForeignEvent, NeedsApproval, Responded, Returned
from agent.bridges.table import UnusableAgent
from agent.errors import FailureKind
from agent.ports import ModelFailure, Principal, TextDelta
from agent.transcript import AssistantItem, Item, NoteItem, ToolCall, ToolItem, Usage, UserItem

ANA = Principal("u1", "t1", "Ana", timezone="Europe/Madrid", locale="es")
ORDER = ToolCall("c1", "order", '{"item":"tea"}')
PRICE = ToolCall("c2", "price", '{"item":"tea"}')
NAME = "openai-agents:test:agent"

ordered: list[str] = []


@pytest.fixture(autouse=True)
def nothing_ordered() -> None:
    ordered.clear()


@function_tool
async def price(person: RunContextWrapper[Principal], item: str) -> str:
    ordered.append(f"price of {item}")
    return f"{item} for {person.context.display_name}"


@function_tool(needs_approval=True)
async def order(item: str) -> str:
    ordered.append(item)
    return f"{item} is ordered"


def calls(*made: ToolCall) -> list[Any]:
    return [function_call(call.name, call.arguments, call_id=call.id) for call in made]


def says(text: str) -> list[Any]:
    return [assistant_message(text)]


def bridge(*steps: Any, **named: Any) -> tuple[OpenAIAgent, ScriptedModel]:
    model = ScriptedModel(steps)
    return OpenAIAgent(NAME, Agent("Shop", model=model, **{"tools": [price, order], **named})), model


def asked(*said: str, items: tuple[Item, ...] = (), consents: Mapping[str, bool] | None = None) -> Exchange:
    heard = [UserItem(text) for text in said]
    return Exchange("t1", "talk1", ANA, [*heard, *items], heard, consents or {}, "plain text", "likes tea")


async def events(agent: OpenAIAgent, exchange: Exchange) -> list[ForeignEvent]:
    return [event async for event in agent.run(exchange) if not isinstance(event, TextDelta)]


async def test_the_model_gets_the_history_and_what_the_gateway_says_of_the_person() -> None:
    agent, model = bridge(says("fine"), instructions="You sell tea.")
    items = (AssistantItem("let me see", (ORDER,)), ToolItem("c1", "order", "{}"), NoteItem("n"), UserItem("b"))
    streamed = [event async for event in agent.run(asked("a", items=items))]
    assert [TextDelta("fine"), Responded("fine", model="scripted-model")] == streamed[:1] + streamed[-1:]
    (call,) = model.calls
    assert "You sell tea.\n\nplain text\n\nlikes tea" == call.system_instructions
    assert [
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": "let me see"},
        {"type": "function_call", "call_id": "c1", "name": "order", "arguments": '{"item":"tea"}'},
        {"type": "function_call_output", "call_id": "c1", "output": "{}"},
        {"role": "user", "content": "(A note from the system, not from the person: n)"},
        {"role": "user", "content": "b"},
    ] == call.input


async def test_a_call_begins_once_its_response_is_journaled_and_usage_is_counted_once() -> None:
    used = SdkUsage(1, 9, InputTokensDetails(cached_tokens=5, cache_write_tokens=0), 4, total_tokens=13)
    agent, _ = bridge(ModelStep(output=calls(PRICE), usage=used), says("done"))
    async with aclosing(agent.run(asked("price"))) as run:
        assert Responded("", (PRICE,), Usage(9, 4, 5), "scripted-model") == await anext(run)
        for _ in range(100):
            await asyncio.sleep(0)
        assert [] == ordered
        assert Returned("c2", "tea for Ana") == await anext(run)
        assert ["price of tea"] == ordered
        assert Responded("done", model="scripted-model") == [event async for event in run][-1]


@pytest.mark.parametrize(("allowed", "happened"), [(True, ["tea"]), (False, [])])
async def test_an_approval_is_applied_in_another_process(allowed: bool, happened: list[str]) -> None:
    agent, _ = bridge(calls(PRICE, ORDER))
    first = await events(agent, asked("both"))
    assert [(PRICE, ORDER)] == [event.calls for event in first if isinstance(event, Responded)]
    assert [Returned("c2", "tea for Ana"), NeedsApproval("c1")] == first[1:]

    ordered.clear()
    agent, model = bridge(says("fine"))
    journaled = (AssistantItem("", (PRICE, ORDER)), ToolItem("c2", "price", "tea for Ana"))
    returned, answer = await events(agent, asked("both", items=journaled, consents={"c1": allowed}))
    assert isinstance(returned, Returned)
    assert ("c1", "fine") == (returned.call_id, answer.text if isinstance(answer, Responded) else "")
    assert happened == ordered
    given: Any = model.calls[0].input
    assert ["c2", "c2", "c1", "c1"] == [item["call_id"] for item in given if "call_id" in item]


async def test_a_tool_that_asks_no_more_does_not_run_although_it_was_denied() -> None:
    agent, _ = bridge(says("never"))
    with pytest.raises(UserError, match="does not ask"):
        await events(agent, asked("price", items=(AssistantItem("", (PRICE,)),), consents={"c2": False}))
    assert [] == ordered


def desk_and_clerk(*clerk_steps: Any) -> OpenAIAgent:
    """Return an agent that hands off to another one, which can hand back."""
    clerk: Agent[Principal] = Agent("Clerk", model=ScriptedModel(clerk_steps), tools=[order])
    to_clerk = [function_call("transfer_to_clerk", "{}", call_id="c0")]
    unknown: Handoff[Principal, Agent[Principal]] = Handoff("elsewhere", "", {}, lambda _context, _input: None, "?")
    desk: Agent[Principal] = Agent("Desk", model=ScriptedModel([to_clerk]), handoffs=[handoff(clerk), unknown])
    clerk.handoffs.append(desk)
    return OpenAIAgent(NAME, desk)


async def test_the_conversation_goes_on_with_the_agent_to_which_it_was_handed_off() -> None:
    first = await events(desk_and_clerk(calls(ORDER)), asked("order"))
    assert ["Desk", "Clerk"] == [event.state for event in first if isinstance(event, Responded)]
    assert ["c0"] == [event.call_id for event in first if isinstance(event, Returned)]
    assert NeedsApproval("c1") == first[-1]
    journaled = AssistantItem("", (ORDER,), ({"bridge": NAME, "state": "Clerk"},))
    later = asked("order", items=(journaled,), consents={"c1": True})
    *_, answer = await events(desk_and_clerk(says("by the clerk")), later)
    assert Responded("by the clerk", model="scripted-model", state="Clerk") == answer


class Bill(BaseModel):
    euros: int


async def test_a_structured_output_is_sent_as_json() -> None:
    agent, _ = bridge(says('{"euros": 3}'), output_type=Bill)
    (answer,) = await events(agent, asked("bill"))
    assert isinstance(answer, Responded)
    assert '{\n "euros": 3\n}' == answer.text


async def test_a_tool_may_answer_in_place_of_the_model() -> None:
    agent, _ = bridge(calls(PRICE), tool_use_behavior="stop_on_first_tool")
    *_, answer = await events(agent, asked("price"))
    assert Responded("tea for Ana") == answer


async def test_a_tool_that_is_not_there_is_told_to_the_model() -> None:
    agent, _ = bridge(calls(ToolCall("c5", "sell", "{}")), says("I cannot sell"))
    _, returned, answer = await events(agent, asked("sell"))
    assert isinstance(returned, Returned)
    assert "not found" in str(returned.result)
    assert Responded("I cannot sell", model="scripted-model") == answer


async def test_pictures_of_tools_are_named() -> None:
    @function_tool
    def look() -> list[Any]:
        return [ToolOutputText(text="a cup"), ToolOutputImage(image_url="data:image/png;base64,AAAA")]

    agent, _ = bridge(calls(ToolCall("c3", "look", "{}")), says("seen"), tools=[look])
    assert Returned("c3", "a cup\n(input_image)") == (await events(agent, asked("look")))[1]


async def test_a_tool_ends_with_the_run() -> None:
    ended: list[str] = []

    @function_tool
    async def wait() -> str:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("wait")
        return ""

    agent, _ = bridge(calls(ToolCall("c4", "wait", "{}")), tools=[wait])
    run = agent.run(asked("wait"))
    await anext(run)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await anext(run)
    assert ["wait"] == ended


REQUEST = httpx.Request("POST", "http://127.0.0.1/responses")


def refusal(status: int) -> httpx.Response:
    return httpx.Response(status, request=REQUEST)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (APITimeoutError(REQUEST), FailureKind.TIMEOUT),
        (APIConnectionError(request=REQUEST), FailureKind.NETWORK),
        (AuthenticationError("no", response=refusal(401), body={"message": "no key"}), FailureKind.AUTH),
        (RateLimitError("no", response=refusal(429), body={"code": "insufficient_quota"}), FailureKind.QUOTA),
    ],
    ids=lambda value: value.value if isinstance(value, FailureKind) else "",
)
async def test_failures_of_the_models_server_have_their_kind(error: Exception, kind: FailureKind) -> None:
    agent, _ = bridge(error)
    with pytest.raises(ModelFailure) as failed:
        await events(agent, asked("hi"))
    assert kind is failed.value.kind


def test_nothing_is_traced() -> None:
    assert trace("a run").export() is None


def test_what_is_no_agent_is_refused() -> None:
    with pytest.raises(UnusableAgent, match="no agent of the OpenAI Agents SDK but a Principal"):
        connect(NAME, f"{__name__}:ANA")


shop: Agent[Principal] = Agent("Shop")


def test_an_agent_has_its_own_name() -> None:
    assert "Shop" == connect(NAME, f"{__name__}:shop").title
