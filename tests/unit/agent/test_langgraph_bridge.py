"""Graphs of LangGraph, translated: history, steps, interrupts, what was known before a crash."""

from collections.abc import Mapping
from typing import Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, AIMessageChunk, AnyMessage, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Overwrite, interrupt

from agent.bridges.langgraph import LangGraphAgent, connect
from agent.bridges.port import Exchange, ForeignEvent, NeedsApproval, Responded, Returned
from agent.bridges.table import UnusableAgent
from agent.ports import ModelFailure, Principal, TextDelta, TextDiscarded
from agent.transcript import AssistantItem, Item, NoteItem, ToolCall, ToolItem, Usage, UserItem

ANA = Principal("u1", "t1", "Ana", timezone="Europe/Madrid", locale="es")

CALL = {"name": "order", "args": {"item": "tea"}, "id": "c1", "type": "tool_call"}


def graph_of(*nodes: Any, checkpointer: InMemorySaver | None = None) -> LangGraphAgent:
    """Return a graph with these nodes one after the other."""
    graph = StateGraph(MessagesState)
    before = START
    for number, node in enumerate(nodes):
        graph.add_node(f"n{number}", node)
        graph.add_edge(before, f"n{number}")
        before = f"n{number}"
    return LangGraphAgent("langgraph:test:graph", graph.compile(checkpointer=checkpointer))


def says(*messages: AnyMessage) -> Any:
    return lambda _state: {"messages": list(messages)}


def asked(*said: str, items: tuple[Item, ...] = (), consents: Mapping[str, bool] | None = None) -> Exchange:
    heard = [UserItem(text) for text in said]
    return Exchange("t1", "talk1", ANA, [*heard, *items], heard, consents or {}, "plain text", "likes tea")


async def events(agent: LangGraphAgent, exchange: Exchange) -> list[ForeignEvent]:
    return [event async for event in agent.run(exchange)]


