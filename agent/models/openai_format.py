"""Converter of our items to OpenAI chat completions and back; pure. Source: OpenAI API reference, read 2026-11."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from pydantic import JsonValue

from agent.encoded_pieces import EncodedPieces
from agent.errors import FailureKind
from agent.models.failures import failure, from_error
from agent.models.json_bodies import TOOLS_KEPT, decode, to_piece
from agent.pictures import as_base64, describe, visible
from agent.ports import ALIVE, PINGED, CallStreamed, ModelRequest, OnModelEvent, TextDelta, ThinkingDelta, ToolSpec
from agent.transcript import (
    AssistantItem,
    Item,
    ModelResponded,
    NoteItem,
    StopReason,
    ToolCall,
    ToolItem,
    Usage,
    UserItem,
)
from agent.wellformed import read_object

WIRE = "openai"
"""Marks a thinking block in a transcript as this wire's; no other wire sends it."""

THOUGHTS = ("reasoning_content", "reasoning")
"""Field names of thinking text (DeepSeek, vLLM, llama.cpp; OpenRouter, newer vLLM)."""

MAX_TEXT_CHARS = 2_000_000
"""Maximum characters of a response, calls included (F39)."""

CALL_CHARS = 100
"""Minimum characters that a call counts."""

MAX_NAME_CHARS = 500

MOST_TOKENS = 2**31 - 1
"""Larger token counts are invalid."""

_STOPS = {
    "stop": StopReason.END,
    "tool_calls": StopReason.TOOLS,
    "function_call": StopReason.TOOLS,
    "length": StopReason.LENGTH,
    "content_filter": StopReason.REFUSED,
}


def request_body(
    request: ModelRequest,
    model: str,
    tokens_field: str,
    *,
    usage_in_stream: bool,
    temperature: float | None = None,
    service_tier: str | None = None,
    cache_key: str | None = None,
) -> dict[str, Any]:
    """Return the body of a request; the provider keeps the cache of all requests with one `cache_key` in one place."""
    body: dict[str, Any] = {
        "model": model,
        "messages": messages(str(request.system), request.items, request.pieces, request.picture_bytes),
        "stream": request.stream,
        tokens_field: request.max_output_tokens,
    }
    if temperature is not None:
        body["temperature"] = temperature
    if service_tier is not None:
        body["service_tier"] = service_tier
    if cache_key is not None:
        body["prompt_cache_key"] = cache_key
    if request.tools:
        body["tools"] = [*map(_tool if request.pieces is None else _tool_piece, request.tools)]
    if request.stream and usage_in_stream:
        body["stream_options"] = {"include_usage": True}
    return body


def messages(
    system: str, items: Sequence[Item], pieces: EncodedPieces | None, content: Mapping[str, bytes]
) -> list[Any]:
    """Return the conversation as messages, instructions first; with `pieces`, encoded.

    Raises:
        NotLoaded: `content` lacks the bytes of a picture that is to be encoded.
    """
    head: list[Any] = [{"role": "system", "content": system}] if system else []
    if pieces is None:
        return head + [_message(item, content) for item in items]
    return [*head, *pieces.of(WIRE, items, lambda item: to_piece(_message(item, content)))]


@lru_cache(TOOLS_KEPT)
def _tool_piece(spec: ToolSpec) -> Any:
    return to_piece(_tool(spec))


def _message(item: Item, content: Mapping[str, bytes]) -> dict[str, Any]:
    match item:
        case UserItem():
            return {"role": "user", "content": _content_of(item, content)}
        case NoteItem():  # as a user's: templates of local models refuse a system message that is not the first
            return {"role": "user", "content": note_text(item)}
        case ToolItem():
            return {"role": "tool", "tool_call_id": item.call_id, "content": item.content}
        case AssistantItem():
            message: dict[str, Any] = {"role": "assistant", "content": item.text or None}
            if item.tool_calls:
                message["tool_calls"] = [_call(call) for call in item.tool_calls]
                message |= _thoughts(item)
            return message


def _content_of(item: UserItem, content: Mapping[str, bytes]) -> str | list[dict[str, Any]]:
    """Convert a person's message; pictures come first."""
    words = spoken_text(item)
    parts: list[dict[str, Any]] = [
        {"type": "image_url", "image_url": {"url": f"data:{picture.mime};base64,{as_base64(picture, content)}"}}
        for picture in visible(item.pictures)
    ]
    return [*parts, {"type": "text", "text": words}] if parts else words


def _thoughts(item: AssistantItem) -> dict[str, Any]:
    """Return the thinking before a call, under the field name in which the server sent it."""
    kept = [block for block in item.thinking if isinstance(block, dict) and block.get("wire") == WIRE]
    names = dict.fromkeys(str(block["name"]) for block in kept)
    return {name: "".join(str(block["text"]) for block in kept if block["name"] == name) for name in names}


