"""Blocks of the Markdown tree become what Telegram takes: text and entities in UTF-16 code units.

Pure; nothing here knows aiogram, chats or limits on length. Entities as of Bot API 10 (core.telegram.org/bots/api,
"MessageEntity", November 2026): at most 100 count, `code` and `pre` hold no other entity, a `blockquote` no other.
"""

import re
from bisect import bisect_left
from collections.abc import Sequence

import orjson

from channels.layout import Laid, Look, Mark, lay_out
from channels.markdown import Block, clean
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
_ASTRAL = re.compile("[\U00010000-\U0010ffff]")  # two UTF-16 units each


class TelegramRenderer:
    """The Renderer of `channels.base` for Telegram. Has no state; one serves everybody."""

    def render(self, blocks: Sequence[Block]) -> Rendered:
        """The blocks as one text without blanks around it; `markup` is a JSON list of entities, None without any."""
        laid = _trimmed(lay_out(blocks))
        marks = _fitting(laid)
        return Rendered(laid.text, _entities(laid.text, marks) if marks else None)

    def plain(self, text: str) -> Rendered:
        """The text as it is, without what no message can hold and without blanks around it."""
        return Rendered(clean(text).strip())


def _trimmed(laid: Laid) -> Laid:
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
