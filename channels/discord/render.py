"""Rendering of the Markdown tree as Discord's Markdown, with every literal character escaped.

Pure; knows no discord.py, no chats and no length limits. Headings are `#` to `###`, tables are code, a quote is quoted
once. Markup characters are those of Discord's clients (simple-markdown, 2026). No text may notify people; every call
also says so (`payloads`).
"""

import re
from collections.abc import Iterable, Sequence
from urllib.parse import quote

from channels.markdown.layout import RULE, rows_as_paragraphs, table_columns
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
    clean,
)
from channels.messages import Rendered

BREAK = "\u200b"  # invisible; separates markup that would merge

_TOKEN = re.compile(
    r"(?P<url>https?://[^\s<>\[\]`\\]*)|(?P<shut>\](?=\())|(?P<special>[\\*_~`|\[\]<])|(?P<ping>@(?=everyone|here))"
)
_PART_OF_URL = re.compile(r":(?=//)|[*_~|]|@(?=everyone|here)")
_ENDING = ".,:;\"'!?*_~|"  # punctuation behind a URL that does not belong to it
_LINE_START = re.compile(r"^([ \t]*)(?:(#{1,3}(?=\s)|-#?(?=\s)|>|\+(?=\s))|(\d+)(?=[.)](?:\s|$)))", re.MULTILINE)
_TICKS = re.compile("`(?=`)")
_FENCE = re.compile("`(?=``)")
_LANGUAGE = re.compile(r"[a-z0-9_+\-.#]{1,32}", re.IGNORECASE)
_UNSAFE_IN_URL = re.compile(r"[^\w/:?#@!$&'+,;=%.~-]")  # letters of every script stay: a host may have them
_ADDRESS_LIKE = re.compile(r"://|\b\w+\.\w{2,}\b|[\[\]]")

_BOLD, _ITALIC, _STRIKE = "**", "_", "~~"
_MARKERS = ((Style.BOLD, _BOLD), (Style.ITALIC, _ITALIC), (Style.STRIKE, _STRIKE))
_MAX_HEADING = 3

_Line = tuple[str, bool]  # its text, and whether it is code, which no list may indent


class DiscordRenderer:
    """The stateless Renderer of `channels.base` for Discord."""

    def render(self, blocks: Sequence[Block]) -> Rendered:
        """Return the blocks as one stripped text."""
        return Rendered("\n".join([text for text, _ in _document(blocks)]).strip())

    def plain(self, text: str) -> Rendered:
        """Return the text with everything escaped that could be markup."""
        return Rendered(escape(clean(text)).strip())


def _document(blocks: Iterable[Block], *, listed: bool = False, quoted: bool = False) -> list[_Line]:
    """Return the lines of blocks, separated by an empty line (in lists: by none)."""
    lines: list[_Line] = []
    for index, block in enumerate(blocks):
        if index and not listed:
            lines.append(("", False))
        lines += _block(block, listed=listed, quoted=quoted)
    return lines


def _block(block: Block, *, listed: bool, quoted: bool) -> list[_Line]:
    match block:
        case Paragraph(spans):
            return _literal(spans_as_text(spans))
        case Heading(level, spans):
            return _heading(level, spans, listed=listed)
        case CodeBlock(language, text):
            return _code(text, language)
        case ListBlock(items):
            return [line for item in items for line in _item(item, quoted=quoted)]
        case Quote(inner):
            return _quote(inner, quoted=quoted)
        case Table():
            return _table(block, listed=listed, quoted=quoted)
        case Rule():
            return [(RULE, False)]


def _literal(text: str) -> list[_Line]:
    return [(line, False) for line in escape_line_starts(text).split("\n")]


def _heading(level: int, spans: Spans, *, listed: bool) -> list[_Line]:
    """Return a heading; levels below 3, and headings in lists, become bold text."""
    if listed or level > _MAX_HEADING:
        return _literal(spans_as_text(spans, Style.BOLD))
    title = " ".join(spans_as_text(spans).split("\n")).strip()
    return [(f"{'#' * level} {title}", False)] if title else []


def _code(text: str, language: str) -> list[_Line]:
    return [(line, True) for line in code_fence(text, language).split("\n")]


def _item(item: ListItem, *, quoted: bool) -> list[_Line]:
    """Return a list entry: its marker, then its indented blocks; code is not indented, since Discord would show it."""
    lines = [(text if code else f"  {text}", code) for text, code in _document(item.blocks, listed=True, quoted=quoted)]
    if item.continued:
        return lines
    marker = "- " if item.number is None else f"{item.number}. "
    if item.blocks and isinstance(item.blocks[0], Paragraph | Heading) and lines:
        return [(marker + lines[0][0].lstrip(" "), False), *lines[1:]]
    return [(marker + BREAK, False), *lines]


def _quote(blocks: Sequence[Block], *, quoted: bool) -> list[_Line]:
    """Return quoted lines; Discord does not nest quotes, so an inner one shows an escaped `>`."""
    prefix = "\\> " if quoted else "> "
    return [(prefix + text, code) for text, code in _document(blocks, quoted=True)]


def _table(table: Table, *, listed: bool, quoted: bool) -> list[_Line]:
    """Return aligned columns as code if they fit a phone, else a paragraph per row."""
    if columns := table_columns(table):
        return _code(columns, "")
    return _document(rows_as_paragraphs(table), listed=listed, quoted=quoted)


def spans_as_text(spans: Spans, extra: int = 0) -> str:
    """Return styled text with markers that nest correctly and never touch a blank inside."""
    if extra == 0 and len(spans) == 1 and spans[0].style == 0 and spans[0].link is None:
        return escape_inline(spans[0].text)
    writer = _Spans()
    for span in spans:
        writer.add(span, span.style | extra)
    return writer.end()


