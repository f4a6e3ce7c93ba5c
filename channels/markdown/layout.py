"""The tree as lines of text, with marks for styled ranges.

Platforms that style text by ranges (Telegram) and plain text share it. It handles bullets, indentation, tables and the
nesting of marks; platforms' names, units and limits are in their adapters. Offsets count code points.
"""

import unicodedata
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import NamedTuple

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
    text_of,
)

TABLE_WIDTH = 42  # columns a phone shows in one line of monospace
TITLE_CHARS = 40  # longer column titles are shown once, not before each cell
TAB = 4  # columns; Telegram would show a tab as one space
RULE = "──────────"
BULLETS = ("•", "◦", "▪")


class Look(StrEnum):
    """The style of a marked range."""

    BOLD = "bold"
    ITALIC = "italic"
    STRIKE = "strike"
    CODE = "code"
    LINK = "link"
    CODE_BLOCK = "code_block"
    QUOTE = "quote"


class Mark(NamedTuple):
    """A non-empty range of the text. Two marks are disjoint, or one contains the other."""

    start: int  # code points
    end: int
    look: Look
    detail: str = ""  # a link's URL, a code block's language


class Laid(NamedTuple):
    """A tree laid out as text."""

    text: str
    marks: list[Mark]  # unordered; CODE and CODE_BLOCK contain no marks, QUOTE is never inside another


def lay_out(blocks: Iterable[Block]) -> Laid:
    """Return the blocks as text and marks, separated by blank lines."""
    writer = _Writer()
    writer.blocks(blocks, "", "\n\n")
    return Laid("".join(writer.pieces), writer.marks)


def plain_text(blocks: Iterable[Block]) -> str:
    """Return the blocks as plain text."""
    return lay_out(blocks).text.strip()


def table_columns(table: Table) -> str | None:
    """Return a table as aligned columns; None if it is too wide for a phone or has links, which columns cannot show."""
    rows = [table.header, *table.rows]
    if any(span.link for row in rows for cell in row for span in cell):
        return None
    texts = [[text_of(cell).replace("\n", " ") for cell in row] for row in rows]
    widths = [max(map(_width, column)) for column in zip(*texts, strict=True)]
    if sum(widths) + 3 * (len(widths) - 1) > TABLE_WIDTH:
        return None
    lines = [
        " | ".join([cell + " " * (width - _width(cell)) for cell, width in zip(row, widths, strict=True)]).rstrip()
        for row in texts
    ]
    if any(texts[0]):
        lines.insert(1, "-+-".join(["-" * width for width in widths]))
    else:
        del lines[0]
    return "\n".join(lines)


def rows_as_paragraphs(table: Table) -> tuple[Paragraph, ...]:
    """Return a wide table as paragraphs: one for each row, a line for each cell after its column's title.

    Long titles are shown once above, not before every cell.
    """
    heading = Paragraph(_join(table.header, " | "))
    if not table.rows:
        return (heading,)
    titles = [text_of(title) for title in table.header]
    are_short = max(map(len, titles)) <= TITLE_CHARS
    paragraphs = [] if are_short else [heading]
    for row in table.rows:
        lines = [
            (Span(f"{title}: ", Style.BOLD), *cell) if title and are_short else cell
            for title, cell in zip(titles, row, strict=True)
            if cell
        ]
        if lines:
            paragraphs.append(Paragraph(_join(lines, "\n")))
    return tuple(paragraphs)


_LOOKS = ((Style.BOLD, Look.BOLD), (Style.ITALIC, Look.ITALIC), (Style.STRIKE, Look.STRIKE))


