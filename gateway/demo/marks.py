"""Turns the Markdown that Discord and Slack show into text and styles, as their apps do."""

import re
from copy import copy
from dataclasses import replace

from channels.simulators.shared.world import AnyMessage, JsonObject
from channels.simulators.telegram.checks import utf16_length

_MARK = re.compile(
    r"\*\*(?P<bold>.+?)\*\*|`(?P<code>[^`\n]+)`|^#{1,3} (?P<heading>.+)$|\\(?P<literal>[!-/:-@\[-`{-~])"
    r"|(?<!\w)(?P<mark>[*_])(?P<italic>[^*_\n]+)(?P=mark)(?!\w)",
    re.MULTILINE,
)


def as_read(message: AnyMessage) -> AnyMessage:
    """Return a message as an app shows it: without its marks, its styles as entities of Telegram's Bot API."""
    if message.entities is not None:
        return copy(message)
    text, entities = without_marks(message.text)
    return replace(message, text=text, entities=entities)


def without_marks(text: str) -> tuple[str, tuple[JsonObject, ...]]:
    """Return the text without its marks, and its styles; their offsets count UTF-16 units."""
    pieces: list[str] = []
    entities: list[JsonObject] = []
    offset = end = 0
    for mark in _MARK.finditer(text):
        pieces.append(text[end : mark.start()])
        offset += utf16_length(pieces[-1])
        kind = mark.lastgroup or ""
        seen = mark[kind] if kind in ("code", "literal") else without_marks(mark[kind])[0]
        if kind != "literal":
            style = "bold" if kind == "heading" else kind
            entities.append({"type": style, "offset": offset, "length": utf16_length(seen)})
        pieces.append(seen)
        offset += utf16_length(seen)
        end = mark.end()
    return "".join([*pieces, text[end:]]), tuple(entities)
