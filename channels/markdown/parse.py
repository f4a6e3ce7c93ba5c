"""The parser of Markdown to the tree of `channels.markdown.tree`; unreadable parts stay text.

The grammar is CommonMark with tables and strikethrough, parsed by markdown-it-py, without raw HTML and link
definitions, which stay visible text. Work is bounded: text with too many blocks or too deep nesting becomes plain
paragraphs, and inline markup beyond a limit becomes plain text.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise

from markdown_it import MarkdownIt
from markdown_it.token import Token

from channels.markdown.inline import SYNTAX, plain_spans, read_spans
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
    Table,
    clean,
)

MAX_BLOCKS = 12_000  # in one text; a line counts 3, so does each further marker of a line; a cell counts 1
MAX_MARKUP = 12_000  # inline markup characters in one text
MAX_NESTING = 40  # levels as markdown-it counts them: two for a quote, four for a list

_SYNTAX = re.compile(SYNTAX + r"|\|" + r"|^[ \t]*(?:[-+>#=]|\d{1,9}[.)])|^(?: {4}| {0,3}\t)", re.MULTILINE)
_MARKUP = re.compile(r"[*_`~\[\]!<&\\\n]")
_MARKERS = re.compile(r"^[ \t]*+((?:(?:[-+*]|\d{1,9}[.)])[ \t]++|>[ \t]*+){2,})", re.MULTILINE)
_DASHES = r"[ \t]*+:?+-++:?+[ \t]*+"
_ROW_OF_DASHES = re.compile(rf"^[ \t>]*+\|?+{_DASHES}(?:\|{_DASHES})*+\|?+[ \t]*+$", re.MULTILINE)
_BLANK_LINES = re.compile(r"\n(?:[ \t]*\n)+")
_LANGUAGE = re.compile(r"[\w+#.-]{1,32}\Z")
_CELL_END = re.compile(r"(?<!\\)\|")

_NOTHING = Paragraph(())

Placed = tuple[int, Block]
"""(offset, block)."""


def parse(text: str) -> tuple[Block, ...]:
    """Return the blocks of a Markdown text in order; () if nothing is visible."""
    return tuple([block for _, block in parse_placed(text)])


def parse_placed(text: str) -> list[Placed]:
    """Parse as `parse` does, and return each block with its offset in the cleaned text.

    The text from any such offset parses by itself.
    """
    text = clean(text)
    if _SYNTAX.search(text) is None:
        return _plain_blocks(text)
    if 3 * len(text) > MAX_BLOCKS and blocks_in(text) > MAX_BLOCKS:
        return _plain_blocks(text)
    tokens = _parser().parse(text)
    if any(token.level >= MAX_NESTING - 1 for token in tokens):  # the parser drops deeper levels
        return _plain_blocks(text)
    return _to_placed_blocks(_Reader(tokens, text).lines_and_blocks(), text) or _plain_blocks(text)


def _to_placed_blocks(blocks: Sequence[tuple[int, Block]], text: str) -> list[Placed]:
    """Convert ascending line numbers to offsets in the text."""
    placed = []
    at = line = 0
    for number, block in blocks:
        while line < number:
            at = text.index("\n", at) + 1
            line += 1
        placed.append((at, block))
    return placed


def blocks_in(text: str) -> int:
    """Return an upper bound of the cost of a text's blocks, see `MAX_BLOCKS`, in linear time."""
    markers = sum(len("".join(found[1].split())) - 1 for found in _MARKERS.finditer(text))
    return 3 * (text.count("\n") + markers) + (_cells_in(text) if "|" in text else 0)


def _cells_in(text: str) -> int:
    """Return the number of table cells, including those that the parser adds to short rows."""
    cells = columns = begin = end = 0
    for found in _ROW_OF_DASHES.finditer(text):
        if found.start() >= end:
            cells += columns * text.count("\n", begin, end)
            begin, columns = found.start(), 0
            end = text.find("\n\n", begin)
            end = len(text) if end < 0 else end
        columns = max(columns, found[0].count("|"))
    return cells + columns * text.count("\n", begin, end)


def _plain_blocks(text: str) -> list[Placed]:
    if "\n" not in text:
        return [(0, Paragraph((Span(text.strip()),)))] if text and not text.isspace() else []
    pieces = []
    at = 0
    for gap in _BLANK_LINES.finditer(text):
        pieces.append((at, text[at : gap.start()]))
        at = gap.end()
    pieces.append((at, text[at:]))
    seen = [(begin, piece) for begin, piece in pieces if piece and not piece.isspace()]
    return [(begin, Paragraph((Span(piece.strip("\n").rstrip()),))) for begin, piece in seen]