class _Spans:
    """Writer of one run of spans."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._open: list[str] = []  # markers begun, outermost first
        self._blanks: list[str] = []  # seen, and not yet written: they go outside markers that end here
        self._joins = ""  # the last character written, if it was markup

    def add(self, span: Span, style: int) -> None:
        """Add one span in a style."""
        text = span.text.strip()
        if not text:
            self._blanks.append(span.text)
            return
        wanted = _markers_of(span, style)
        kept = 0
        while kept < len(self._open) and self._open[kept] in wanted:
            kept += 1
        self._close(kept)
        self._blank(span.text[: len(span.text) - len(span.text.lstrip())])
        for marker in wanted:
            if marker not in self._open:
                self._mark(marker)
                self._open.append(marker)
        if span.link is not None:
            self._add_words(masked_link(text, span.link))
        elif style & Style.CODE:
            self._mark(inline_code(text))
        else:
            self._add_words(escape_inline(text))
        self._blanks = [span.text[len(span.text.rstrip()) :]]

    def end(self) -> str:
        """Return everything written."""
        self._close(0)
        self._blank("")
        return "".join(self._pieces)

    def _close(self, kept: int) -> None:
        while len(self._open) > kept:
            marker = self._open.pop()
            self._pieces.append(marker)
            self._joins = marker[-1]

    def _blank(self, more: str) -> None:
        blanks = "".join([*self._blanks, more])
        if blanks:
            self._pieces.append(blanks)
            self._joins = ""
        self._blanks = []

    def _mark(self, markup: str) -> None:
        """Write an opening marker or code, behind an invisible character if it would merge with the markup before."""
        if self._joins and (self._joins == markup[0] or self._joins + markup[0] == "~_"):
            self._pieces.append(BREAK)
        self._pieces.append(markup)
        self._joins = markup[-1]

    def _add_words(self, text: str) -> None:
        """Write words, behind an invisible character if Discord would not end italics before them."""
        if self._joins == _ITALIC and _ITALIC not in self._open and (text[0].isalnum() or text[0] == "_"):
            self._pieces.append(BREAK)
        self._pieces.append(text)
        self._joins = ""


def _markers_of(span: Span, style: int) -> list[str]:
    """Return the markers around a span: none around code, and none that occurs in its URL."""
    if span.link is None and style & Style.CODE:
        return []
    urls = f"{span.link or ''} {urls_in(span.text)}"
    return [marker for bit, marker in _MARKERS if style & bit and marker not in urls]


def escape(text: str) -> str:
    """Escape literal text with backslashes; bare URLs stay whole."""
    return escape_line_starts(escape_inline(text))


def escape_inline(text: str) -> str:
    """Escape literal text, except for markup that only counts at the start of a line."""
    return _TOKEN.sub(_escape_match, text)


def _escape_match(match: re.Match[str]) -> str:
    if match["url"]:
        return _bare_url(match["url"])
    if match["shut"]:  # or a link before it would end here: backslashes do not escape inside its brackets
        return f"\\]{BREAK}"
    return f"@{BREAK}" if match["ping"] else f"\\{match[0]}"


def _bare_url(text: str) -> str:
    """Put a bare URL in invisible brackets, or it would swallow the following text and our backslashes."""
    end = _end_of_url(text)
    if text.endswith("//", 0, end):  # an empty URL
        return _PART_OF_URL.sub(_break_up, text)
    return f"<{text[:end]}>{escape_inline(text[end:])}"


def _end_of_url(text: str) -> int:
    """Return the end of a URL, without trailing punctuation and unbalanced closing brackets."""
    surplus = text.count(")") - text.count("(")
    end = len(text.rstrip(_ENDING))
    while surplus > 0 and text[end - 1] == ")":
        surplus, end = surplus - 1, end - 1
        while text[end - 1] in _ENDING:
            end -= 1
    return end


def _break_up(match: re.Match[str]) -> str:
    """Break up an empty link (`http://`), so that Discord does not parse it; escape the rest."""
    if match[0] == ":":
        return f"{BREAK}:"
    return f"@{BREAK}" if match[0] == "@" else f"\\{match[0]}"


def escape_line_starts(text: str) -> str:
    """Escape lines that would begin a heading, a quote or a list."""
    return _LINE_START.sub(lambda match: f"{match[1]}{match[3]}\\" if match[3] else f"{match[1]}\\{match[2]}", text)


def urls_in(text: str) -> str:
    """Return the bare URLs of a text, joined: a marker that occurs in one cannot stand around it."""
    return " ".join([match["url"] for match in _TOKEN.finditer(text) if match["url"]])


def masked_link(text: str, url: str) -> str:
    """Return `[text](url)`, or text and URL if Discord would not hide a URL behind these words."""
    target = _UNSAFE_IN_URL.sub(lambda match: quote(match[0]), url)
    words = " ".join(text.split())
    if not words or words in (url, target):
        return f"<{target}>"
    if _ADDRESS_LIKE.search(words):
        return f"{escape_inline(words)} (<{target}>)"
    return f"[{escape_inline(words)}]({target})"


def inline_code(text: str) -> str:
    """Return inline code, with two backticks around if it contains some."""
    text = text.replace("\n", " ")
    if "`" not in text:
        return f"`{text}`"
    parted = _TICKS.sub(f"`{BREAK}", text)
    return f"`` {parted} ``"


def code_fence(text: str, language: str) -> str:
    """Return a code block, with inner backticks broken up so that they cannot end it."""
    shown = _FENCE.sub(f"`{BREAK}", text).rstrip("\n")
    named = language if _LANGUAGE.fullmatch(language) else ""
    return f"```{named}\n{shown if shown.strip() else shown + BREAK}\n```"