async def test_the_whole_history_is_given_to_a_graph_without_checkpointer() -> None:
    seen: list[AnyMessage] = []

    def node(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
        seen.extend(state["messages"])
        return {"messages": [AIMessage(f"{config['configurable']['timezone']} {config['configurable']['memory']}")]}

    call = ToolCall("c1", "order", '{"item": "tea"}')
    exchange = Exchange(
        "t1",
        "talk1",
        ANA,
        [UserItem("a"), AssistantItem("", (call,)), ToolItem("c1", "order", "{}"), NoteItem("n"), UserItem("b")],
        [UserItem("b")],
    )
    (answer,) = await events(graph_of(node), exchange)
    assert answer == Responded("Europe/Madrid ")
    assert [HumanMessage, AIMessage, ToolMessage, HumanMessage, HumanMessage] == [type(message) for message in seen]
    assert ("c1", "c1", "b") == (seen[1].tool_calls[0]["id"], seen[2].tool_call_id, seen[4].text)


async def test_calls_and_results_are_steps_and_the_last_message_is_the_answer() -> None:
    usage = {"input_tokens": 9, "output_tokens": 4, "total_tokens": 13, "input_token_details": {"cache_read": 5}}
    agent = graph_of(
        says(AIMessage("let me see", tool_calls=[CALL], usage_metadata=usage, response_metadata={"model_name": "m"})),
        says(ToolMessage("no tea", tool_call_id="c1", status="error")),
        says(AIMessage("first")),
        says(AIMessage("second")),
    )
    assert [
        Responded("let me see", (ToolCall("c1", "order", '{"item": "tea"}'),), Usage(9, 4, 5, None), "m"),
        Returned("c1", "no tea", failed=True),
        TextDiscarded(),
        Responded("second"),
    ] == await events(agent, asked("hi"))


async def test_nodes_may_return_what_was_there_one_message_or_nothing() -> None:
    agent = graph_of(
        lambda state: {"messages": Overwrite(state["messages"])},
        lambda _state: None,
        lambda state: {"messages": state["messages"]},
        lambda _state: {"messages": AIMessage("done")},
    )
    assert [Responded("done")] == await events(agent, asked("hi"))


@pytest.mark.parametrize("node", [says(), says(AIMessage("", tool_calls=[CALL]))], ids=["nothing", "a call"])
async def test_a_graph_without_an_answer_fails(node: Any) -> None:
    with pytest.raises(ModelFailure, match="without an AIMessage"):
        await events(graph_of(node), asked("hi"))


async def test_an_interrupt_needs_a_checkpointer() -> None:
    with pytest.raises(ModelFailure, match="compile it with a checkpointer"):
        await events(graph_of(lambda _state: interrupt("sure?")), asked("hi"))


def orders(_state: MessagesState) -> dict[str, Any]:
    allowed = interrupt({"question": "Order tea?"})
    return {"messages": [ToolMessage("ordered" if allowed else "left", tool_call_id="c1")]}


async def test_a_question_in_the_only_open_call_is_about_that() -> None:
    agent = graph_of(
        says(AIMessage("", tool_calls=[CALL])), orders, says(AIMessage("fine")), checkpointer=InMemorySaver()
    )
    first = await events(agent, asked("order"))
    assert [NeedsApproval("c1")] == first[1:]
    assert [NeedsApproval("c1")] == await events(agent, asked("order")), "asked again after a crash"
    assert [Returned("c1", "ordered"), Responded("fine")] == await events(agent, asked("order", consents={"c1": True}))
    assert [Responded("fine")] == await events(agent, asked("order")), "answered before the crash"


@pytest.mark.parametrize(("said", "heard"), [(True, "approve"), (False, "reject")])
async def test_a_question_outside_of_calls_stands_for_a_call_of_its_own(said: bool, heard: str) -> None:
    def node(_state: MessagesState) -> dict[str, Any]:
        answer = interrupt({"action_requests": [{"name": "f", "args": {}}], "review_configs": []})
        return {"messages": [AIMessage(answer["decisions"][0]["type"])]}

    agent = graph_of(node, checkpointer=InMemorySaver())
    made, needs = await events(agent, asked("hi"))
    assert isinstance(made, Responded)
    (call,) = made.calls
    assert ("interrupt", NeedsApproval(call.id, may_remember=False)) == (call.name, needs)
    assert [Returned(call.id, "answered"), Responded(heard)] == await events(
        agent, asked("hi", consents={call.id: said})
    )


async def test_two_open_calls_leave_it_open_which_one_a_question_is_about() -> None:
    calls = [CALL, {**CALL, "id": "c2", "name": "price"}]
    agent = graph_of(says(AIMessage("", tool_calls=calls)), orders, checkpointer=InMemorySaver())
    *_, own, needs = await events(agent, asked("order"))
    assert isinstance(own, Responded)
    assert isinstance(needs, NeedsApproval)
    assert "interrupt" == own.calls[0].name


async def test_a_question_that_the_checkpointer_lost_fails() -> None:
    agent = graph_of(says(AIMessage("fine")), checkpointer=InMemorySaver())
    await events(agent, asked("order"))
    with pytest.raises(ModelFailure, match="durable"):
        await events(agent, asked("order", consents={"c1": True}))


async def test_a_run_that_died_goes_on_at_its_next_node() -> None:
    ran: list[str] = []

    def breaks_once(_state: MessagesState) -> dict[str, Any]:
        ran.append("second")
        if ran.count("second") == 1:
            raise LookupError("gone")
        return {"messages": [AIMessage("done")]}

    def first(_state: MessagesState) -> None:
        ran.append("first")

    agent = graph_of(first, breaks_once, checkpointer=InMemorySaver())
    with pytest.raises(LookupError):
        await events(agent, asked("hi"))
    assert [Responded("done")] == await events(agent, asked("hi"))
    assert ["first", "second", "second"] == ran


async def test_a_message_instead_of_an_answer_closes_the_open_call() -> None:
    seen: list[AnyMessage] = []

    def node(state: MessagesState) -> dict[str, Any]:
        seen[:] = state["messages"]
        return {"messages": [AIMessage("fine") if len(seen) > 1 else AIMessage("", tool_calls=[CALL])]}

    agent = graph_of(node, orders, checkpointer=InMemorySaver())
    await events(agent, asked("order"))
    skipped = (AssistantItem("", (ToolCall("c1", "order", "{}"),)), ToolItem("c1", "order", "skipped"))
    await events(agent, asked("order", "leave it", items=skipped))
    assert ["order", "", "skipped", "leave it"] == [message.text for message in seen]


async def test_only_chunks_of_models_are_streamed() -> None:
    agent = graph_of(says(AIMessageChunk("whole")))
    assert [TextDelta("whole"), Responded("whole")] == await events(agent, asked("hi"))


class NoMessages(TypedDict):
    text: str


no_messages = StateGraph(NoMessages).add_node("n", lambda _state: None).add_edge(START, "n").compile()
builder = StateGraph(MessagesState)


@pytest.mark.parametrize(("attribute", "why"), [("no_messages", "no `messages`"), ("builder", "no compiled graph")])
def test_what_is_no_graph_of_messages_is_refused(attribute: str, why: str) -> None:
    with pytest.raises(UnusableAgent, match=why):
        connect("langgraph:x", f"{__name__}:{attribute}")
