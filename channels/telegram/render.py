"""Rendering of the Markdown tree as Telegram's text and entities, in UTF-16 code units.

Pure; knows no aiogram, no chats and no length limits. Telegram's server treats every @name as a mention, so that an
answer could call people into a group: an invisible character goes behind the @. Entities as of Bot API 10
(core.telegram.org/bots/api, "MessageEntity", November 2026): at most 100 count, `code` and `pre` hold no other entity,
a `blockquote` no other `blockquote`.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import pairwise
from operator import itemgetter

import orjson

from channels.markdown.layout import Laid, Look, Mark, lay_out
from channels.markdown.tree import Block, clean
from channels.messages import Rendered

MAX_ENTITIES = 100  # Telegram ignores further ones

_TYPES = {
    Look.BOLD: "bold",
    Look.ITALIC: "italic",
    Look.STRIKE: "strikethrough",
    Look.CODE: "code",
    Look.LINK: "text_link",
    Look.CODE_BLOCK: "pre",
    Look.QUOTE: "blockquote",
}
_DETAILS = {Look.LINK: "url", Look.CODE_BLOCK: "language"}
_MENTION = re.compile(r"(?<!\w)@(?=[A-Za-z0-9_]|\Z)")  # td: MessageEntity.cpp, match_mentions (2026-09)
_QUIET = (Look.CODE, Look.CODE_BLOCK)  # the server finds no mentions in these
BREAK = "\u2060"  # invisible
_ASTRAL = re.compile("[\U00010000-\U0010ffff]")  # two UTF-16 units each


class TelegramRenderer:
    """The stateless Renderer of `channels.base` for Telegram."""

    def render(self, blocks: Sequence[Block]) -> Rendered:
        """Return the blocks as one stripped text; `markup` is a JSON list of entities, or None."""
        laid = _break_mentions(lay_out(blocks))
        text, marks = _trim(Laid(laid.text, _visible_marks(laid)))
        return Rendered(text, _entities(text, marks) if marks else None)

    def plain(self, text: str) -> Rendered:
        """Return the text without unstorable characters and surrounding blanks."""
        return Rendered(without_mentions(clean(text).strip()))


def without_mentions(text: str) -> str:
    """Return the text with every @name broken up, so that it mentions no one."""
    return _MENTION.sub(f"@{BREAK}", text) if "@" in text else text


def _break_mentions(laid: Laid) -> Laid:
    """Break up @names in a laid-out tree, and move its marks accordingly."""
    if "@" not in laid.text:
        return laid
    quiet = sorted([mark[:2] for mark in laid.marks if mark.look in _QUIET])  # disjoint
    ats = [found.start() for found in _MENTION.finditer(laid.text)]
    ats = [at for at in ats if not _is_inside(at, quiet)]
    pieces = [laid.text[begin:end] for begin, end in pairwise([0, *[at + 1 for at in ats], len(laid.text)])]
    moved = [
        Mark(start + bisect_left(ats, start), end + bisect_left(ats, end), look, detail)
        for start, end, look, detail in laid.marks
    ]
    return Laid(BREAK.join(pieces), moved)


def _is_inside(at: int, ranges: Sequence[tuple[int, int]]) -> bool:
    """Return True if a position lies in one of these sorted, disjoint ranges."""
    index = bisect_right(ranges, at, key=itemgetter(0)) - 1
    return index >= 0 and at < ranges[index][1]


def _trim(laid: Laid) -> Laid:
    """Strip blanks at both ends, as Telegram itself does, except those that a mark begins with."""
    text = laid.text.rstrip()
    blanks = len(text) - len(text.lstrip())
    if blanks:
        blanks = min([blanks, *[mark.start for mark in laid.marks]])
        moved = [Mark(start - blanks, end - blanks, look, detail) for start, end, look, detail in laid.marks]
        return Laid(text[blanks:], moved)
    return Laid(text, laid.marks)


def _visible_marks(laid: Laid) -> list[Mark]:
    """Return the visible marks without blanks at their ends, outer before inner, at most `MAX_ENTITIES`."""
    marks = []
    for start, end, look, detail in laid.marks:
        shown = laid.text[start:end].rstrip()
        # the first line of code may be indented, also at the start of a quote
        blanks = 0 if look in (Look.CODE_BLOCK, Look.QUOTE) else len(shown) - len(shown.lstrip())
        if shown:
            marks.append(Mark(start + blanks, start + len(shown), look, detail))
    if len(marks) > MAX_ENTITIES:
        marks.sort(key=lambda mark: mark.look in (Look.BOLD, Look.ITALIC, Look.STRIKE))  # drop mere looks first
        del marks[MAX_ENTITIES:]
    marks.sort(key=lambda mark: (mark.start, -mark.end, mark.look is not Look.QUOTE))
    return marks


def _entities(text: str, marks: Sequence[Mark]) -> str:
    astral = [] if text.isascii() else [found.start() for found in _ASTRAL.finditer(text)]
    entities: list[dict[str, str | int]] = []
    for start, end, look, detail in marks:
        offset = start + bisect_left(astral, start)
        entity: dict[str, str | int] = {
            "type": _TYPES[look],
            "offset": offset,
            "length": end + bisect_left(astral, end) - offset,
        }
        if detail:
            entity[_DETAILS[look]] = detail
        entities.append(entity)
    return orjson.dumps(entities).decode()
