"""A rule engine with the interface of a model: rules answer through the same loop and tools, and say so.

It uses no network, key or clock: the same request gets the same response. `OfflineRules` decides what to say; the text
can be streamed word by word.
"""

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Protocol

from pydantic import JsonValue

from agent.ports import CallStreamed, ModelFacts, ModelRequest, OnModelEvent, TextDelta
from agent.transcript import ModelResponded, StopReason, SuggestedReply, ToolCall, Usage

NAME = "offline:rules"
ID_PREFIX = "offline-"
"""Prefix of the ids of the rules' calls."""


@dataclass(frozen=True, slots=True)
class RuleCall:
    """A tool call of the rules."""

    name: str
    arguments: Mapping[str, JsonValue]


@dataclass(frozen=True, slots=True)
class RuleAnswer:
    """The rules' response to a request: tool calls or an answer."""

    text: str = ""
    calls: tuple[RuleCall, ...] = ()
    replies: tuple[SuggestedReply, ...] = ()  # suggested to the person
    notice: str = ""  # says that rules speak; put before the text unless that was said already


class OfflineRules(Protocol):
    """A function of a transcript to an answer, deterministic and without side effects."""

    def answer(self, request: ModelRequest) -> RuleAnswer:
        """Return calls of the tools that the request offers, or an answer that says it comes from rules."""
        ...


class OfflineModel:
    """A `ChatModel` over rules; it never fails and costs nothing."""

    name = NAME
    facts = ModelFacts()

    def __init__(
        self,
        rules: OfflineRules,
        words_per_s: float | None = None,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        *,
        introduced: bool = False,
    ) -> None:
        """`words_per_s` is the streaming pace; None or 0 is all at once. `introduced`: the caller says who speaks."""
        self._rules = rules
        self._pause_s = 1 / words_per_s if words_per_s else 0.0
        self._sleep = sleep
        self._introduced = introduced

    async def respond(self, request: ModelRequest, on_event: OnModelEvent) -> ModelResponded:
        """Stream the rules' answer at the pace of a model."""
        answer = self._rules.answer(request)
        calls = tuple(
            ToolCall(f"{ID_PREFIX}{_mark(request)}-{index}", call.name, json.dumps(dict(call.arguments)))
            for index, call in enumerate(answer.calls)
        )
        for index, call in enumerate(calls):
            on_event(CallStreamed(index, call))
        is_talk = request.context is None or request.context.data is None
        notice = "" if self._introduced and is_talk else answer.notice
        text = "\n\n".join(part for part in (notice, answer.text) if part)
        await self._speak(text, on_event)
        return ModelResponded(
            step=0,
            text=text,
            tool_calls=calls,
            stop=StopReason.TOOLS if calls else StopReason.END,
            usage=Usage(cost_microusd=0),  # no tokens: it is no call of a model
            model=self.name,
            replies=answer.replies,
        )

    async def _speak(self, text: str, on_event: OnModelEvent) -> None:
        if not self._pause_s:
            if text:
                on_event(TextDelta(text))
            return
        for word in re.findall(r"\s*\S+\s*", text):
            on_event(TextDelta(word))
            await self._sleep(self._pause_s)

    async def aclose(self) -> None:
        pass


def _mark(request: ModelRequest) -> str:
    """Return an id for a request that is unique in its conversation; `Chain` recognises the rules' calls by it."""
    now = request.context.now.isoformat() if request.context is not None else ""
    said = f"{len(request.items)} {now} {request.items[-1:]!r}"
    return blake2b(said.encode(errors="replace"), digest_size=6).hexdigest()