class _AsWritten(MarkdownIt):
    """A parser that keeps a link's destination as written; `channels.markdown.inline` checks it."""

    def normalizeLink(self, url: str) -> str:  # noqa: N802  markdown-it's name
        return url

    def normalizeLinkText(self, link: str) -> str:  # noqa: N802  markdown-it's name
        return link

    def validateLink(self, url: str) -> bool:  # noqa: N802  markdown-it's name
        return True


@cache
def _parser() -> MarkdownIt:
    """Return a parser of block syntax alone; `read_spans` reads the text inside a block."""
    parser = _AsWritten("commonmark", {"html": False, "maxNesting": MAX_NESTING})
    parser.enable(["table", "strikethrough"])
    parser.disable(["reference", "html_block", "html_inline"])
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser


class _Reader:
    """A converter of the flat list of block tokens to a tree."""

    def __init__(self, tokens: "Sequence[Token]", text: str) -> None:
        self._tokens: Iterator[Token] = iter(tokens)
        self._markup_left = MAX_MARKUP
        self._lines = text.split("\n") if "|" in text else []

    def lines_and_blocks(self) -> list[tuple[int, Block]]:
        """Return all non-empty blocks with the numbers of their first lines."""
        found = []
        for token in self._tokens:
            block = self._block(token)
            if token.map and not _is_empty(block):
                found.append((token.map[0], block))
        return found

    def blocks(self, end: str) -> tuple[Block, ...]:
        """Return the non-empty blocks up to the token of type `end`."""
        blocks: list[Block] = []
        for token in self._tokens:
            if token.type == end:
                break
            block = self._block(token)
            if not _is_empty(block):
                blocks.append(block)
        return tuple(blocks)

    def _block(self, token: "Token") -> Block:
        match token.type:
            case "paragraph_open":
                return Paragraph(self._spans())
            case "heading_open":
                return Heading(int(token.tag[1:]), self._spans())
            case "fence" | "code_block":
                return _code_block(token)
            case "bullet_list_open" | "ordered_list_open":
                return self._list(token.type.replace("open", "close"))
            case "blockquote_open":
                return Quote(self.blocks("blockquote_close"))
            case "table_open":
                return self._table()
            case "hr":
                return Rule()
        return _NOTHING  # the closing token of a block

    def _spans(self) -> Spans:
        return self._read(next(self._tokens).content)

    def _read(self, content: str) -> Spans:
        """Return the spans of inline text; plain text if its markup exceeds the limit."""
        cost = len(_MARKUP.findall(content))
        if cost > self._markup_left:
            return plain_spans(content)
        self._markup_left -= cost
        return read_spans(content, _parser())

    def _list(self, end: str) -> ListBlock:
        numbers: list[int] = []
        contents: list[tuple[Block, ...]] = []
        for token in self._tokens:
            if token.type == end:
                break
            if token.info:
                numbers.append(int(token.info))
            contents.append(self.blocks("list_item_close"))
        if not numbers:
            return ListBlock(tuple([ListItem(blocks) for blocks in contents]))
        if any(after <= before for before, after in pairwise(numbers)):
            numbers = list(range(numbers[0], numbers[0] + len(contents)))  # "1. 1. 1." counts up
        return ListBlock(tuple([ListItem(blocks, number) for blocks, number in zip(contents, numbers, strict=True)]))

    def _table(self) -> Table:
        rows: list[tuple[Spans, ...]] = []
        cells: list[str] = []
        line = 0
        for token in self._tokens:
            match token.type:
                case "tr_open":
                    cells = []
                    line = token.map[0] if token.map else 0
                case "inline":
                    cells.append(token.content)
                case "tr_close":
                    cells[-1] += self._surplus(line, len(cells))
                    rows.append(tuple([self._read(cell) for cell in cells]))
                case "table_close":
                    break
        return Table(rows[0], tuple(rows[1:]))

    def _surplus(self, line: int, columns: int) -> str:
        """Return a row's text beyond the last column, which the parser drops."""
        cells = _CELL_END.split(self._lines[line].strip(" \t>"))
        if cells and not cells[0]:
            cells.pop(0)
        return "".join([" | " + cell.strip() for cell in cells[columns:] if cell.strip()])


def _is_empty(block: Block) -> bool:
    match block:
        case Paragraph(spans=()) | Heading(spans=()) | CodeBlock(text="") | Quote(blocks=()):
            return True
    return False


def _code_block(token: "Token") -> CodeBlock:
    language, _, rest = token.info.strip().partition(" ")
    text = token.content.rstrip("\n")
    if language and not _LANGUAGE.match(language):
        language, rest = "", token.info.strip()
    return CodeBlock(language, f"{rest}\n{text}".rstrip("\n") if rest else text)
