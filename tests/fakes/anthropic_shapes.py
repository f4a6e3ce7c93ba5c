"""A scripted reply in the form of Anthropic's Messages API, whole or as the events of a stream; pure."""

from collections.abc import Iterator
from typing import Any

import orjson

from gateway.testing.model import Reply, pieces

SIGNATURE = "EqQBCgIYAhIkMTIz+/=="
STOPS = {
    "stop": "end_turn",
    "tool_calls": "tool_use",
    "length": "max_tokens",
    "content_filter": "refusal",
}
"""A script speaks OpenAI's words; any other goes out as it is."""


def _stop(reply: Reply) -> str:
    finish = reply.finish or ("tool_calls" if reply.calls else "stop")
    return STOPS.get(finish, finish)


def _blocks(reply: Reply) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = []
    if reply.thinking:
        blocks.append({"type": "thinking", "thinking": reply.thinking, "signature": SIGNATURE})
    if reply.redacted:
        blocks.append({"type": "redacted_thinking", "data": reply.redacted})
    if reply.text:
        blocks.append({"type": "text", "text": reply.text})
    for id_, call in reply.named_calls():
        blocks.append({"type": "tool_use", "id": id_, "name": call.name, "input": call.arguments})
    return blocks


def _usage(reply: Reply) -> dict[str, Any] | None:
    if reply.usage is None:
        return None
    prompt, completion = reply.usage
    if reply.cached is None:
        return {"input_tokens": prompt, "output_tokens": completion}
    read, written = reply.cached
    return {
        "input_tokens": prompt - read - written,
        "output_tokens": completion,
        "cache_read_input_tokens": read,
        "cache_creation_input_tokens": written,
        "cache_creation": {
            "ephemeral_5m_input_tokens": written - reply.cached_hour,
            "ephemeral_1h_input_tokens": reply.cached_hour,
        },
    }


def whole(reply: Reply, body: dict[str, Any]) -> dict[str, Any]:
    """Return the reply as a message that is not streamed."""
    content = [
        {**block, "input": orjson.loads(block["input"])} if block["type"] == "tool_use" else block
        for block in _blocks(reply)
    ]
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": body.get("model", "test"),
        "content": content,
        "stop_reason": _stop(reply),
        "stop_sequence": None,
        "usage": _usage(reply),
    }


def events(reply: Reply, body: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Return the reply as events of a stream; each event's name is its type."""
    usage = _usage(reply)
    begun = {**whole(Reply(usage=reply.usage, cached=reply.cached), body), "stop_reason": None}
    if usage is not None:
        begun["usage"] = {**usage, "output_tokens": 1}
    yield {"type": "message_start", "message": begun}
    yield {"type": "ping"}
    for index, block in enumerate(_blocks(reply)):
        yield from _streamed(index, block, reply.chunk_chars)
    ended: dict[str, Any] = {"stop_reason": _stop(reply), "stop_sequence": None}
    counts = {"output_tokens": usage["output_tokens"]} if usage else None
    yield {"type": "message_delta", "delta": ended, "usage": counts}
    if reply.done:
        yield {"type": "message_stop"}


def _streamed(index: int, block: dict[str, Any], size: int) -> Iterator[dict[str, Any]]:
    def delta(kind: str, name: str, piece: str) -> dict[str, Any]:
        return {"type": "content_block_delta", "index": index, "delta": {"type": kind, name: piece}}

    empty = {"text": "", "thinking": "", "signature": "", "input": {}}
    begun = {key: empty.get(key, value) if key != "type" else value for key, value in block.items()}
    yield {"type": "content_block_start", "index": index, "content_block": begun}
    if block["type"] == "text":
        yield from (delta("text_delta", "text", piece) for piece in pieces(block["text"], size))
    elif block["type"] == "thinking":
        yield from (delta("thinking_delta", "thinking", piece) for piece in pieces(block["thinking"], size))
        yield delta("signature_delta", "signature", block["signature"])
    elif block["type"] == "tool_use":
        yield from (delta("input_json_delta", "partial_json", piece) for piece in ["", *pieces(block["input"], size)])
    yield {"type": "content_block_stop", "index": index}
