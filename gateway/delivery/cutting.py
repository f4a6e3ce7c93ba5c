"""Takes from the front of a tree as much as a part has room for, cutting blocks where a reader minds least.

Pure, and blind to platforms: how long something is, a `Room` says, by rendering it. Nothing a block says is lost: what
is taken and what is left say together what was there, titles of a cut table and fences of cut code twice.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from channels.layout import plain_text, rows_as_paragraphs
from channels.markdown import (
    Block,
    CodeBlock,
    Heading,
    ListBlock,
    ListItem,
    Paragraph,
    Quote,
    Span,
    Spans,
    Style,
    Table,
    text_of,
)
from gateway.delivery.boundaries import cut_before, longest

Blocks = tuple[Block, ...]
Cut = tuple[Blocks, Blocks]  # what goes into this part, () when nothing can; what is left

WHOLE_CHARS = 200  # a link or code in a line up to this long is not cut through
MOVED = 3  # headings and announcements at a part's end that go with what follows
INTRO_CHARS = 200  # a line up to this long that ends in a colon stays with what it announces


@dataclass(frozen=True, slots=True)
class Room:
    """The room of one part, seen from the place where blocks are to be put."""

    limit: int  # of the part as a whole
    size: Callable[[Blocks], int]  # of the part, were these blocks to be put here
    size_alone: Callable[[Blocks], int]  # of a part of nothing but these

    @property
    def is_fresh(self) -> bool:
        """Whether the part has hardly anything yet, so that another part would have no more room."""
        return self.size(()) < self.limit // 3

    def after(self, head: Blocks) -> "Room":
        """The place behind `head`."""
        return Room(self.limit, lambda blocks: self.size((*head, *blocks)), self.size_alone)

    def inside(self, wrap: Callable[[Blocks], Block]) -> "Room":
        """The place inside a block made by `wrap`; without anything inside, that block is there too."""
        return Room(self.limit, lambda blocks: self.size((wrap(blocks),)), self.size_alone)


def take(blocks: Blocks, room: Room) -> Cut:
    """As many of `blocks` as fit, and the rest; a heading or a line that announces something goes with what follows."""
    fitting = longest(len(blocks), lambda count: room.size(blocks[:count]), room.limit)
    head, rest = blocks[:fitting], blocks[fitting:]
    if not rest:
        return head, rest
    if _is_worth_cutting(rest[0], room.size(head), room):
        piece, left = cut_block(rest[0], room.after(head))
        if piece:
            return (*head, *piece), (*left, *rest[1:])
    kept = fitting
    while kept > max(1, fitting - MOVED) and _announces(blocks[kept - 1]):
        kept -= 1
    return blocks[:kept], blocks[kept:]


def _announces(block: Block) -> bool:
    if isinstance(block, Paragraph):
        text = text_of(block.spans)
        return len(text) <= INTRO_CHARS and text.endswith(":")
    return isinstance(block, Heading)


def _is_worth_cutting(block: Block, used: int, room: Room) -> bool:
    """Whether the part would stay rather empty without a piece of the block."""
    if used < room.limit // 3:
        return True
    return used < room.limit * 2 // 3 and room.size_alone((block,)) > room.limit


def cut_block(block: Block, room: Room) -> Cut:
    """The part of one block that fits, and the rest; all of it is the rest when no part of it can stand here."""
    match block:
        case Paragraph(spans):
            return _cut_spans(spans, room, Paragraph)
        case Heading(level, spans):
            return _cut_spans(spans, room, lambda cut: Heading(level, cut))
        case CodeBlock():
            return _cut_code(block, room)
        case ListBlock(items):
            return _cut_list(items, room)
        case Quote(inner):
            head, rest = take(inner, room.inside(Quote))
            return ((Quote(head),) if head else ()), ((Quote(rest),) if rest else ())
        case Table():
            return _cut_table(block, room)
    return (), (block,)


def hard_cut(block: Block, room: Room) -> Cut:
    """At least a character of a block that cannot be cut otherwise, as plain text."""
    text = plain_text((block,))
    most = longest(len(text), lambda count: room.size((Paragraph((Span(text[:count]),)),)), room.limit) or 1
    end = cut_before(text, most) or most
    rest = text[end:].strip()
    return (Paragraph((Span(text[:end]),)),), ((Paragraph((Span(rest),)),) if rest else ())


def _cut_spans(spans: Spans, room: Room, made: Callable[[Spans], Block]) -> Cut:
    text = text_of(spans)

    def size(count: int) -> int:
        return room.size((made(_slice(spans, 0, count)),) if count else ())

    most = longest(len(text), size, room.limit, slack=room.limit // 64)
    end = cut_before(text, most, _whole_ranges(spans), parts_words=room.is_fresh) if most else 0
    if end == 0:
        return (), (made(spans),)
    begin = len(text) - len(text[end:].lstrip())
    head, rest = _slice(spans, 0, len(text[:end].rstrip())), _slice(spans, begin, len(text))
    return ((made(head),) if head else ()), ((made(rest),) if rest else ())


def _slice(spans: Spans, begin: int, end: int) -> Spans:
    """The spans of the characters from `begin` to `end`."""
    kept = []
    at = 0
    for span in spans:
        text = span.text[max(begin - at, 0) : max(end - at, 0)]
        if text:
            kept.append(span if len(text) == len(span.text) else replace(span, text=text))
        at += len(span.text)
    return tuple(kept)


def _whole_ranges(spans: Spans) -> list[tuple[int, int]]:
    """Where short links and code in a line are."""
    ranges = []
    at = 0
    for span in spans:
        if (span.link or span.style & Style.CODE) and len(span.text) <= WHOLE_CHARS:
            ranges.append((at, at + len(span.text)))
        at += len(span.text)
    return ranges


def _cut_code(code: CodeBlock, room: Room) -> Cut:
    """Both pieces are code of the same language; an indentation stays with its line."""

    def size(count: int) -> int:
        return room.size((replace(code, text=code.text[:count]),) if count else ())

    most = longest(len(code.text), size, room.limit, slack=room.limit // 64)
    end = cut_before(code.text, most, parts_words=room.is_fresh) if most else 0
    if end == 0:
        return (), (code,)
    head, rest = code.text[:end], code.text[end:].removeprefix("\n")
    return (replace(code, text=head),), ((replace(code, text=rest),) if rest and not rest.isspace() else ())


def _cut_list(items: tuple[ListItem, ...], room: Room) -> Cut:
    def size(count: int) -> int:
        return room.size((ListBlock(items[:count]),) if count else ())

    fitting = longest(len(items), size, room.limit)
    head, rest = items[:fitting], items[fitting:]
    if rest and _is_worth_cutting(ListBlock(rest[:1]), size(fitting), room):
        inner = room.inside(lambda blocks: ListBlock((*head, replace(rest[0], blocks=blocks))))
        piece, left = take(rest[0].blocks, inner)
        if piece:
            head = (*head, replace(rest[0], blocks=piece))
            rest = (*((replace(rest[0], blocks=left, continued=True),) if left else ()), *rest[1:])
    return ((ListBlock(head),) if head else ()), ((ListBlock(rest),) if rest else ())


def _cut_table(table: Table, room: Room) -> Cut:
    """Between two rows, the header over both pieces; a row too long for any part is told cell by cell."""
    if not table.rows or room.size_alone((replace(table, rows=table.rows[:1]),)) > room.limit:
        return take(rows_as_paragraphs(table), room)

    def size(count: int) -> int:
        return room.size((replace(table, rows=table.rows[:count]),) if count else ())

    fitting = longest(len(table.rows), size, room.limit)
    head, rest = table.rows[:fitting], table.rows[fitting:]
    return ((replace(table, rows=head),) if head else ()), ((replace(table, rows=rest),) if rest else ())
