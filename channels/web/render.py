"""The renderer of the chat page: text with a tree of marked ranges, which is converted to HTML when it is shown.

The text alone reads well, too, and text may be appended or replaced by other text of the same length without changing
the tree. The HTML is safe by construction: all text is escaped, tags come from a closed list, link targets are http or
https and escaped, and no tag loads anything. Pure.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from html import escape
from itertools import groupby
from typing import Any

import orjson

from channels.markdown.layout import BULLETS, RULE
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

Node = list["str | int | list[Node]"]
"""A range of the text: [tag, detail, start, end, [child nodes]] in code points, `end` exclusive."""

_LOOKS = ((Style.BOLD, "b"), (Style.ITALIC, "i"), (Style.STRIKE, "s"), (Style.CODE, "code"))


class WebRenderer:
    """A stateless `Renderer` of `channels.base` for the chat page."""

    def render(self, blocks: Sequence[Block]) -> Rendered:
        """Return the blocks as text; `markup` is a JSON list of nodes, None if all blocks are plain paragraphs."""
        writer = _Writer()
        writer.blocks(blocks, "\n\n")
        text = "".join(writer.pieces)
        if all(isinstance(block, Paragraph) and _is_plain(block.spans) for block in blocks):
            return Rendered(text.strip())
        return Rendered(text, orjson.dumps(writer.nodes).decode())

    def plain(self, text: str) -> Rendered:
        """Return the cleaned text without surrounding white space."""
        return Rendered(clean(text).strip())


def _is_plain(spans: Spans) -> bool:
    return all(span.style == 0 and span.link is None and "\n\n" not in span.text for span in spans)


class _Writer:
    """A collector of text and nodes in reading order."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.nodes: list[Node] = []
        self._inside = self.nodes  # list for the next node
        self._at = 0
        self._lists = 0  # depth of lists

    def blocks(self, blocks: Sequence[Block], between: str) -> None:
        for index, block in enumerate(blocks):
            if index:
                self._say(between)
            self._block(block)

    def _block(self, block: Block) -> None:
        match block:
            case Paragraph(spans):
                self._leaf("p", "", spans)
            case Heading(level, spans):
                self._leaf("h", str(level), spans)
            case CodeBlock(language, text):
                with self._node("pre", language):
                    self._say(text)
            case ListBlock(items):
                self._list(items)
            case Quote(inner):
                with self._node("quote"):
                    self.blocks(inner, "\n")
            case Table(header, rows):
                self._table(header, rows)
            case Rule():
                with self._node("hr"):
                    self._say(RULE)

    def _list(self, items: Sequence[ListItem]) -> None:
        bullet = BULLETS[min(self._lists, len(BULLETS) - 1)]
        self._lists += 1
        with self._node("ul" if all(item.number is None for item in items) else "ol"):
            for index, item in enumerate(items):
                if index:
                    self._say("\n" + "  " * (self._lists - 1))
                marker = f"{bullet} " if item.number is None else f"{item.number}. "
                detail = "" if item.number is None else str(item.number)
                with self._node("li", "+" if item.continued else detail):
                    self._say("" if item.continued else marker)
                    self.blocks(item.blocks, "\n" + "  " * self._lists)
        self._lists -= 1

    def _table(self, header: Sequence[Spans], rows: Sequence[Sequence[Spans]]) -> None:
        with self._node("table"):
            for number, row in enumerate([header, *rows]):
                if number == 0 and not any(header):
                    continue
                if number:
                    self._say("\n")
                with self._node("tr"):
                    for column, cell in enumerate(row):
                        if column:
                            self._say(" | ")
                        self._leaf("td" if number else "th", "", cell)

    def _leaf(self, tag: str, detail: str, spans: Spans) -> None:
        with self._node(tag, detail):
            for link, linked in groupby(spans, key=lambda span: span.link):
                around = [] if link is None else [("a", link)]
                self._write_styled(tuple(linked), around)

    def _write_styled(self, spans: Spans, around: Sequence[tuple[str, str]]) -> None:
        """Write the spans inside these nodes, outermost first."""
        if around:
            with self._node(*around[0]):
                self._write_styled(spans, around[1:])
            return
        for span in spans:
            looks = [(look, "") for bit, look in _LOOKS if span.style & bit]
            if looks:
                self._write_styled((Span(span.text),), looks)
            else:
                self._say(span.text)

    @contextmanager
    def _node(self, tag: str, detail: str = "") -> Iterator[None]:
        """Put all nodes and text that are added meanwhile into a node of this kind."""
        outside, self._inside = self._inside, []
        node: Node = [tag, detail, self._at, self._at, self._inside]
        outside.append(node)
        yield
        self._inside = outside
        node[3] = self._at

    def _say(self, text: str) -> None:
        self.pieces.append(text)
        self._at += len(text)


