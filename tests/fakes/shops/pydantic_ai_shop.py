"""The shop as an agent of Pydantic AI."""

import asyncio
from collections.abc import AsyncIterator

from pydantic_ai import Agent, BinaryContent, DeferredToolRequests
from pydantic_ai.messages import ModelMessage, ToolReturnPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls, FunctionModel

from tests.fakes.shops import tools
from tests.fakes.shops.words import Use, decide


async def model(messages: list[ModelMessage], _info: AgentInfo) -> AsyncIterator[str | DeltaToolCalls]:
    parts = [part for message in messages for part in message.parts]
    asked = [part.content for part in parts if isinstance(part, UserPromptPart)]
    heard = [content if isinstance(content, str) else str(content[-1]) for content in asked]
    last = parts[-1]
    pictures = sum(isinstance(each, BinaryContent) for each in asked[-1])
    said = decide(heard, str(last.content) if isinstance(last, ToolReturnPart) else None, pictures)
    if isinstance(said, Use):
        yield {0: DeltaToolCall(said.tool, f'{{"item": "{said.item}"}}', tool_call_id=f"call_{len(messages)}")}
        return
    for piece in said.pieces:
        yield piece
    if said.trouble == "hang":
        await asyncio.Event().wait()
    if said.trouble == "break":
        raise RuntimeError("the shop is on fire")


shop: Agent[object, str | DeferredToolRequests] = Agent(
    FunctionModel(stream_function=model), name="Shop", output_type=[str, DeferredToolRequests]
)
shop.tool_plain(tools.price)
shop.tool_plain(tools.stock)
shop.tool_plain(requires_approval=True)(tools.order)
