"""A Markdown answer becomes a tree: blocks of styled text, the same for every platform.

Text inside a block is a flat run of `Span`s instead of nested nodes: a run can be cut anywhere, and a platform that
forbids a nesting (Telegram: nothing inside code) simply never sees one. Reading Markdown into this tree lives in
`channels.markdown.parse`, laying it out as text in `channels.markdown.layout`, cutting it in the gateway's splitter.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

_UNCLEAN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\ud800-\udfff]")
_LINE_ENDS = re.compile("\r\n?|[\x0b\x0c\x85\u2028\u2029]")
_DROPPED = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f\u202a-\u202e]")


class Style:
    """How a run of text looks: bits, combined with `|`. Plain integers, for a message holds many of them."""

    BOLD: Final = 1
    ITALIC: Final = 2
    STRIKE: Final = 4
    CODE: Final = 8


@dataclass(frozen=True, slots=True)
class Span:
    """A run of text in one style. A line break is a newline in `text`."""

    text: str  # never empty, clean Unicode
    style: int = 0  # bits of `Style`
    link: str | None = None  # an http or https URL; None: not a link


Spans = tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Text on its own."""

    spans: Spans


@dataclass(frozen=True, slots=True)
class Heading:
    """A title; `level` 1 is the highest, 6 the lowest."""

    level: int
    spans: Spans


@dataclass(frozen=True, slots=True)
class CodeBlock:
    """Text shown letter by letter, without a newline at its end."""

    language: str  # "" when none was named
    text: str


@dataclass(frozen=True, slots=True)
class ListItem:
    """One entry of a list."""

    blocks: tuple["Block", ...]
    number: int | None = None  # of an ordered list; None: a bullet
    continued: bool = False  # the rest of an entry that began in an earlier part: it shows no bullet or number


@dataclass(frozen=True, slots=True)
class ListBlock:
    """Entries, each with its own number or bullet, so that a list can be cut between any two."""

    items: tuple[ListItem, ...]


@dataclass(frozen=True, slots=True)
class Quote:
    """What somebody else said."""

    blocks: tuple["Block", ...]


@dataclass(frozen=True, slots=True)
class Table:
    """A header and rows of as many cells each."""

    header: tuple[Spans, ...]
    rows: tuple[tuple[Spans, ...], ...]


@dataclass(frozen=True, slots=True)
class Rule:
    """A line across."""


Block = Paragraph | Heading | CodeBlock | ListBlock | Quote | Table | Rule


def text_of(spans: Iterable[Span]) -> str:
    """What the spans say, without their looks."""
    return "".join([span.text for span in spans])


def clean(text: str) -> str:
    """Text every platform and database takes: one kind of line end, nothing that controls or overrides, no NUL.

    Two surrogates that belong together become their character, a lone one becomes U+FFFD. Tabs and newlines stay.
    """
    if _UNCLEAN.search(text) is None:
        return text
    whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return _DROPPED.sub("", _LINE_ENDS.sub("\n", whole))
