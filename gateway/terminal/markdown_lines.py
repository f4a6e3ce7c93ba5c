"""The Markdown tree as lines of a terminal, within its width; pure.

A block is laid out once for each width, so that of a growing answer only the last block is laid out again.
"""

from collections.abc import Sequence
from functools import lru_cache

from channels.markdown.layout import BULLETS, rows_as_paragraphs
from channels.markdown.tree import (
    Block,
    CodeBlock,
    Heading,
    ListBlock,
    ListItem,
    Paragraph,
    Quote,
    Rule,
    Spans,
    Style,
    Table,
)
from gateway.terminal.styled_lines import DIM, Line, Piece, columns_of_line, to_piece, wrap

CODE, QUOTE, LINK = "class:code", "class:quote", "class:link"
MIN_CELL = 4  # columns of a table's narrowest cell
MAX_RULE = 70  # columns
BETWEEN: Piece = (DIM, " │ ")

_LOOKS = ((Style.BOLD, "bold"), (Style.ITALIC, "italic"), (Style.STRIKE, "strike"), (Style.CODE, CODE))


def document_lines(blocks: Sequence[Block], columns: int) -> list[Line]:
    """Return the lines of a message, its blocks separated by an empty one."""
    lines: list[Line] = []
    for block in blocks:
        lines += ([[]] if lines else []) + list(block_lines(block, max(1, columns)))
    return lines


@lru_cache(maxsize=512)
def block_lines(block: Block, columns: int, depth: int = 0) -> tuple[Line, ...]:
    """Return the lines of a block; `depth` is that of the lists around it."""
    match block:
        case Paragraph(spans):
            return tuple(wrap(_pieces(spans), columns))
        case Heading(level, spans):
            return _heading(level, spans, columns)
        case CodeBlock(language, text):
            return _code(language, text, columns)
        case ListBlock(items):
            return tuple(line for item in items for line in _item(item, columns, depth))
        case Quote(inner):
            return tuple([(QUOTE, "▌ "), *_restyle(line, QUOTE)] for line in document_lines(inner, columns - 2))
        case Table():
            return _table(block, columns)
        case Rule():
            return ([(DIM, "─" * min(columns, MAX_RULE))],)


def _pieces(spans: Spans, extra: str = "") -> list[Piece]:
    """Return the pieces of inline text; the address of a link follows its words."""
    pieces: list[Piece] = []
    for index, span in enumerate(spans):
        looks = [extra, *(look for bit, look in _LOOKS if span.style & bit), *([LINK] if span.link else [])]
        pieces.append(to_piece(span.text, " ".join(filter(None, looks))))
        link_ends = span.link and (index + 1 == len(spans) or spans[index + 1].link != span.link)
        if span.link and link_ends and span.text.strip() not in {span.link, span.link.partition("://")[2]}:
            pieces.append(to_piece(f" ({span.link})", DIM))
    return pieces


def _heading(level: int, spans: Spans, columns: int) -> tuple[Line, ...]:
    lines = wrap(_pieces(spans, "bold"), columns)
    if level > 2:
        return tuple(lines)
    width = min(max(map(columns_of_line, lines)), MAX_RULE)
    return (*lines, [("bold", ("═" if level == 1 else "─") * width)])


def _code(language: str, text: str, columns: int) -> tuple[Line, ...]:
    bar: Line = [(DIM, "│ ")]
    label = [[(DIM, "╭─ "), to_piece(language, DIM)]] if language else []
    room = max(1, columns - columns_of_line(bar))
    rows = [row for line in text.split("\n") for row in _break_code(to_piece(line, CODE), room)]
    return (*label, *([*bar, *row] for row in rows))


def _break_code(piece: Piece, columns: int) -> list[Line]:
    """Return a line of code in rows; its white space stays."""
    style, text = piece
    rows: list[Line] = [[(style, "")]]
    used = 0
    for char in text:
        width = columns_of_line([("", char)])
        if used + width > columns and used:
            rows.append([(style, "")])
            used = 0
        rows[-1][0] = (style, rows[-1][0][1] + char)
        used += width
    return rows


def _item(item: ListItem, columns: int, depth: int) -> list[Line]:
    bullet = BULLETS[min(depth, len(BULLETS) - 1)]
    marker = f"{bullet} " if item.number is None else f"{item.number}. "
    first: Line = [("", " " * len(marker) if item.continued else marker)]
    rest: Line = [("", " " * len(marker))]
    lines = [line for block in item.blocks for line in block_lines(block, max(1, columns - len(marker)), depth + 1)]
    return [[*(rest if index else first), *line] for index, line in enumerate(lines or [[]])]


def _table(table: Table, columns: int) -> tuple[Line, ...]:
    """Return a table in columns if each has room; else its rows one after the other."""
    rows = [[_pieces(cell) for cell in row] for row in (table.header, *table.rows)]
    natural = [max(1, *map(columns_of_line, column)) for column in zip(*rows, strict=True)]
    widths = _fit(natural, columns - len(BETWEEN[1]) * (len(natural) - 1))
    if widths is None:
        return tuple(document_lines(rows_as_paragraphs(table), columns))
    head, *body = (_row(row, widths) for row in rows)
    rule: Line = [(DIM, "─┼─".join("─" * width for width in widths))]
    titles = [*(_restyle(line, "bold") for line in head), rule] if any(rows[0]) else []
    return (*titles, *(line for lines in body for line in lines))


def _restyle(line: Line, style: str) -> Line:
    return [(f"{style} {own}".strip(), text) for own, text in line]


def _fit(natural: Sequence[int], columns: int) -> list[int] | None:
    """Return the widths of a table's columns, the widest narrowed; None if they have no room."""
    if columns < MIN_CELL * len(natural):
        return None
    widths = list(natural)
    while sum(widths) > columns:
        widths[widths.index(max(widths))] -= 1
    return widths


def _row(cells: Sequence[Sequence[Piece]], widths: Sequence[int]) -> list[Line]:
    """Return one row of a table, as many lines as its longest cell needs."""
    wrapped = [wrap(cell, width) for cell, width in zip(cells, widths, strict=True)]
    lines: list[Line] = []
    for number in range(max(map(len, wrapped))):
        line: Line = []
        for column, (cell, width) in enumerate(zip(wrapped, widths, strict=True)):
            part = cell[number] if number < len(cell) else []
            line += ([BETWEEN] if column else []) + part + [("", " " * (width - columns_of_line(part)))]
        lines.append(line)
    return lines
