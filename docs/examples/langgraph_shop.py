"""A shop's assistant as a graph of LangGraph, with a model that needs no network.

Put a chat model of yours in the place of `read_keywords`. `InMemorySaver` forgets when the gateway stops: use a durable
checkpointer, such as that of langgraph-checkpoint-sqlite, so that a graph goes on after a crash.
"""

from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.types import interrupt


def read_keywords(state: MessagesState) -> dict[str, list[AIMessage]]:
    """Answer "price tea" and "order tea" by tools, anything else with a hint."""
    last = state["messages"][-1]
    word, _, item = str(last.text).partition(" ")
    if isinstance(last, ToolMessage):
        answer = AIMessage(str(last.text))
    elif word in ("price", "order"):
        call = {"name": word, "args": {"item": item}, "id": f"call-{len(state['messages'])}"}
        answer = AIMessage("", tool_calls=[call])
    else:
        answer = AIMessage("Say: price tea, or: order tea.")
    return {"messages": [answer]}


@tool
def price(item: str) -> str:
    """Return the price of a thing."""
    return f"{item} costs 3 euros."


@tool
def order(item: str) -> str:
    """Order a thing, if the person allows it."""
    return f"{item} is ordered." if interrupt(f"Order {item}?") else "Nothing is ordered."


graph = StateGraph(MessagesState)
graph.add_node("model", read_keywords)
graph.add_node("tools", ToolNode([price, order]))
graph.add_edge(START, "model")
graph.add_conditional_edges("model", tools_condition)
graph.add_edge("tools", "model")
shop = graph.compile(checkpointer=InMemorySaver(), name="Shop")
