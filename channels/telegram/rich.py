"""Rendering of the Markdown tree as a rich message of Bot API 10: real headings, lists, quotes and tables. Pure.

A rich rendering contains the classic one: the splitter measures its text and notifications show it; its entities are
used if a rich message is impossible (captions, a text changed after rendering, a tree over the limits).
Names are those of core.telegram.org/bots/api#inputrichmessage (10.3), as aiogram 3.31 types them.
"""

import zlib
from collections.abc import Iterable, Sequence

import orjson
from pydantic import JsonValue

from channels.foreign import JsonObject
from channels.markdown.tree import (
    Block,
    CodeBlock,
    Heading,
    ListBlock,
    ListItem,
    Paragraph,
    Quote,
    Rule,
    Span,
    Spans,
    Style,
    Table,
)
from channels.messages import Rendered
from channels.telegram.limits import RICH_BLOCKS, RICH_COLUMNS, RICH_DEPTH
from channels.telegram.render import TelegramRenderer, without_mentions

_STYLES = ((Style.STRIKE, "strikethrough"), (Style.ITALIC, "italic"), (Style.BOLD, "bold"), (Style.CODE, "code"))


class RichTelegramRenderer:
    """The Renderer of `channels.base` for accounts with `rich = true`."""

    def __init__(self) -> None:
        self._classic = TelegramRenderer()

    def render(self, blocks: Sequence[Block]) -> Rendered:
        """Return the blocks as a rich message, or a classic one if rich adds nothing or exceeds the limits."""
        plain = self._classic.render(blocks)
        if not plain.text or not _gains_by_rich(blocks) or not _within_limits(blocks):
            return plain
        markup = {
            "rich": _blocks(blocks),
            "entities": plain.markup,
            "length": len(plain.text),
            "check": zlib.crc32(plain.text.encode()),
        }
        return Rendered(plain.text, orjson.dumps(markup).decode())

    def plain(self, text: str) -> Rendered:
        return self._classic.plain(text)


def rich_message(rendered: Rendered) -> JsonObject | None:
    """Return the InputRichMessage of a rendering; None if it is classic, or its text was changed since.

    Text appended since (a continuation mark, the dots of a live answer) becomes a paragraph of its own.
    """
    markup = _rich_markup(rendered)
    if markup is None:
        return None
    length, blocks = markup["length"], markup["rich"]
    assert isinstance(length, int), "made above"
    assert isinstance(blocks, list), "made above"
    if zlib.crc32(rendered.text[:length].encode("utf-8", "replace")) != markup["check"]:
        return None
    behind = rendered.text[length:].strip()
    return {"blocks": [*blocks, {"type": "paragraph", "text": behind}] if behind else blocks}


def classic(rendered: Rendered) -> tuple[str, str | None]:
    """Return the text and the JSON of its entities, for a rich or a classic rendering."""
    markup = _rich_markup(rendered)
    if markup is None:
        return rendered.text, rendered.markup
    entities = markup["entities"]
    return rendered.text, entities if isinstance(entities, str) else None


def _rich_markup(rendered: Rendered) -> JsonObject | None:
    if rendered.markup is None or not rendered.markup.startswith("{"):
        return None
    markup: JsonObject = orjson.loads(rendered.markup)
    return markup


def _gains_by_rich(blocks: Iterable[Block]) -> bool:
    """Return False for paragraphs and code alone: they look the same in a classic message, which every client shows."""
    return any(not isinstance(block, Paragraph | CodeBlock) for block in blocks)


def _within_limits(blocks: Sequence[Block]) -> bool:
    count, depth, columns = _extent(blocks, 1)
    deepest = depth + len(_STYLES) + 1  # a span's styles and link count as levels too
    return count <= RICH_BLOCKS and deepest <= RICH_DEPTH and columns <= RICH_COLUMNS


def _extent(blocks: Iterable[Block], level: int) -> tuple[int, int, int]:
    """Return the number of blocks, items and rows, the depth, and the columns of the widest table."""
    count, depth, columns = 0, level, 0
    for block in blocks:
        count += 1
        inner: list[Sequence[Block]] = []
        if isinstance(block, ListBlock):
            count += len(block.items)
            inner = [item.blocks for item in block.items]
        elif isinstance(block, Quote):
            inner = [block.blocks]
        elif isinstance(block, Table):
            count += 1 + len(block.rows)
            columns = max(columns, len(block.header))
        for children in inner:
            more, deeper, wider = _extent(children, level + 2)  # the block and the item around them
            count, depth, columns = count + more, max(depth, deeper), max(columns, wider)
    return count, depth, columns


def _blocks(blocks: Iterable[Block]) -> list[JsonValue]:
    found: list[JsonValue] = []
    for block in blocks:
        if isinstance(block, ListBlock):
            for item in block.items:
                if item.continued:  # the rest of a cut entry, at the front: it has no label of its own
                    found += _blocks(item.blocks)
            fresh: list[JsonValue] = [_item(item) for item in block.items if not item.continued]
            if fresh:
                found.append({"type": "list", "items": fresh})
        else:
            found.append(_block(block))
    return found


def _block(block: Paragraph | Heading | CodeBlock | Quote | Table | Rule) -> JsonObject:
    match block:
        case Paragraph(spans):
            return {"type": "paragraph", "text": _text(spans)}
        case Heading(level, spans):
            return {"type": "heading", "text": _text(spans), "size": level}
        case CodeBlock(language, text):
            named: JsonObject = {"language": language} if language else {}
            return {"type": "pre", "text": text} | named
        case Quote(inner):
            return {"type": "blockquote", "blocks": _blocks(inner)}
        case Table(header, rows):
            return {"type": "table", "cells": _cells(header, rows), "is_bordered": True}
        case Rule():
            return {"type": "divider"}


def _item(item: ListItem) -> JsonObject:
    body: JsonObject = {"blocks": _blocks(item.blocks) or [{"type": "paragraph", "text": ""}]}
    if item.number is not None:
        body |= {"value": item.number, "type": "1"}
    return body


def _cells(header: Sequence[Spans], rows: Sequence[Sequence[Spans]]) -> JsonValue:
    lines: list[JsonValue] = [[_cell(title) | {"is_header": True} for title in header]] if any(header) else []
    lines += [[_cell(cell) for cell in row] for row in rows]
    return lines


def _cell(spans: Spans) -> JsonObject:
    return {"align": "left", "valign": "top", "text": _text(spans)}


def _text(spans: Spans) -> JsonValue:
    """Return one span as a string or a nested object, several as a list."""
    pieces = [_span(span) for span in spans]
    return pieces[0] if len(pieces) == 1 else pieces or ""


def _span(span: Span) -> JsonValue:
    text: JsonValue = span.text if span.style & Style.CODE else without_mentions(span.text)
    for bit, name in _STYLES:
        if span.style & bit:
            text = {"type": name, "text": text}
    return {"type": "url", "text": text, "url": span.link} if span.link is not None else text
