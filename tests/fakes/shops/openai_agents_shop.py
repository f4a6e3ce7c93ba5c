"""The shop as an agent of the OpenAI Agents SDK."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from agents import Agent, Model, ModelResponse, function_tool
from agents.items import TResponseStreamEvent
from agents.testing import ScriptedModel, assistant_message, function_call
from openai.types.responses import ResponseTextDeltaEvent

from tests.fakes.shops import tools
from tests.fakes.shops.words import Use, decide


class ShopModel(Model):
    """A model that answers by `decide`."""

    async def get_response(self, *_: Any, **__: Any) -> ModelResponse:
        raise AssertionError("the agent streams")

    async def stream_response(
        self, instructions: str | None, given: Any, *rest: Any, **named: Any
    ) -> AsyncIterator[TResponseStreamEvent]:
        items: list[Any] = given
        asked = [item["content"] for item in items if item.get("role") == "user"]
        heard = [content if isinstance(content, str) else content[-1]["text"] for content in asked]
        last = items[-1]
        pictures = sum(isinstance(each, dict) and each["type"] == "input_image" for each in asked[-1])
        said = decide(heard, str(last["output"]) if last.get("type") == "function_call_output" else None, pictures)
        if isinstance(said, Use):
            answer = function_call(said.tool, {"item": said.item}, call_id=f"call_{len(items)}")
        else:
            answer = assistant_message("".join(said.pieces))
        if not isinstance(said, Use) and said.trouble:
            for piece in said.pieces:
                yield ResponseTextDeltaEvent(
                    type="response.output_text.delta",
                    delta=piece,
                    content_index=0,
                    item_id="1",
                    logprobs=[],
                    output_index=0,
                    sequence_number=0,
                )
            if said.trouble == "hang":
                await asyncio.Event().wait()
            await asyncio.sleep(0.02)  # the SDK drops what arrives together with the failure
            raise RuntimeError("the shop is on fire")
        async for event in ScriptedModel([[answer]]).stream_response(instructions, given, *rest, **named):
            yield event


shop = Agent(
    "Shop",
    model=ShopModel(),
    tools=[
        function_tool(tools.price),
        function_tool(tools.stock),
        function_tool(tools.order, needs_approval=True),
    ],
)
