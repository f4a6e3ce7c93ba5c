"""Converter of our items to Anthropic messages; pure. Source: Anthropic API reference, Messages, read 2026-11.

The order of a request is the key of the provider's cache: tools, instructions, conversation. Three cache marks end its
prefixes: after the tools and the instructions that are the same for all people, kept for an hour; and after the last
two of the person's turns, kept for five minutes.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import groupby
from typing import Any, cast

from agent.config import LinkConfig
from agent.encoded_pieces import EncodedPieces
from agent.models.json_bodies import TOOLS_KEPT, to_piece
from agent.models.openai_format import note_text, readable_arguments, spoken_text
from agent.pictures import as_base64, visible
from agent.ports import ModelRequest, SystemPrompt, ToolSpec
from agent.transcript import AssistantItem, Item, NoteItem, ToolItem, UserItem

WIRE = "anthropic"
"""Marks a thinking block in a transcript as this wire's; no other wire sends it."""

CACHE_MARK = {"type": "ephemeral"}
LASTING_MARK = {"type": "ephemeral", "ttl": "1h"}
"""The mark of a prefix that other people's requests share; it costs more to write and must precede shorter ones."""

MARKED_MESSAGES = 2
NOTHING = "(nothing)"
"""Replaces an empty text, which the API refuses."""

_NO_NAME = re.compile(r"[^a-zA-Z0-9_-]")

Blocks = list[dict[str, Any]]


def request_body(request: ModelRequest, model: str, config: LinkConfig) -> dict[str, Any]:
    """Return the body of a request."""
    cap = min(request.max_output_tokens, config.max_output_tokens or request.max_output_tokens)
    body: dict[str, Any] = {
        "model": model,
        "max_tokens": cap,
        "messages": messages(request.items, request.pieces, request.picture_bytes),
        "stream": request.stream,
    }
    if config.service_tier is not None:
        body["service_tier"] = config.service_tier
    if instructions := _instructions(request.system):
        body["system"] = instructions
    if request.tools:
        body["tools"] = [*map(_tool if request.pieces is None else _tool_piece, request.tools)]
    if isinstance(config.thinking, int) and _may_think(request.items):
        body["thinking"] = {"type": "enabled", "budget_tokens": config.thinking}
        body["max_tokens"] = cap + config.thinking  # the cap includes the budget
    elif isinstance(config.thinking, str):
        body["thinking"] = {"type": config.thinking}
    elif config.temperature is not None:  # the API refuses it together with thinking
        body["temperature"] = config.temperature
    return body


def _may_think(items: Sequence[Item]) -> bool:
    """Return True if thinking may be enabled: a turn with tool results must have begun with a thinking block.

    A turn whose first tool call came from another model or wire has none, and the API refuses thinking in the rest.
    """
    opening: AssistantItem | None = None
    for is_answer, run in groupby(items, key=lambda item: isinstance(item, AssistantItem)):
        if is_answer:
            opening = opening or cast("AssistantItem", next(run))
        elif not any(isinstance(item, ToolItem) for item in run):
            opening = None
    return opening is None or _blocks_of(opening)[0]["type"] not in {"text", "tool_use"}


def _instructions(system: SystemPrompt) -> Blocks:
    """Return the instructions as blocks; a cache mark follows the part that is the same for all people."""
    texts = (*system.leading, system.static, system.dynamic)
    blocks: Blocks = [{"type": "text", "text": text} for text in texts if text.strip()]
    if system.static.strip():
        blocks[sum(bool(text.strip()) for text in system.leading)]["cache_control"] = LASTING_MARK
    return blocks


@lru_cache(TOOLS_KEPT)
def _tool_piece(spec: ToolSpec) -> Any:
    return to_piece(_tool(spec))


def _tool(spec: ToolSpec) -> dict[str, Any]:
    schema = {key: value for key, value in spec.schema.items() if key != "additionalProperties"}
    return {"name": spec.name, "description": spec.description, "input_schema": schema}


