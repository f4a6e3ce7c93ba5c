"""Parser of the answers of Anthropic's Messages API, streamed or whole; pure.

Source: Anthropic API reference, Messages and streaming, read 2026-11. `anthropic_format` builds the requests.
"""

import json
from dataclasses import dataclass, field
from typing import Any

from pydantic import JsonValue

from agent.errors import FailureKind
from agent.models.anthropic_format import WIRE
from agent.models.failures import failure, from_error
from agent.models.json_bodies import decode
from agent.models.openai_format import CALL_CHARS, MAX_NAME_CHARS, MAX_TEXT_CHARS, token_count
from agent.ports import ALIVE, PINGED, CallStreamed, OnModelEvent, TextDelta, ThinkingDelta
from agent.transcript import ModelResponded, StopReason, ToolCall, Usage
from agent.wellformed import read_object

_STOPS = {
    "end_turn": StopReason.END,
    "stop_sequence": StopReason.END,
    "tool_use": StopReason.TOOLS,
    "max_tokens": StopReason.LENGTH,
    "model_context_window_exceeded": StopReason.LENGTH,
    "refusal": StopReason.REFUSED,
    "pause_turn": StopReason.LENGTH,  # the server interrupts a long turn: continue it
}

_THOUGHTS = {"thinking", "redacted_thinking"}


@dataclass(slots=True)
class _Block:
    """A content block that is still streaming."""

    start: dict[str, Any]
    text_before: int  # characters of the response's text before it
    calls_before: int
    pieces: list[str] = field(default_factory=list)  # of a call's arguments, or of thinking
    signature: list[str] = field(default_factory=list)
    ended: bool = False

    def call(self) -> ToolCall:
        arguments = "".join(self.pieces) or json.dumps(self.start.get("input") or {})
        id_, name = (str(self.start.get(part) or "")[:MAX_NAME_CHARS] for part in ("id", "name"))
        return ToolCall(id_, name, arguments)

    def to_thought(self) -> JsonValue:
        """Return the form that is stored for replay: the provider's own block and its position."""
        block = dict(self.start)
        if block["type"] == "thinking":
            block["thinking"] = str(block.get("thinking") or "") + "".join(self.pieces)
            block["signature"] = str(block.get("signature") or "") + "".join(self.signature)
        return {"wire": WIRE, "text_before": self.text_before, "calls_before": self.calls_before, "block": block}


