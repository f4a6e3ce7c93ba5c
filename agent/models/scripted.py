"""A model that answers from a script, deterministic and without network: for tests and demonstrations."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass

from agent.errors import FailureKind
from agent.ports import CallStreamed, ModelFacts, ModelFailure, ModelRequest, OnModelEvent, TextDelta
from agent.transcript import ModelResponded, StopReason, ToolCall, Usage

_NONE = Usage()
_WORDS = re.compile(r"\S+\s*|\s+")


@dataclass(frozen=True, slots=True)
class Says:
    """One scripted response: its text streams word by word, then its calls follow."""

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    stop: StopReason | None = None  # None: derived from the calls
    delay_s: float = 0.0  # before the first word
    word_s: float = 0.0  # between words
    fails_after: ModelFailure | None = None  # raised after the text has streamed
    usage: Usage = _NONE


Script = Says | ModelFailure
Answerer = Callable[[ModelRequest], Script]


def calls(*wanted: tuple[str, str], text: str = "") -> Says:
    """Return a response that calls tools, each given as (name, JSON arguments); their ids are `c0`, `c1` ..."""
    made = tuple(ToolCall(f"c{index}", name, arguments) for index, (name, arguments) in enumerate(wanted))
    return Says(text, made)


class ScriptedModel:
    """A model that gives the scripted responses in order, or what a function returns for each request."""

    def __init__(
        self,
        script: Iterable[Script | str] | Answerer,
        *,
        name: str = "scripted:test",
        facts: ModelFacts = ModelFacts(),  # noqa: B008  frozen
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self.name = name
        self.facts = facts
        self.requests: list[ModelRequest] = []
        self._answer = script if callable(script) else _in_order(script)
        self._sleep = sleep

    async def respond(self, request: ModelRequest, on_event: OnModelEvent) -> ModelResponded:
        """Return the next response of the script."""
        self.requests.append(request)
        script = self._answer(request)
        if isinstance(script, ModelFailure):
            raise script
        if script.delay_s:
            await self._sleep(script.delay_s)
        if request.stream:
            await self._stream(script, on_event)
        if script.fails_after is not None:
            raise script.fails_after
        stop = script.stop or (StopReason.TOOLS if script.calls else StopReason.END)
        return ModelResponded(0, script.text, script.calls, stop=stop, usage=script.usage, model=self.name)

    async def _stream(self, script: Says, on_event: OnModelEvent) -> None:
        for word in _WORDS.findall(script.text):
            on_event(TextDelta(word))
            if script.word_s:
                await self._sleep(script.word_s)
        whole = script.calls[:-1] if script.stop is StopReason.LENGTH else script.calls  # its last call was cut off
        for index, call in enumerate(whole):
            on_event(CallStreamed(index, call))

    async def aclose(self) -> None:
        pass


def _in_order(script: Iterable[Script | str]) -> Answerer:
    waiting: Sequence[Script] = [Says(step) if isinstance(step, str) else step for step in script]
    rest = iter(waiting)

    def answer(_request: ModelRequest) -> Script:
        return next(rest, ModelFailure(FailureKind.BAD_REQUEST, "the script is over"))

    return answer
