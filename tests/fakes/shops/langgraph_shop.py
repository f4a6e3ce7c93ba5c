"""The shop as a graph of LangGraph, with and without a checkpointer."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.types import interrupt

from tests.fakes.shops import tools
from tests.fakes.shops.words import Use, decide


class ShopModel(BaseChatModel):
    """A chat model that answers by `decide`."""

    @property
    def _llm_type(self) -> str:
        return "shop"

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        raise AssertionError("the graph streams")

    async def _astream(self, messages: list[BaseMessage], *_: Any, **__: Any) -> AsyncIterator[ChatGenerationChunk]:
        heard = [str(message.text) for message in messages if isinstance(message, HumanMessage)]
        last = messages[-1]
        for before, call in zip(messages[1:], messages, strict=False):
            if isinstance(call, AIMessage) and call.tool_calls and not isinstance(before, ToolMessage):
                raise ValueError("a model refuses calls without results")
        pictures = sum(isinstance(each, dict) and each["type"] == "image_url" for each in last.content)
        said = decide(heard, str(last.text) if isinstance(last, ToolMessage) else None, pictures)
        if isinstance(said, Use):
            call = {"name": said.tool, "args": f'{{"item": "{said.item}"}}', "id": f"call_{len(messages)}", "index": 0}
            yield ChatGenerationChunk(
                message=AIMessageChunk("", tool_call_chunks=[{**call, "type": "tool_call_chunk"}])
            )
            return
        for piece in said.pieces:
            yield ChatGenerationChunk(message=AIMessageChunk(piece))
        if said.trouble == "hang":
            await asyncio.Event().wait()
        if said.trouble == "break":
            raise RuntimeError("the shop is on fire")


@tool
async def order(item: str) -> str:
    """Order a thing."""
    return await tools.order(item) if interrupt(f"Order {item}?") else "it is not ordered"


async def answer(state: MessagesState) -> dict[str, list[BaseMessage]]:
    return {"messages": [await ShopModel().ainvoke(state["messages"])]}


def make_graph() -> StateGraph[MessagesState]:
    graph = StateGraph(MessagesState)
    graph.add_node("model", answer)
    graph.add_node("tools", ToolNode([tool(tools.price), tool(tools.stock), order]))
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", tools_condition)
    graph.add_edge("tools", "model")
    return graph


shop = make_graph().compile(name="Shop")
keeping = make_graph().compile(checkpointer=InMemorySaver(), name="Shop")
