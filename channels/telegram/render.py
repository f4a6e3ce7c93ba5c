"""Blocks of the Markdown tree become what Telegram takes: text and entities in UTF-16 code units.

Pure; nothing here knows aiogram, chats or limits on length. Telegram's server takes every @name for a mention, so that
an answer could call people into a group (A62): behind the sign stands what shows nothing. Entities as of Bot API 10
(core.telegram.org/bots/api, "MessageEntity", November 2026): at most 100 count, `code` and `pre` hold no other entity,
a `blockquote` no other.
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

MAX_ENTITIES = 100  # Telegram ignores those after

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
_QUIET = (Look.CODE, Look.CODE_BLOCK)  # the server looks for nothing in these
BREAK = "\u2060"  # shows nothing
_ASTRAL = re.compile("[\U00010000-\U0010ffff]")  # two UTF-16 units each


class TelegramRenderer:
    """The Renderer of `channels.base` for Telegram. Has no state; one serves everybody."""

    def render(self, blocks: Sequence[Block]) -> Rendered:
        """The blocks as one text without blanks around it; `markup` is a JSON list of entities, None without any."""
        laid = _calling_nobody(lay_out(blocks))
        text, marks = _trim(Laid(laid.text, _fitting(laid)))
        return Rendered(text, _entities(text, marks) if marks else None)

    def plain(self, text: str) -> Rendered:
        """The text as it is, without what no message can hold and without blanks around it."""
        return Rendered(calling_nobody(clean(text).strip()))


def calling_nobody(text: str) -> str:
    """The text, in which no @name is a mention."""
    return _MENTION.sub(f"@{BREAK}", text) if "@" in text else text


def _calling_nobody(laid: Laid) -> Laid:
    """The same for a laid-out tree; its marks grow and move along."""
    if "@" not in laid.text:
        return laid
    quiet = sorted([mark[:2] for mark in laid.marks if mark.look in _QUIET])  # apart from one another
    signs = [found.start() for found in _MENTION.finditer(laid.text)]
    signs = [at for at in signs if not _is_inside(at, quiet)]
    pieces = [laid.text[begin:end] for begin, end in pairwise([0, *[at + 1 for at in signs], len(laid.text)])]
    moved = [
        Mark(start + bisect_left(signs, start), end + bisect_left(signs, end), look, detail)
        for start, end, look, detail in laid.marks
    ]
    return Laid(BREAK.join(pieces), moved)


def _is_inside(at: int, ranges: Sequence[tuple[int, int]]) -> bool:
    """Whether a place lies in one of these ranges, which are sorted and apart."""
    index = bisect_right(ranges, at, key=itemgetter(0)) - 1
    return index >= 0 and at < ranges[index][1]


def _trim(laid: Laid) -> Laid:
    """Without blanks at both ends, as Telegram itself trims; blanks that a mark begins with stay, as they do there."""
    text = laid.text.rstrip()
    blanks = len(text) - len(text.lstrip())
    if blanks:
        blanks = min([blanks, *[mark.start for mark in laid.marks]])
        moved = [Mark(start - blanks, end - blanks, look, detail) for start, end, look, detail in laid.marks]
        return Laid(text[blanks:], moved)
    return Laid(text, laid.marks)


def _fitting(laid: Laid) -> list[Mark]:
    """The marks that have something to show, without blanks at their ends, outer before inner, as many as count."""
    marks = []
    for start, end, look, detail in laid.marks:
        shown = laid.text[start:end].rstrip()
        # the first line of code may be indented, also where a quote begins with it
        blanks = 0 if look in (Look.CODE_BLOCK, Look.QUOTE) else len(shown) - len(shown.lstrip())
        if shown:
            marks.append(Mark(start + blanks, start + len(shown), look, detail))
    if len(marks) > MAX_ENTITIES:
        marks.sort(key=lambda mark: mark.look in (Look.BOLD, Look.ITALIC, Look.STRIKE))  # looks go first, meaning stays
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