def _call(call: ToolCall) -> dict[str, Any]:
    return {
        "id": call.id,
        "type": "function",
        "function": {"name": call.name or "unnamed", "arguments": readable_arguments(call.arguments)},
    }


def readable_arguments(arguments: str) -> str:
    """Return the arguments as a JSON object; other text is quoted in one, since servers parse it and would fail."""
    if read_object(arguments) is not None:
        return arguments
    return json.dumps({"unreadable": arguments[:1000]}) if arguments.strip() else "{}"


def _tool(spec: ToolSpec) -> dict[str, Any]:
    """Convert a tool, without `additionalProperties`: it costs tokens and does not help the model."""
    parameters = {key: value for key, value in spec.schema.items() if key != "additionalProperties"}
    return {
        "type": "function",
        "function": {"name": spec.name, "description": spec.description, "parameters": parameters},
    }


@dataclass(slots=True)
class _Slot:
    """A tool call that is still streaming."""

    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)

    def call(self) -> ToolCall:
        return ToolCall(self.id, self.name, "".join(self.arguments))

    def is_followed_by(self, fragment: Mapping[str, Any]) -> bool:
        """Return True if this fragment begins another call although its index is the same: some servers (Gemini's) send
        0 for all.
        """
        id_, name = str(fragment.get("id") or "")[:MAX_NAME_CHARS], (fragment.get("function") or {}).get("name")
        return bool(name) and id_ not in {"", self.id} and read_object("".join(self.arguments)) is not None


class CompletionAssembly:
    """The parts of one response, from the chunks of a stream or from a whole answer."""

    def __init__(self, on_event: OnModelEvent, model: str, secret: str = "") -> None:
        self.finish: str | None = None  # the provider's value
        self.over_long = False
        self._on_event = on_event
        self._model = model
        self._secret = secret
        self._text: list[str] = []
        self._chars = 0
        self._refused = False
        self._begun = False  # a text, a part of a call or thinking arrived
        self._slots: dict[int, _Slot] = {}
        self._thoughts: dict[str, list[str]] = {}  # by the server's field name
        self._places: dict[int, int] = {}  # reused index of a server to the slot of the newest call
        self._untold: list[int] = []  # slots of calls that may still grow
        self._usage = Usage()

    def note_ping(self) -> None:
        """Report bytes that contain no chunk: a comment, or the beginning of a chunk."""
        self._on_event(PINGED)

    @property
    def is_whole(self) -> bool:
        """Return True if a finish reason came."""
        return self.finish is not None

    def take_event(self, name: str, data: bytes) -> bool:
        """Add one event of a stream; return True if it was the last.

        Raises:
            ModelFailure: the event is an error, or not a chunk.
        """
        if data == b"[DONE]":
            return True
        decoded = decode(data)
        self.feed({"error": decoded} if name == "error" and "error" not in decoded else decoded)
        return False

    def feed(self, chunk: Any) -> None:
        """Add one chunk of a stream.

        Raises:
            ModelFailure: it is an error, or not a chunk.
        """
        try:
            if error := chunk.get("error"):
                raise from_error(error, self._secret)
            if usage := chunk.get("usage"):
                self._usage = _usage(usage)
            choices = chunk.get("choices") or ()
            for choice in choices:
                if not choice.get("index"):
                    self._take_choice(choice, choice.get("delta") or {})
            if not choices:
                self._on_event(PINGED)
        except (AttributeError, TypeError, ValueError, KeyError) as problem:
            raise _unreadable(problem) from None

    def take_whole(self, answer: Any) -> None:
        """Add an answer that was not streamed, and report it in one piece.

        Raises:
            ModelFailure: it is an error, or not a chat completion.
        """
        try:
            if error := answer.get("error"):
                raise from_error(error, self._secret)
            choice = answer["choices"][0]
            self.finish = "stop"  # some servers send none
            self._take_choice(choice, message := choice["message"])
            if message.get("content") or message.get("tool_calls"):
                self._take_thought(message)  # after the text; in a stream it comes before
            self._usage = _usage(answer.get("usage") or {})
        except (AttributeError, TypeError, ValueError, KeyError, IndexError) as problem:
            raise _unreadable(problem) from None

    def _take_choice(self, choice: dict[str, Any], delta: dict[str, Any]) -> None:
        content = delta.get("content")
        if content:
            self._say(content if type(content) is str else _join(content))
        elif calls := delta.get("tool_calls"):
            self._take_calls(calls)
        elif refusal := delta.get("refusal"):
            self._refused = True
            self._say(refusal if type(refusal) is str else _join(refusal))
        else:
            self._take_thought(delta)
            self._begun = self._begun or any(value for key, value in delta.items() if key != "role")
            self._on_event(ALIVE if self._begun or choice.get("finish_reason") else PINGED)
        if content and (calls := delta.get("tool_calls")):
            self._take_calls(calls)
        if finish := choice.get("finish_reason"):
            self.finish = str(finish)

    def _take_thought(self, delta: dict[str, Any]) -> None:
        name = next((name for name in THOUGHTS if type(delta.get(name)) is str and delta[name]), None)
        if name is not None:
            self._thoughts.setdefault(name, []).append(delta[name])
            self._count(len(delta[name]))
            self._on_event(ThinkingDelta(delta[name]))

    def _say(self, text: str) -> None:
        if "\x00" in text:
            text = text.replace("\x00", "")
        self._begun = True
        self._text.append(text)
        self._count(len(text))
        self._on_event(TextDelta(text))

    def _count(self, chars: int) -> None:
        self._chars += chars
        self.over_long = self._chars > MAX_TEXT_CHARS

    def _take_calls(self, fragments: Sequence[dict[str, Any]]) -> None:
        for fragment in fragments:
            slot = self._slot(fragment)
            function = fragment.get("function") or {}
            if (id_ := fragment.get("id")) and not slot.id:
                slot.id = str(id_)[:MAX_NAME_CHARS]
            name = function.get("name")
            if name and name != slot.name and len(slot.name) < MAX_NAME_CHARS:  # some servers repeat the whole name
                slot.name = (slot.name + name)[:MAX_NAME_CHARS]
            if arguments := function.get("arguments"):
                slot.arguments.append(arguments if type(arguments) is str else json.dumps(arguments))
                self._count(len(slot.arguments[-1]))
        self._begun = True
        self._on_event(ALIVE)

    def _slot(self, fragment: dict[str, Any]) -> _Slot:
        index = fragment.get("index")
        if index is None:  # some servers send no index: a new id is a new call
            last = len(self._slots) - 1
            new = last < 0 or (fragment.get("id") and fragment["id"] != self._slots[last].id)
            index = last + 1 if new else last
        if type(index) is not int:
            raise TypeError("the index of a call is not a number")
        index = self._places.get(index, index)
        if index in self._slots and self._slots[index].is_followed_by(fragment):
            index = self._places[fragment["index"]] = max(self._slots) + 1
        if index not in self._slots:
            self._tell_calls()  # a call begins: those before it are whole
            self._slots[index] = _Slot()
            self._untold.append(index)
            self._count(CALL_CHARS)
        return self._slots[index]

    def _tell_calls(self) -> None:
        for index in self._untold:
            self._on_event(CallStreamed(index, self._slots[index].call()))
        self._untold.clear()

    def response(self) -> ModelResponded:
        stop = _STOPS.get(self.finish or "stop", StopReason.UNKNOWN)
        if self._refused:
            stop = StopReason.REFUSED
        elif self.over_long:
            stop = StopReason.LENGTH
        elif self._slots and stop in {StopReason.END, StopReason.UNKNOWN}:
            stop = StopReason.TOOLS
        if stop is StopReason.TOOLS:
            self._tell_calls()
        calls = tuple(self._slots[index].call() for index in sorted(self._slots))
        thinking: tuple[JsonValue, ...] = tuple(
            {"wire": WIRE, "name": name, "text": "".join(pieces)} for name, pieces in self._thoughts.items()
        )
        return ModelResponded(0, "".join(self._text), calls, thinking, stop, self._usage, self._model)


