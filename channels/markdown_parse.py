"""Markdown text becomes the tree of `channels.markdown`; whatever cannot be read as Markdown stays as text.

The grammar is CommonMark with tables and strikethrough, read by markdown-it-py, without raw HTML and without link
definitions: both stay visible text, so nothing an answer says can vanish. Work is bounded: text denser in syntax than
any real answer, or nested deeper, is taken as plain paragraphs.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise
from urllib.parse import quote, unquote

from markdown_it import MarkdownIt
from markdown_it.token import Token

from channels.markdown import (
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
    clean,
    text_of,
)

MAX_SYNTAX = 12_000  # syntax characters in one text, a line counts as 3; 0.015 ms each at worst (November 2026)
MAX_BRACKETS = 1_000  # "[" in one run of text; the parser is quadratic in them
MAX_LINK_CHARS = 2_000
MAX_NESTING = 40  # tree levels as markdown-it counts them, two a quote, four a list

_INLINE_SYNTAX = r"[*_`\[\\|]|~~|&[#A-Za-z]|<\S"
_INLINE = re.compile(_INLINE_SYNTAX)
_SYNTAX = re.compile(_INLINE_SYNTAX + r"|^[ \t]*(?:[-+>#=]|\d{1,9}[.)])|^(?: {4}| {0,3}\t)", re.MULTILINE)
_COSTLY = re.compile(r"[*_`~\[\]!<&\\|]")
_BLANK_LINES = re.compile(r"\n(?:[ \t]*\n)+")
_LINK = re.compile(r"(?:https?://[^\s/?#]|mailto:[^\s@]+@[^\s@]).*", re.IGNORECASE | re.DOTALL)
_LINK_BLANKS = re.compile(r"[\s<>\"]")
_INDENT = re.compile(r"[ \t]*\n[ \t]*")
_LANGUAGE = re.compile(r"[\w+#.-]{1,32}\Z")
_CELL_END = re.compile(r"(?<!\\)\|")

_NOTHING = Paragraph(())
_STYLES = {"strong": Style.BOLD, "em": Style.ITALIC, "s": Style.STRIKE}


def parse(text: str) -> tuple[Block, ...]:
    """The blocks `text` says as Markdown, in order; () for text without anything to see."""
    text = clean(text)
    if _SYNTAX.search(text) is None:
        return _plain_blocks(text)
    if 3 * len(text) > MAX_SYNTAX and len(_COSTLY.findall(text)) + 3 * text.count("\n") > MAX_SYNTAX:
        return _plain_blocks(text)
    tokens = _parser().parse(text)
    if any(token.level >= MAX_NESTING - 1 for token in tokens):  # the parser drops what lies deeper
        return _plain_blocks(text)
    return _Reader(tokens, text).blocks() or _plain_blocks(text)


def _plain_blocks(text: str) -> tuple[Block, ...]:
    if not text or text.isspace():
        return ()
    if "\n" not in text:
        return (Paragraph((Span(text.strip()),)),)
    pieces = _BLANK_LINES.split(text.strip("\n").rstrip())
    return tuple([Paragraph((Span(piece.rstrip()),)) for piece in pieces if piece and not piece.isspace()])


class _Markdown(MarkdownIt):
    """Leaves the destination of a link as it was written; `_checked_link` judges it afterwards."""

    def normalizeLink(self, url: str) -> str:  # noqa: N802  markdown-it's name
        return url

    def normalizeLinkText(self, link: str) -> str:  # noqa: N802  markdown-it's name
        return link

    def validateLink(self, url: str) -> bool:  # noqa: N802  markdown-it's name
        return True


@cache
def _parser() -> MarkdownIt:
    """Block syntax alone; text inside a block is read by `_inline`, and only where it has any syntax."""
    parser = _Markdown("commonmark", {"html": False, "maxNesting": MAX_NESTING})
    parser.enable(["table", "strikethrough"])
    parser.disable(["reference", "html_block", "html_inline"])
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser


class _Reader:
    """Reads one flat list of block tokens into a tree."""

    def __init__(self, tokens: Sequence[Token], text: str) -> None:
        self._tokens: Iterator[Token] = iter(tokens)
        self._lines = text.split("\n") if "|" in text else []

    def blocks(self, end: str = "") -> tuple[Block, ...]:
        """The blocks up to the token of type `end`, or all of them; those without content are left out."""
        blocks: list[Block] = []
        for token in self._tokens:
            if token.type == end:
                break
            block = self._block(token)
            if not _is_empty(block):
                blocks.append(block)
        return tuple(blocks)

    def _block(self, token: Token) -> Block:
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
        return _NOTHING  # what closes a block read by now

    def _spans(self) -> Spans:
        return _inline(next(self._tokens).content)

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
            numbers = list(range(numbers[0], numbers[0] + len(contents)))  # "1. 1. 1." counts itself
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
                    rows.append(tuple([_inline(cell) for cell in cells]))
                case "table_close":
                    break
        return Table(rows[0], tuple(rows[1:]))

    def _surplus(self, line: int, columns: int) -> str:
        """What a row says beyond the last column; the parser leaves it out."""
        cells = _CELL_END.split(self._lines[line].strip(" \t>"))
        if cells and not cells[0]:
            cells.pop(0)
        return "".join([" | " + cell.strip() for cell in cells[columns:] if cell.strip()])


def _is_empty(block: Block) -> bool:
    match block:
        case Paragraph(spans=()) | Heading(spans=()) | CodeBlock(text="") | Quote(blocks=()):
            return True
    return False


def _code_block(token: Token) -> CodeBlock:
    language, _, rest = token.info.strip().partition(" ")
    text = token.content.rstrip("\n")
    if language and not _LANGUAGE.match(language):
        language, rest = "", token.info.strip()
    return CodeBlock(language, f"{rest}\n{text}".rstrip("\n") if rest else text)


def _inline(content: str) -> Spans:
    """The spans of one run of text; the text itself where it has no syntax or too much."""
    if not content:
        return ()
    if _INLINE.search(content) is None or content.count("[") > MAX_BRACKETS:
        return (Span(_INDENT.sub("\n", content) if "\n" in content else content),)
    tokens: list[Token] = []
    parser = _parser()
    parser.inline.parse(content, parser, {}, tokens)
    return _SpanReader().read(tokens)


class _SpanReader:
    """Reads the inline tokens of one run of text into spans; neighbours that look alike become one."""

    def __init__(self) -> None:
        self._spans: list[Span] = []
        self._styles: list[int] = []
        self._style = 0
        self._url: str | None = None  # where the link we are in leads
        self._link: str | None = None  # the same where it is one to the web
        self._label_at = 0  # how many spans there were when the link began

    def read(self, tokens: Sequence[Token]) -> Spans:
        for token in tokens:
            kind = token.type
            if kind in ("text", "text_special"):
                self._say(token.content)
            elif kind in ("softbreak", "hardbreak"):
                self._say("\n")
            elif kind == "code_inline":
                self._say(token.content, Style.CODE)
            elif kind == "image":
                self._say_image(token)
            elif kind.startswith("link"):
                self._turn_link(token)
            else:
                self._turn_style(kind)
        return tuple(self._spans)

    def _say(self, text: str, extra: int = 0) -> None:
        if not text:
            return
        span = Span(text, self._style | extra, self._link)
        if len(self._spans) > self._label_at:
            last = self._spans[-1]
            if last.style == span.style and last.link == span.link:
                self._spans[-1] = Span(last.text + text, span.style, span.link)
                return
        self._spans.append(span)

    def _turn_style(self, kind: str) -> None:
        name, _, turn = kind.rpartition("_")
        if turn == "open":
            self._styles.append(_STYLES[name])
        else:
            self._styles.pop()
        self._style = 0
        for style in self._styles:
            self._style |= style

    def _turn_link(self, token: Token) -> None:
        if token.type == "link_open":
            self._url = _checked_link(str(token.attrs["href"]))
            self._link = self._url if self._url and not self._url.startswith("mailto:") else None
            self._label_at = len(self._spans)
            if token.markup == "autolink" and self._url is None:
                self._say("<")  # `<std:string>` is no link: it keeps its brackets
            return
        if token.markup == "autolink" and self._url is None:
            self._say(">")
        elif self._url:
            self._show_address(self._url)
        self._link = self._url = None
        self._label_at = 0

    def _show_address(self, url: str) -> None:
        """A link without a label shows where it leads; a mailbox is always shown, for few platforms can link it."""
        label = text_of(self._spans[self._label_at :])
        address = unquote(url.removeprefix("mailto:").partition("?")[0]) if self._link is None else url
        if not label:
            self._say(address)
        elif self._link is None and address not in label:
            self._say(f" ({address})")

    def _say_image(self, token: Token) -> None:
        source = _checked_link(str(token.attrs["src"]))
        outer, self._link = self._link, self._link or source
        self._say("".join([child.content for child in token.children or ()]) or token.content or source or "")
        self._link = outer


def _checked_link(url: str) -> str | None:
    """The URL when it leads to the web or a mailbox; None for every other scheme and for what is relative (A68)."""
    url = url.strip()
    if len(url) > MAX_LINK_CHARS or not _LINK.match(url):
        return None
    scheme, colon, rest = url.partition(":")
    return scheme.lower() + colon + _LINK_BLANKS.sub(lambda found: quote(found.group()), rest)
