"""Cutting of Markdown blocks: takes as many blocks as a part has room for, cutting where it disturbs a reader least.

Pure and independent of platforms: a `Room` measures text by rendering it. Nothing is lost; both halves of a cut table
have its header, both halves of cut code have fences.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import TypeVar

from agent.wellformed import unicode_pattern
from channels.markdown.layout import plain_text, rows_as_paragraphs
from channels.markdown.tree import (
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

_SENTENCE_END = r"""(?<![.!?…])[.!?…]++["'”’»)\]*_]*+(?=\s)|[。！？]++[」』”’)]*+"""
_NO_SENTENCE_END = r"(?:^|[\s(])(?:\p{L}|Dr|Mrs?|Ms|Prof|St|vs|etc|ca|bzw|Nr|No|[ezdu]\.\p{L})\.$"
_WORD_END = r"\s+"
_GRAPHEME = r"[\U0001f1e6-\U0001f1ff]{2}[\p{GCB=Extend}\p{GCB=SpacingMark}\u200d]*+|\X"
"""A flag counts as a match of its own: otherwise the second pattern rereads a long row of flags for each of them."""
EVEN_GUESSES = 4
LOOK_AHEAD = 64  # characters after the cut that decide if it splits a grapheme


def cut_before(text: str, most: int, whole: Sequence[tuple[int, int]] = (), *, parts_words: bool = True) -> int:
    """Return the best place to cut `text` at or before `most`: after a line, a sentence, a word or a character.

    A coarser boundary wins if it leaves enough of `most` before it. `whole` are ranges not to cut inside if another
    place is found. Return 0 if only a word could be cut and `parts_words` is false.
    """
    if most >= len(text):
        return len(text)
    kinds = ((_line_ends, most // 2, whole), (_sentence_ends, most // 2, whole), (_word_ends, most // 4, whole))
    for ends, least, kept in (*kinds, (_word_ends, most // 4, ())):
        found = [end for end in ends(text, least, most) if end > least and not _inside(end, kept)]
        if found:
            return found[-1]
    return _character_end(text, most) if parts_words else 0


def _line_ends(text: str, least: int, most: int) -> Iterator[int]:
    end = text.find("\n", least, most + 1)
    while end >= 0:
        yield end
        end = text.find("\n", end + 1, most + 1)


def _sentence_ends(text: str, least: int, most: int) -> Iterator[int]:
    for found in unicode_pattern(_SENTENCE_END).finditer(text, least, most + 1):
        abbreviated = unicode_pattern(_NO_SENTENCE_END).search(text, max(0, found.end() - 8), found.end())
        if found.end() <= most and not abbreviated:
            yield found.end()


def _word_ends(text: str, least: int, most: int) -> Iterator[int]:
    for found in unicode_pattern(_WORD_END).finditer(text, least, most + 1):
        if found.start() <= most:
            yield found.start()


def _character_end(text: str, most: int) -> int:
    end = 0
    for found in unicode_pattern(_GRAPHEME).finditer(text, 0, most + LOOK_AHEAD):
        if found.end() > most:
            break
        end = found.end()
    return end or most  # a grapheme of a thousand accents is cut through


def _inside(place: int, ranges: Sequence[tuple[int, int]]) -> bool:
    index = bisect_right(ranges, place, key=lambda bounds: bounds[0]) - 1
    return index >= 0 and ranges[index][0] < place < ranges[index][1]


def longest(upper: int, size: Callable[[int], int], limit: int, *, slack: int = 0, guess: int | None = None) -> int:
    """Return the largest n of 0..`upper` with `size(n)` within `limit`, or at most `slack` below it.

    `size` must not shrink as n grows. It renders, so it is called seldom: guesses, of which `guess` is the first,
    suppose even growth; after a few tries the search halves the range.
    """
    low, high = 0, upper + 1
    empty = size(0)
    probe = min(upper, max(limit - empty if guess is None else guess, 1))
    for tries in count():
        if not low < probe < high:
            return low
        now = size(probe)
        if now > limit:
            high = probe
        elif limit - now <= slack:
            return probe
        else:
            low = probe
        even = probe * (limit - empty) // max(now - empty, 1) if tries < EVEN_GUESSES else (low + high) // 2
        probe = min(max(even, low + 1), high - 1)
    raise AssertionError  # count() has no end


T = TypeVar("T")

Blocks = tuple[Block, ...]
Cut = tuple[Blocks, Blocks]  # blocks of this part, () if none fits; remaining blocks

WHOLE_CHARS = 200  # links and inline code up to this length are not cut
MOVED = 3  # headings and announcements at a part's end that move to the next part
SPARE = 2  # how many times a part's room is examined of blocks to be cut: only blanks may vanish
INTRO_CHARS = 200  # a line up to this long that ends in a colon stays with what follows


@dataclass(frozen=True, slots=True)
class Room:
    """Room of one part at the place where blocks are to be added."""

    limit: int  # of the whole part
    size: Callable[[Blocks], int]  # of the part with these blocks added
    size_alone: Callable[[Blocks], int]  # of a part with only these blocks

    @property
    def is_fresh(self) -> bool:
        """Return True if the part is nearly empty, so that another part would have no more room."""
        return self.size(()) < self.limit // 3

    def after(self, head: Blocks) -> "Room":
        """Return the room after `head`."""
        return Room(self.limit, lambda blocks: self.size((*head, *blocks)), self.size_alone)

    def inside(self, wrap: Callable[[Blocks], Block]) -> "Room":
        """Return the room inside a block made by `wrap`; the block counts even if empty."""
        return Room(self.limit, lambda blocks: self.size((wrap(blocks),)), self.size_alone)


def take(blocks: Blocks, room: Room) -> Cut:
    """Return as many of `blocks` as fit, and the rest; headings and announcing lines stay with what follows."""
    fitting = _fitting(blocks, weight, room, lambda count: room.size(blocks[:count]))
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
    """Return True if the part would stay rather empty without a piece of the block."""
    if used < room.limit // 3:
        return True
    if used >= room.limit * 2 // 3:
        return False
    return weight(block, room.limit) > room.limit or room.size_alone((block,)) > room.limit


def cut_block(block: Block, room: Room) -> Cut:
    """Return the piece of one block that fits, and the rest; () and the block if no piece fits."""
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
    """Cut at least a character, as plain text, off a block that cannot be cut otherwise."""
    text = plain_text((block,))
    most = longest(len(text), lambda count: room.size((Paragraph((Span(text[:count]),)),)), room.limit) or 1
    end = cut_before(text, most) or most
    rest = text[end:].strip()
    return (Paragraph((Span(text[:end]),)),), ((Paragraph((Span(rest),)),) if rest else ())


def _cut_spans(spans: Spans, room: Room, made: Callable[[Spans], Block]) -> Cut:
    spans, behind = _split_spans(spans, SPARE * room.limit + LOOK_AHEAD)
    text = text_of(spans)

    def size(count: int) -> int:
        return room.size((made(_split_spans(spans, count)[0]),) if count else ())

    most = _most_chars(text, size, room, is_all=not behind)
    end = cut_before(text, most, _whole_ranges(spans), parts_words=room.is_fresh) if most else 0
    if end == 0:
        return (), (made(_join_spans(spans, behind)),)
    begin = len(text) - len(text[end:].lstrip())
    head = _split_spans(spans, len(text[:end].rstrip()))[0]
    rest = _join_spans(_split_spans(spans, begin)[1], behind)
    return ((made(head),) if head else ()), ((made(rest),) if rest else ())


def _most_chars(text: str, size: Callable[[int], int], room: Room, *, is_all: bool) -> int:
    """Return how many characters fit; if the text goes on, fewer than all, so that the text after the cut is known."""
    upper = len(text) if is_all else len(text) - LOOK_AHEAD
    return longest(upper, size, room.limit, slack=room.limit // 64)


def _split_spans(spans: Spans, place: int) -> tuple[Spans, Spans]:
    """Split spans at the character `place`."""
    at = 0
    for index, span in enumerate(spans):
        begun, at = at, at + len(span.text)
        if at == place:
            return spans[: index + 1], spans[index + 1 :]
        if at > place:
            before, after = span.text[: place - begun], span.text[place - begun :]
            head = (*spans[:index], replace(span, text=before)) if before else spans[:index]
            return head, (replace(span, text=after), *spans[index + 1 :])
    return spans, ()


def _join_spans(before: Spans, behind: Spans) -> Spans:
    """Join spans that `_split_spans` took apart; a run of one style becomes one span again."""
    if before and behind and replace(before[-1], text=behind[0].text) == behind[0]:
        return (*before[:-1], replace(behind[0], text=before[-1].text + behind[0].text), *behind[1:])
    return before + behind


def _whole_ranges(spans: Spans) -> list[tuple[int, int]]:
    """Return the ranges of short links and inline code."""
    ranges = []
    at = 0
    for span in spans:
        if (span.link or span.style & Style.CODE) and len(span.text) <= WHOLE_CHARS:
            ranges.append((at, at + len(span.text)))
        at += len(span.text)
    return ranges


def _cut_code(code: CodeBlock, room: Room) -> Cut:
    """Cut code into two blocks of the same language; an indentation stays with its line."""
    text = code.text[: SPARE * room.limit + LOOK_AHEAD]

    def size(count: int) -> int:
        return room.size((replace(code, text=text[:count]),) if count else ())

    most = _most_chars(text, size, room, is_all=len(text) == len(code.text))
    end = cut_before(text, most, parts_words=room.is_fresh) if most else 0
    if end == 0:
        return (), (code,)
    head, rest = text[:end], code.text[end:].removeprefix("\n")
    return (replace(code, text=head),), ((replace(code, text=rest),) if rest and not rest.isspace() else ())


def _cut_list(items: tuple[ListItem, ...], room: Room) -> Cut:
    def size(count: int) -> int:
        return room.size((ListBlock(items[:count]),) if count else ())

    fitting = _fitting(items, lambda item, most: weight(ListBlock((item,)), most), room, size)
    head, rest = items[:fitting], items[fitting:]
    if rest and _is_worth_cutting(ListBlock(rest[:1]), size(fitting), room):
        inner = room.inside(lambda blocks: ListBlock((*head, replace(rest[0], blocks=blocks))))
        piece, left = take(rest[0].blocks, inner)
        if piece:
            head = (*head, replace(rest[0], blocks=piece))
            rest = (*((replace(rest[0], blocks=left, continued=True),) if left else ()), *rest[1:])
    return ((ListBlock(head),) if head else ()), ((ListBlock(rest),) if rest else ())


def _cut_table(table: Table, room: Room) -> Cut:
    """Cut between two rows and repeat the header; a row too long for any part becomes paragraphs."""
    if not table.rows or room.size_alone((replace(table, rows=table.rows[:1]),)) > room.limit:
        return take(rows_as_paragraphs(table), room)

    def size(count: int) -> int:
        return room.size((replace(table, rows=table.rows[:count]),) if count else ())

    fitting = _fitting(table.rows, _weight_of_row, room, size)
    head, rest = table.rows[:fitting], table.rows[fitting:]
    return ((replace(table, rows=head),) if head else ()), ((replace(table, rows=rest),) if rest else ())


def _fitting(things: Sequence[T], weigh: Callable[[T, int], int], room: Room, size: Callable[[int], int]) -> int:
    """Return how many of the first things fit; render only as many as may fit by their weight."""
    most, total, guess, upper = SPARE * room.limit, 0, 0, 0
    for thing in things:
        total += weigh(thing, most)
        if total > most:
            break
        upper += 1
        if total <= room.limit:
            guess = upper
    return longest(upper, size, room.limit, guess=guess)


def weight(block: Block, most: int) -> int:
    """Return roughly how many characters a block has, with separators; count little beyond `most`."""
    match block:
        case Paragraph(spans) | Heading(_, spans):
            return _sum([len(span.text) for span in spans[:most]], most)
        case CodeBlock(_, text):
            return 1 + len(text)
        case ListBlock(items):
            return _sum((_sum((weight(inner, most) for inner in item.blocks), most) for item in items), most)
        case Quote(inner):
            return _sum((weight(nested, most) for nested in inner), most)
        case Table(header, rows):
            return _sum((_weight_of_row(row, most) for row in (header, *rows[:most])), most)
    return 1


def _weight_of_row(row: Sequence[Spans], most: int) -> int:
    return _sum((sum([len(span.text) for span in cell]) + 1 for cell in row), most)


def _sum(weights: Iterable[int], most: int) -> int:
    total = 2
    for weighed in weights:
        total += weighed
        if total > most:
            break
    return total
