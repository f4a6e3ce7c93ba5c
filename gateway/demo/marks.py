"""Markdown as people see it: the marks turned into looks. Pure.

Telegram tells the looks of a text apart from it; Discord and Slack show Markdown, of which the coach uses little: bold
and slanted words, code, headings and escaped characters.
"""

import re

from channels.simulators.telegram.checks import JsonObject, utf16_length

_MARK = re.compile(
    r"\*\*(?P<bold>.+?)\*\*|`(?P<code>[^`\n]+)`|^#{1,3} (?P<heading>.+)$|\\(?P<literal>[!-/:-@\[-`{-~])"
    r"|(?<!\w)(?P<mark>[*_])(?P<italic>[^*_\n]+)(?P=mark)(?!\w)",
    re.MULTILINE,
)

_LOOKS = {"heading": "bold"}


def without_marks(text: str) -> tuple[str, tuple[JsonObject, ...]]:
    """The text without its marks, and its looks as the Bot API would give them."""
    pieces: list[str] = []
    entities: list[JsonObject] = []
    offset = end = 0
    for mark in _MARK.finditer(text):
        pieces.append(text[end : mark.start()])
        offset += utf16_length(pieces[-1])
        kind = mark.lastgroup or ""
        seen = mark[kind] if kind in ("code", "literal") else without_marks(mark[kind])[0]
        if kind != "literal":
            entities.append({"type": _LOOKS.get(kind, kind), "offset": offset, "length": utf16_length(seen)})
        pieces.append(seen)
        offset += utf16_length(seen)
        end = mark.end()
    return "".join([*pieces, text[end:]]), tuple(entities)