# ---------------------------------------------------------------- HTML

_CONTAINERS = {"ul": "ul", "ol": "ol", "quote": "blockquote", "table": "table", "tr": "tr"}
"""Tags whose text between child nodes is layout of the plain text, not content."""

_LEAVES = {"p": "p", "td": "td", "th": "th", "b": "strong", "i": "em", "s": "s", "code": "code"}

_RUN_ON = {"ul", "ol", "li", "quote"}
"""Nodes in which appended text continues the last paragraph."""


def to_html(rendered: Rendered) -> str:
    """Return the part as HTML block elements."""
    if rendered.markup is None:
        return _paragraphs(rendered.text)
    nodes = orjson.loads(rendered.markup)
    text = rendered.text
    end = nodes[-1][3] if nodes else 0
    behind = ""
    if end < len(text):
        last = _last_paragraph(nodes, end)
        if last is None:
            behind = _paragraphs(text[end:].strip())
        else:
            last[3] = len(text)
    return "".join([_element(text, node) for node in nodes]) + behind


def _paragraphs(text: str) -> str:
    return "".join([f"<p>{escape(piece)}</p>" for piece in text.split("\n\n") if piece.strip()])


def _last_paragraph(nodes: Sequence[Any], end: int) -> Any:
    """Return the paragraph or heading node with the message's last text; None if the last node is another."""
    node = nodes[-1]
    while node[0] in _RUN_ON and node[4]:
        node[3] = max(node[3], end)
        node = node[4][-1]
    return node if node[0] in {"p", "h"} else None


def _element(text: str, node: Any) -> str:
    tag, detail, start, end, inside = node
    if tag in _CONTAINERS:
        name = _CONTAINERS[tag]
        return f"<{name}>{''.join([_element(text, child) for child in inside])}</{name}>"
    match tag:
        case "li":
            return f"<li{_item(detail)}>{''.join([_element(text, child) for child in inside])}</li>"
        case "hr":
            return "<hr>"
        case "pre":
            language = f' data-language="{escape(detail)}"' if detail else ""
            return f'<pre tabindex="0"{language}><code>{escape(text[start:end])}</code></pre>'
        case "h":
            level = min(int(detail) + 2, 6)  # the page's own titles are h1 and h2
            return f"<h{level}>{_words(text, node)}</h{level}>"
        case "p" if len(inside) == 1 and inside[0][:1] == ["code"] and inside[0][2:4] == [start, end]:
            return f'<p><code class="alone">{_words(text, inside[0])}</code></p>'  # a code to copy
        case "a":
            return _link(detail, _words(text, node))
    return f"<{_LEAVES[tag]}>{_words(text, node)}</{_LEAVES[tag]}>"


def _item(detail: str) -> str:
    if detail == "+":
        return ' class="continued"'
    return f' value="{int(detail)}"' if detail else ""


def _link(url: str, words: str) -> str:
    if not url.lower().startswith(("http://", "https://")):
        return words
    return f'<a href="{escape(url)}" target="_blank" rel="noopener noreferrer nofollow">{words}</a>'


def _words(text: str, node: Any) -> str:
    """Return the text and inline nodes of a node in order."""
    _, _, at, end, inside = node
    pieces = []
    for child in inside:
        pieces += [escape(text[at : child[2]]), _element(text, child)]
        at = child[3]
    return "".join([*pieces, escape(text[at:end])])
