"""A shop's assistant as an agent of the OpenAI Agents SDK, with a model that needs no network.

Put a model of yours in the place of `KeywordModel`, such as "gpt-5.2".
"""

from collections.abc import AsyncIterator
from typing import Any

from agents import Agent, Model, ModelResponse, TResponseInputItem, function_tool
from agents.items import TResponseOutputItem, TResponseStreamEvent
from agents.testing import ScriptedModel, assistant_message, function_call


def read_keywords(items: list[TResponseInputItem]) -> TResponseOutputItem:
    """Answer "price tea" and "order tea" by tools, anything else with a hint."""
    last: Any = items[-1]
    if last.get("type") == "function_call_output":
        return assistant_message(last["output"])
    word, _, item = last["content"].partition(" ")
    if word in ("price", "order"):
        return function_call(word, {"item": item}, call_id=f"call-{len(items)}")
    return assistant_message("Say: price tea, or: order tea.")


class KeywordModel(Model):
    """A model that answers by `read_keywords`."""

    async def get_response(self, instructions: str | None, items: Any, *rest: Any, **named: Any) -> ModelResponse:
        """Return the answer."""
        return await ScriptedModel([[read_keywords(items)]]).get_response(instructions, items, *rest, **named)

    def stream_response(
        self, instructions: str | None, items: Any, *rest: Any, **named: Any
    ) -> AsyncIterator[TResponseStreamEvent]:
        """Stream the answer."""
        return ScriptedModel([[read_keywords(items)]]).stream_response(instructions, items, *rest, **named)


@function_tool
def price(item: str) -> str:
    """Return the price of a thing."""
    return f"{item} costs 3 euros."


@function_tool(needs_approval=True)
def order(item: str) -> str:
    """Order a thing."""
    return f"{item} is ordered."


shop = Agent("Shop", model=KeywordModel(), tools=[price, order])