class MessageAssembly:
    """The parts of one response, from the events of a stream or from a whole message."""

    def __init__(self, on_event: OnModelEvent, model: str, secret: str = "") -> None:
        self.over_long = False
        self._stop: str | None = None  # the provider's value
        self._on_event = on_event
        self._model = model
        self._secret = secret
        self._text: list[str] = []
        self._text_chars = 0
        self._chars = 0  # of all parts
        self._open: dict[int, _Block] = {}
        self._calls: list[_Block] = []
        self._told = 0  # number of calls reported
        self._waits = False  # the next call is unreadable: it may be cut off
        self._thinking: list[JsonValue] = []
        self._usage: dict[str, Any] = {}

    @property
    def is_whole(self) -> bool:
        """Return True if a stop reason came."""
        return self._stop is not None

    def note_ping(self) -> None:
        """Report bytes that contain no event: a comment, or the beginning of an event."""
        self._on_event(PINGED)

    def take_event(self, name: str, data: bytes) -> bool:
        """Add one event of a stream; return True if it was the last.

        Raises:
            ModelFailure: the event is an error, or not part of a message.
        """
        event = decode(data)
        try:
            kind = event.get("type") or name
            if kind == "error" or "error" in event:
                raise from_error(event.get("error") or event, self._secret)
            return bool(self._take(kind, event))
        except (AttributeError, TypeError, ValueError, KeyError) as problem:
            raise _unreadable(problem) from None

    def _take(self, kind: str, event: dict[str, Any]) -> bool:
        match kind:
            case "content_block_delta":
                self._take_delta(event["index"], event["delta"])
            case "content_block_start":
                self._begin(event["index"], event["content_block"])
            case "content_block_stop":
                self._end(event["index"])
            case "message_start":
                self._usage |= _counts_in(event["message"].get("usage"))
                self._on_event(PINGED)
            case "message_delta":
                self._stop = event["delta"].get("stop_reason") or self._stop
                self._usage |= _counts_in(event.get("usage"))
                self._on_event(ALIVE)
            case "message_stop":
                return True
            case _:
                self._on_event(PINGED)
        return False

    def take_whole(self, answer: Any) -> None:
        """Add a message that was not streamed, and report it in one piece.

        Raises:
            ModelFailure: it is an error, or not a message.
        """
        try:
            if answer.get("type") == "error" or "error" in answer:
                raise from_error(answer.get("error") or answer, self._secret)
            for index, block in enumerate(answer["content"]):
                self._begin(index, block)
                self._end(index)
            self._stop = answer.get("stop_reason") or "end_turn"
            self._usage |= _counts_in(answer.get("usage"))
        except (AttributeError, TypeError, ValueError, KeyError) as problem:
            raise _unreadable(problem) from None

    def _begin(self, index: int, block: dict[str, Any]) -> None:
        if block["type"] == "text" and (text := block.get("text")):
            self._say(text)
        made = _Block(block, self._text_chars, len(self._calls))
        if block["type"] == "tool_use":
            self._calls.append(made)
        self._open[index] = made
        self._count(CALL_CHARS)
        self._on_event(ALIVE)

    def _take_delta(self, index: int, delta: dict[str, Any]) -> None:
        kind = delta["type"]
        if kind == "text_delta":
            self._say(delta["text"])
            return
        block = self._open[index]
        if kind == "input_json_delta":
            self._add(block.pieces, delta["partial_json"])
        elif kind == "thinking_delta":
            self._add(block.pieces, delta["thinking"])
            self._on_event(ThinkingDelta(delta["thinking"]))
            return
        elif kind == "signature_delta":
            self._add(block.signature, delta["signature"])
        self._on_event(ALIVE)

    def _add(self, pieces: list[str], piece: Any) -> None:
        if type(piece) is not str:
            raise TypeError("a piece of a block is not text")
        pieces.append(piece)
        self._count(len(piece))

    def _say(self, text: str) -> None:
        if "\x00" in text:
            text = text.replace("\x00", "")
        self._text.append(text)
        self._text_chars += len(text)
        self._count(len(text))
        if text:
            self._on_event(TextDelta(text))

    def _count(self, chars: int) -> None:
        self._chars += chars
        self.over_long = self._chars > MAX_TEXT_CHARS

    def _end(self, index: int) -> None:
        block = self._open.pop(index)
        if block.start["type"] in _THOUGHTS:
            self._thinking.append(block.to_thought())
        elif block.start["type"] == "tool_use":
            block.ended = True
            self._tell_ended_calls()

    def _tell_ended_calls(self) -> None:
        """Report the ended calls in order. A truncated response ends its last block too, so an unreadable call waits
        for the end.
        """
        while not self._waits and self._told < len(self._calls) and self._calls[self._told].ended:
            self._waits = read_object("".join(self._calls[self._told].pieces) or "{}") is None
            if not self._waits:
                self._tell_call()

    def _tell_call(self) -> None:
        self._on_event(CallStreamed(self._told, self._calls[self._told].call()))
        self._told += 1

    def response(self) -> ModelResponded:
        stop = _STOPS.get(self._stop or "end_turn", StopReason.UNKNOWN)
        if self.over_long:
            stop = StopReason.LENGTH
        elif self._calls and stop in {StopReason.END, StopReason.UNKNOWN}:
            stop = StopReason.TOOLS
        while stop is StopReason.TOOLS and self._told < len(self._calls):
            self._tell_call()
        if stop is StopReason.LENGTH:
            self._drop_cut_thought()
        return ModelResponded(
            0,
            "".join(self._text),
            tuple(block.call() for block in self._calls),
            tuple(self._thinking),
            stop=stop,
            usage=_usage(self._usage),
            model=self._model,
        )

    def _drop_cut_thought(self) -> None:
        """Drop a thought that the token cap cut off: it has no signature, and the API would refuse it."""
        last: Any = self._thinking[-1] if self._thinking else None
        ends = last is not None and (last["text_before"], last["calls_before"]) == (self._text_chars, len(self._calls))
        if ends and last["block"].get("signature") == "":
            self._thinking.pop()


def _unreadable(problem: Exception) -> Exception:
    return failure(FailureKind.NETWORK, f"the answer is not a message ({type(problem).__name__})")


def _counts_in(usage: dict[str, Any] | None) -> dict[str, Any]:
    """Return the counts that are present; later ones replace earlier ones."""
    return {name: count for name, count in (usage or {}).items() if count is not None}


def _usage(said: dict[str, Any]) -> Usage:
    """Convert the counts. The API counts cached input separately; ours is the sum."""
    names = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    rest, read, written = (token_count(said.get(name)) for name in names)
    whole = None if rest is None else token_count(rest + (read or 0) + (written or 0))
    by_age = said.get("cache_creation")
    for_an_hour = token_count(by_age.get("ephemeral_1h_input_tokens")) if isinstance(by_age, dict) else None
    return Usage(whole, token_count(said.get("output_tokens")), read, written, cache_write_hour_tokens=for_an_hour)
