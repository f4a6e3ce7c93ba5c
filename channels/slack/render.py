"""The Renderer of Slack, in two dialects: standard Markdown as its Markdown block reads it, and its own mrkdwn.

Pure. `Rendered.markup` names the dialect its text is in; None is plain text, not yet escaped. Whatever a text says,
nothing in it pings (A63): brackets are escaped, and in code, where they cannot be, broken. What may stand where in a
message is decided in `payloads`.
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
    """What both dialects share: which block stands how under which."""

    bullet = "- "

    def blocks(self, blocks: Iterable[Block]) -> str:
        """The blocks, a blank line between them."""
        return "\n\n".join([self.block(block) for block in blocks])

    def block(self, block: Block) -> str:
        """One block, of one or more lines."""
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
        """Aligned columns as code where they fit a phone, else a paragraph a row."""
        if columns := table_columns(table):
            return self.code("", columns)
        return self.blocks(rows_as_paragraphs(table))

    def list_items(self, block: ListBlock) -> str:
        """A line an entry, what belongs to it indented under it."""
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
        """Text on its own."""
        return self.spans(spans)

    def spans(self, spans: Spans, extra: int = 0) -> str:
        """A run of styled text; `extra` styles all of it."""
        pieces: list[str] = []
        for link, group in groupby(spans, lambda span: span.link if _is_link(span.link) else None):
            inside: list[str] = [] if link is not None else pieces
            for span in group:
                _join(inside, self.span(span, span.style | extra))
            if link is not None:
                _join(pieces, self.link("".join(inside).replace("\n", " "), _UNSAFE_IN_URL.sub(_percent, link)))
        return "".join(pieces)

    def span(self, span: Span, style: int) -> str:
        """One run."""
        raise AssertionError("a dialect says how")

    def link(self, text: str, url: str) -> str:
        """A link with what it shows; the URL holds no bracket, blank or bar."""
        raise AssertionError("a dialect says how")

    def heading(self, level: int, spans: Spans) -> str:
        """A title in one line."""
        raise AssertionError("a dialect says how")

    def code(self, language: str, text: str) -> str:
        """Text shown letter by letter."""
        raise AssertionError("a dialect says how")


class Markdown(Dialect):
    """Standard Markdown; special characters are escaped with a backslash, brackets and `&` as in HTML."""

    def paragraph(self, spans: Spans) -> str:
        """Text on its own, which begins nothing else."""
        text = self.spans(spans).lstrip(" ")
        return _NUMBERED.sub(r"\1\\\2", _LINE_START.sub(r"\1\\\2", text))

    def heading(self, level: int, spans: Spans) -> str:
        """A title."""
        return "#" * level + " " + self.spans(spans).replace("\n", " ").strip()

    def code(self, language: str, text: str) -> str:
        """A fence longer than any in the text; mentions in it are broken, for brackets cannot be escaped there."""
        fence = "`" * max(3, _longest(text) + 1)
        return f"{fence}{_word(language)}\n{defuse(text)}\n{fence}"

    def span(self, span: Span, style: int) -> str:
        """One run; code is nothing else, but a link that is code stays a link."""
        if style & Style.CODE:
            return _inline_code(defuse(span.text))
        shown = _SPECIAL.sub(_escaped_special, escape(span.text))
        marks = [mark for bit, mark in ((Style.BOLD, "**"), (Style.ITALIC, "*"), (Style.STRIKE, "~~")) if style & bit]
        return _wrap(shown, "".join(marks))

    def link(self, text: str, url: str) -> str:
        """Blanks stay outside."""
        inner = text.strip()
        return text.replace(inner, f"[{inner}]({url})") if inner else text


class Mrkdwn(Dialect):
    """Slack's own markup. It knows no escaping but of brackets and `&`, and no nesting of code."""

    bullet = "• "

    def heading(self, level: int, spans: Spans) -> str:
        """A title is bold."""
        return self.spans(spans, Style.BOLD).replace("\n", " ").strip()

    def code(self, language: str, text: str) -> str:
        """A block of code; a fence inside is broken."""
        return f"```\n{escape(text.replace('```', f'``{WORD_JOINER}`'))}\n```"

    def span(self, span: Span, style: int) -> str:
        """One run."""
        shown = escape(span.text)
        if style & Style.CODE:
            return _wrap(shown, "`") if "`" not in shown else shown
        marks = [mark for bit, mark in ((Style.BOLD, "*"), (Style.ITALIC, "_"), (Style.STRIKE, "~")) if style & bit]
        return _wrap(shown, "".join(marks))

    def link(self, text: str, url: str) -> str:
        """A link shows its text."""
        return f"<{escape(url)}|{text}>" if text.strip() else text


def _join(pieces: list[str], piece: str) -> None:
    """Add a piece, with something between where two would become one."""
    if pieces and piece and _touch(pieces[-1][-1:], piece[0]):
        pieces.append(BETWEEN)
    pieces.append(piece)


def _wrap(text: str, mark: str) -> str:
    """Each line of the text between marks, its blanks outside of them."""
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
    """Whether two pieces need something between them: a marker and a letter, or two markers."""
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
    """A fence's language, if it is a plain word."""
    return language if re.fullmatch(r"[A-Za-z0-9_.+#-]{1,32}", language) else ""


DIALECTS: dict[str, Callable[[], Dialect]] = {MARKDOWN: Markdown, MRKDWN: Mrkdwn}
"""By the name that `Rendered.markup` carries."""


class SlackRenderer:
    """The Renderer of `channels.base` for Slack, in one of its two dialects. Has no state."""

    def __init__(self, dialect: str = MARKDOWN, names: CommandNames | None = None) -> None:
        """`dialect` is MARKDOWN or MRKDWN; `names` says how commands are typed, by default each by its own."""
        self._dialect = dialect
        self._writer = DIALECTS[dialect]()
        self._names = names or CommandNames()

    def render(self, blocks: Sequence[Block]) -> Rendered:
        """The blocks as one text in the dialect."""
        return Rendered(self._writer.blocks(self._names.in_blocks(blocks)).strip("\n"), self._dialect)

    def plain(self, text: str) -> Rendered:
        """The text as it is; it is escaped when it is sent."""
        return Rendered(self._names.in_text(clean(text).strip()))
