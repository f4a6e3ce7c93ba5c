"""The Markdown tree as JSON, from the renderer to the terminal that lays it out in its own width; pure."""

from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from typing import Any

from pydantic import JsonValue

from channels.markdown.tree import Block, CodeBlock, Heading, ListBlock, ListItem, Paragraph, Quote, Rule, Span, Table

_KINDS: dict[str, Any] = {
    kind.__name__: kind for kind in (CodeBlock, Heading, ListBlock, ListItem, Paragraph, Quote, Rule, Span, Table)
}


def pack(blocks: Sequence[Block]) -> list[JsonValue]:
    """Return blocks as JSON: a list for each node, its kind and its fields."""
    return [_pack(block) for block in blocks]


def unpack(packed: Sequence[Any]) -> tuple[Block, ...]:
    """Return the blocks of `pack`."""
    return tuple(_unpack(node) for node in packed)


def _pack(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_pack(each) for each in value]
    if is_dataclass(value):
        return {type(value).__name__: [_pack(getattr(value, field.name)) for field in fields(value)]}
    return value


def _unpack(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_unpack(each) for each in value)
    if isinstance(value, dict):
        ((kind, given),) = value.items()
        return _KINDS[kind](*map(_unpack, given))
    return value