class _Writer:
    """A collector of text and marks in reading order."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.marks: list[Mark] = []
        self._at = 0
        self._quotes = 0  # depth of quotes
        self._lists = 0  # depth of lists

    def blocks(self, blocks: Iterable[Block], indent: str, between: str) -> None:
        """Write blocks; `indent` begins each new line, `between` separates two blocks."""
        for index, block in enumerate(blocks):
            if index:
                self._say(between)
            self._block(block, indent, between)

    def _block(self, block: Block, indent: str, between: str) -> None:
        match block:
            case Paragraph(spans):
                self._spans(spans, indent)
            case Heading(_, spans):
                self._spans(spans, indent, Style.BOLD)
            case CodeBlock(language, text):
                self._say_marked(text.expandtabs(TAB) if "\t" in text else text, Look.CODE_BLOCK, language)
            case ListBlock(items):
                self._list(items, indent)
            case Quote(inner):
                self._quote(inner, indent)
            case Table():
                self._table(block, indent, between)
            case Rule():
                self._say(RULE)

    def _say(self, text: str) -> None:
        self.pieces.append(text)
        self._at += len(text)

    def _say_marked(self, text: str, look: Look, detail: str) -> None:
        start = self._at
        self._say(text)
        self._mark(start, look, detail)

    def _mark(self, start: int, look: Look, detail: str = "") -> None:
        if start < self._at:
            self.marks.append(Mark(start, self._at, look, detail))

    def _spans(self, spans: Spans, indent: str, extra: int = 0) -> None:
        if extra == 0 and len(spans) == 1 and spans[0].style == 0 and spans[0].link is None:
            self._say(_indent(spans[0].text, indent))
            return
        current: list[tuple[int, Look, str]] = []  # open marks, outermost first
        for span in spans:
            wanted = _looks(span, extra)
            kept = 0
            while kept < len(current) and current[kept][1:] in wanted:
                kept += 1
            self._end(current, kept)
            begun = [mark[1:] for mark in current]
            current += [(self._at, *look) for look in wanted if look not in begun]
            self._say(_indent(span.text, indent))
        self._end(current, 0)

    def _end(self, current: list[tuple[int, Look, str]], kept: int) -> None:
        for start, look, detail in current[kept:]:
            self._mark(start, look, detail)
        del current[kept:]

    def _list(self, items: Sequence[ListItem], indent: str) -> None:
        bullet = BULLETS[min(self._lists, len(BULLETS) - 1)]
        self._lists += 1
        for index, item in enumerate(items):
            if index:
                self._say("\n" + indent)
            marker = f"{bullet} " if item.number is None else f"{item.number}. "
            inner = indent + " " * len(marker)
            if not item.continued:
                self._say(marker)
                if item.blocks and not isinstance(item.blocks[0], Paragraph | Heading):
                    self._say("\n" + inner)
            self.blocks(item.blocks, inner, "\n" + inner)
        self._lists -= 1

    def _quote(self, blocks: Sequence[Block], indent: str) -> None:
        """Mark the outermost quote; a quote inside it gets `>` before its lines."""
        self._quotes += 1
        start = self._at
        if self._quotes > 1:
            self._say("> ")
            indent += "> "
        self.blocks(blocks, indent, f"\n{indent.rstrip()}\n{indent}")
        self._quotes -= 1
        if self._quotes == 0:
            self._mark(start, Look.QUOTE)

    def _table(self, table: Table, indent: str, between: str) -> None:
        columns = table_columns(table)
        if columns is not None:
            self._say_marked(columns, Look.CODE_BLOCK, "")
        else:
            self.blocks(rows_as_paragraphs(table), indent, between)


def _looks(span: Span, extra: int) -> list[tuple[Look, str]]:
    """Return the marks of a span: code excludes other styles, except that a link stays a link."""
    if span.link is not None:
        looks = [(Look.LINK, span.link)]
    elif span.style & Style.CODE:
        return [(Look.CODE, "")]
    else:
        looks = []
    style = span.style | extra
    return looks + [(look, "") for bit, look in _LOOKS if style & bit]


def _indent(text: str, indent: str) -> str:
    return text.replace("\n", "\n" + indent) if indent and "\n" in text else text


def _join(groups: Iterable[Spans], between: str) -> Spans:
    spans: list[Span] = []
    for group in groups:
        if spans:
            spans.append(Span(between))
        spans.extend(group)
    return tuple(spans)


def _width(text: str) -> int:
    """Return the columns of a text in monospace: two for wide characters and emoji, none for combining ones."""
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.category(char) in ("Mn", "Me", "Cf") else _char_width(char) for char in text)


def _char_width(char: str) -> int:
    return 2 if unicodedata.east_asian_width(char) in ("W", "F") else 1
