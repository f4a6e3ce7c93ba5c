"""What was rendered for the page becomes HTML, at the moment it is shown. Pure.

Safe by construction: every character of the text is escaped, tags come from a closed list, a link's target is http or
https and is escaped too. There is no tag that loads anything.
"""

from collections.abc import Sequence
from html import escape
from typing import Any

import orjson

from channels.messages import Rendered

_CONTAINERS = {"ul": "ul", "ol": "ol", "quote": "blockquote", "table": "table", "tr": "tr"}
"""What stands between the nodes inside is layout of the plain text, not content."""

_LEAVES = {"p": "p", "td": "td", "th": "th", "b": "strong", "i": "em", "s": "s", "code": "code"}

_RUN_ON = {"ul", "ol", "li", "quote"}
"""A text that was put behind the message goes on inside these, down to their last paragraph."""


def to_html(rendered: Rendered) -> str:
    """The part as HTML: block elements, one after the other."""
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
    """The node that the message's last words are in, if they are in a paragraph or a title; None elsewhere."""
    node = nodes[-1]
    while node[0] in _RUN_ON and node[4]:
        node[3] = max(node[3], end)
        node = node[4][-1]
    return node if node[0] in {"p", "h"} else None


def _element(text: str, node: Any) -> str:
    tag, detail, start, end, inside = node
    if tag in _CONTAINERS:
        name = _CONTAINERS[tag]
        return f"<{name}>{''.join([_element(text, one) for one in inside])}</{name}>"
    match tag:
        case "li":
            return f"<li{_item(detail)}>{''.join([_element(text, one) for one in inside])}</li>"
        case "hr":
            return "<hr>"
        case "pre":
            language = f' data-language="{escape(detail)}"' if detail else ""
            return f'<pre tabindex="0"{language}><code>{escape(text[start:end])}</code></pre>'
        case "h":
            level = min(int(detail) + 2, 6)  # the page's own titles are h1 and h2
            return f"<h{level}>{_words(text, node)}</h{level}>"
        case "p" if len(inside) == 1 and inside[0][:1] == ["code"] and inside[0][2:4] == [start, end]:
            return f'<p><code class="alone">{_words(text, inside[0])}</code></p>'  # a code to be copied
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
    """Text and inline nodes of a node, in order."""
    _, _, at, end, inside = node
    pieces = []
    for one in inside:
        pieces += [escape(text[at : one[2]]), _element(text, one)]
        at = one[3]
    return "".join([*pieces, escape(text[at:end])])
