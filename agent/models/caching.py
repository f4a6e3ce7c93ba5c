"""Answers a repeated request from a cache for a configured time. Off by default."""

import asyncio
from collections import OrderedDict
from dataclasses import replace
from hashlib import blake2b

from agent.ports import ModelRequest
from agent.transcript import ModelResponded, StopReason, Usage

MOST = 256
"""Answers that are kept."""


class AnswerCache:
    """Whole answers of one model that call nothing: a call may mean something else the next time."""

    def __init__(self, for_s: float) -> None:
        self._for_s = for_s
        self._kept: OrderedDict[bytes, tuple[float, ModelResponded]] = OrderedDict()  # with when it ends

    def find(self, request: ModelRequest) -> ModelResponded | None:
        """Return the answer that was given before, at no cost, or None."""
        ends_s, kept = self._kept.get(_key(request), (0.0, None))
        if kept is None or asyncio.get_running_loop().time() >= ends_s:
            return None
        return replace(kept, usage=Usage(0, 0, cost_microusd=0))

    def keep(self, request: ModelRequest, response: ModelResponded) -> None:
        """Keep an answer, and drop the oldest beyond `MOST`."""
        if response.stop is not StopReason.END or response.tool_calls:
            return
        key = _key(request)
        self._kept[key] = (asyncio.get_running_loop().time() + self._for_s, response)
        self._kept.move_to_end(key)
        while len(self._kept) > MOST:
            self._kept.popitem(last=False)


def _key(request: ModelRequest) -> bytes:
    """Return a key of everything that a wire sends; the instructions name the person."""
    sent = (request.system, tuple(request.items), tuple(request.tools), request.max_output_tokens)
    return blake2b(repr(sent).encode(errors="replace"), digest_size=16).digest()
