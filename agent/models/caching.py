"""The same request within a while gets the same answer without a call. Off unless config says for how long."""

import asyncio
from collections import OrderedDict
from dataclasses import replace
from hashlib import blake2b

from agent.ports import ChatModel, ModelFacts, ModelRequest, OnModelEvent, TextDelta
from agent.transcript import ModelResponded, StopReason, Usage

MOST = 256
"""Answers that are kept."""


class CachedModel:
    """A cache around one model, of whole answers that call nothing: a call may mean something else the next time."""

    def __init__(self, model: ChatModel, for_s: float) -> None:
        self.name = model.name
        self._model = model
        self._for_s = for_s
        self._kept: OrderedDict[bytes, tuple[float, ModelResponded]] = OrderedDict()  # with when it ends

    @property
    def facts(self) -> ModelFacts:
        """The model's."""
        return self._model.facts

    async def respond(self, request: ModelRequest, on_event: OnModelEvent) -> ModelResponded:
        """The answer that was given before, at no cost, or the model's own.

        Raises:
            ModelFailure: as the model's; nothing is kept of one.
        """
        key, now_s = _key(request), asyncio.get_running_loop().time()
        ends_s, kept = self._kept.get(key, (0.0, None))
        if kept is not None and now_s < ends_s:
            on_event(TextDelta(kept.text))
            return replace(kept, usage=Usage(0, 0, cost_microusd=0))
        response = await self._model.respond(request, on_event)
        if response.stop is StopReason.END and not response.tool_calls:
            self._kept[key] = (now_s + self._for_s, response)
            self._kept.move_to_end(key)
            while len(self._kept) > MOST:
                self._kept.popitem(last=False)
        return response

    async def aclose(self) -> None:
        """Close the model."""
        await self._model.aclose()


def _key(request: ModelRequest) -> bytes:
    """Of all that a wire sends; whom it is for is in the instructions."""
    sent = (request.system, tuple(request.items), tuple(request.tools), request.max_output_tokens)
    return blake2b(repr(sent).encode(errors="replace"), digest_size=16).digest()
