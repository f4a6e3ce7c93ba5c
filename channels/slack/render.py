"""The Renderer of Slack, in two dialects: standard Markdown for its Markdown block, and its own mrkdwn.

Pure. `Rendered.markup` names the dialect; None is plain text, not yet escaped. No text pings: brackets are escaped, and
broken up in code, where they cannot be. `payloads` decides which blocks a message has.
Source: docs.slack.dev/reference/block-kit/blocks/markdown-block and …/formatting-message-text (read 2026-11).
"""

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from urllib.parse import urlsplit

from channels.markdown.layout import RULE, rows_as_paragraphs, table_columns
from channels.markdown.tree import (
    Block,
    CodeBlock,
    Heading,
    ListBlock,
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
from channels.slack.command_names import CommandNames
from channels.slack.mrkdwn import WORD_JOINER, defuse, escape

MARKDOWN = "markdown"
MRKDWN = "mrkdwn"

SCHEMES = ("http", "https")  # of links; anything else stays text (A68)
BETWEEN = "\u200b"  # shows nothing; keeps two markers apart

_SPECIAL = re.compile(r"https?://(?:[^\s\[\]`*~\\_]|(?<=[^\W_])_(?=[^\W_]))+|[\\`*_~\[\]]")
_LINE_START = re.compile(r"(?m)^([^\S\n]*)([-+=#|])")
_NUMBERED = re.compile(r"(?m)^([^\S\n]*\d{1,9})([.)])(?=\s|$)")
_BACKTICKS = re.compile("`+")
_UNSAFE_IN_URL = re.compile(r"[\s()<>|\\`\"]")


class Dialect:
    """The layout of blocks that both dialects share."""

    bullet = "- "

    def blocks(self, blocks: Iterable[Block]) -> str:
        """Return the blocks, separated by a blank line."""
        return "\n\n".join([self.block(block) for block in blocks])

    def block(self, block: Block) -> str:
        """Return one block, of one or more lines."""
        match block:
            case Paragraph(spans):
                return self.paragraph(spans)
            case Heading(level, spans):
                return self.heading(level, spans)
            case CodeBlock(language, text):
                return self.code(language, text)
            case ListBlock():
                return self.list_items(block)
            case Quote(inner):
                return "\n".join([f"> {line}".rstrip() for line in self.blocks(inner).split("\n")])
            case Table():
                return self.table(block)
            case Rule():
                return RULE

    def table(self, table: Table) -> str:
        """Return aligned columns as code if they fit a phone, else a paragraph per row."""
        if columns := table_columns(table):
            return self.code("", columns)
        return self.blocks(rows_as_paragraphs(table))

    def list_items(self, block: ListBlock) -> str:
        """Return a line per entry, with further blocks indented below it."""
        entries = []
        for item in block.items:
            marker = self.bullet if item.number is None else f"{item.number}. "
            inner = self._entry(item.blocks)
            if item.continued:
                entries.append(inner)
            else:
                entries.append(marker + inner.replace("\n", "\n" + " " * len(marker)))
        return "\n".join(entries)

    def _entry(self, blocks: Iterable[Block]) -> str:
        text = ""
        before: Block | None = None
        for block in blocks:
            if before is not None:
                text += "\n\n" if isinstance(before, Paragraph) and isinstance(block, Paragraph) else "\n"
            elif not isinstance(block, Paragraph | Heading):
                text += "\n"
            text += self.block(block)
            before = block
        return text

    def paragraph(self, spans: Spans) -> str:
        """Return a paragraph."""
        return self.spans(spans)

    def spans(self, spans: Spans, extra: int = 0) -> str:
        """Return styled text; `extra` styles all of it."""
        pieces: list[str] = []
        for link, group in groupby(spans, lambda span: span.link if _is_link(span.link) else None):
            inside: list[str] = [] if link is not None else pieces
            for span in group:
                _join(inside, self.span(span, span.style | extra))
            if link is not None:
                _join(pieces, self.link("".join(inside).replace("\n", " "), _UNSAFE_IN_URL.sub(_percent, link)))
        return "".join(pieces)

    def span(self, span: Span, style: int) -> str:
        """Return one span."""
        raise AssertionError("a dialect says how")

    def link(self, text: str, url: str) -> str:
        """Return a link; the URL holds no bracket, blank or bar."""
        raise AssertionError("a dialect says how")

    def heading(self, level: int, spans: Spans) -> str:
        """Return a title in one line."""
        raise AssertionError("a dialect says how")

    def code(self, language: str, text: str) -> str:
        """Return a code block."""
        raise AssertionError("a dialect says how")


class Markdown(Dialect):
    """Standard Markdown; special characters are escaped with a backslash, brackets and `&` as in HTML."""

    def paragraph(self, spans: Spans) -> str:
        """Return a paragraph whose lines begin no other block."""
        text = self.spans(spans).lstrip(" ")
        return _NUMBERED.sub(r"\1\\\2", _LINE_START.sub(r"\1\\\2", text))

    def heading(self, level: int, spans: Spans) -> str:
        return "#" * level + " " + self.spans(spans).replace("\n", " ").strip()

    def code(self, language: str, text: str) -> str:
        """Return a fence longer than any in the text; mentions in it are broken up, since brackets cannot be escaped
        there.
        """
        fence = "`" * max(3, _longest(text) + 1)
        return f"{fence}{_word(language)}\n{defuse(text)}\n{fence}"

    def span(self, span: Span, style: int) -> str:
        """Return one span; code takes no other style, but stays inside its link."""
        if style & Style.CODE:
            return _inline_code(defuse(span.text))
        shown = _SPECIAL.sub(_escaped_special, escape(span.text))
        marks = [mark for bit, mark in ((Style.BOLD, "**"), (Style.ITALIC, "*"), (Style.STRIKE, "~~")) if style & bit]
        return _wrap(shown, "".join(marks))

    def link(self, text: str, url: str) -> str:
        """Return a link, with surrounding blanks outside."""
        inner = text.strip()
        return text.replace(inner, f"[{inner}]({url})") if inner else text


class Mrkdwn(Dialect):
    """Slack's own markup, which escapes only brackets and `&`, and does not nest code."""

    bullet = "• "

    def heading(self, level: int, spans: Spans) -> str:
        """Return a bold title."""
        return self.spans(spans, Style.BOLD).replace("\n", " ").strip()

    def code(self, language: str, text: str) -> str:
        """Return a code block, with inner fences broken up."""
        return f"```\n{escape(text.replace('```', f'``{WORD_JOINER}`'))}\n```"

    def span(self, span: Span, style: int) -> str:
        shown = escape(span.text)
        if style & Style.CODE:
            return _wrap(shown, "`") if "`" not in shown else shown
        marks = [mark for bit, mark in ((Style.BOLD, "*"), (Style.ITALIC, "_"), (Style.STRIKE, "~")) if style & bit]
        return _wrap(shown, "".join(marks))

    def link(self, text: str, url: str) -> str:
        return f"<{escape(url)}|{text}>" if text.strip() else text


def _join(pieces: list[str], piece: str) -> None:
    """Add a piece, behind an invisible character if two markers would merge."""
    if pieces and piece and _touch(pieces[-1][-1:], piece[0]):
        pieces.append(BETWEEN)
    pieces.append(piece)


def _wrap(text: str, mark: str) -> str:
    """Put marks around each line of the text, with its blanks outside."""
    if not mark:
        return text
    return "\n".join([_around(line, mark) for line in text.split("\n")])


def _around(line: str, mark: str) -> str:
    inner = line.strip()
    if not inner:
        return line
    begin = len(line) - len(line.lstrip())
    return f"{line[:begin]}{mark}{inner}{mark[::-1]}{line[begin + len(inner) :]}"


def _touch(before: str, after: str) -> bool:
    """Return True if two pieces would merge: a marker and a letter, or two markers."""
    marks = "*_~`"
    if before in marks:
        return after.isalnum() or after in marks
    return after in marks and before.isalnum()


def _is_link(url: str | None) -> bool:
    return url is not None and urlsplit(url).scheme.lower() in SCHEMES


def _escaped_special(found: re.Match[str]) -> str:
    return found[0] if len(found[0]) > 1 else "\\" + found[0]


def _percent(found: re.Match[str]) -> str:
    return "".join([f"%{byte:02X}" for byte in found[0].encode()])


def _longest(text: str) -> int:
    return max([len(run) for run in _BACKTICKS.findall(text)], default=0)


def _inline_code(text: str) -> str:
    if not text.strip():
        return text
    ticks = "`" * (_longest(text) + 1)
    pad = " " if text[0] == "`" or text[-1] == "`" else ""
    return f"{ticks}{pad}{text}{pad}{ticks}"


def _word(language: str) -> str:
    """Return a fence's language if it is a plain word, else ""."""
    return language if re.fullmatch(r"[A-Za-z0-9_.+#-]{1,32}", language) else ""


DIALECTS: dict[str, Callable[[], Dialect]] = {MARKDOWN: Markdown, MRKDWN: Mrkdwn}
"""Dialects by the name in `Rendered.markup`."""


class SlackRenderer:
    """The stateless Renderer of `channels.base` for Slack, in one of its two dialects."""

    def __init__(self, dialect: str = MARKDOWN, names: CommandNames | None = None) -> None:
        """Take a dialect, MARKDOWN or MRKDWN, and the typed names of commands, by default their own."""
        self._dialect = dialect
        self._writer = DIALECTS[dialect]()
        self._names = names or CommandNames()

    def render(self, blocks: Sequence[Block]) -> Rendered:
        """Return the blocks as one text in the dialect."""
        return Rendered(self._writer.blocks(self._names.in_blocks(blocks)).strip("\n"), self._dialect)

    def plain(self, text: str) -> Rendered:
        """Return the text unescaped; `payloads` escapes it."""
        return Rendered(self._names.in_text(clean(text).strip()))
