"""The tree of a Markdown answer: blocks of styled text, the same for every platform.

The text in a block is a flat run of `Span`s instead of nested nodes: it can be cut anywhere, and a platform that
forbids a nesting (Telegram: nothing inside code) never gets one. `channels.markdown.parse` makes the tree,
`channels.markdown.layout` lays it out as text, and the gateway's splitter cuts it.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

_UNCLEAN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\ud800-\udfff]")
_LINE_ENDS = re.compile("\r\n?|[\x0b\x0c\x85\u2028\u2029]")
_DROPPED = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f\u202a-\u202e]")


class Style:
    """The style of a run of text as bits, combined with `|`. Plain integers save time: a message has many spans."""

    BOLD: Final = 1
    ITALIC: Final = 2
    STRIKE: Final = 4
    CODE: Final = 8


@dataclass(frozen=True, slots=True)
class Span:
    """A run of text in one style. A line break is a newline in `text`."""

    text: str  # never empty, cleaned
    style: int = 0  # bits of `Style`
    link: str | None = None  # http or https URL; None: not a link


Spans = tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph."""

    spans: Spans


@dataclass(frozen=True, slots=True)
class Heading:
    """A title; `level` 1 is the highest, 6 the lowest."""

    level: int
    spans: Spans


@dataclass(frozen=True, slots=True)
class CodeBlock:
    """Preformatted text without a newline at its end."""

    language: str  # "" if none was named
    text: str


@dataclass(frozen=True, slots=True)
class ListItem:
    """One entry of a list."""

    blocks: tuple["Block", ...]
    number: int | None = None  # of an ordered list; None: a bullet
    continued: bool = False  # the rest of an item that began in an earlier part: without bullet or number


@dataclass(frozen=True, slots=True)
class ListBlock:
    """A list of items, each with its own number or bullet, so that it can be cut between any two."""

    items: tuple[ListItem, ...]


@dataclass(frozen=True, slots=True)
class Quote:
    """A block quote."""

    blocks: tuple["Block", ...]


@dataclass(frozen=True, slots=True)
class Table:
    """A table whose rows have as many cells as the header."""

    header: tuple[Spans, ...]
    rows: tuple[tuple[Spans, ...], ...]


@dataclass(frozen=True, slots=True)
class Rule:
    """A horizontal rule."""


Block = Paragraph | Heading | CodeBlock | ListBlock | Quote | Table | Rule


def text_of(spans: Iterable[Span]) -> str:
    """Return the text of the spans without styles."""
    return "".join([span.text for span in spans])


def clean(text: str) -> str:
    """Clean a text for every platform and database: one kind of line end, no control or bidi override characters, no
    NUL.

    A pair of surrogates becomes its character, a lone one U+FFFD. Tabs and newlines stay.
    """
    if _UNCLEAN.search(text) is None:
        return text
    whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return _DROPPED.sub("", _LINE_ENDS.sub("\n", whole))
