"""Rendering of the Markdown tree as text with marks, and of both as Matrix's HTML. Pure.

The gateway may append to a part's text, or put a code into it in place of another text of the same length; so the
markup is ranges of the text, and the HTML is made of both when the part is sent. Tags are those of
spec.matrix.org/v1.15/client-server-api/#mroommessage-msgtypes (read 2026-11).
"""

import re
from collections.abc import Sequence
from html import escape

import orjson

from channels.markdown.layout import Look, lay_out
from channels.markdown.tree import Block, clean
from channels.messages import Rendered

_TAGS = {
    Look.BOLD: "strong",
    Look.ITALIC: "em",
    Look.STRIKE: "del",
    Look.CODE: "code",
    Look.LINK: "a",
    Look.CODE_BLOCK: "pre",
    Look.QUOTE: "blockquote",
}
_INDENT = re.compile(r"(?<=\n) +")
_AROUND_BLOCKS = re.compile(r"(?:<br>)+(?=<(?:pre|blockquote)>)|(?<=</pre>)(?:<br>)+|(?<=</blockquote>)(?:<br>)+")


class MatrixRenderer:
    """The stateless Renderer of `channels.base` for Matrix."""

    def render(self, blocks: Sequence[Block]) -> Rendered:
        """Return the blocks as text; `markup` is a JSON list of marks, None for plain text."""
        text, marks = lay_out(blocks)
        if not marks:
            return Rendered(text.strip())
        nested = sorted(marks, key=lambda mark: (mark.start, -mark.end))
        return Rendered(text, orjson.dumps([list(mark) for mark in nested]).decode())

    def plain(self, text: str) -> Rendered:
        """Return the cleaned text without surrounding white space."""
        return Rendered(clean(text).strip())


def to_html(rendered: Rendered) -> str | None:
    """Return the part as HTML; None for plain text."""
    if rendered.markup is None:
        return None
    pieces: list[str] = []
    opened: list[tuple[int, Look]] = []  # marks around the current place, outermost first
    at = 0

    def go_to(place: int) -> None:
        """Write the text up to a place, and the ends of the marks before it."""
        nonlocal at
        while opened and opened[-1][0] <= place:
            end, look = opened.pop()
            pieces.extend([_text(rendered.text[at:end], in_code=look is Look.CODE_BLOCK), _end_tag(look)])
            at = end
        pieces.append(_text(rendered.text[at:place], in_code=False))
        at = place

    for start, end, name, detail in orjson.loads(rendered.markup):
        go_to(start)
        opened.append((end, Look(name)))
        pieces.append(_begin_tag(Look(name), detail))
    go_to(len(rendered.text))
    return _AROUND_BLOCKS.sub("", "".join(pieces))


def _text(text: str, *, in_code: bool) -> str:
    if in_code:
        return escape(text, quote=False)
    indented = _INDENT.sub(lambda found: "\N{NO-BREAK SPACE}" * len(found[0]), text)
    return escape(indented, quote=False).replace("\n", "<br>")


def _begin_tag(look: Look, detail: str) -> str:
    if look is Look.LINK:
        return f'<a href="{escape(detail)}">'
    language = f' class="language-{escape(detail)}"' if detail else ""
    return f"<pre><code{language}>" if look is Look.CODE_BLOCK else f"<{_TAGS[look]}>"


def _end_tag(look: Look) -> str:
    return "</code></pre>" if look is Look.CODE_BLOCK else f"</{_TAGS[look]}>"
