"""A shop's assistant as an agent of Pydantic AI, with a model that needs no network.

Put a model of yours in the place of `FunctionModel`, such as "openai:gpt-5.2".
"""

from collections.abc import AsyncIterator

from pydantic_ai import Agent, DeferredToolRequests
from pydantic_ai.messages import ModelMessage, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls, FunctionModel


async def read_keywords(messages: list[ModelMessage], _info: AgentInfo) -> AsyncIterator[str | DeltaToolCalls]:
    """Answer "price tea" and "order tea" by tools, anything else with a hint."""
    last = messages[-1].parts[-1]
    if isinstance(last, ToolReturnPart):
        yield str(last.content)
        return
    word, _, item = str(last.content).partition(" ")
    if word in ("price", "order"):
        yield {0: DeltaToolCall(word, f'{{"item": "{item}"}}', tool_call_id=f"call-{len(messages)}")}
    else:
        yield "Say: price tea, or: order tea."


shop = Agent(
    FunctionModel(stream_function=read_keywords),
    name="Shop",
    output_type=[str, DeferredToolRequests],  # the second: tools may wait for approval
)


@shop.tool_plain
def price(item: str) -> str:
    """Return the price of a thing."""
    return f"{item} costs 3 euros."


@shop.tool_plain(requires_approval=True)
def order(item: str) -> str:
    """Order a thing."""
    return f"{item} is ordered."