def _unreadable(problem: Exception) -> Exception:
    return failure(FailureKind.NETWORK, f"the answer is not a chat completion ({type(problem).__name__})")


def _join(parts: JsonValue) -> str:
    """Join content in parts, as some servers send it."""
    return (
        "".join(str(part.get("text", "")) for part in parts if isinstance(part, dict))
        if isinstance(parts, list)
        else ""
    )


def _usage(usage: dict[str, Any]) -> Usage:
    details = usage.get("prompt_tokens_details") or {}
    return Usage(
        token_count(usage.get("prompt_tokens")),
        token_count(usage.get("completion_tokens")),
        token_count(details.get("cached_tokens")),
    )


def token_count(value: object) -> int | None:
    """Return a valid token count that fits a database column, or None."""
    return value if type(value) is int and 0 <= value <= MOST_TOKENS else None


MAX_SENDER_CHARS = 64


def note_text(item: NoteItem) -> str:
    """Return a note of the harness in the form that models get it."""
    return f"(A note from the system, not from the person: {item.text})"


def spoken_text(item: UserItem) -> str:
    """Return the text of a message for a model, so that names and other people's messages cannot pass for the person's
    own words.
    """
    words = item.text
    if item.data or item.pictures or item.recalled:
        words = "\n".join(part for part in (words, item.data, describe(item.pictures), item.recalled) if part)
    name = _in_one_line(item.sender) if item.sender else ""
    if not item.own:
        return f"[{name or 'Somebody'}, another person here and not the one you answer now:] {words}"
    return f"{name}: {words}" if name else words


def _in_one_line(name: str) -> str:
    shown = "".join(character if character.isprintable() else " " for character in name.replace(":", " "))
    return " ".join(shown.translate(_BRACKETS).split())[:MAX_SENDER_CHARS]


_BRACKETS = str.maketrans("[]", "()")