def messages(items: Sequence[Item], pieces: EncodedPieces | None, content: Mapping[str, bytes]) -> list[dict[str, Any]]:
    """Return the conversation as alternating messages that begin with the person's; with `pieces`, of encoded blocks.

    Raises:
        NotLoaded: `content` lacks the bytes of a picture that is to be encoded.
    """
    found: list[dict[str, Any]] = []
    ends: list[Item] = []  # the last item of each message
    for item, blocks in zip(items, _blocks(items, pieces, content), strict=True):
        if not blocks:
            continue
        role = "assistant" if isinstance(item, AssistantItem) else "user"
        if found and found[-1]["role"] == role:
            found[-1]["content"] += blocks
            ends[-1] = item
            continue
        if not found and role == "assistant":
            found.append({"role": "user", "content": _to_blocks(_NOBODY)})
            ends.append(_NOBODY)
        found.append({"role": role, "content": [*blocks]})
        ends.append(item)
    _mark(found, ends)
    return found


def _blocks(items: Sequence[Item], pieces: EncodedPieces | None, content: Mapping[str, bytes]) -> Iterable[list[Any]]:
    """Return the blocks of each item, its pictures first."""

    def whole(item: Item) -> Blocks:
        return _images(item, content) + _to_blocks(item)

    if pieces is None:
        return map(whole, items)
    return pieces.of(WIRE, items, lambda item: [to_piece(block) for block in whole(item)])


def _images(item: Item, content: Mapping[str, bytes]) -> Blocks:
    pictures = visible(item.pictures) if isinstance(item, UserItem) else []
    return [
        {
            "type": "image",
            "source": {"type": "base64", "media_type": picture.mime, "data": as_base64(picture, content)},
        }
        for picture in pictures
    ]


def _mark(found: Sequence[dict[str, Any]], ends: Sequence[Item]) -> None:
    asked = [(message, end) for message, end in zip(found, ends, strict=True) if message["role"] == "user"]
    for message, end in asked[-MARKED_MESSAGES:]:
        message["content"][-1] = _to_blocks(end)[-1] | {"cache_control": CACHE_MARK}


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text if text.strip() else NOTHING}


_NOBODY = UserItem("")
"""Stands before an assistant message that comes first."""


def _to_blocks(item: Item) -> Blocks:
    match item:
        case UserItem():
            return [_text(spoken_text(item))]
        case NoteItem():
            return [_text(note_text(item))]
        case ToolItem():
            return [{"type": "tool_result", "tool_use_id": _id(item.call_id), "content": item.content}]
        case AssistantItem():
            return _blocks_of(item)


def _blocks_of(item: AssistantItem) -> Blocks:
    """Return the blocks of an answer, with unchanged thinking blocks in their places: their signatures cover their
    bytes.
    """
    blocks: Blocks = []
    said, called = 0, 0
    for kept in item.thinking:
        if not isinstance(kept, dict) or kept.get("wire") != WIRE:
            continue
        text_before, calls_before = _place(kept)
        blocks += _blocks_between(item, said, text_before, called, calls_before)
        said, called = max(said, text_before), max(called, calls_before)
        blocks.append(kept["block"])  # type: ignore[arg-type]  # stored as an object
    return blocks + _blocks_between(item, said, len(item.text), called, len(item.tool_calls))


def _place(kept: dict[str, Any]) -> tuple[int, int]:
    return int(kept.get("text_before") or 0), int(kept.get("calls_before") or 0)


def _blocks_between(item: AssistantItem, said: int, upto: int, called: int, calls_upto: int) -> Blocks:
    """Return the text and the calls between two positions of a response."""
    text = item.text[said:upto]
    blocks: Blocks = [_text(text)] if text.strip() else []
    for call in item.tool_calls[called:calls_upto]:
        arguments = json.loads(readable_arguments(call.arguments))
        name = _NO_NAME.sub("_", call.name)[:128] or "unnamed"
        blocks.append({"type": "tool_use", "id": _id(call.id), "name": name, "input": arguments})
    return blocks


def _id(id_: str) -> str:
    """Return an id that the API accepts; another wire's may hold any characters."""
    return _NO_NAME.sub("_", id_) or "_"
