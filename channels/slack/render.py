"""Blocks of the Markdown tree become what Slack takes: text of a Markdown block, or of a section in its own mrkdwn.

Pure; nothing here knows the SDK, chats or limits. `Rendered.markup` names the dialect of its text, None is plain text.
Whatever the text says, nothing in it pings (A63): brackets are escaped, and in code, where they cannot be, broken.
Source: docs.slack.dev/reference/block-kit/blocks/markdown-block and …/formatting-message-text (read 2026-11).
"""

import re
from collections.abc import Iterable, Sequence
from urllib.parse import urlsplit

from channels.layout import Look, lay_out, rows_as_paragraphs
from channels.markdown import (
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
from channels.slack.markup import defused, escaped

MARKDOWN = "markdown"
MRKDWN = "mrkdwn"

RULE = "──────────"
SCHEMES = ("http", "https")  # of links; anything else stays text (A68)

_SPECIAL = re.compile(r"([\\`*_~\[\]#|!()])")
_LINE_START = re.compile(r"(?m)^(\s*)([-+=]|\d{1,9}(?=[.)]))")
_NUMBERED = re.compile(r"(?m)^(\s*\d{1,9})([.)])")
_BACKTICKS = re.compile("`+")
_BLANK_LINES = re.compile(r"\n{3,}")


class SlackRenderer:
    """The Renderer of `channels.base` for Slack, in one of its two dialects. Has no state."""

    def __init__(self, dialect: str = MARKDOWN) -> None:
        """`dialect` is MARKDOWN or MRKDWN."""
        self._dialect = dialect
        self._writer: _Dialect = _Markdown() if dialect == MARKDOWN else _Mrkdwn()

    def render(self, blocks: Sequence[Block]) -> Rendered:
        """The blocks as one text."""
        text = _BLANK_LINES.sub("\n\n", self._writer.blocks(blocks)) if blocks else ""
        return Rendered(text.strip("\n"), self._dialect)

    def plain(self, text: str) -> Rendered:
        """The text as it is; it is escaped when it is sent."""
        return Rendered(clean(text).strip())


class _Dialect:
    """What both dialects share: which block stands how under which."""

    def blocks(self, blocks: Iterable[Block]) -> str:
        return "\n\n".join([self.block(block) for block in blocks])

    def block(self, block: Block) -> str:
        match block:
            case Paragraph(spans):
                return self.spans(spans)
            case Heading(level, spans):
                return self.heading(level, spans)
            case CodeBlock(language, text):
                return self.code(language, text)
            case ListBlock():
                return self.list(block)
            case Quote(inner):
                return self.quoted(self.blocks(inner))
            case Table():
                return self.table(block)
            case Rule():
                return RULE

    def table(self, table: Table) -> str:
        """Aligned columns as code where they fit a phone, else a paragraph a row."""
        laid = lay_out((table,))
        if [Look.CODE_BLOCK] == [mark.look for mark in laid.marks]:
            return self.code("", laid.text)
        return self.blocks(rows_as_paragraphs(table))

    def quoted(self, text: str) -> str:
        return "\n".join([f"> {line}".rstrip() for line in text.split("\n")])

    def list(self, block: ListBlock) -> str:
        lines = []
        for item in block.items:
            marker = self.bullet if item.number is None else f"{item.number}. "
            inner = "\n".join([self.block(one) for one in item.blocks])
            shift = " " * len(marker)
            first = shift if item.continued else marker
            lines.append(first + inner.replace("\n", "\n" + shift))
        return "\n".join(lines)

    bullet = "- "

    def spans(self, spans: Spans, extra: int = 0) -> str:
        raise AssertionError

    def heading(self, level: int, spans: Spans) -> str:
        raise AssertionError

    def code(self, language: str, text: str) -> str:
        raise AssertionError
